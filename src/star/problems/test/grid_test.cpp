// The problem grid: values between the points of a file, averages, units, and files that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "base/file.hpp"
#include "io/hdf5_file.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;
using testing::HasSubstr;

/// 4 x 5 x 6 points (x, y, z) of which f(x, y, z) is the density, from (-0.3, -0.4, -0.5) on, 0.2 apart.
class Grid : public testing::Test {
 protected:
  using field = std::function<double(double, double, double)>;
  static constexpr int n[3] = {4, 5, 6};
  static constexpr double first[3] = {-0.3, -0.4, -0.5};

  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() / ("plx_grid_" + std::to_string(getpid()) + ".h5");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  /// The option that names a file with these fields; `x_step`: of the third coordinate along x.
  std::string file(const std::vector<std::pair<std::string, field>>& fields, double x_step = 0.2) {
    const auto lock = hdf5_lock();
    auto out = hdf5_writer::create(path_, 1 << 20).value();
    for (int a = 0; a < 3; ++a) {
      std::vector<double> x;
      for (int i = 0; i < n[a]; ++i) x.push_back(first[a] + 0.2 * i);
      if (a == 0) x[2] = x[1] + x_step;
      out.dataset(std::string(1, "xyz"[a]), {x.size()}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, x.data());
    }
    for (const auto& [name, f] : fields) {
      std::vector<double> v;
      for (int k = 0; k < n[2]; ++k)
        for (int j = 0; j < n[1]; ++j)
          for (int i = 0; i < n[0]; ++i) v.push_back(f(first[0] + 0.2 * i, first[1] + 0.2 * j, first[2] + 0.2 * k));
      out.dataset(name, {6, 5, 4}, H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, v.data());
    }
    EXPECT_TRUE(out.commit());
    return "grid.file=" + path_;
  }
  /// The error of building the problem from these options.
  std::string complaint(const std::vector<std::string>& options) {
    const auto built = prepared("grid", options)->build();
    return built ? "" : built.error().message;
  }
  std::string path_;
};

double linear(double x, double y, double z) { return 4.0 + x + 2.0 * y - 3.0 * z; }

TEST_F(Grid, IsLinearBetweenItsPoints) {
  const auto p = prepared("grid", {file({{"density", linear},
                                         {"pressure", [](double, double, double) { return 2.5; }},
                                         {"velocity_y", [](double x, double, double) { return x; }}}),
                                   "grid.shift=[0.01,0,0]", "grid.velocity=[1,0,0]"});
  const primitive w = p->at({0.06, -0.13, 0.21}, 0);
  EXPECT_NEAR(w.density, linear(0.05, -0.13, 0.21), 1e-6);  // single precision
  EXPECT_NEAR(w.pressure, 2.5, 1e-6);
  EXPECT_EQ(w.velocity[0], 1.0);
  EXPECT_NEAR(w.velocity[1], 0.05, 1e-6);
  EXPECT_EQ(w.velocity[2], 0.0);
  EXPECT_NEAR(p->at({10.0, -0.13, 0.21}, 0).density, linear(0.3, -0.13, 0.21), 1e-6);  // the nearest
  const box b(8, 0.5);  // averages of a linear function are its values at the centres
  const auto u = b.fill(*p);
  double mass = 0.0;
  for (std::size_t c = 0; c < b.size(); ++c) mass += u[c] * b.volume();
  EXPECT_NEAR(mass, (4.0 - 0.01) * 0.125, 1e-6);
}

TEST_F(Grid, TakesInternalEnergyUnitsAndTheAmbient) {
  problem_setting s;
  s.code_units = {.length_cm = 2.0, .mass_g = 16.0, .time_s = 4.0, .known = true};  // 2 g/cm^3, 0.5 cm/s
  const auto one = [](double, double, double) { return 1.0; };
  const auto p = prepared("grid",
                          {file({{"density", one}, {"internal_energy", one}, {"velocity_x", one}}), "grid.cgs=true",
                           "grid.ambient_density=1e-3", "grid.ambient_pressure=1e-4"},
                          s);
  const primitive w = p->at({0.0, 0.0, 0.0}, 0), outside = p->at({0.21, 0.0, 0.0}, 0);
  EXPECT_DOUBLE_EQ(w.density, 0.5);
  EXPECT_DOUBLE_EQ(w.pressure, 0.4 * 0.5 * 4.0);
  EXPECT_DOUBLE_EQ(w.velocity[0], 2.0);
  EXPECT_EQ(outside.density, 1e-3);  // beyond (0.3 + 0.1) / 2
  EXPECT_EQ(outside.pressure, 1e-4);
  EXPECT_EQ(outside.velocity[0], 0.0);
}

TEST_F(Grid, FilesThatDoNotFitAreRefusedByName) {
  const auto one = [](double, double, double) { return 1.0; };
  EXPECT_THAT(complaint({"grid.file=/no/such/file"}), HasSubstr("/no/such/file"));
  write_file(path_, "x y z density\n").value();
  EXPECT_THAT(complaint({"grid.file=" + path_}), HasSubstr(path_ + ": expected an HDF5 file"));
  EXPECT_THAT(complaint({file({{"density", one}})}), HasSubstr("'internal_energy' (per mass), found neither"));
  EXPECT_THAT(
      complaint({file({{"pressure", one}})}),
      HasSubstr("dataset 'density': expected 6 x 5 x 4 numbers ([z][y][x], as many as coordinates), found none"));
  EXPECT_THAT(complaint({file({{"density", [](double, double, double z) { return z; }}, {"pressure", one}})}),
              HasSubstr("dataset 'density': expected finite numbers above 0, found -0.5 at [0][0][0]"));
  EXPECT_THAT(complaint({file({{"density", one}, {"pressure", one}}, 0.25)}),
              HasSubstr("dataset 'x': expected ascending coordinates at equal distances, found 0.15"));
  EXPECT_TRUE(test::is_refused("grid", "grid.file="));
  const std::string good = file({{"density", one}, {"pressure", one}});
  EXPECT_EQ(complaint({good, "grid.shift=[0.89,0,0]"}), "");
  EXPECT_THAT(complaint({good, "grid.shift=[0,-1.1,0]"}), HasSubstr("to 0.5 along y, found one from -1.6 to -0.6"));
  EXPECT_THAT(complaint({good, "grid.shift=[0,0,1e308]"}), HasSubstr("along z, found one from 1e+308 to 1e+308"));
}

}  // namespace
}  // namespace plx::star
