#include "qmc/dca/live_zone.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "probe/live/live_json.hpp"

namespace plx::qmc {
namespace {

constexpr double pi = std::numbers::pi;

// After the first iteration, with another value for each momentum: 10 plus its number.
dca_state numbered_state(const cluster& c, const dca_options& o) {
  dca_state s;
  s.iteration = 1;
  s.streams = static_cast<std::uint64_t>(o.walkers);
  s.self_energy = matsubara_function(c.n_sites(), 2);
  for (int k = 0; k < c.n_sites(); ++k) s.self_energy(k, 0) = {-77, -10.0 - k}, s.self_energy(k, 1) = {-77, -77};
  return s;
}

probe::live_picture numbered_picture(const cluster& c) {
  const dca_options o;
  return live_self_energy(c, o, numbered_state(c, o)).value();
}

// The centre of a pixel.
double centre(int i, int pixels) { return pi * (2 * i + 1 - pixels) / pixels; }

// Is the point within the polygon, whose corners are in counterclockwise order?
bool is_inside(const std::vector<std::array<double, 2>>& polygon, double x, double y) {
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const auto &p = polygon[i], &q = polygon[(i + 1) % polygon.size()];
    if ((q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]) < -1e-12) return false;
  }
  return true;
}

bool is_in_patch(const std::vector<std::array<double, 2>>& patch, double x, double y) {
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      if (is_inside(patch, x + 2 * pi * i, y + 2 * pi * j)) return true;
  return false;
}

class LiveZone : public testing::TestWithParam<const char*> {
 protected:
  const cluster c_ = cluster::named(GetParam()).value();
  const probe::live_picture p_ = numbered_picture(c_);
  const int n_ = p_.width;
  int momentum_at(int i, int j) const { return static_cast<int>(p_.values[static_cast<std::size_t>(j * n_ + i)]) - 10; }
};

TEST_P(LiveZone, ThePixelAtAMomentumHasItsValue) {
  for (int k = 0; k < c_.n_sites(); ++k) {
    const auto q = c_.momentum(k);
    const auto pixel = [&](double x) {
      return std::min(n_ - 1, static_cast<int>((std::remainder(x, 2 * pi) + pi) / (2 * pi) * n_));
    };
    EXPECT_EQ(p_.values[static_cast<std::size_t>(pixel(q[1]) * n_ + pixel(q[0]))], 10.f + static_cast<float>(k));
  }
}

TEST_P(LiveZone, EveryPixelIsInThePatchOfItsMomentum) {
  const auto patch = c_.patch();
  int outside = 0;
  for (int j = 0; j < n_; ++j)
    for (int i = 0; i < n_; ++i) {
      const int k = momentum_at(i, j);
      ASSERT_TRUE(k >= 0 && k < c_.n_sites());
      const auto q = c_.momentum(k);
      outside +=
          is_in_patch(patch, std::remainder(centre(i, n_) - q[0], 2 * pi), std::remainder(centre(j, n_) - q[1], 2 * pi))
              ? 0
              : 1;
    }
  EXPECT_EQ(outside, 0);
}

// Clusters with all operations of the square, each of which maps a pixel to a pixel of the image of its momentum.
class LiveZoneOfSquares : public LiveZone {};

TEST_P(LiveZoneOfSquares, ThePictureHasThePointGroupOfTheCluster) {
  ASSERT_EQ(c_.symmetries().size(), 8u);
  int different = 0;
  for (int j = 0; j < n_; ++j)
    for (int i = 0; i < n_; ++i) {
      const auto q = c_.momentum(momentum_at(i, j));
      different += momentum_at(n_ - 1 - j, i) != c_.find_momentum(-q[1], q[0]) ? 1 : 0;
      different += momentum_at(j, i) != c_.find_momentum(q[1], q[0]) ? 1 : 0;
    }
  EXPECT_EQ(different, 0);
}

std::string name_of(const testing::TestParamInfo<const char*>& of) { return std::string("Of") + of.param; }

INSTANTIATE_TEST_SUITE_P(Clusters, LiveZone, testing::Values("1x1", "2x2", "4x2", "8A", "16A", "4x4", "6x6"), name_of);
INSTANTIATE_TEST_SUITE_P(Clusters, LiveZoneOfSquares, testing::Values("1x1", "2x2", "8A", "4x4", "6x6"), name_of);

TEST(LiveSelfEnergy, HasUnitsAndTheRangeOfTheZone) {
  const auto c = cluster::named("2x2").value();
  const auto p = numbered_picture(c);
  EXPECT_EQ(p.unit, "t");
  EXPECT_EQ(p.step, 1);
  EXPECT_EQ(p.width, p.height);
  EXPECT_THAT(p.lower, testing::ElementsAre(-1, -1));
  EXPECT_THAT(p.upper, testing::ElementsAre(1, 1));
  EXPECT_TRUE(p.blocks.empty());
}

TEST(LiveSelfEnergy, TheTitleNamesTheIterationAndTheLastEigenvalue) {
  const auto c = cluster::named("2x2").value();
  dca_options o;
  o.temperatures = {1, 0.5, 0.25};
  o.first_iterations = 4;
  dca_state s = numbered_state(c, o);
  s.streams = 0, s.iteration = 0;
  EXPECT_FALSE(live_self_energy(c, o, s)) << "no iteration is complete";
  s.streams = 3 * static_cast<std::uint64_t>(o.walkers), s.iteration = 3;
  EXPECT_EQ(live_self_energy(c, o, s)->title, "-Im Sigma(K, i pi T) at T 1, iteration 3");
  s.temperature = 1, s.iteration = 0, s.streams += static_cast<std::uint64_t>(o.walkers);
  s.t = {1};
  EXPECT_EQ(live_self_energy(c, o, s)->title, "-Im Sigma(K, i pi T) at T 1, last iteration");
  s.d_wave = {{0.125, 0.0625}};
  EXPECT_EQ(live_self_energy(c, o, s)->title,
            "-Im Sigma(K, i pi T) at T 1, last iteration; lambda_d 0.1250(0.0625) at T 1");
  EXPECT_EQ(live_self_energy(c, o, s)->step, 4);
  s.iteration = 2;
  EXPECT_EQ(live_self_energy(c, o, s)->title,
            "-Im Sigma(K, i pi T) at T 0.5, iteration 2; lambda_d 0.1250(0.0625) at T 1");
  // The eigenvalue of one temperature is unknown: which one is not in the state.
  s.temperature = 2, s.iteration = 0, s.t = {1, 0.5};
  EXPECT_EQ(live_self_energy(c, o, s)->title, "-Im Sigma(K, i pi T) at T 0.5, last iteration");
}

}  // namespace
}  // namespace plx::qmc
