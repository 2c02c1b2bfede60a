// The correction of total force and torque, for forces that are far from conserving: those of the solver violate
// conservation by rounding alone in the force, so that no run shows its uniform part.
#define PLX_HYDRO_ISA isa_of_test
#define PLX_HYDRO_ONE_LANE
#include <gtest/gtest.h>

#include "star/gravity/bodies.hpp"

namespace plx::star {
namespace {

TEST(GravityCorrection, CancelsForceAndTorqueOfAnyForces) {
  constexpr int n = 4;
  const double mass[n] = {1.0, 2.0, 0.5, 3.0};
  const double x[n][3] = {{0.3, -0.2, 0.5}, {-0.4, 0.7, 0.1}, {0.9, 0.2, -0.6}, {0.1, -0.8, 0.3}};
  const double force[n][3] = {{0.5, 0.1, -0.3}, {0.2, -0.6, 0.4}, {-0.1, 0.3, 0.8}, {0.7, 0.2, -0.2}};
  double s[16] = {};
  for (int i = 0; i < n; ++i) {
    const double *at = x[i], *f = force[i];
    s[0] += mass[i];
    for (int a = 0, second = 4; a < 3; ++a) {
      const int b = (a + 1) % 3, d = (a + 2) % 3;
      s[1 + a] += mass[i] * at[a];
      s[10 + a] += f[a];
      s[13 + a] += at[b] * f[d] - at[d] * f[b];
      for (int e = a; e < 3; ++e) s[second++] += mass[i] * at[a] * at[e];
    }
  }
  double c[gravity::correction_count];
  isa_of_test::correction_of(s, c);  // an acceleration c[0..2], a rotation c[3..5] about the centre of mass c[6..8]
  double total[3] = {}, torque[3] = {};
  for (int i = 0; i < n; ++i) {
    double r[3], f[3];
    for (int a = 0; a < 3; ++a) r[a] = x[i][a] - c[6 + a];
    for (int a = 0; a < 3; ++a) {
      const int b = (a + 1) % 3, d = (a + 2) % 3;
      f[a] = force[i][a] + mass[i] * (c[a] + c[3 + b] * r[d] - c[3 + d] * r[b]);
      total[a] += f[a];
    }
    for (int a = 0; a < 3; ++a) torque[a] += x[i][(a + 1) % 3] * f[(a + 2) % 3] - x[i][(a + 2) % 3] * f[(a + 1) % 3];
  }
  for (int a = 0; a < 3; ++a) {
    EXPECT_NEAR(total[a], 0.0, 1e-14);
    EXPECT_NEAR(torque[a], 0.0, 1e-14);
  }
}

}  // namespace
}  // namespace plx::star
