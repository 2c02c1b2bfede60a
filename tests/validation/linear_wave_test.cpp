// Smooth waves: order at least 1.9; waves in both directions have bitwise equal errors.
#include <fmt/format.h>

#include "harness.hpp"

namespace plx::star::validation {
namespace {

struct wave {
  const char* name;
  double flow;
};

// One wavelength along x in n cells; the box is one block across.
std::vector<std::string> along_x(const wave& w, int n, int sign) {
  const double half = 0.5 * 8 / n;
  return {fmt::format("linear_wave.wave={}", w.name),   fmt::format("linear_wave.flow={}", w.flow),
          fmt::format("linear_wave.sign={}", sign),     "linear_wave.direction=[1,0,0]",
          "mesh.root_blocks=" + array({n / 8.0, 1, 1}), "mesh.lower=" + array({-0.5, -half, -half}),
          "mesh.upper=" + array({0.5, half, half}),     "run.t_end=1.0"};
}

// One wavelength along each axis, in n^3 cells.
std::vector<std::string> oblique(const wave& w, int n, int sign) {
  return {fmt::format("linear_wave.wave={}", w.name), fmt::format("linear_wave.flow={}", w.flow),
          fmt::format("linear_wave.sign={}", sign), "linear_wave.direction=[1,1,1]",
          "mesh.root_blocks=" + array({n / 8.0, n / 8.0, n / 8.0})};
}

constexpr wave waves[] = {{"sound", 0.0}, {"entropy", 1.0}, {"shear1", 1.0}, {"shear2", 1.0}};

// Amplitude 1e-4: sound waves are exact up to its square, 1e-8, well below the errors.
TEST(LinearWave, AlongX) {
  table t("linear waves along x, one period, PPM + HLLC + RK3");
  for (const wave& w : waves) {
    double coarser = 0.0;
    for (const int n : {32, 64, 128}) {
      const double right = solved("linear_wave", along_x(w, n, 1)).run().l1_all();
      const double left = solved("linear_wave", along_x(w, n, -1)).run().l1_all();
      const std::string what = fmt::format("{}, {} cells: L1 of all variables", w.name, n);
      if (coarser > 0.0)
        t.with_order(what, right, coarser, 1.9);
      else
        t.note(what, right);
      t.holds(fmt::format("{}, {} cells: left- and right-going errors are equal", w.name, n), left == right);
      coarser = right;
    }
  }
}

TEST(LinearWave, Oblique) {
  table t("linear waves along (1,1,1), one period, PPM + HLLC + RK3");
  for (const wave& w : waves) {
    const double coarser = solved("linear_wave", oblique(w, 16, 1)).run().l1_all();
    const double left = solved("linear_wave", oblique(w, 16, -1)).run().l1_all();
    t.note(fmt::format("{}, 16^3 cells: L1 of all variables", w.name), coarser);
    t.holds(fmt::format("{}, 16^3 cells: left- and right-going errors are equal", w.name), left == coarser);
    if (&w == waves) continue;  // sound is the steepest: 16^3 is too coarse to show its order
    t.with_order(fmt::format("{}, 32^3 cells: L1 of all variables", w.name),
                 solved("linear_wave", oblique(w, 32, 1)).run().l1_all(), coarser, 1.9);
  }
}

// Slow.
TEST(LinearWave, ObliqueSound) {
  table t("sound wave along (1,1,1), one period, PPM + HLLC + RK3");
  const double coarser = solved("linear_wave", oblique(waves[0], 32, 1)).run().l1_all();
  t.note("sound, 32^3 cells: L1 of all variables", coarser);
  t.with_order("sound, 64^3 cells: L1 of all variables", solved("linear_wave", oblique(waves[0], 64, 1)).run().l1_all(),
               coarser, 1.9);
}

std::vector<std::string> with_full3d(std::vector<std::string> sets) {
  sets.push_back(full3d);
  return sets;
}

TEST(LinearWave, Full3dAlongX) {
  table t("linear waves along x, one period, full3d");
  for (const wave& w : waves) {
    const double coarser = solved("linear_wave", with_full3d(along_x(w, 32, 1))).run().l1_all();
    const double left = solved("linear_wave", with_full3d(along_x(w, 32, -1))).run().l1_all();
    t.holds(fmt::format("{}, 32 cells: left- and right-going errors are equal", w.name), left == coarser);
    t.with_order(fmt::format("{}, 64 cells: L1 of all variables", w.name),
                 solved("linear_wave", with_full3d(along_x(w, 64, 1))).run().l1_all(), coarser, 1.9);
  }
}

// One wavelength along x and along y, in n x n x 8 cells.
std::vector<std::string> oblique_in_plane(const wave& w, int n, int sign) {
  auto sets = oblique(w, n, sign);
  for (const std::string& change :
       {std::string("linear_wave.direction=[1,1,0]"), "mesh.root_blocks=" + array({n / 8.0, n / 8.0, 1}),
        "mesh.lower=" + array({-0.5, -0.5, -4.0 / n}), "mesh.upper=" + array({0.5, 0.5, 4.0 / n}),
        std::string("run.t_end=0.7071067811865476")})
    sets.push_back(change);
  return sets;
}

// Order 1.9 needs finer meshes: on the diagonal a wave covers half as many cells.
void check_in_plane(table& t, const wave& w) {
  const double coarser = solved("linear_wave", with_full3d(oblique_in_plane(w, 32, 1))).run().l1_all();
  t.with_order(fmt::format("{}, 64^2 cells: L1 of all variables", w.name),
               solved("linear_wave", with_full3d(oblique_in_plane(w, 64, 1))).run().l1_all(), coarser, 1.8);
  const double left = solved("linear_wave", with_full3d(oblique_in_plane(w, 32, -1))).run().l1_all();
  t.holds(fmt::format("{}, 32^2 cells: left- and right-going errors are equal", w.name), left == coarser);
}

TEST(LinearWave, Full3dOblique) {
  table t("sound wave along (1,1,0), one period, full3d");
  check_in_plane(t, waves[0]);
}

// Slow.
TEST(LinearWave, Full3dObliqueOthers) {
  table t("linear waves along (1,1,0), one period, full3d: the others; the sound wave along (1,1,1)");
  for (const wave& w : waves)
    if (&w != waves) check_in_plane(t, w);
  const double coarser = solved("linear_wave", with_full3d(oblique(waves[0], 24, 1))).run().l1_all();
  t.with_order("sound, 48^3 cells, along (1,1,1): L1 of all variables",
               solved("linear_wave", with_full3d(oblique(waves[0], 48, 1))).run().l1_all(), coarser, 1.9);
}

// In a flow at Mach 5 along the diagonal of the plane, at large Courant numbers. The flow carries
// the wave through the cells: its error is that of advection, and an unstable one would be orders of magnitude larger.
TEST(LinearWave, InObliqueFlowAtMach5) {
  table t("linear waves along (1,1,0) in a flow at Mach 5, one period, PPM + HLLC");
  const std::pair<const char*, const char*> steps[] = {{"rk3", "0.6"}, {"rk3", "0.9"}, {"rk2", "0.6"}};
  for (const char* name : {"sound", "entropy", "shear1"})
    for (const auto& [integrator, courant] : steps) {
      const bool two_stages = integrator == steps[2].first;
      double coarser = 0.0;
      for (const int n : {32, 64}) {
        auto sets = oblique_in_plane({name, 5.0}, n, 1);
        const double speed = std::string(name) == "sound" ? 6.0 : 5.0;
        sets.push_back(fmt::format("run.t_end={}", 0.7071067811865476 / speed));
        sets.push_back(fmt::format("hydro.integrator={}", integrator));
        sets.push_back(fmt::format("hydro.cfl={}", courant));
        if (two_stages) sets.push_back("hydro.reconstruction=plm");  // PPM steepens smooth waves with two stages
        const double error = solved("linear_wave", sets).run().l1_all();
        const std::string what = fmt::format("{}, {}{}, Courant number {}, {}^2 cells: L1 of all variables", name,
                                             integrator, two_stages ? ", PLM" : "", courant, n);
        if (coarser > 0.0)
          t.with_order(what, error, coarser, 1.7);
        else
          t.note(what, error);
        coarser = error;
      }
    }
}

TEST(LinearWave, OtherSchemes) {
  table t("sound wave along x, one period, other schemes");
  for (const char* change : {"hydro.reconstruction=plm", "hydro.integrator=rk2", "hydro.flux=hll",
                             "hydro.flux=lax_friedrichs", "mesh.block_size=16"}) {
    double coarser = 0.0;
    for (const int n : {64, 128}) {
      auto sets = along_x(waves[0], n, 1);
      sets.push_back(change);
      // With two stages, PPM steepens smooth waves; PLM does not.
      if (std::string(change) == "hydro.integrator=rk2") sets.push_back("hydro.reconstruction=plm");
      if (std::string(change) == "mesh.block_size=16") {
        sets.push_back("mesh.root_blocks=" + array({n / 16.0, 1, 1}));
        sets.push_back("mesh.lower=" + array({-0.5, -8.0 / n, -8.0 / n}));
        sets.push_back("mesh.upper=" + array({0.5, 8.0 / n, 8.0 / n}));
      }
      const double error = solved("linear_wave", sets).run().l1_all();
      const std::string what = fmt::format("{}, {} cells: L1 of all variables", change, n);
      if (coarser > 0.0)
        t.with_order(what, error, coarser, 1.7);
      else
        t.note(what, error);
      coarser = error;
    }
  }
}

}  // namespace
}  // namespace plx::star::validation
