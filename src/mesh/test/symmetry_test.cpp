// Every operation of the mesh preserves mirror and permutation symmetries of states to the last bit.
#include <gtest/gtest.h>

#include "mesh/between/gather.hpp"
#include "mesh/field/face_fluxes.hpp"
#include "mesh/test/test_meshes.hpp"
#include "mesh/tree/regrid.hpp"

namespace {

using namespace plx::mesh;

constexpr int n = 8;

// Axis a of the image is axis p[a] of the original, reversed if bit a of flip is set.
struct turn {
  std::array<int, 3> p;
  int flip;

  bool reversed(int a) const { return (flip >> a & 1) != 0; }
  location of(const location& l, const domain& image) const {
    location r{l.level, {}};
    for (int a = 0; a < 3; ++a) {
      const auto last = static_cast<std::int32_t>(image.blocks_along(a, l.level)) - 1;
      r.x[a] = reversed(a) ? last - l.x[p[a]] : l.x[p[a]];
    }
    return r;
  }
  domain of(domain d) const {
    const domain old = d;
    for (int a = 0; a < 3; ++a) {
      d.root_blocks[a] = old.root_blocks[p[a]];
      d.upper[a] = old.upper[p[a]];
      for (int s = 0; s < 2; ++s) d.sides[2 * a + s] = old.sides[2 * p[a] + (reversed(a) ? 1 - s : s)];
    }
    return d;
  }
  // The cell of the original that maps to cell c of the image, in a cube of `width` cells.
  std::array<int, 3> source(const std::array<int, 3>& c, int width) const {
    std::array<int, 3> s{};
    for (int a = 0; a < 3; ++a) s[p[a]] = reversed(a) ? width - 1 - c[a] : c[a];
    return s;
  }
  // Variables: density, three components of a vector, two scalars.
  int variable(int v) const { return v >= 1 && v <= 3 ? 1 + p[v - 1] : v; }
  double sign(int v) const { return v >= 1 && v <= 3 && reversed(v - 1) ? -1.0 : 1.0; }

  // Computes image[v][k][j][i] from original, both cubes of `width` cells; or (compare) expects them to match.
  template <class F>
  void each(int width, F&& f) const {
    for (int v = 0; v < 6; ++v)
      for (int k = 0; k < width; ++k)
        for (int j = 0; j < width; ++j)
          for (int i = 0; i < width; ++i) {
            const auto s = source({i, j, k}, width);
            f(((v * width + k) * width + j) * width + i, ((variable(v) * width + s[2]) * width + s[1]) * width + s[0],
              sign(v));
          }
  }
  void make(const double* original, double* image, int width) const {
    each(width, [&](int to, int from, double sign) { image[to] = sign * original[from]; });
  }
  void expect(const double* original, const double* image, int width, const char* what) const {
    int differing = 0;
    each(width, [&](int to, int from, double sign) { differing += image[to] != sign * original[from]; });
    EXPECT_EQ(differing, 0) << what << " permutation " << p[0] << p[1] << p[2] << " flip " << flip;
  }
};

// A mesh with values and its image, slot for slot.
struct pair_of_states {
  block_mesh mesh, image_mesh;
  arena values{test::gas(), n}, image{test::gas(), n};

  pair_of_states(const domain& d, const std::vector<location>& leaves, const turn& t, std::mt19937_64& rng)
      : mesh(make(d, leaves, nullptr)), image_mesh(make(t.of(d), leaves, &t)) {
    values.resize(mesh.slot_count());
    image.resize(mesh.slot_count());
    test::fill_random(values, rng);
    for (const slot_id s : mesh.blocks()) t.make(values.block(s), image.block(s), n);
  }
  static block_mesh make(const domain& d, const std::vector<location>& leaves, const turn* t) {
    std::vector<leaf> made;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      made.push_back({t ? t->of(leaves[i], d) : leaves[i], static_cast<slot_id>(i), 0});
    return block_mesh(d, made);
  }
};

template <class F>
void for_turns(F&& f) {
  std::mt19937_64 rng(9);
  for (const limiter rule : {limiter::minmod, limiter::central})
    for (const bool closed : {true, false}) {
      domain d = test::box({2, 1, 1}, n, 2);
      d.prolongation = rule;
      if (!closed)
        d.sides = {boundary::outflow, boundary::reflecting, boundary::outflow,
                   boundary::outflow, boundary::periodic,   boundary::periodic};
      const auto leaves = test::random_leaves(d, 4, rng);
      std::array<int, 3> p{0, 1, 2};
      do {
        for (int flip = 0; flip < 8; flip += 3) {  // none, x and y, y and z
          const turn t{p, flip};
          pair_of_states state(d, leaves, t, rng);
          f(t, state);
        }
      } while (std::next_permutation(p.begin(), p.end()));
    }
}

TEST(Symmetry, Gather) {
  tile_scratch a, b;
  for_turns([&](const turn& t, const pair_of_states& state) {
    for (const slot_id s : state.mesh.blocks())
      t.expect(gather_tile(state.mesh, state.values, s, {}, a), gather_tile(state.image_mesh, state.image, s, {}, b),
               tile_width(n), "tile");
  });
}

TEST(Symmetry, Regrid) {
  tile_scratch scratch;
  std::mt19937_64 rng(12);
  for_turns([&](const turn& t, pair_of_states& state) {
    std::vector<flag> flags(state.mesh.slot_count());
    for (flag& f : flags) f = rng() % 6 == 0 ? flag::refine : flag::coarsen;
    const regrid_plan plan = plan_regrid(state.mesh, flags, 1), image = plan_regrid(state.image_mesh, flags, 1);
    move_values(plan, state.mesh, state.values, {}, scratch);
    move_values(image, state.image_mesh, state.image, {}, scratch);
    ASSERT_EQ(plan.next.block_count(), image.next.block_count());
    for (const slot_id s : plan.next.blocks()) {
      const slot_id other = image.next.find(t.of(plan.next.where(s), image.next.box()));
      ASSERT_NE(other, no_slot);
      t.expect(state.values.block(s), state.image.block(other), n, "block");
    }
  });
}

TEST(Symmetry, FluxRegister) {
  std::mt19937_64 rng(13);
  std::uniform_real_distribution<double> uniform(-1, 1);
  for_turns([&](const turn& t, pair_of_states& state) {
    flux_register between(6, n), image(6, n);
    between.resize(state.mesh);
    image.resize(state.image_mesh);
    for (const slot_id s : state.mesh.blocks())
      for (int f = 0; f < face_count; ++f) {
        if (!(flux_register::wanted_faces(state.image_mesh, s) >> f & 1)) continue;
        const int axis = face_axis(f), old_axis = t.p[axis];
        const bool upper = face_is_upper(f);
        const int old_face = 2 * old_axis + (upper != t.reversed(axis) ? 1 : 0);
        std::vector<double> flux(6 * n * n), flux_image(6 * n * n);
        for (double& x : flux) x = uniform(rng);
        const int ta = axis == 0 ? 1 : 0, tb = axis == 2 ? 1 : 2;
        const int oa = old_axis == 0 ? 1 : 0, ob = old_axis == 2 ? 1 : 2;
        for (int v = 0; v < 6; ++v)
          for (int b = 0; b < n; ++b)
            for (int a = 0; a < n; ++a) {
              std::array<int, 3> c{};
              c[ta] = a;
              c[tb] = b;
              const auto o = t.source(c, n);
              const double along = t.reversed(axis) ? -1.0 : 1.0;  // a flux is a vector's component along the axis
              flux_image[(v * n + b) * n + a] = along * t.sign(v) * flux[(t.variable(v) * n + o[ob]) * n + o[oa]];
            }
        between.put(state.mesh, s, old_face, flux.data());
        image.put(state.image_mesh, s, f, flux_image.data());
      }
    for (const slot_id s : state.mesh.blocks()) {
      between.apply(state.mesh, s, 0.37, state.values.block(s));
      image.apply(state.image_mesh, s, 0.37, state.image.block(s));
      t.expect(state.values.block(s), state.image.block(s), n, "corrected block");
    }
  });
}

}  // namespace
