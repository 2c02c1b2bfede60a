// Slices, projections and profiles against sums over the cells, and the files of whole runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>

#include "base/file.hpp"
#include "mesh/files/athdf.hpp"
#include "star/driver/run.hpp"
#include "star/output/series/images.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

namespace fs = std::filesystem;
using namespace test;

/// A simulation after some steps, on levels 0 to 2.
struct after_steps {
  std::unique_ptr<input> in = blast({"run.max_steps=5"});
  setup s = in->prepare().value();
  runtime rt{{.workers = 2}};
  simulation sim{*in, s, rt};

  after_steps() {
    sim.start();
    while (!sim.finished()) EXPECT_TRUE(sim.step());
  }
  template <class F>
  auto task(F&& f) {
    return rt.run(std::forward<F>(f));
  }
  pixel_image image(const series_options& o, const std::vector<std::string>& names) {
    const auto v = find_variables(names).value();
    return task([&] { return paint(o, v, sim.state(), s.hydro); });
  }
  /// The value of a variable in the cell that holds a point.
  double value_at(const std::string& name, std::array<double, 3> x) {
    const std::vector<std::string> names{name};
    const auto v = find_variables(names).value();
    const gas& g = sim.state();
    std::vector<double> values(static_cast<std::size_t>(g.now.cells()));
    for (const mesh::slot_id b : g.mesh.blocks()) {
      const auto lower = g.mesh.lower(b);
      const double width = g.mesh.cell_width(b);
      std::array<int, 3> at{};
      bool inside = true;
      for (std::size_t a = 0; a < 3; ++a) {
        at[a] = static_cast<int>(std::floor((x[a] - lower[a]) / width));
        inside = inside && at[a] >= 0 && at[a] < g.mesh.block_size();
      }
      if (!inside) continue;
      fill_variables(v, g, s.hydro, b, values.data());
      const int n = g.mesh.block_size();
      return values[static_cast<std::size_t>((at[2] * n + at[1]) * n + at[0])];
    }
    ADD_FAILURE() << "no block";
    return 0.0;
  }
};

series_options of_kind(const std::string& kind) {
  series_options o;
  o.kind = kind;
  o.every_steps = 1;
  return o;
}

TEST(Variables, FollowFromTheConservedValues) {
  after_steps a;
  auto& g = const_cast<gas&>(a.sim.state());
  const int n = g.mesh.block_size();
  const auto cells = static_cast<std::size_t>(g.now.cells());
  const mesh::slot_id b = g.mesh.blocks()[3];
  for (std::size_t c = 0; c < cells; ++c) {  // rigid rotation about z
    const double x = g.mesh.centre(b, 0, int(c) % n), y = g.mesh.centre(b, 1, int(c) / n % n);
    to_conserved(a.s.hydro.eos, {.density = 2.0, .velocity = {-y, x, 0.5}, .pressure = 3.0, .fraction = {}}, 0,
                 g.now.block(b) + c, static_cast<std::ptrdiff_t>(cells));
  }
  auto all = all_variables();
  std::erase_if(all, [](const output_variable& v) { return v.needs_gravity(); });
  std::vector<double> values(all.size() * cells);
  fill_variables(all, g, a.s.hydro, b, values.data());
  for (std::size_t c = 0; c < cells; ++c) {
    const double x = g.mesh.centre(b, 0, int(c) % n), y = g.mesh.centre(b, 1, int(c) / n % n);
    const double speed = std::sqrt(x * x + y * y + 0.25), sound = std::sqrt(1.4 * 1.5);
    const std::map<std::string, double> expected{{"density", 2.0},
                                                 {"velocity_x", -y},
                                                 {"velocity_y", x},
                                                 {"velocity_z", 0.5},
                                                 {"pressure", 3.0},
                                                 {"momentum_x", -2 * y},
                                                 {"momentum_y", 2 * x},
                                                 {"momentum_z", 1.0},
                                                 {"energy", 7.5 + speed * speed},
                                                 {"internal_energy", 7.5},
                                                 {"kinetic_energy", speed * speed},
                                                 {"speed", speed},
                                                 {"p_over_rho", 1.5},
                                                 {"temperature", 1.5},
                                                 {"sound_speed", sound},
                                                 {"mach", speed / sound},
                                                 {"vorticity_x", 0.0},
                                                 {"vorticity_y", 0.0},
                                                 {"vorticity_z", 2.0},
                                                 {"level", g.mesh.level(b)}};
    ASSERT_EQ(expected.size(), all.size());
    for (std::size_t v = 0; v < all.size(); ++v)
      ASSERT_NEAR(values[v * cells + c], expected.at(all[v].name), 1e-11) << all[v].name;
  }
}

TEST(Slices, HaveTheValuesOfTheCellsThatTheyCut) {
  after_steps a;
  for (const std::string axis : {"x", "y", "z"}) {
    series_options o = of_kind("slice");
    o.axis = axis;
    o.position = "0.11";
    const auto image = a.image(o, {"density", "pressure"});
    ASSERT_EQ(image.level, 2);
    ASSERT_EQ(image.centres[0].size(), 64u);
    ASSERT_EQ(image.edges[1].size(), 65u);
    EXPECT_EQ(image.edges[0].front(), -0.5);
    EXPECT_EQ(image.edges[0].back(), 0.5);
    const std::size_t normal = static_cast<std::size_t>(o.axis_index()), first = normal == 0 ? 1 : 0,
                      second = normal == 2 ? 1 : 2;
    EXPECT_EQ(image.axes[0], std::string(1, "xyz"[first]));
    for (std::size_t j = 0; j < 64; j += 3)
      for (std::size_t i = 0; i < 64; i += 3) {
        std::array<double, 3> x{};
        x[normal] = 0.11, x[first] = image.centres[0][i], x[second] = image.centres[1][j];
        ASSERT_EQ(image.values[0][j * 64 + i], a.value_at("density", x));
        ASSERT_EQ(image.values[1][j * 64 + i], a.value_at("pressure", x));
      }
  }
}

TEST(Slices, AtFacesAndAtTheEndOfTheBoxCutOneLayer) {
  after_steps a;
  series_options o = of_kind("slice");
  for (const std::string position : {"-0.5", "0", "0.5", "middle"}) {
    o.position = position;
    const auto image = a.image(o, {"density"});
    for (const double v : image.values[0]) ASSERT_GT(v, 0.0) << position;
  }
  EXPECT_EQ(o.position_in(a.s.domain), 0.0);
}

TEST(Slices, OfALowerLevelAreMeans) {
  after_steps a;
  series_options fine = of_kind("slice"), coarse = fine;
  coarse.level = 0;
  const auto f = a.image(fine, {"density"}), c = a.image(coarse, {"density"});
  ASSERT_EQ(c.centres[0].size(), 16u);
  for (std::size_t j = 0; j < 16; ++j)
    for (std::size_t i = 0; i < 16; ++i) {
      double sum = 0.0;
      for (std::size_t q = 0; q < 4; ++q)
        for (std::size_t p = 0; p < 4; ++p) sum += f.values[0][(4 * j + q) * 64 + 4 * i + p];
      ASSERT_NEAR(c.values[0][j * 16 + i], sum / 16, 1e-14 * sum);
    }
}

TEST(Projections, AddUpToTheMassAndToTheMomentum) {
  after_steps a;
  const std::vector<double> totals = a.sim.totals();
  for (const std::string axis : {"x", "y", "z"})
    for (const int level : {-1, 0, 1}) {
      series_options integral = of_kind("projection"), mean = integral;
      integral.axis = mean.axis = axis;
      integral.level = mean.level = level;
      mean.weight = "mass";
      const auto surface = a.image(integral, {"density", "energy"}), velocity = a.image(mean, {"velocity_x"});
      const double width = surface.edges[0][1] - surface.edges[0][0];
      double mass = 0.0, energy = 0.0, momentum = 0.0;
      for (std::size_t i = 0; i < surface.values[0].size(); ++i) {
        mass += surface.values[0][i] * width * width;
        energy += surface.values[1][i] * width * width;
        momentum += surface.values[0][i] * velocity.values[0][i] * width * width;
      }
      EXPECT_NEAR(mass, totals[i_density], 1e-13);
      EXPECT_NEAR(energy, totals[i_energy], 1e-12);
      EXPECT_NEAR(momentum, totals[i_momentum], 1e-13);
    }
}

TEST(Shells, AddUpToTheMassAndHaveTheExtremes) {
  after_steps a;
  series_options o = of_kind("profile");
  o.bins = 20;
  o.centre = {0.11, -0.07, 0.2};
  const std::vector<std::string> names{"density", "level"};
  const auto v = find_variables(names).value();
  const std::string table =
      a.task([&] { return shell_table(o, v, a.sim.state(), a.s.hydro, 2, a.sim.steps(), a.sim.time()); });
  std::istringstream lines(table);
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line,
            "step,time,r_inner,r_outer,cells,volume,mass,density,density_min,density_max,level,level_min,level_max");
  double mass = 0.0, volume = 0.0, cells = 0.0, smallest = 1e9, largest = 0.0;
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    std::vector<double> row;
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, ',');) row.push_back(std::stod(word));
    ASSERT_EQ(row.size(), 13u);
    EXPECT_EQ(row[0], 5.0);
    cells += row[4], volume += row[5], mass += row[6];
    if (row[4] == 0.0) continue;
    EXPECT_LE(row[8], row[7]);
    EXPECT_LE(row[7], row[9]);
    smallest = std::min(smallest, row[8]), largest = std::max(largest, row[9]);
  }
  EXPECT_EQ(rows, 20);
  EXPECT_EQ(cells, static_cast<double>(a.sim.state().cell_count()));
  EXPECT_NEAR(volume, 1.0, 1e-13);
  EXPECT_NEAR(mass, a.sim.totals()[i_density], 1e-13);
  const auto image = a.image(of_kind("slice"), {"density"});
  for (const double d : image.values[0]) {
    EXPECT_GE(d, smallest);
    EXPECT_LE(d, largest);
  }
}

// A star of mass and radius 1: outside, -1 / r and 1 / r^2; inside, the temperature is the pressure over the density.
TEST(Shells, HaveThePotentialOfAStar) {
  const auto in =
      input::from_text("[problem]\nname = \"polytrope\"\n", "t",
                       {"mesh.root_blocks=[4,4,4]", "mesh.lower=[-2,-2,-2]", "mesh.upper=[2,2,2]", "gravity.self=true",
                        "gravity.constant=1", "gravity.order=3", "gravity.theta=0.5", "hydro.gamma=1.6666666666666667",
                        "polytrope.radius=1", "refinement.gradient_of=[]", "run.max_steps=1"});
  ASSERT_TRUE(in) << in.error().message;
  const setup s = in.value()->prepare().value();
  runtime rt({.workers = 2});
  simulation sim(*in.value(), s, rt);
  sim.start();
  series_options o = of_kind("profile");
  o.weight = "volume", o.bins = 3, o.radii = {0.0, 1.8};
  const std::vector<std::string> names{"potential", "acceleration_x", "temperature", "p_over_rho"};
  const auto v = find_variables(names).value();
  for (const int steps : {0, 1}) {
    if (steps == 1) {
      ASSERT_TRUE(sim.step());
    }
    const gravity_field* const field = &sim.gravity();
    const std::string table = rt.run([&] { return shell_table(o, v, sim.state(), s.hydro, 2, steps, 0.0, field); });
    const std::string last = table.substr(table.rfind('\n', table.size() - 2) + 1);  // from 1.2 to 1.8
    std::vector<double> row;
    std::istringstream words(last);
    for (std::string word; std::getline(words, word, ',');) row.push_back(std::stod(word));
    ASSERT_EQ(row.size(), 19u);
    EXPECT_NEAR(row[8], -1.0 / 1.2, 0.02);   // smallest potential
    EXPECT_NEAR(row[9], -1.0 / 1.8, 0.01);   // largest one
    EXPECT_NEAR(row[10], 0.0, 1e-3);         // mean acceleration
    EXPECT_NEAR(row[12], 1.0 / 1.44, 0.04);  // largest one along x
    EXPECT_NEAR(row[13], row[16], 1e-6 * row[16]);
  }
}

TEST(Variables, GravityIsNeededForThePotential) {
  const auto error_of = [](const std::string& gravity) {
    auto in =
        input::from_text("[problem]\nname = \"polytrope\"\n", "t",
                         {"gravity.self=" + gravity,
                          "output.series=[{kind=\"slice\",variables=[\"density\",\"potential\"],every_steps=1}]"});
    EXPECT_TRUE(in) << in.error().message;
    const auto s = in.value()->prepare();
    return s ? std::string() : s.error().message;
  };
  EXPECT_EQ(error_of("true"), "");
  EXPECT_EQ(error_of("false"),
            "output.series, number 1 ('slice_1'): variable 'potential': expected gravity.self = true, found false");
}

class SeriesFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plx_series_" + std::to_string(getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::unique_ptr<input> request(std::vector<std::string> more) {
    more.insert(
        more.begin(),
        {"units.length=\"2 cm\"", "units.mass=3", "units.time=5",
         "output.series=[{kind=\"mesh\",name=\"cells\",variables=[\"density\",\"mach\"],every_steps=4},"
         "{kind=\"slice\",axis=\"y\",variables=[\"density\",\"vorticity_z\"],every_steps=3,precision=\"double\"},"
         "{kind=\"projection\",name=\"column\",weight=\"mass\",variables=[\"p_over_rho\"],every_time=0.004},"
         "{kind=\"profile\",name=\"shells\",variables=[\"density\",\"speed\"],bins=12,every_steps=5}]"});
    return blast(more);
  }

  void run_once(const std::string& name, const std::vector<std::string>& more, unsigned workers = 2,
                const std::string& checkpoint = "") {
    const auto in = request(more);
    const setup s = in->prepare().value();
    runtime rt({.workers = workers});
    run_request r;
    r.out = folder_ / name;
    r.resume_checkpoint = checkpoint;
    run_observer silent;
    const run_end end = run(*in, s, rt, r, silent);
    EXPECT_EQ(end.status, run_status::finished) << end.message;
  }

  void run_on_localities(unsigned n, const std::string& name, const std::vector<std::string>& more) {
    run_request r;
    r.out = folder_ / name;
    net::test::localities job(n, 2);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < n; ++i)
      threads.emplace_back([&, i] {
        const auto in = request(more);
        const setup s = in->prepare().value();
        step::exchange net(job.at(i));
        run_observer silent;
        const run_end end = run(*in, s, job.at(i).home(), r, silent, net);
        EXPECT_EQ(end.status, run_status::finished) << end.message;
      });
    for (auto& t : threads) t.join();
  }

  /// The files of the series by name; without those of meshes, which contain measured times.
  std::map<std::string, std::string> files(const std::string& name) const {
    std::map<std::string, std::string> all;
    for (const auto& e : fs::directory_iterator(folder_ / name / "series"))
      if (e.is_regular_file() && !e.path().filename().string().starts_with("cells"))
        all[e.path().filename()] = read_file(e.path()).value();
    return all;
  }
  std::string path(const std::string& name) const { return folder_ / name; }

  fs::path folder_;
};

TEST_F(SeriesFiles, AreTheSameForWorkersLocalitiesAndADevice) {
  const std::vector<std::string> steps{"run.max_steps=10"};
  run_once("one", steps);
  const auto one = files("one");
  for (const char* name : {"slice_2.00000.h5", "slice_2.00003.h5", "slice_2.00004.h5", "column.00000.h5",
                           "column.00001.h5", "shells.00000.csv", "shells.00002.csv"})
    EXPECT_EQ(one.count(name), 1u) << name;
  EXPECT_EQ(one.count("slice_2.00005.h5"), 0u);  // of steps 0, 3, 6, 9 and 10
  EXPECT_EQ(one.count("shells.00003.csv"), 0u);  // of steps 0, 5 and 10: one file for the end
  run_once("other", steps, 1);
  EXPECT_TRUE(files("other") == one);
  run_once("device", {"run.max_steps=10", "run.device=emulated"});
  EXPECT_TRUE(files("device") == one);
  run_on_localities(3, "three", steps);
  EXPECT_TRUE(files("three") == one);
  for (const char* run : {"one", "device", "three"})
    for (const char* name : {"/series/cells.00000.athdf", "/series/cells.00003.athdf", "/series/cells.00003.xdmf"})
      EXPECT_TRUE(fs::exists(path(run) + name)) << run << name;
  EXPECT_EQ(mesh::athdf_step(path("three") + "/series/cells.00003.athdf"), 10);
}

// Two species with names and weights: the columns, the variables, and the temperature of the mixture of each cell.
TEST_F(SeriesFiles, SpeciesHaveTheirNamesAndTheMixtureItsTemperature) {
  const std::vector<std::string> sets{"problem.name=expressions",
                                      "mesh.max_level=0",
                                      "expressions.pressure=2",
                                      "expressions.species=[\"x+0.5\",\"0.5-x\"]",
                                      "species.names=[\"helium\",\"carbon\"]",
                                      "species.weights=[1.25,2]",
                                      "units.length=cm",
                                      "units.mass=g",
                                      "units.time=s",
                                      "run.max_steps=1",
                                      "output.history_interval=1",
                                      "output.series=[{kind=\"slice\",variables=[\"carbon\"],every_steps=1}]"};
  const auto in = blast(sets);
  const setup s = in->prepare().value();
  const std::vector<std::string> names{"temperature", "carbon", "pressure", "density"};
  const auto variables = find_variables(names, s.species);
  ASSERT_TRUE(variables) << variables.error().message;
  gas g(s);
  const mesh::slot_id slot = g.mesh.blocks()[0];
  fill_from_problem(*in->problem, g.mesh, slot, 0.0, g.now.block(slot));
  std::vector<double> values(4 * 512);
  fill_variables(*variables, g, s.hydro, slot, values.data());
  double least = 1.0;
  for (std::size_t c = 0; c < 512; ++c) {
    const double carbon = values[512 + c], weight = 1.0 / ((1.0 - carbon) / 1.25 + carbon / 2.0);
    EXPECT_NEAR(values[c], weight * values[1024 + c] / values[1536 + c], 1e-13);
    least = std::min(least, carbon);
  }
  EXPECT_LT(least, 0.6);                                                // the mixture varies
  const double boltzmann_over_mass = 1.380649e-16 / 1.66053906660e-24;  // erg/(g K)
  EXPECT_NEAR(s.kelvin * boltzmann_over_mass, 1.0, 1e-8);
  const auto in_mesh = variables_of_mesh_files(s.species);
  EXPECT_EQ(in_mesh.at(5).name_in_mesh, "helium");
  EXPECT_EQ(variables_of_mesh_files(species_list::numbered(2)).at(6).name_in_mesh, "s1");

  run_once("named", sets);
  const std::string history = read_file(path("named") + "/history.csv").value();
  for (const char* column : {",helium,carbon", ",from_floors_carbon", ",out_helium"})
    EXPECT_NE(history.substr(0, history.find('\n')).find(column), std::string::npos) << column;
  EXPECT_FALSE(files("named").empty());
}

// The mesh changes after step 2.
TEST_F(SeriesFiles, OfThePotentialAreTheSameForLocalitiesAndADevice) {
  const std::vector<std::string> sets{
      "gravity.self=true",
      "gravity.constant=0.5",
      "gravity.order=3",
      "gravity.theta=0.5",
      "run.max_steps=3",
      "eos.molecular_weight=0.6",
      "output.series=[{kind=\"mesh\",name=\"cells\",variables=[\"potential\"],every_steps=1},"
      "{kind=\"slice\",variables=[\"potential\",\"temperature\"],every_steps=1,precision=\"double\"},"
      "{kind=\"profile\",variables=[\"acceleration_z\"],bins=4,every_steps=2}]"};
  const auto with = [&](const std::string& last) {
    auto all = sets;
    all.push_back(last);
    return all;
  };
  run_once("one", sets);
  const auto one = files("one");
  EXPECT_EQ(one.size(), 4u + 3u);
  run_once("device", with("run.device=emulated"));
  EXPECT_TRUE(files("device") == one);
  run_on_localities(3, "three", sets);
  EXPECT_TRUE(files("three") == one);
}

TEST_F(SeriesFiles, ContinueAfterAResumeWithoutDuplicates) {
  run_once("whole", {"run.max_steps=11"});
  run_once("parts", {"run.max_steps=7"});
  run_once("parts", {"run.max_steps=11"}, 2, newest_checkpoint(path("parts")).value());
  EXPECT_TRUE(files("parts") == files("whole"));
  const auto count = [&](const std::string& run) {
    const auto all = fs::directory_iterator(path(run) + "/series");
    return std::distance(fs::begin(all), fs::end(all));
  };
  EXPECT_EQ(count("parts"), count("whole"));
}

TEST_F(SeriesFiles, OfWallTimeAreWrittenToo) {
  const auto in = blast({"run.max_steps=4", "output.series=[{kind=\"profile\",every_wall_s=1e-9}]"});
  const setup s = in->prepare().value();
  runtime rt({.workers = 1});
  run_request r;
  r.out = path("wall");
  run_observer silent;
  EXPECT_EQ(run(*in, s, rt, r, silent).status, run_status::finished);
  EXPECT_EQ(files("wall").size(), 5u);  // of steps 0 to 4
}

TEST_F(SeriesFiles, TooLargeForSinglePrecisionIsAnError) {
  const auto in = blast({"run.max_steps=1", "sedov.density=1e39", "sedov.pressure=1e39", "sedov.energy=1e39",
                         "output.precision=double", "output.mesh_at_start=false",
                         "output.series=[{kind=\"slice\",every_steps=1}]"});
  const setup s = in->prepare().value();
  runtime rt({.workers = 1});
  run_request r;
  r.out = path("large");
  run_observer silent;
  const run_end end = run(*in, s, rt, r, silent);
  EXPECT_EQ(end.status, run_status::failed);
  EXPECT_THAT(end.message,
              testing::HasSubstr("does not fit into single precision; set precision = \"double\" in this"));
}

}  // namespace
}  // namespace plx::star
