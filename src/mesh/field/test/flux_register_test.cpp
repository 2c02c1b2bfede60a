#include "mesh/field/face_fluxes.hpp"

#include <gtest/gtest.h>

#include "mesh/test/test_meshes.hpp"

namespace {

using namespace plx::mesh;

constexpr int n = 8, variables = 2;

// A random flux that depends only on the position of the cell face: adjacent blocks of one level agree on it.
double flux_at(const domain& d, int axis, int level, test::cell c, int v) {
  if (d.is_periodic(axis)) c[axis] %= d.blocks_along(axis, level) * n;
  std::uint64_t h = 88172645463325252ULL + static_cast<std::uint64_t>(axis + 3 * v + 7 * level);
  for (const std::int64_t x : c) {
    h ^= static_cast<std::uint64_t>(x + 1);
    h *= 0x9e3779b97f4a7c15ULL;
    h ^= h >> 29;
  }
  return static_cast<double>(h >> 11) / (1ULL << 53) - 0.5;
}

// Fluxes of one face of a block, [variable][b][a].
std::vector<double> face_flux(const block_mesh& mesh, slot_id s, int axis, int plane) {
  const int ta = axis == 0 ? 1 : 0, tb = axis == 2 ? 1 : 2;
  const location& l = mesh.where(s);
  std::vector<double> flux;
  for (int v = 0; v < variables; ++v)
    for (int b = 0; b < n; ++b)
      for (int a = 0; a < n; ++a) {
        test::cell c{};
        c[axis] = std::int64_t{l.x[axis]} * n + plane;
        c[ta] = std::int64_t{l.x[ta]} * n + a;
        c[tb] = std::int64_t{l.x[tb]} * n + b;
        flux.push_back(flux_at(mesh.box(), axis, l.level, c, v));
      }
  return flux;
}

double total(const block_mesh& mesh, const arena& u, int v) {
  long double sum = 0;
  for (const slot_id s : mesh.blocks()) {
    const double width = mesh.cell_width(s);
    for (int i = 0; i < u.cells(); ++i) sum += u.block(s)[v * u.cells() + i] * width * width * width;
  }
  return static_cast<double>(sum);
}

// One step of u += dt * divergence; keeps the fluxes at boundaries and at faces between levels.
void step(const block_mesh& mesh, arena& u, flux_register& between, side_totals& sides, double dt) {
  for (const slot_id s : mesh.blocks()) {
    const double weight = dt / mesh.cell_width(s);
    for (int axis = 0; axis < 3; ++axis)
      for (int plane = 0; plane < n; ++plane) {
        const auto lower = face_flux(mesh, s, axis, plane), upper = face_flux(mesh, s, axis, plane + 1);
        const int ta = axis == 0 ? 1 : 0, tb = axis == 2 ? 1 : 2, step[3] = {1, n, n * n};
        for (int v = 0; v < variables; ++v)
          for (int b = 0; b < n; ++b)
            for (int a = 0; a < n; ++a) {
              const int f = (v * n + b) * n + a;
              u.block(s)[v * n * n * n + plane * step[axis] + a * step[ta] + b * step[tb]] -=
                  weight * (upper[f] - lower[f]);
            }
      }
    for (int f = 0; f < face_count; ++f) {
      const auto flux = face_flux(mesh, s, face_axis(f), face_is_upper(f) ? n : 0);
      if (flux_register::wanted_faces(mesh, s) >> f & 1) between.put(mesh, s, f, flux.data());
      if (side_totals::wanted_faces(mesh, s) >> f & 1) sides.add(mesh, s, f, flux.data(), dt);
    }
  }
}

TEST(FluxRegister, ConservesTotalsWithRandomFluxes) {
  std::mt19937_64 rng(11);
  for (const boundary kind : {boundary::periodic, boundary::outflow}) {
    domain d = test::box({2, 1, 2}, n, 3, kind);
    const block_mesh mesh = test::random_mesh(d, 14, rng);
    arena u({{"a"}, {"b"}}, n);
    u.resize(mesh.slot_count());
    test::fill_random(u, rng);
    const double before[variables] = {total(mesh, u, 0), total(mesh, u, 1)};
    flux_register between(variables, n);
    side_totals sides(variables);
    between.resize(mesh);
    sides.resize(mesh);
    step(mesh, u, between, sides, 0.3);
    sides.fold();
    for (int v = 0; v < variables; ++v)  // without the register totals are not conserved: the test can fail
      EXPECT_GT(std::abs(total(mesh, u, v) + sides.total(v) - before[v]), 1e-5);
    for (const slot_id s : mesh.blocks()) between.apply(mesh, s, 0.3 / mesh.cell_width(s), u.block(s));
    for (int v = 0; v < variables; ++v) EXPECT_NEAR(total(mesh, u, v) + sides.total(v), before[v], 1e-14 * 4);
    EXPECT_EQ(sides.total(0) != 0.0, kind != boundary::periodic);
  }
}

TEST(FluxRegister, ABlockWithoutFinerNeighboursIsUnchanged) {
  const block_mesh mesh(test::box({2, 2, 2}, n, 0));
  flux_register between(variables, n);
  between.resize(mesh);
  std::vector<double> u(variables * n * n * n, 1.0);
  const auto untouched = u;
  for (const slot_id s : mesh.blocks()) {
    EXPECT_EQ(flux_register::wanted_faces(mesh, s), 0u);
    between.apply(mesh, s, 1.0, u.data());
  }
  EXPECT_EQ(u, untouched);
}

TEST(SideTotals, DoNotDependOnTheOrderAndContinueBitwise) {
  std::mt19937_64 rng(5);
  const block_mesh mesh = test::random_mesh(test::box({1, 1, 1}, n, 2, boundary::outflow), 3, rng);
  std::vector<slot_id> order(mesh.blocks().begin(), mesh.blocks().end());
  std::vector<std::vector<double>> states;
  for (int attempt = 0; attempt < 3; ++attempt) {
    side_totals t(variables);
    t.resize(mesh);
    std::shuffle(order.begin(), order.end(), rng);
    for (int step = 0; step < 4; ++step) {
      for (const slot_id s : order)
        for (int f = 0; f < face_count; ++f)
          if (side_totals::wanted_faces(mesh, s) >> f & 1)
            t.add(mesh, s, f, face_flux(mesh, s, face_axis(f), face_is_upper(f) ? n : 0).data(), 0.1 * (step + 1));
      t.fold();
      if (step == 1 && attempt == 2) {
        side_totals other(variables);
        other.restore(t.state());
        other.resize(mesh);
        t = other;
      }
    }
    states.emplace_back(t.state().begin(), t.state().end());
  }
  EXPECT_EQ(states[0], states[1]);
  EXPECT_EQ(states[0], states[2]);
}

TEST(SideTotals, UniformFlowLeavesThroughTheUpperSideAndEntersThroughTheLower) {
  const block_mesh mesh(test::box({2, 3, 1}, n, 0, boundary::inflow));
  side_totals t(1);
  t.resize(mesh);
  const std::vector<double> flux(n * n, 2.0);
  for (const slot_id s : mesh.blocks())
    for (int f = 0; f < 2; ++f)
      if (side_totals::wanted_faces(mesh, s) >> f & 1) t.add(mesh, s, f, flux.data(), 0.5);
  t.fold();
  EXPECT_DOUBLE_EQ(t.total(1, 0), 2.0 * 3.0 * 1.0 * 0.5);
  EXPECT_DOUBLE_EQ(t.total(0, 0), -3.0);
  EXPECT_DOUBLE_EQ(t.total(0), 0.0);
}

}  // namespace
