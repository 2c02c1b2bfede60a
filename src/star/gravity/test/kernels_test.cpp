#include "star/gravity/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace plx::star::gravity {
namespace {

struct sums {
  std::vector<double> far, far_points, direct, coarser, finer;
  friend bool operator==(const sums&, const sums&) = default;
};

std::vector<double> random_tile(int count, int reach, int n, std::mt19937& any) {
  const std::size_t width = static_cast<std::size_t>(n + 2 * reach);
  std::vector<double> tile(width * width * static_cast<std::size_t>(count * tile_view::stride_of(n, reach)));
  std::uniform_real_distribution<double> value(-1, 1);
  for (double& v : tile) v = value(any);
  return tile;
}

sums compute(const kernel_table& kernels, const lattice_table& t, int n) {
  std::mt19937 any(3);
  const int count = count_up_to(t.order), cells = n * n * n;
  const std::vector<double> moments = random_tile(count, t.reach, n, any), masses = random_tile(1, t.reach, n, any),
                            children = random_tile(8, t.near, n, any);
  const auto memory = std::make_unique<kernel_memory>();
  const auto task = [&](const std::vector<double>& tile, int values, int reach, std::vector<double>& to) {
    return sum_task{
        t.values.data(), {tile.data(), values, reach, tile_view::stride_of(n, reach)}, n, to.data(), memory.get()};
  };
  sums s;
  s.far.assign(static_cast<std::size_t>(count * cells), 0.0);
  for (auto* points : {&s.far_points, &s.direct, &s.coarser, &s.finer})
    points->assign(static_cast<std::size_t>(4 * cells), 0.0);
  for (int p = least_order; p <= t.order; ++p) {
    kernels.far(task(moments, count, t.reach, s.far), p);
    kernels.far_points(task(moments, count, t.reach, s.far_points), p);
  }
  kernels.points(task(masses, 1, t.reach, s.direct), partners::direct);
  kernels.points(task(masses, 1, t.reach, s.coarser), partners::coarser);
  kernels.finer(task(children, 8, t.near, s.finer));
  return s;
}

TEST(GravityKernels, AllInstructionSetsGiveTheSameBits) {
  for (const int n : {8, 16})
    for (const auto& [theta, order] : {std::pair{0.5, 3}, {0.35, 5}, {0.35, 6}}) {
      const lattice_table t = make_lattice(theta, order, n).value();
      const sums first = compute(kernels_of(available_isas().front()), t, n);
      for (const isa which : available_isas()) EXPECT_EQ(compute(kernels_of(which), t, n), first) << name_of(which);
    }
}

// Rows that are marked as zeros change nothing, wherever they are.
TEST(GravityKernels, ZerosMayBeOmitted) {
  const int n = 8;
  const lattice_table t = make_lattice(0.35, 5, n).value();
  const int width = n + 2 * t.reach, stride = tile_view::stride_of(n, t.reach), count = count_up_to(t.order);
  std::mt19937 any(5);
  for (int turn = 0; turn < 6; ++turn) {
    std::vector<double> tile = random_tile(count, t.reach, n, any), masses = random_tile(1, t.reach, n, any);
    std::vector<std::uint8_t> filled(static_cast<std::size_t>(width * width));
    bool present[27];
    for (bool& p : present) p = any() % (turn + 2) == 0;  // fewer and fewer of the nodes around
    for (int z = 0; z < width; ++z)
      for (int y = 0; y < width; ++y)
        for (int x = 0; x < stride; ++x) {
          const auto third = [&](int c) { return c < t.reach ? 0 : c < t.reach + n ? 1 : 2; };
          const int row = z * width + y;
          if (present[9 * third(z) + 3 * third(y) + third(x)]) {
            filled[static_cast<std::size_t>(row)] |= static_cast<std::uint8_t>(1 << third(x));
            continue;
          }
          for (int q = 0; q < count; ++q) tile[static_cast<std::size_t>((row * count + q) * stride + x)] = 0.0;
          masses[static_cast<std::size_t>(row * stride + x)] = 0.0;
        }
    const auto memory = std::make_unique<kernel_memory>();
    for (const isa which : available_isas()) {
      const kernel_table& kernels = kernels_of(which);
      std::vector<double> to[2][3];
      for (int known = 0; known < 2; ++known) {
        for (auto& values : to[known]) values.assign(static_cast<std::size_t>(count * n * n * n), 0.0);
        const auto task = [&](const std::vector<double>& from, int values, std::vector<double>& sums) {
          return sum_task{t.values.data(),
                          {from.data(), values, t.reach, stride, known == 1 ? filled.data() : nullptr},
                          n,
                          sums.data(),
                          memory.get()};
        };
        for (int p = least_order; p <= t.order; ++p) {
          kernels.far(task(tile, count, to[known][0]), p);
          kernels.far_points(task(tile, count, to[known][1]), p);
        }
        kernels.points(task(masses, 1, to[known][2]), partners::direct);
      }
      for (int sums = 0; sums < 3; ++sums) EXPECT_EQ(to[0][sums], to[1][sums]) << name_of(which) << " " << turn;
    }
  }
}

// The sums of far partners for points are the first four of the local expansions.
TEST(GravityKernels, PointsAreTheLowestDegreesOfExpansions) {
  const lattice_table t = make_lattice(0.5, 4, 8).value();
  const sums s = compute(kernels_of(active_isa()), t, 8);
  EXPECT_TRUE(std::equal(s.far_points.begin(), s.far_points.end(), s.far.begin()));
}

// A single mass: -1/r and X/r^3 in the cells of which it is a partner.
TEST(GravityKernels, OneMassActsByNewtonsLaw) {
  const int n = 8;
  const lattice_table t = make_lattice(0.5, 3, n).value();
  const int stride = tile_view::stride_of(n, t.reach), width = n + 2 * t.reach;
  std::vector<double> tile(static_cast<std::size_t>(width * width * stride)), to(4 * 512);
  const int at[3] = {3, 4, 2};
  tile[static_cast<std::size_t>(((at[2] + t.reach) * width + at[1] + t.reach) * stride + at[0] + t.reach)] = 2.5;
  const auto memory = std::make_unique<kernel_memory>();
  kernels_of(active_isa())
      .points({t.values.data(), {tile.data(), 1, t.reach, stride}, n, to.data(), memory.get()}, partners::direct);
  int found = 0;
  for (int c = 0; c < 512; ++c) {
    const int i[3] = {c % 8, c / 8 % 8, c / 64};
    double r2 = 0, parents = 0;
    for (int a = 0; a < 3; ++a)
      r2 += (i[a] - at[a]) * (i[a] - at[a]), parents += (i[a] / 2 - at[a] / 2) * (i[a] / 2 - at[a] / 2);
    const bool partner = r2 > 0 && parents < 4;
    found += partner ? 1 : 0;
    const auto value = [&](int q) { return to[static_cast<std::size_t>(512 * q + c)]; };
    EXPECT_NEAR(value(0), partner ? -2.5 / std::sqrt(r2) : 0.0, 1e-14);
    for (int a = 0; a < 3; ++a)
      EXPECT_NEAR(value(1 + a), partner ? 2.5 * (i[a] - at[a]) / std::pow(r2, 1.5) : 0.0, 1e-14);
  }
  EXPECT_EQ(found, 27 * 8 - 1);
}

}  // namespace
}  // namespace plx::star::gravity
