#include "qmc/dca/output.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "io/hdf5_file.hpp"

namespace plx::qmc {
namespace {

std::string content(const std::string& path) {
  std::ostringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}

TEST(DcaOutput, TablesHaveAHeaderOnceAndOneRowEach) {
  const auto folder = std::filesystem::temp_directory_path() / ("plx_dca_output_" + std::to_string(getpid()));
  std::filesystem::remove_all(folder);
  const auto c = cluster::named("2x2").value();
  std::optional<dca_output> first = dca_output::create(folder.string(), "# all options\n").value();
  auto& out = *first;
  dca_iteration i;
  i.t = 0.5;
  EXPECT_TRUE(out.add(i));
  i.iteration = 1;
  EXPECT_TRUE(out.add(i));
  dca_temperature t;
  t.t = 0.5;
  t.green = t.self_energy = t.green_error = t.self_energy_error = matsubara_function(4, 3);
  t.occupation.resize(4);
  EXPECT_TRUE(out.add(t, c));
  t.pairs = real_matrix(8, 8);
  t.pairs(1, 0) = 0.5;
  t.green(1, 2) = {0.25, -0.5};
  t.four_points.push_back(
      {{four_point_channel::charge, 3, 1}, complex_matrix(8, 8), {2, 0.1}, {3, 0.2}, {1, 0}, {0.5, 0}});
  t.four_points[0].mean(1, 0) = {0.75, -1};
  EXPECT_TRUE(out.add(t, c));
  {
    const auto lock = hdf5_lock();
    const auto functions = hdf5_reader::open((folder / "functions/T0.5.h5").string());
    ASSERT_TRUE(functions);
    std::vector<double> green, pairs, frequencies, charge;
    EXPECT_TRUE(functions->whole("Green", green) && functions->whole("PairFunction", pairs) &&
                functions->whole("Frequencies", frequencies) && functions->whole("FourPoint_charge_q3_m1", charge));
    ASSERT_EQ(charge.size(), 128u);
    EXPECT_EQ(charge[16], 0.75);
    EXPECT_EQ(charge[17], -1);
    ASSERT_EQ(green.size(), 24u);
    EXPECT_EQ(green[2 * 5], 0.25);
    EXPECT_EQ(green[2 * 5 + 1], -0.5);
    EXPECT_EQ(pairs[8], 0.5);
    EXPECT_NEAR(frequencies[2], 2.5 * M_PI, 1e-12);
  }
  t.correlations.emplace();
  for (auto* of : {&t.correlations->spin, &t.correlations->charge, &t.correlations->spin_susceptibility,
                   &t.correlations->charge_susceptibility}) {
    of->of_site.resize(4);
    of->of_momentum.resize(4);
  }
  t.d_wave = estimate{0.25, 0.01};
  EXPECT_TRUE(out.add(t, c));
  dca_outcome outcome;
  outcome.transition = estimate{0.076, 0.002};
  EXPECT_TRUE(out.finish(outcome));

  const auto iterations = content(folder / "iterations.csv");
  EXPECT_EQ(std::count(iterations.begin(), iterations.end(), '\n'), 3);
  // Every row has as many cells as the header.
  for (const char* file :
       {"iterations.csv", "temperatures.csv", "green.csv", "momenta.csv", "sites.csv", "four_points.csv"}) {
    std::istringstream lines(content(folder / file));
    std::string header, line;
    std::getline(lines, header);
    while (std::getline(lines, line))
      EXPECT_EQ(std::count(line.begin(), line.end(), ','), std::count(header.begin(), header.end(), ',')) << file;
  }
  EXPECT_NE(content(folder / "four_points.csv").find("\n0.5,charge,3.141592654,3.141592654,1,3,0.2,2,0.1,1,0,0.5,0\n"),
            std::string::npos);
  EXPECT_EQ(content(folder / "result.json"), "{\"t_c\": {\"value\": 0.076, \"error\": 0.002}, \"complete\": true}\n");
  const auto locked = dca_output::create(folder.string(), "");
  ASSERT_FALSE(locked);
  EXPECT_NE(locked.error().message.find("in use by process"), std::string::npos);
  first.reset();
  const auto again = dca_output::create(folder.string(), "");
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("another run"), std::string::npos);
  std::filesystem::remove_all(folder);
}

// A checkpoint that cannot be written: the parts of the one before stay, and those of the new one do not.
TEST(DcaOutput, AFailureRemovesTheNewParts) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "plx_dca_output_failure";
  std::filesystem::remove_all(folder);
  auto out = dca_output::create(folder.string(), "").value();
  const auto part = [&](std::uint64_t mark, std::size_t index) {
    return checkpoint_part_file(folder.string(), mark, index);
  };
  dca_state s;
  s.walkers = {{1}, {2}};
  for (const std::uint64_t mark : {1, 2}) {
    for (const std::size_t index : {0, 1}) std::ofstream(part(mark, index)) << "functions";
    s.functions = {mark, {0, 1, 2}, {3, 4}};
    if (mark == 2) {
      std::filesystem::remove(folder / "checkpoint.h5");
      std::filesystem::create_directory(folder / "checkpoint.h5");
    }
    EXPECT_EQ(out.add(s).has_value(), mark == 1);
    EXPECT_TRUE(out.checkpoint().state.walkers.empty());
    for (const std::size_t index : {0, 1}) {
      EXPECT_TRUE(std::filesystem::exists(part(1, index))) << mark;
      EXPECT_FALSE(std::filesystem::exists(part(2, index)));
    }
  }
  std::filesystem::remove_all(folder);
}

// Parts whose walkers overlap or are missing, in a file that is otherwise complete.
TEST(DcaOutput, PartsOfOtherWalkersAreDamage) {
  const std::string path = testing::TempDir() + "plx_dca_parts.h5";
  dca_checkpoint c;
  c.state.walkers = {{1}, {2}, {3}};
  for (const auto& [firsts, valid] : {std::pair(std::vector<std::uint64_t>{0, 2, 3}, true),
                                      {{0, 4, 3}, false},
                                      {{1, 2, 3}, false},
                                      {{0, 2, 2}, false}}) {
    c.state.functions = {7, firsts, {1, 2}};
    ASSERT_TRUE(write_dca_checkpoint(path, c));
    const auto found = read_dca_checkpoint(path);
    ASSERT_EQ(found.has_value(), valid) << firsts[0] << firsts[1] << firsts[2];
    if (valid) {
      EXPECT_EQ(found->state.functions.firsts, firsts);
    } else {
      EXPECT_NE(found.error().message.find("its state is incomplete"), std::string::npos);
    }
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace plx::qmc
