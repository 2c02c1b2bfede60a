#include "star/problems/plane.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace plx::star {
namespace {

TEST(PlaneDirection, PhaseGrowsByWholeNumbersAcrossTheBox) {
  problem_setting box;
  box.lower = {-1, 0, 2};
  box.upper = {1, 3, 2.5};
  const std::array<int, 3> turns{1, -2, 3};
  const auto d = plane_direction::make(turns, box, "key").value();
  const vector x{0.3, 1.1, 2.2};
  for (int axis = 0; axis < 3; ++axis) {
    vector beyond = x;
    beyond[axis] += box.upper[axis] - box.lower[axis];
    EXPECT_NEAR(d.phase(beyond) - d.phase(x), turns[axis], 1e-14);
  }
  EXPECT_NEAR(d.phase({0, 1.5, 2.25}), 0, 1e-15);
  vector one = x;  // one wavelength along the normal
  for (int axis = 0; axis < 3; ++axis) one[axis] += d.normal()[axis] * d.wavelength();
  EXPECT_NEAR(d.phase(one) - d.phase(x), 1, 1e-14);
  EXPECT_NEAR(std::hypot(d.normal()[0], d.normal()[1], d.normal()[2]), 1, 1e-15);
}

TEST(PlaneDirection, PartOnTheLeftAgreesWithSampling) {
  const vector width{0.1, 0.1, 0.1};
  for (const std::array<int, 3>& turns :
       {std::array{1, 0, 0}, {0, -1, 0}, {1, 1, 0}, {1, 1, 1}, {3, -1, 2}, {0, 5, 1}}) {
    const auto d = plane_direction::make(turns, {}, "key").value();
    for (int step = -10; step <= 10; ++step) {
      const double distance = 0.0091 * step + 0.0001;
      constexpr int n = 40;
      int left = 0;
      for (int i = 0; i < n * n * n; ++i) {
        const vector x{0.1 * ((i % n + 0.5) / n - 0.5), 0.1 * ((i / n % n + 0.5) / n - 0.5),
                       0.1 * ((i / n / n + 0.5) / n - 0.5)};
        left += d.distance(x) + distance < 0;
      }
      EXPECT_NEAR(d.part_on_left(width, distance), left / double(n * n * n), 0.015) << distance;
      EXPECT_NEAR(d.part_on_left(width, distance) + d.part_on_left(width, -distance), 1, 1e-15);
    }
    EXPECT_NEAR(d.part_on_left(width, 0), 0.5, 1e-14);
  }
}

TEST(PlaneDirection, NoDirectionIsRefused) {
  const auto d = plane_direction::make({0, 0, 0}, {}, "sod.direction");
  ASSERT_FALSE(d);
  EXPECT_EQ(d.error().message.find("sod.direction"), 0u);
}

}  // namespace
}  // namespace plx::star
