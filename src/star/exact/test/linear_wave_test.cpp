#include "star/exact/waves.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace plx::star {
namespace {

using vector = std::array<double, 3>;
constexpr std::array<wave_kind, 4> kinds{wave_kind::sound, wave_kind::entropy, wave_kind::shear_first,
                                         wave_kind::shear_second};

std::array<double, 5> as_array(const wave_state& s) {
  return {s.rho, s.velocity[0], s.velocity[1], s.velocity[2], s.pressure};
}

// The linearised Euler equations in primitive form: the matrix of the flux along unit vector n applied to d.
std::array<double, 5> flux_matrix_times(const wave_state& q, double gamma, const vector& n, const wave_state& d) {
  const double un = q.velocity[0] * n[0] + q.velocity[1] * n[1] + q.velocity[2] * n[2];
  const double dn = d.velocity[0] * n[0] + d.velocity[1] * n[1] + d.velocity[2] * n[2];
  return {un * d.rho + q.rho * dn, un * d.velocity[0] + n[0] * d.pressure / q.rho,
          un * d.velocity[1] + n[1] * d.pressure / q.rho, un * d.velocity[2] + n[2] * d.pressure / q.rho,
          un * d.pressure + gamma * q.pressure * dn};
}

TEST(LinearWave, PerturbationsAreEigenvectorsOfTheFlux) {
  const std::vector<vector> directions{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 2, 2}, {-1, 1, 0}, {3, -2, 1}};
  for (const wave_kind kind : kinds) {
    for (const vector& direction : directions) {
      for (const int sign : {1, -1}) {
        linear_wave_parameters p{.kind = kind,
                                 .sign = sign,
                                 .amplitude = 0.1,
                                 .rho = 1.3,
                                 .pressure = 0.9,
                                 .sound_speed = std::sqrt(1.4 * 0.9 / 1.3),
                                 .flow = 0.7,
                                 .direction = direction,
                                 .wavelength = 0.4};
        const linear_wave wave(p);
        const double norm = std::hypot(direction[0], direction[1], direction[2]);
        const vector n{direction[0] / norm, direction[1] / norm, direction[2] / norm};
        wave_state background = wave.at(0.25, 0);
        const double residue = std::cos(2 * std::acos(-1.0) * 0.25);  // not exactly zero
        background.rho -= residue * wave.perturbation().rho;
        const auto left = flux_matrix_times(background, 1.4, n, wave.perturbation());
        const auto d = as_array(wave.perturbation());
        double size = 0;
        for (int v = 0; v < 5; ++v) {
          EXPECT_NEAR(left[v], wave.speed() * d[v], 1e-15) << v;
          size += std::abs(d[v]);
        }
        EXPECT_GT(size, 0.05);
      }
    }
  }
}

TEST(LinearWave, ShearWavesAreAcrossTheDirectionAndEachOther) {
  linear_wave_parameters p{.kind = wave_kind::shear_first, .direction = {1, -2, 3}};
  const auto a = linear_wave(p).perturbation().velocity;
  p.kind = wave_kind::shear_second;
  const auto b = linear_wave(p).perturbation().velocity;
  EXPECT_NEAR(a[0] * 1 - a[1] * 2 + a[2] * 3, 0, 1e-20);
  EXPECT_NEAR(b[0] * 1 - b[1] * 2 + b[2] * 3, 0, 1e-20);
  EXPECT_NEAR(a[0] * b[0] + a[1] * b[1] + a[2] * b[2], 0, 1e-26);
}

TEST(LinearWave, ReturnsAfterOnePeriod) {
  const linear_wave wave({.kind = wave_kind::sound, .amplitude = 0.01, .flow = 0.2, .wavelength = 0.3});
  EXPECT_NEAR(wave.speed(), 1.2, 1e-15);
  EXPECT_NEAR(wave.at(0.1, wave.period()).rho, wave.at(0.1, 0).rho, 1e-15);
  EXPECT_NEAR(wave.at(0.1, 0.5 * wave.period()).rho - 1, -(wave.at(0.1, 0).rho - 1), 1e-15);
}

TEST(LinearWave, OtherSignIsTheMirrorImageBitwise) {
  for (const wave_kind kind : kinds) {
    const linear_wave right({.kind = kind, .sign = 1, .flow = 0.4, .direction = {1, 2, 2}});
    const linear_wave left({.kind = kind, .sign = -1, .flow = 0.4, .direction = {1, 2, 2}});
    for (int i = 0; i < 100; ++i) {
      const double phase = 0.0137 * i - 0.61, t = 0.021 * i;
      const auto a = as_array(right.at(phase, t)), b = as_array(left.at(-phase, t));
      EXPECT_EQ(a[0], b[0]);
      EXPECT_EQ(a[4], b[4]);
      for (int v = 1; v < 4; ++v) EXPECT_EQ(a[v], -b[v]);
    }
  }
}

TEST(LinearWave, CyclicPermutationOfTheDirectionPermutesTheState) {
  for (const wave_kind kind : kinds) {
    const auto a = linear_wave({.kind = kind, .direction = {1, 0, 0}}).at(0.13, 0.2).velocity;
    const auto b = linear_wave({.kind = kind, .direction = {0, 1, 0}}).at(0.13, 0.2).velocity;
    const auto c = linear_wave({.kind = kind, .direction = {0, 0, 1}}).at(0.13, 0.2).velocity;
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(b[(axis + 1) % 3], a[axis]);
      EXPECT_EQ(c[(axis + 2) % 3], a[axis]);
    }
  }
}

}  // namespace
}  // namespace plx::star
