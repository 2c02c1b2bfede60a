#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "num/exact_sum.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::is_refused;
using test::prepared;

TEST(Advection, BodiesKeepTheirVolumesAtAllTimesAndResolutions) {
  const auto p = prepared("advection");
  for (const int n : {8, 15, 32}) {
    const box b(n);
    for (const double t : {0.0, 0.137, 0.61, 1.0}) {
      const auto u = b.fill(*p, t);
      double volume[3];
      for (int s = 0; s < 3; ++s) {
        exact_sum sum;
        for (std::size_t c = 0; c < b.size(); ++c) sum.add(u[(i_species + s) * b.size() + c]);
        volume[s] = sum.value() * b.volume();
      }
      EXPECT_NEAR(volume[0], 0.027, 1e-14) << n << ' ' << t;
      EXPECT_NEAR(volume[1], 4 * std::numbers::pi / 3 * std::pow(0.15, 3), 1e-14) << n << ' ' << t;
      EXPECT_NEAR(volume[0] + volume[1] + volume[2], 1, 1e-14);
    }
  }
}

TEST(Advection, ReturnsAfterOnePeriod) {
  const auto p = prepared("advection", {"advection.velocity=[1,-2,3]"});
  const box b(16);
  const auto u = b.fill(*p, 0), v = b.fill(*p, 1);
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(u[i], v[i], 1e-12);
}

TEST(Advection, BodiesThatOverlapOrFillTheBoxAreRefused) {
  for (const std::string bad : {"advection.ball_centre=[-0.2,-0.2,0.0]", "advection.cube_edge=0.6"}) {
    EXPECT_TRUE(is_refused("advection", bad)) << bad;
  }
}

}  // namespace
}  // namespace plx::star
