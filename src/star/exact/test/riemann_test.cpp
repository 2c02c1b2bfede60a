#include "star/exact/shocks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "num/quadrature.hpp"

namespace plx::star {
namespace {

struct published {
  gas_state left, right;
  double pressure, velocity, rho_left, rho_right;
};

// Toro (2009), tables 4.1 and 4.2: five problems for gamma = 1.4 and their star states, to the digits printed there.
const std::array<published, 5> toro{{
    {{1, 0, 1}, {0.125, 0, 0.1}, 0.30313, 0.92745, 0.42632, 0.26557},
    {{1, -2, 0.4}, {1, 2, 0.4}, 0.00189, 0.0, 0.02185, 0.02185},
    {{1, 0, 1000}, {1, 0, 0.01}, 460.894, 19.5975, 0.57506, 5.99924},
    {{1, 0, 0.01}, {1, 0, 100}, 46.0950, -6.19633, 5.99242, 0.57511},
    {{5.99924, 19.5975, 460.894}, {5.99242, -6.19633, 46.0950}, 1691.64, 8.68975, 14.2823, 31.0426},
}};

TEST(Riemann, ReproducesTorosFiveProblems) {
  for (const published& known : toro) {
    const riemann_solution solution(known.left, known.right, 1.4);
    const double eps = 1e-9;
    EXPECT_NEAR(solution.star_pressure(), known.pressure, 2e-5 * known.pressure + 4e-6);
    EXPECT_NEAR(solution.star_velocity(), known.velocity, 1e-5 * std::abs(known.velocity) + 6e-6);
    EXPECT_NEAR(solution.at(solution.star_velocity() - eps).rho, known.rho_left, 2e-5 * known.rho_left + 4e-6);
    EXPECT_NEAR(solution.at(solution.star_velocity() + eps).rho, known.rho_right, 2e-5 * known.rho_right + 4e-6);
  }
}

std::array<double, 3> conserved(const gas_state& s, double gamma) {
  return {s.rho, s.rho * s.velocity, s.pressure / (gamma - 1) + 0.5 * s.rho * s.velocity * s.velocity};
}
std::array<double, 3> flux(const gas_state& s, double gamma) {
  const auto u = conserved(s, gamma);
  return {u[1], u[1] * s.velocity + s.pressure, (u[2] + s.pressure) * s.velocity};
}

TEST(Riemann, ShocksSatisfyTheJumpConditions) {
  for (const double gamma : {1.1, 1.4, 5.0 / 3, 2.0}) {
    for (const published& known : toro) {
      const riemann_solution solution(known.left, known.right, gamma);
      const wave_fan& fan = solution.fan();
      for (const bool left : {true, false}) {
        const double head = left ? fan.left_head : fan.right_head, tail = left ? fan.left_tail : fan.right_tail;
        if (head != tail) continue;
        const double eps = 1e-9 * (1 + std::abs(head));
        const gas_state a = solution.at(head - eps), b = solution.at(head + eps);
        const auto ua = conserved(a, gamma), ub = conserved(b, gamma), fa = flux(a, gamma), fb = flux(b, gamma);
        for (int v = 0; v < 3; ++v) {
          const double scale = std::abs(fa[v]) + std::abs(fb[v]) + std::abs(head) * (std::abs(ua[v]) + std::abs(ub[v]));
          EXPECT_NEAR(fb[v] - fa[v], head * (ub[v] - ua[v]), 1e-13 * scale) << gamma;
        }
      }
    }
  }
}

TEST(Riemann, RarefactionsKeepEntropyAndInvariant) {
  const double gamma = 1.4;
  const gas_state left{1, 0.3, 1};
  const riemann_solution solution(left, {0.125, 0, 0.1}, gamma);
  ASSERT_LT(solution.fan().left_head, solution.fan().left_tail);
  const double invariant = left.velocity + 2 / (gamma - 1) * std::sqrt(gamma * left.pressure / left.rho);
  for (int i = 0; i <= 20; ++i) {
    const double s = i / 20.0, speed = (1 - s) * solution.fan().left_head + s * solution.fan().left_tail;
    const gas_state q = solution.at(speed);
    const double c = std::sqrt(gamma * q.pressure / q.rho);
    EXPECT_NEAR(q.pressure / std::pow(q.rho, gamma), 1, 1e-13);
    EXPECT_NEAR(q.velocity + 2 / (gamma - 1) * c, invariant, 1e-13);
    EXPECT_NEAR(q.velocity - c, speed, 1e-13);  // its characteristic
  }
}

// For any waves, over [-1, 1] at t = 1 each conserved quantity changes by the difference of the boundary fluxes.
TEST(Riemann, ConservesMassMomentumEnergy) {
  const double gamma = 1.4;
  const auto rule = gauss_legendre(60);
  const std::array<std::array<gas_state, 2>, 6> problems{{
      {{{1, 0, 1}, {0.125, 0, 0.1}}},
      {{{1, -2, 0.4}, {1, 2, 0.4}}},
      {{{1, -20, 0.4}, {1, 20, 0.4}}},  // opens vacuum
      {{{1, 0, 1}, {0, 0, 0}}},
      {{{0, 0, 0}, {1, 0.5, 1}}},
      {{{1, 1, 1}, {1, -1, 1}}},
  }};
  for (const auto& [left, right] : problems) {
    const riemann_solution solution(left, right, gamma);
    const wave_fan& fan = solution.fan();
    const double reach = 50;
    const std::array<double, 7> edges{-reach,         fan.left_head,  fan.left_tail, fan.contact,
                                      fan.right_tail, fan.right_head, reach};
    for (int v = 0; v < 3; ++v) {
      double integral = 0;
      for (int piece = 0; piece < 6; ++piece) {
        EXPECT_LE(edges[piece], edges[piece + 1]);
        integral += integrate(rule, edges[piece], edges[piece + 1],
                              [&](double x) { return conserved(solution.at(x), gamma)[v]; });
      }
      const auto value = [&](const gas_state& s) { return s.rho > 0 ? conserved(s, gamma)[v] : 0.0; };
      const auto through = [&](const gas_state& s) { return s.rho > 0 ? flux(s, gamma)[v] : 0.0; };
      const double expected = reach * (value(left) + value(right)) + through(left) - through(right);
      EXPECT_NEAR(integral, expected, 1e-9 * reach * (1 + std::abs(value(left)) + std::abs(value(right)))) << v;
    }
  }
}

TEST(Riemann, MirroredProblemIsTheMirrorImageBitwise) {
  const auto flip = [](gas_state s) { return gas_state{s.rho, -s.velocity, s.pressure}; };
  for (const published& known : toro) {
    const riemann_solution a(known.left, known.right, 1.4), b(flip(known.right), flip(known.left), 1.4);
    for (int i = 0; i < 400; ++i) {
      const double speed = (i - 199.7) * 0.2;
      const gas_state p = a.at(speed), q = flip(b.at(-speed));
      EXPECT_EQ(p.rho, q.rho);
      EXPECT_EQ(p.velocity, q.velocity);
      EXPECT_EQ(p.pressure, q.pressure);
    }
  }
}

TEST(Riemann, UniformStateStaysUniform) {
  const riemann_solution solution({2, 0.5, 3}, {2, 0.5, 3}, 1.4);
  EXPECT_DOUBLE_EQ(solution.star_pressure(), 3);
  EXPECT_DOUBLE_EQ(solution.star_velocity(), 0.5);
  for (const double speed : {-5.0, -0.9, 0.1, 0.6, 5.0}) EXPECT_DOUBLE_EQ(solution.at(speed).rho, 2);
}

TEST(Riemann, GasIntoVacuumEndsAtTheEscapeSpeed) {
  const riemann_solution solution({1, 0, 1}, {0, 0, 0}, 1.4);
  const double edge = 5 * std::sqrt(1.4);
  EXPECT_TRUE(solution.has_vacuum());
  EXPECT_DOUBLE_EQ(solution.fan().left_tail, edge);
  EXPECT_GT(solution.at(edge * 0.99).rho, 0);
  EXPECT_EQ(solution.at(edge * 1.01).rho, 0);
}

TEST(RiemannDeath, NegativePressureIsABrokenContract) {
  EXPECT_DEATH(riemann_solution({1, 0, -1}, {1, 0, 1}, 1.4), "left.pressure");
}

}  // namespace
}  // namespace plx::star
