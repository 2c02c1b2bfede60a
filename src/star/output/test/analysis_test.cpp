#include "star/output/analysis.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/file.hpp"
#include "star/driver/run.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

std::vector<double> row_of(const char* name, simulation& sim) {
  const auto a = make_analysis(name).value();
  const auto row = [&] { return analyse(*a, sim.state(), sim.settings().hydro, sim.tasks().worker_count()); };
  return worker_index() ? row() : sim.tasks().run(row);
}

// A gas that rotates rigidly about the z axis, on two levels.
TEST(Analysis, OfARigidRotationIsAsComputedByHand) {
  const auto in = blast({});
  const setup s = in->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  sim.start();
  auto& g = const_cast<gas&>(sim.state());
  const int n = g.mesh.block_size(), cells = g.now.cells();
  double spin = 0.0, kinetic = 0.0, fastest = 0.0;
  for (const mesh::slot_id b : g.mesh.blocks())
    for (int c = 0; c < cells; ++c) {
      const double x = g.mesh.centre(b, 0, c % n), y = g.mesh.centre(b, 1, c / n % n);
      double* u = g.now.block(b) + c;
      to_conserved(s.hydro.eos, {.density = 2.0, .velocity = {-y, x, 0.0}, .pressure = 1.0, .fraction = {}}, 0, u,
                   cells);
      const double volume = std::pow(g.mesh.cell_width(b), 3);
      spin += 2.0 * (x * x + y * y) * volume, kinetic += (x * x + y * y) * volume;
      fastest = std::max(fastest, std::hypot(x, y));
    }
  const std::vector<double> rotation = row_of("rotation", sim), extrema = row_of("extrema", sim),
                            energies = row_of("energies", sim);
  for (int a = 0; a < 3; ++a) EXPECT_NEAR(rotation[a], 0.0, 1e-14);
  for (int a = 0; a < 2; ++a) EXPECT_NEAR(rotation[3 + a], 0.0, 1e-14);
  EXPECT_NEAR(rotation[5], spin, 1e-12 * spin);
  EXPECT_NEAR(rotation[6], 2.0, 1e-13);
  EXPECT_EQ(extrema[0], 2.0);
  EXPECT_EQ(extrema[1], 2.0);
  EXPECT_NEAR(extrema[2], 1.0, 1e-14);
  EXPECT_NEAR(extrema[4], fastest, 1e-14);
  EXPECT_NEAR(energies[0], kinetic, 1e-12 * kinetic);
  EXPECT_NEAR(energies[1], 1.0 / (s.hydro.eos.gamma - 1.0), 1e-12);
}

TEST(Analysis, IsTheSameOnWorkersLocalitiesAndADevice) {
  const auto rows = [](unsigned n, unsigned workers, const std::vector<std::string>& sets) {
    std::vector<std::vector<double>> each(n);
    on_each(n, workers, [&](int i, step::exchange& net, runtime& rt) {
      const auto in = blast(sets);
      const setup s = in->prepare().value();
      simulation sim(*in, s, rt, n == 1 ? step::exchange::alone() : net);
      ASSERT_TRUE(sim.take_device());
      sim.start();
      while (!sim.finished()) ASSERT_TRUE(sim.step());
      sim.fetch();
      for (const char* name : {"rotation", "extrema", "energies"})
        for (const double value : row_of(name, sim)) each[i].push_back(value);
    });
    for (const auto& r : each) EXPECT_EQ(r, each[0]);
    return each[0];
  };
  const auto one = rows(1, 2, {});
  EXPECT_EQ(rows(1, 1, {}), one);
  EXPECT_EQ(rows(3, 2, {}), one);
  EXPECT_EQ(rows(1, 2, {"run.device=emulated"}), one);
}

TEST(Analysis, WritesATableForEachName) {
  const std::string folder = "run-analysis-" + std::to_string(getpid());
  const auto run_with = [&](const std::string& device) {
    std::filesystem::remove_all(folder);
    const auto in = blast({"run.max_steps=7", "output.analysis=[\"extrema\",\"rotation\"]",
                           "output.analysis_interval=3", "run.device=" + device});
    const setup s = in->prepare().value();
    runtime rt({.workers = 2});
    run_request request;
    request.out = folder;
    run_observer silent;
    const run_end end = run(*in, s, rt, request, silent);
    EXPECT_EQ(end.status, run_status::finished) << end.message;
    return read_file(folder + "/analysis_rotation.csv").value() + read_file(folder + "/analysis_extrema.csv").value();
  };
  const std::string text = run_with("cpu");
  EXPECT_EQ(text.find("step,time,centre_x,centre_y,centre_z,angular_momentum_x,"), 0u) << text;
  for (const char* row : {"\n0,0,", "\n3,0.", "\n6,0.", "\n7,0."}) EXPECT_NE(text.find(row), std::string::npos) << row;
  EXPECT_EQ(text.find("\n4,"), std::string::npos);
  EXPECT_EQ(run_with("emulated"), text);
  std::filesystem::remove_all(folder);
}

TEST(Analysis, UnknownAndRepeatedNamesAreRefused) {
  EXPECT_EQ(make_analysis("rotatoin").error().message,
            "output.analysis: expected names among energies, extrema, inertia, rotation; found 'rotatoin'");
  const auto twice = blast({"output.analysis=[\"extrema\",\"extrema\"]"});
  EXPECT_EQ(twice->prepare().error().message, "output.analysis: expected each name once, found 'extrema' twice");
}

/// Columns as given, with one value per cell: NaN in cells with x > 0.
class odd final : public analysis {
 public:
  explicit odd(std::vector<column> c) : columns_(std::move(c)) {}
  std::vector<column> columns() const override { return columns_; }
  void of_cell(const analysis_cell& c, double* values) const override {
    for (std::size_t v = 0; v < columns_.size(); ++v)
      values[v] = c.centre[0] > 0.0 ? std::numeric_limits<double>::quiet_NaN() : c.eos.gamma();
  }

 private:
  std::vector<column> columns_;
};

TEST(Analysis, NaNIsNotDropped) {
  const auto in = blast({"mesh.max_level=0"});
  const setup s = in->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in, s, rt);
  sim.start();
  const odd a(
      {{"a", "code"}, {"b", "code", analysis::reduction::largest}, {"c", "code", analysis::reduction::smallest}});
  for (const double value : rt.run([&] { return analyse(a, sim.state(), s.hydro, 2); })) EXPECT_TRUE(std::isnan(value));
}

TEST(Analysis, ColumnsThatNoTableCanHaveAreRefused) {
  const auto complaint = [](std::vector<analysis::column> c) {
    const auto checked = check_columns("odd", odd(std::move(c)));
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(complaint({{"height", "code"}}), "");
  EXPECT_EQ(complaint({}), "analysis 'odd': expected at least one column, found none");
  EXPECT_EQ(complaint({{"a", ""}, {"a", ""}}), "analysis 'odd': expected each column once, found 'a' twice");
  for (const char* name : {"time", "a,b", "", "Top", "a\nb"})
    EXPECT_NE(complaint({{name, ""}}).find("expected columns named by lower-case letters"), std::string::npos) << name;
}

}  // namespace
}  // namespace plx::star
