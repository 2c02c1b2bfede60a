#include "star/exact/waves.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace plx::star {
namespace {

using complex = std::complex<double>;
constexpr double pi = std::numbers::pi;

// Michalke (1964): of all waves on a tanh layer in incompressible flow, ka = 0.4446 grows fastest, with 0.1897 U0/a;
// ka = 1 is neutral. Here the walls are far away and the flow is slow.
TEST(ShearLayer, ApproachesMichalkesIncompressibleRates) {
  const auto rate = [](double ka) {
    const shear_layer_parameters q{
        .speed = 1, .thickness = 0.1, .wavelength = 2 * pi * 0.1 / ka, .half_height = 2.5, .rho = 1, .sound_speed = 50};
    return shear_layer::solve(q).value().growth_rate() * 0.1;
  };
  EXPECT_NEAR(rate(0.4446), 0.1897, 2e-4);
  EXPECT_LT(rate(0.40), rate(0.4446));
  EXPECT_LT(rate(0.49), rate(0.4446));
  EXPECT_LT(rate(0.9), 0.07);
}

// The initial-value problem of the linearised equations, by fourth-order differences and Runge-Kutta, from a start that
// is not an eigenfunction: after some time only the fastest mode is visible.
struct fields {
  std::vector<complex> u, v, p;
};

class linearised {
 public:
  linearised(const shear_layer_parameters& q, int n) : q_(q), n_(n), h_(2 * q.half_height / n) {}

  double y(int i) const { return -q_.half_height + (i + 0.5) * h_; }
  fields start() const {
    fields f{std::vector<complex>(n_), std::vector<complex>(n_), std::vector<complex>(n_)};
    for (int i = 0; i < n_; ++i) f.v[i] = std::exp(-std::pow(y(i) / q_.thickness, 2)) * complex(1, 0.3);
    return f;
  }
  void step(fields& f, double dt) const {
    const fields old = f;
    for (const double part : {0.25, 1.0 / 3, 0.5, 1.0}) {  // fourth order for a linear system
      const fields d = rate(f);
      for (int i = 0; i < n_; ++i) {
        f.u[i] = old.u[i] + part * dt * d.u[i];
        f.v[i] = old.v[i] + part * dt * d.v[i];
        f.p[i] = old.p[i] + part * dt * d.p[i];
      }
    }
  }

 private:
  // Mirror images outside the walls; v is odd there.
  complex slope(const std::vector<complex>& f, int i, double parity) const {
    const auto value = [&](int j) { return j < 0 ? parity * f[-1 - j] : j >= n_ ? parity * f[2 * n_ - 1 - j] : f[j]; };
    return (8.0 * (value(i + 1) - value(i - 1)) - (value(i + 2) - value(i - 2))) / (12 * h_);
  }
  fields rate(const fields& f) const {
    fields d = f;
    const complex ik(0, 2 * pi / q_.wavelength);
    const double c2 = q_.sound_speed * q_.sound_speed;
    for (int i = 0; i < n_; ++i) {
      const double t = std::tanh(y(i) / q_.thickness);
      const complex along = -ik * q_.speed * t;
      d.u[i] = along * f.u[i] - q_.speed / q_.thickness * (1 - t * t) * f.v[i] - ik * f.p[i] / q_.rho;
      d.v[i] = along * f.v[i] - slope(f.p, i, 1) / q_.rho;
      d.p[i] = along * f.p[i] - q_.rho * c2 * (ik * f.u[i] + slope(f.v, i, -1));
    }
    return d;
  }

  shear_layer_parameters q_;
  int n_;
  double h_;
};

double norm_of(const fields& f) {
  double sum = 0;
  for (const complex& v : f.v) sum += std::norm(v);
  return std::sqrt(sum);
}

TEST(ShearLayer, RateAndModeAreThoseOfTheInitialValueProblem) {
  for (const double sound_speed : {1.5, 2.0, 4.0}) {
    const shear_layer_parameters q{
        .speed = 1, .thickness = 0.07, .wavelength = 1, .half_height = 0.5, .rho = 1.5, .sound_speed = sound_speed};
    const shear_layer layer = shear_layer::solve(q).value();
    const int n = 140;
    const linearised system(q, n);
    const double dt = 0.5 / n / (sound_speed + 1);
    fields f = system.start();
    const auto advance = [&](double t) {
      const int steps = static_cast<int>(t / dt);
      for (int i = 0; i < steps; ++i) system.step(f, dt);
      return steps * dt;
    };
    advance(7);
    const double before = norm_of(f), time = advance(1);
    EXPECT_NEAR(std::log(norm_of(f) / before) / time, layer.growth_rate(), 1e-3 * layer.growth_rate());

    int largest = 0;  // compare the fields after scaling both to one value
    for (int i = 0; i < n; ++i) {
      if (std::abs(f.v[i]) > std::abs(f.v[largest])) largest = i;
    }
    const complex scale = layer.at(system.y(largest)).velocity_y / f.v[largest];
    for (int i = 0; i < n; ++i) {
      const auto mode = layer.at(system.y(i));
      EXPECT_NEAR(std::abs(f.u[i] * scale - mode.velocity_x), 0, 0.01);
      EXPECT_NEAR(std::abs(f.v[i] * scale - mode.velocity_y), 0, 0.01);
      EXPECT_NEAR(std::abs(f.p[i] * scale - mode.pressure), 0, 0.01);
    }
  }
}

TEST(ShearLayer, ModeMeetsTheWallsAndItsMirrorImage) {
  const shear_layer layer = shear_layer::solve({}).value();
  EXPECT_NEAR(std::abs(layer.at(-0.5).velocity_y), 0, 1e-12);
  EXPECT_NEAR(std::abs(layer.at(0.5).velocity_y), 0, 1e-12);
  double largest = 0;
  for (const double y : {0.01, 0.123, 0.4}) {
    const auto up = layer.at(y), down = layer.at(-y);
    EXPECT_EQ(up.pressure, std::conj(down.pressure));
    EXPECT_EQ(up.velocity_y, -std::conj(down.velocity_y));
    largest = std::max(largest, std::abs(up.velocity_y));
  }
  EXPECT_LE(largest, 1.0000001);
  // Continuous through the middle.
  EXPECT_NEAR(std::abs(layer.at(1e-9).velocity_x - layer.at(-1e-9).velocity_x), 0, 1e-6);
  EXPECT_NEAR(std::abs(layer.at(1e-9).velocity_y - layer.at(-1e-9).velocity_y), 0, 1e-6);
}

TEST(ShearLayer, StableLayersAreRefusedWithOneLine) {
  const auto too_short = shear_layer::solve({.thickness = 0.2});
  ASSERT_FALSE(too_short);
  EXPECT_NE(too_short.error().message.find("wavelength"), std::string::npos);
  EXPECT_EQ(too_short.error().message.find('\n'), std::string::npos);
  EXPECT_FALSE(shear_layer::solve({.sound_speed = 0.5}));
}

}  // namespace
}  // namespace plx::star
