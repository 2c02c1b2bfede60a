#include "star/exact/lane_emden.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace plx::star {

namespace {

struct state {
  double theta, slope;
};

state derivative(double n, double xi, const state& y) {
  const double source = std::pow(std::max(y.theta, 0.0), n);
  return {y.slope, xi > 0.0 ? -source - 2.0 * y.slope / xi : -1.0 / 3.0};
}

// A step of the classical Runge-Kutta scheme.
state advance(double n, double xi, const state& y, double h) {
  const auto at = [&](const state& d, double s) { return state{y.theta + s * d.theta, y.slope + s * d.slope}; };
  const state a = derivative(n, xi, y), b = derivative(n, xi + 0.5 * h, at(a, 0.5 * h));
  const state c = derivative(n, xi + 0.5 * h, at(b, 0.5 * h)), d = derivative(n, xi + h, at(c, h));
  return {y.theta + h / 6.0 * (a.theta + 2.0 * (b.theta + c.theta) + d.theta),
          y.slope + h / 6.0 * (a.slope + 2.0 * (b.slope + c.slope) + d.slope)};
}

}  // namespace

lane_emden::lane_emden(double n) : index_(n), step_(1.0 / 1024.0) {
  state y{1.0, 0.0};
  for (double xi = 0.0;; xi += step_) {
    theta_.push_back(y.theta);
    derivative_.push_back(y.slope);
    if (y.theta <= 0.0) break;
    y = advance(n, xi, y, step_);
  }
  // Back to the zero, at most a step away, along the tangent.
  const double beyond = -theta_.back() / derivative_.back();
  surface_ = static_cast<double>(theta_.size() - 1) * step_ + beyond;
  slope_ = derivative_.back() + beyond * derivative(n, surface_, {0.0, derivative_.back()}).slope;
}

// Cubic interpolation of values and derivatives.
double lane_emden::at(double xi) const {
  if (xi >= surface_) return 0.0;
  const auto i = std::min(static_cast<std::size_t>(xi / step_), theta_.size() - 2);
  const double t = xi / step_ - static_cast<double>(i), u = 1.0 - t;
  const double value = u * u * (1.0 + 2.0 * t) * theta_[i] + t * t * (1.0 + 2.0 * u) * theta_[i + 1] +
                       step_ * t * u * (u * derivative_[i] - t * derivative_[i + 1]);
  return std::max(value, 0.0);
}

// theta' and theta'' are known at the steps: cubic interpolation of theta'.
double lane_emden::slope(double xi) const {
  const auto i = std::min(static_cast<std::size_t>(xi / step_), theta_.size() - 2);
  const double t = xi / step_ - static_cast<double>(i), u = 1.0 - t;
  const auto second = [&](std::size_t k) {
    return derivative(index_, static_cast<double>(k) * step_, {theta_[k], derivative_[k]}).slope;
  };
  return u * u * (1.0 + 2.0 * t) * derivative_[i] + t * t * (1.0 + 2.0 * u) * derivative_[i + 1] +
         step_ * t * u * (u * second(i) - t * second(i + 1));
}

polytrope::polytrope(double index, double m, double r, double g)
    : n(index), mass(m), radius(r), gravity(g), central_density(0.0), k(0.0), solution(index) {
  const double xi = solution.surface(), pi = std::numbers::pi, length = radius / xi;
  central_density = mass / (4.0 * pi * radius * radius * radius) * xi / -solution.slope();
  const double central_pressure = 4.0 * pi * gravity * central_density * central_density * length * length / (n + 1.0);
  k = central_pressure / std::pow(central_density, 1.0 + 1.0 / n);
}

double polytrope::density(double r) const {
  return central_density * std::pow(solution.at(r / radius * solution.surface()), n);
}

double polytrope::pressure(double density) const { return k * std::pow(density, 1.0 + 1.0 / n); }

double polytrope::potential_energy() const { return -3.0 * gravity * mass * mass / ((5.0 - n) * radius); }

}  // namespace plx::star
