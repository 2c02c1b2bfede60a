#include "mesh/between/gather.hpp"

#include <gtest/gtest.h>

#include "mesh/test/test_meshes.hpp"

namespace {

using namespace plx::mesh;

boundary_values some_inflow(int variables) {
  boundary_values b;
  for (int f = 0; f < face_count; ++f)
    for (int v = 0; v < variables; ++v) b.inflow[f].push_back(0.1 * f - 0.3 * v);
  return b;
}

// Compares every cell of every tile with the slow reference.
void compare_all(const block_mesh& mesh, const arena& values, const boundary_values& sides, reach wanted) {
  tile_scratch scratch;
  const test::point_lookup expected(mesh, values, sides);
  const int n = mesh.block_size(), w = tile_width(n);
  for (const slot_id s : mesh.blocks()) {
    const double* tile = gather_tile(mesh, values, s, sides, scratch, wanted);
    const location& l = mesh.where(s);
    for (int v = 0; v < values.variable_count(); v += wanted == reach::full ? 2 : 3)
      for (int k = -ghosts; k < n + ghosts; ++k)
        for (int j = -ghosts; j < n + ghosts; ++j)
          for (int i = -ghosts; i < n + ghosts; ++i) {
            const int outside = (i < 0 || i >= n) + (j < 0 || j >= n) + (k < 0 || k >= n);
            if (wanted == reach::faces && outside > 1) continue;
            const test::cell c{std::int64_t{l.x[0]} * n + i, std::int64_t{l.x[1]} * n + j,
                               std::int64_t{l.x[2]} * n + k};
            const double found = tile[((v * w + k + ghosts) * w + j + ghosts) * w + i + ghosts];
            ASSERT_NEAR(found, expected(l.level, c, v), 2e-15)
                << "slot " << s << " level " << l.level << " variable " << v << " cell " << i << " " << j << " " << k;
          }
  }
}

struct gather_case {
  std::array<int, 3> roots;
  int n, max_level, splits;
  std::array<boundary, 6> sides;
};

constexpr boundary P = boundary::periodic, O = boundary::outflow, R = boundary::reflecting, I = boundary::inflow,
                   Z = boundary::zero_gradient;

class Gather : public testing::TestWithParam<gather_case> {};

TEST_P(Gather, EqualsALookupOfEveryPoint) {
  const gather_case& c = GetParam();
  std::mt19937_64 rng(7);
  domain d = test::box(c.roots, c.n, c.max_level);
  d.sides = c.sides;
  const block_mesh mesh = test::random_mesh(d, c.splits, rng);
  arena values(test::gas(), c.n);
  values.resize(mesh.slot_count());
  test::fill_random(values, rng);
  compare_all(mesh, values, some_inflow(6), reach::full);
  compare_all(mesh, values, some_inflow(6), reach::faces);
}

INSTANTIATE_TEST_SUITE_P(Boxes, Gather,
                         testing::Values(gather_case{{1, 1, 1}, 8, 0, 0, {P, P, P, P, P, P}},
                                         gather_case{{3, 2, 1}, 8, 0, 0, {P, P, O, R, I, O}},
                                         gather_case{{1, 1, 1}, 6, 3, 5, {P, P, P, P, P, P}},
                                         gather_case{{2, 1, 1}, 8, 3, 5, {P, P, P, P, P, P}},
                                         gather_case{{2, 1, 1}, 8, 3, 5, {O, R, P, P, I, O}},
                                         gather_case{{1, 2, 1}, 8, 2, 4, {R, R, O, I, P, P}},
                                         gather_case{{1, 2, 1}, 8, 2, 4, {Z, O, Z, Z, I, Z}},
                                         gather_case{{1, 1, 1}, 16, 1, 1, {O, O, R, R, I, I}},
                                         gather_case{{2, 1, 1}, 16, 1, 1, {P, P, P, P, P, P}},
                                         gather_case{{1, 1, 1}, 10, 2, 2, {R, O, P, P, O, R}}));

TEST(GatherTile, LinearFieldsAreExactAcrossLevels) {
  std::mt19937_64 rng(3);
  for (const limiter rule : {limiter::minmod, limiter::central}) {
    domain d = test::box({2, 2, 2}, 8, 2, boundary::outflow);
    d.prolongation = rule;
    const block_mesh mesh = test::random_mesh(d, 6, rng);
    arena values({{"f"}, {.name = "g", .limiter_group = 0}, {.name = "h", .limiter_group = 0}}, 8);
    const auto f = [](double x, double y, double z, int v) { return 3 + v + (1 + v) * x - 2 * y + 0.5 * z; };
    test::fill_with(mesh, values, f);
    tile_scratch scratch;
    for (const slot_id s : mesh.blocks()) {
      const double* tile = gather_tile(mesh, values, s, {}, scratch);
      for (int v = 0; v < 3; ++v)
        for (int k = -3; k < 11; ++k)
          for (int j = -3; j < 11; ++j)
            for (int i = -3; i < 11; ++i) {
              const double x = mesh.centre(s, 0, i), y = mesh.centre(s, 1, j), z = mesh.centre(s, 2, k);
              // Excludes cells at the boundaries, where the field is not linear.
              const double edge = std::min({x, y, z, 2 - x, 2 - y, 2 - z});
              if (edge < 1.0 / 8) continue;
              ASSERT_NEAR(tile[((v * 14 + k + 3) * 14 + j + 3) * 14 + i + 3], f(x, y, z, v), 1e-14);
            }
    }
  }
}

/// Values that depend on place, time and face; a wall where y < 0.3.
class place_and_time final : public outside_state {
 public:
  bool at(int face, const std::array<double, 3>& x, double time, double* u) const override {
    if (x[1] < 0.3) return false;
    for (int v = 0; v < 6; ++v) u[v] = x[0] + 10.0 * x[1] + 100.0 * x[2] + 1e3 * time + 1e4 * face + 1e5 * v;
    return true;
  }
};

TEST(Gather, StatesBeyondABoundaryDependOnPlaceAndTime) {
  std::mt19937_64 rng(5);
  domain d = test::box({1, 1, 1}, 8, 1, boundary::zero_gradient);
  d.sides[1] = d.sides[4] = boundary::problem;
  std::vector<location> leaves{{0, {0, 0, 0}}};
  test::split(leaves, 0);
  const block_mesh mesh = test::mesh_of(d, leaves, rng);
  arena values(test::gas(), 8);
  values.resize(mesh.slot_count());
  for (const slot_id s : mesh.blocks())
    for (std::size_t i = 0; i < values.stride(); ++i)
      values.block(s)[i] = std::uniform_real_distribution<double>(1.0, 2.0)(rng);
  boundary_values sides;
  sides.outside = std::make_shared<place_and_time>();
  tile_scratch scratch, plain;
  const slot_id slot = mesh.find({1, {1, 0, 0}});  // at the upper x and the lower z boundary, x from 0.5, y to 0.5
  const int w = tile_width(8);
  const double* tile = gather_tile(mesh, values, slot, sides, scratch, reach::full, 0.25);
  const double* open = gather_tile(mesh, values, slot, sides, plain, reach::full);
  int given = 0, walls = 0;
  for (int v = 0; v < 6; ++v)
    for (int k = 0; k < w; ++k)
      for (int j = 3; j < w; ++j)
        for (int i = 0; i < w; ++i) {
          const std::ptrdiff_t c = ((static_cast<std::ptrdiff_t>(v) * w + k) * w + j) * w + i;
          const double x = 0.5 + (i - 2.5) / 16, y = (j - 2.5) / 16, z = (k - 2.5) / 16;
          const bool beyond_x = i >= 11, beyond_z = k < 3;
          if (!beyond_x && !beyond_z) {
            ASSERT_EQ(tile[c], open[c]);
          } else if (y > 0.3) {
            ASSERT_NEAR(tile[c], x + 10 * y + 100 * z + 250 + (beyond_z ? 4e4 : 1e4) + 1e5 * v, 1e-9);
            ++given;
          } else if (beyond_x && !beyond_z) {
            const double mirrored = tile[c + (21 - 2 * i)];
            ASSERT_EQ(tile[c], test::gas()[v].axis == 0 ? -mirrored : mirrored);
            ++walls;
          }
          if (beyond_x && !beyond_z) {
            ASSERT_EQ(open[c], open[c + (10 - i)]);
          }
        }
  EXPECT_GT(given, 1000);
  EXPECT_GT(walls, 100);
}

}  // namespace
