// Potentials on meshes of several levels, at and between the centres of cells.
#include "star/models/tree_field.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "mesh/test/test_meshes.hpp"

namespace plx::star::models {
namespace {

double quadratic(const std::array<double, 3>& x) {
  return 1.0 + 2.0 * x[0] - x[1] + 0.5 * x[0] * x[0] - x[1] * x[1] + 0.3 * x[2] * x[2] + x[0] * x[1] -
         0.7 * x[1] * x[2];
}
std::array<double, 3> slope(const std::array<double, 3>& x) {
  return {2.0 + x[0] + x[1], -1.0 - 2.0 * x[1] + x[0] - 0.7 * x[2], 0.6 * x[2] - 0.7 * x[1]};
}

mesh::block_mesh some_mesh(int refinements) {
  std::mt19937_64 rng(5);
  return mesh::test::random_mesh(mesh::test::box({2, 2, 1}, 8, 2, mesh::boundary::outflow), refinements, rng);
}

TEST(TreeField, QuadraticFunctionsAreReproduced) {
  tree_field f(some_mesh(6));
  ASSERT_GT(f.mesh().deepest(), 1);
  for (const mesh::slot_id b : f.mesh().blocks())
    for (int c = 0; c < 512; ++c) {
      const auto x = f.centre(b, c);
      f.block(b)[c] = quadratic(x);
      for (int a = 0; a < 3; ++a) f.block(b)[(1 + a) * 512 + c] = slope(x)[static_cast<std::size_t>(a)];
    }
  std::mt19937 rng(3);
  std::uniform_real_distribution<double> part(0.05, 0.95);
  for (int i = 0; i < 2000; ++i) {
    const std::array<double, 3> x{2.0 * part(rng), 2.0 * part(rng), part(rng)};
    EXPECT_NEAR(f.at(x), quadratic(x), 1e-12);
  }
  const mesh::slot_id b = f.mesh().blocks()[3];
  EXPECT_DOUBLE_EQ(f.at(f.centre(b, 77)), f.block(b)[77]);
  EXPECT_EQ(f.at({2.5, 0.5, 0.5}), 0.0);
}

// Against sums over all cells, at points outside of the body; the gradient that is kept is that of the potential.
TEST(TreeField, PotentialsAreThoseOfDirectSums) {
  tree_field f(some_mesh(4));
  const double constant = 1.5;
  const auto solver =
      attraction::make(f.mesh(), {.self = true, .constant = constant, .theta = 0.35, .order = 5}).value();
  struct mass {
    std::array<double, 3> x;
    double m;
  };
  std::vector<mass> masses;
  for (const mesh::slot_id b : f.mesh().blocks())
    for (int c = 0; c < 512; ++c) {
      const auto x = f.centre(b, c);
      const double r = std::hypot(x[0] - 1.0, x[1] - 1.0, x[2] - 0.5), rho = r < 0.3 ? 1.0 - r : 0.0;
      solver->density(b)[c] = rho;
      if (rho > 0.0) masses.push_back({x, rho * std::pow(f.mesh().cell_width(b), 3)});
    }
  solver->solve(f);
  for (const auto& x : {std::array{1.8, 0.2, 0.1}, {0.3, 1.7, 0.9}, {1.1, 1.7, 0.4}}) {
    double phi = 0.0, slope[3] = {};
    for (const mass& one : masses) {
      const double d[3] = {x[0] - one.x[0], x[1] - one.x[1], x[2] - one.x[2]}, r = std::hypot(d[0], d[1], d[2]);
      phi -= constant * one.m / r;
      for (int a = 0; a < 3; ++a) slope[a] += constant * one.m * d[a] / (r * r * r);
    }
    EXPECT_NEAR(f.at(x) / phi, 1.0, 1e-3);
    const double h = 0.02;
    for (std::size_t a = 0; a < 3; ++a) {
      auto up = x, down = x;
      up[a] += h, down[a] -= h;
      EXPECT_NEAR((f.at(up) - f.at(down)) / (2 * h), slope[a], 0.02 * std::hypot(slope[0], slope[1], slope[2]));
    }
  }
}

TEST(TreeField, OptionsOutOfRangeAreRefused) {
  const mesh::block_mesh m = some_mesh(0);
  EXPECT_FALSE(attraction::make(m, {.self = true, .constant = 1.0, .theta = 0.9, .order = 4}));
}

}  // namespace
}  // namespace plx::star::models
