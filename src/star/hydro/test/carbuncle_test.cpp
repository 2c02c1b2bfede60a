// The carbuncle: a plane Mach 10 shock that runs along the grid into slightly disturbed gas. Behind it HLLC amplifies
// the disturbance to velocities along the shock, HLLC-LM does not.
//
// Source of the case: Quirk (1994), Int. J. Numer. Methods Fluids 18, 555, with all cells disturbed at random.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

constexpr double disturbance = 1e-4;

/// The largest velocity along the shock, over the speed of sound ahead of it, when the shock has reached x = `place`.
double velocity_along_shock(const hydro_parameters& p, int n, double place) {
  constexpr double mach = 10.0, m2 = mach * mach, start = 0.15;
  const double g = p.eos.gamma, ratio = (g + 1.0) * m2 / ((g - 1.0) * m2 + 2.0);
  std::mt19937_64 bits(3);
  auto uniform = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  test_block b(p, n);
  b.side(0, side_kind::outflow);
  b.fill([&](double x, double, double) {
    primitive w;
    const bool ahead = x > start;
    w.density = (ahead ? 1.0 : ratio) * (1.0 + disturbance * (uniform() - 0.5));
    w.velocity[0] = ahead ? 0.0 : mach - mach / ratio;
    w.pressure = ahead ? 1.0 / g : (1.0 + 2.0 * g / (g + 1.0) * (m2 - 1.0)) / g;
    return w;
  });
  EXPECT_TRUE(b.run((place - start) / mach));
  double fastest = 0.0;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i)
        for (const int axis : {1, 2}) fastest = std::max(fastest, std::abs(b.cell(i, j, k).velocity[axis]));
  return fastest;
}

TEST(carbuncle, hllc_lm_keeps_a_moving_shock_along_the_grid) {
  hydro_parameters p;
  const double early = velocity_along_shock(p, 24, 0.4), late = velocity_along_shock(p, 24, 0.95);
  p.riemann = riemann_solver::hllc_lm;
  const double early_lm = velocity_along_shock(p, 24, 0.4), late_lm = velocity_along_shock(p, 24, 0.95);
  std::printf("velocity along the shock: hllc %.2e %.2e, hllc_lm %.2e %.2e\n", early, late, early_lm, late_lm);
  EXPECT_GT(late, 5.0 * early);
  EXPECT_LT(late_lm, 2.0 * early_lm);
  EXPECT_LT(late_lm, 0.3 * late);
}

}  // namespace
}  // namespace plx::star
