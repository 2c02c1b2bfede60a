// The kernel headers in a namespace of this file, compiled with the plain flags.
#define PLX_HYDRO_ISA isa_reconstruct_test
#include "star/hydro/kernel/kernel_reconstruct.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace plx::star::isa_reconstruct_test {
namespace {

/// Face values of n cells with three ghost cells at both ends, the same in each lane.
struct faces {
  std::vector<double> left, right;
};

template <reconstruction scheme, bool positive = true>
faces reconstruct(const std::vector<double>& q) {
  const int n = static_cast<int>(q.size()) - 2 * ghost_layers;
  std::vector<double> wide;
  for (double x : q) wide.insert(wide.end(), lanes, x);
  std::vector<double> left((n + 1) * lanes), right((n + 1) * lanes);
  reconstruct_line<scheme, positive>(wide.data() + ghost_layers * lanes, lanes, n, left.data(), right.data());
  faces f;
  for (int c = 0; c <= n; ++c) f.left.push_back(left[c * lanes]), f.right.push_back(right[c * lanes]);
  return f;
}

/// Cell averages of a + b x + c x^2 over [i, i + 1], i from -3.
std::vector<double> parabola(double a, double b, double c, int n) {
  std::vector<double> q;
  for (int i = -ghost_layers; i < n + ghost_layers; ++i) {
    const double x0 = i, x1 = i + 1.0;
    q.push_back(a + b * (x1 * x1 - x0 * x0) / 2 + c * (x1 * x1 * x1 - x0 * x0 * x0) / 3);
  }
  return q;
}

TEST(reconstruct, ppm_finds_parabolas_away_from_extrema) {
  const int n = 10;
  for (double c : {0.03, -0.02, 0.0}) {
    const faces f = reconstruct<reconstruction::ppm>(parabola(5.0, 1.0, c, n));
    for (int i = 0; i <= n; ++i) {
      EXPECT_NEAR(f.left[i], 5.0 + i + c * i * i, 1e-13) << i;
      EXPECT_NEAR(f.right[i], 5.0 + i + c * i * i, 1e-13) << i;
    }
  }
}

TEST(reconstruct, plm_finds_straight_lines) {
  const faces f = reconstruct<reconstruction::plm>(parabola(5.0, 0.5, 0.0, 8));
  for (int i = 0; i <= 8; ++i) EXPECT_NEAR(f.left[i], 5.0 + 0.5 * i, 1e-14);
  const faces curved = reconstruct<reconstruction::plm>(parabola(5.0, 0.5, 0.05, 8));
  EXPECT_GT(std::abs(curved.left[4] - (5.0 + 2.0 + 0.8)), 1e-3);  // but not of higher order
}

std::vector<double> random_values(unsigned seed, int n) {
  std::mt19937_64 bits(seed);
  std::vector<double> q;
  for (int i = 0; i < n + 2 * ghost_layers; ++i)
    q.push_back(std::exp2(static_cast<double>(bits() % 1200) / 10.0 - 60.0));
  return q;
}

template <reconstruction scheme>
void expect_between_neighbours() {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const int n = 16;
    const auto q = random_values(seed, n);
    const faces f = reconstruct<scheme>(q);
    for (int c = 0; c <= n; ++c) {
      const double below = q[c + ghost_layers - 1], above = q[c + ghost_layers];
      for (double value : {f.left[c], f.right[c]}) {
        ASSERT_GE(value, std::min(below, above));
        ASSERT_LE(value, std::max(below, above));
        ASSERT_GT(value, 0.0);
      }
    }
  }
}
TEST(reconstruct, face_values_lie_between_the_cells_and_are_positive) {
  expect_between_neighbours<reconstruction::ppm>();
  expect_between_neighbours<reconstruction::plm>();
}

TEST(reconstruct, mp5_is_positive_and_keeps_smooth_extrema) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const faces f = reconstruct<reconstruction::mp5>(random_values(seed, 16));
    for (int c = 0; c <= 16; ++c) ASSERT_TRUE(f.left[c] > 0.0 && f.right[c] > 0.0);
  }
  const faces f = reconstruct<reconstruction::mp5>(parabola(15.0, -4.0, 0.5, 8));  // minimum at 4
  for (int i = 0; i <= 8; ++i) EXPECT_NEAR(f.left[i], 15.0 - 4.0 * i + 0.5 * i * i, 1e-13);
  EXPECT_GT(std::abs(reconstruct<reconstruction::ppm>(parabola(15.0, -4.0, 0.5, 8)).left[4] - 7.0), 1e-3);
}

TEST(reconstruct, extrema_are_flat) {
  std::vector<double> q(2 * ghost_layers + 8, 1.0);
  q[ghost_layers + 4] = 2.0;
  const faces f = reconstruct<reconstruction::ppm>(q);
  EXPECT_EQ(f.right[4], 2.0);  // both values of the cell with the peak
  EXPECT_EQ(f.left[5], 2.0);
  EXPECT_EQ(f.left[4], 1.0);
  EXPECT_EQ(f.right[5], 1.0);
}

template <reconstruction scheme>
void expect_mirrored() {
  for (unsigned seed = 0; seed < 50; ++seed) {
    auto q = random_values(seed, 16);
    const faces f = reconstruct<scheme, false>(q);
    for (double& x : q) x = -x;
    std::reverse(q.begin(), q.end());
    faces m = reconstruct<scheme, false>(q);
    std::reverse(m.left.begin(), m.left.end());
    std::reverse(m.right.begin(), m.right.end());
    for (std::size_t c = 0; c < f.left.size(); ++c) {
      ASSERT_EQ(m.left[c], -f.right[c]);
      ASSERT_EQ(m.right[c], -f.left[c]);
    }
  }
}
TEST(reconstruct, mirrored_and_negated_data_give_mirrored_bits) {
  expect_mirrored<reconstruction::ppm>();
  expect_mirrored<reconstruction::plm>();
  expect_mirrored<reconstruction::mp5>();
}

}  // namespace
}  // namespace plx::star::isa_reconstruct_test
