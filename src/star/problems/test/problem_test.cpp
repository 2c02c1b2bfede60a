#include "star/problems/problem.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "num/exact_sum.hpp"
#include "star/problems/given_functions.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;

// For every problem, values at a point and cell averages agree in a small cell, states are physical, and fractions sum
// to one.
TEST(Problem, AveragesArePhysicalAndAgreeWithPoints) {
  problem_setting setting;
  setting.gravity = 1.0;                            // for waves in gas that attracts itself
  setting.attractor = {1.0, {}, 0.1};               // for disks
  setting.attraction = {.theta = 0.5, .order = 3};  // quick models of stars
  for (const auto& entry : all_problems()) {
    if (entry.name == "profile" || entry.name == "grid" || (entry.name == "expressions" && !expression::available()))
      continue;  // need a file
    const auto p = prepared(std::string(entry.name), {}, setting);
    const int n_species = p->species_count();
    std::vector<double> u(variable_count(n_species));
    for (const vector& x : {vector{0.11, 0.07, -0.21}, vector{-0.31, 0.22, 0.17}, vector{-0.2, -0.2, -0.2}}) {
      const primitive w = p->at(x, 0);
      p->average({x, {1e-4, 1e-4, 1e-4}}, 0, u.data(), 1);
      EXPECT_GT(u[i_density], 0) << entry.name;
      EXPECT_NEAR(u[i_density], w.density, 1e-6 * std::max(1.0, p->at({}, 0).density)) << entry.name;
      double kinetic = 0;
      for (int axis = 0; axis < 3; ++axis) {
        EXPECT_NEAR(u[i_momentum + axis], w.density * w.velocity[axis], 1e-6) << entry.name;
        kinetic += 0.5 * w.density * w.velocity[axis] * w.velocity[axis];
      }
      EXPECT_NEAR(u[i_energy], w.pressure / 0.4 + kinetic, 1e-6 * (1 + u[i_energy])) << entry.name;
      EXPECT_NEAR(std::pow(u[i_tracer], 1.4), w.pressure / 0.4, 1e-6 * (1 + u[i_energy])) << entry.name;
      double sum = n_species == 0 ? 1 : 0;
      for (int s = 0; s < n_species; ++s) {
        EXPECT_GE(u[i_species + s], 0);
        sum += u[i_species + s] / u[i_density];
      }
      EXPECT_NEAR(sum, 1, 1e-15) << entry.name;
    }
  }
}

TEST(Problem, AveragesOfSmoothProblemsAreOfFourthOrder) {
  const auto p = prepared("linear_wave", {"linear_wave.amplitude=0.1", "linear_wave.wave=entropy"});
  const auto error = [&](double width) {
    std::vector<double> u(variable_count(0));
    const double x = 0.1, k = 2 * std::numbers::pi;
    p->average({{x, 0, 0}, {width, width, width}}, 0, u.data(), 1);
    const double exact = 1 + 0.1 * (std::sin(k * (x + width / 2)) - std::sin(k * (x - width / 2))) / (k * width);
    return std::abs(u[i_density] - exact);
  };
  EXPECT_NEAR(std::log2(error(0.1) / error(0.05)), 4, 0.1);
}

TEST(Problem, InflowIsTheStateAtTheSide) {
  const auto p = prepared("sod");
  EXPECT_EQ(p->inflow(0).density, 1);
  EXPECT_EQ(p->inflow(1).density, 0.125);
}

TEST(Problem, PeriodicProblemsAreTheSameOneBoxFurther) {
  const auto wave = prepared("linear_wave", {"linear_wave.direction=[1,2,-1]", "linear_wave.amplitude=0.1"});
  const auto bodies = prepared("advection");
  const auto planes = prepared("sod", {"sod.periodic=true", "sod.direction=[1,1,0]"});
  for (const problem* p : {wave.get(), bodies.get(), planes.get()}) {
    for (int axis = 0; axis < 3; ++axis) {
      for (const vector& x : {vector{0.11, 0.07, -0.21}, vector{-0.31, 0.22, 0.17}}) {
        vector beyond = x;
        beyond[axis] += 1;
        EXPECT_NEAR(p->at(x, 0.05).density, p->at(beyond, 0.05).density, 1e-13);
        EXPECT_NEAR(p->at(x, 0.05).velocity[0], p->at(beyond, 0.05).velocity[0], 1e-13);
        EXPECT_EQ(p->at(x, 0.05).fraction[0], p->at(beyond, 0.05).fraction[0]);
      }
    }
  }
}

// Mirrored along x: momentum x changes sign, everything else has the same bits.
void expect_mirrored(const problem& p, const problem& q, double t) {
  const box b(16);
  const auto u = b.fill(p, t), v = b.fill(q, t);
  for (int k = 0; k < 16; ++k) {
    for (int j = 0; j < 16; ++j) {
      for (int i = 0; i < 16; ++i) {
        for (std::size_t variable = 0; variable * b.size() < u.size(); ++variable) {
          const double sign = variable == i_momentum ? -1 : 1;
          ASSERT_EQ(u[variable * b.size() + b.at(i, j, k)], sign * v[variable * b.size() + b.at(15 - i, j, k)]);
        }
      }
    }
  }
}

TEST(Problem, MirroredProblemsStartMirroredBitwise) {
  expect_mirrored(*prepared("sod"), *prepared("sod", {"sod.direction=[-1,0,0]"}), 0);
  expect_mirrored(*prepared("sod", {"sod.direction=[1,1,0]"}), *prepared("sod", {"sod.direction=[-1,1,0]"}), 0);
  expect_mirrored(*prepared("sod"), *prepared("sod", {"sod.direction=[-1,0,0]"}), 0.1);
  expect_mirrored(*prepared("einfeldt"), *prepared("einfeldt"), 0);
  expect_mirrored(*prepared("sedov"), *prepared("sedov"), 0);
  expect_mirrored(*prepared("sedov"), *prepared("sedov"), 0.05);
  for (const std::string wave : {"sound", "entropy"}) {
    const std::vector<std::string> right{"linear_wave.wave=" + wave, "linear_wave.flow=0.3"};
    std::vector<std::string> left = right;
    left.push_back("linear_wave.sign=-1");
    expect_mirrored(*prepared("linear_wave", right), *prepared("linear_wave", left), 0);
    expect_mirrored(*prepared("linear_wave", right), *prepared("linear_wave", left), 0.37);
  }
}

// Axes permuted cyclically, x to y to z to x.
void expect_permuted(const problem& p, const problem& q, double t) {
  const box b(16);
  const auto u = b.fill(p, t), v = b.fill(q, t);
  for (int k = 0; k < 16; ++k) {
    for (int j = 0; j < 16; ++j) {
      for (int i = 0; i < 16; ++i) {
        const int from = b.at(i, j, k), to = b.at(k, i, j);
        for (std::size_t variable = 0; variable * b.size() < u.size(); ++variable) {
          const std::size_t image = variable >= 1 && variable <= 3 ? variable % 3 + 1 : variable;
          ASSERT_EQ(u[variable * b.size() + from], v[image * b.size() + to]) << variable;
        }
      }
    }
  }
}

TEST(Problem, PermutedProblemsStartPermutedBitwise) {
  expect_permuted(*prepared("sedov"), *prepared("sedov"), 0);
  expect_permuted(*prepared("sedov"), *prepared("sedov"), 0.05);
  expect_permuted(*prepared("sod"), *prepared("sod", {"sod.direction=[0,1,0]"}), 0);
  expect_permuted(*prepared("sod", {"sod.direction=[1,1,0]"}), *prepared("sod", {"sod.direction=[0,1,1]"}), 0.1);
  for (const std::string wave : {"sound", "entropy", "shear1", "shear2"}) {
    const std::string set = "linear_wave.wave=" + wave;
    expect_permuted(*prepared("linear_wave", {set, "linear_wave.direction=[1,0,0]"}),
                    *prepared("linear_wave", {set, "linear_wave.direction=[0,1,0]"}), 0.2);
    expect_permuted(*prepared("linear_wave", {set, "linear_wave.direction=[3,1,-2]"}),
                    *prepared("linear_wave", {set, "linear_wave.direction=[-2,3,1]"}), 0.2);
  }
}

TEST(Problem, AStateThatNoGasHasIsRefusedWithItsPlace) {
  struct below_zero final : problem {
    void describe(config_table&) override {}
    primitive at(const vector& x, double) const override {
      return {.density = 1.0, .velocity = {}, .pressure = x[0], .fraction = {}};
    }
  } p;
  ASSERT_TRUE(p.prepare({}));
  double u[variable_count(0)];
  p.average({{0.25, 0.0, 0.0}, {0.1, 0.1, 0.1}}, 0.0, u, 1);
  try {
    p.average({{-0.25, 0.0, 0.0}, {0.1, 0.1, 0.1}}, 0.0, u, 1);
    ADD_FAILURE();
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("expected density and pressure above 0, found density 1 and pressure -0.2"),
              std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace plx::star
