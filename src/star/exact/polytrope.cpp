#include "star/exact/polytrope.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"

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

namespace {

constexpr int mode_steps = 2000, meeting = 1200;  // of equal length from the centre to the surface

struct mode_state {
  double h, slope;
};

// The wave equation with x = r / length unit, w^2 = s * 4 pi G rho_c:
// h'' + (4 / x + (n + 1) theta' / theta) h' + (n + 1) / (gamma theta) ((3 gamma - 4) theta' / x + s) h = 0.
class wave_equation {
 public:
  wave_equation(const polytrope& star, double gamma)
      : n_(star.n), gamma_(gamma), surface_(star.solution.surface()), slope_(star.solution.slope()) {
    for (int i = 0; i <= 2 * mode_steps; ++i) {  // values at half steps, too
      theta_.push_back(star.solution.at(0.5 * i * step()));
      derivative_.push_back(star.solution.slope(0.5 * i * step()));
    }
  }

  double step() const { return surface_ / mode_steps; }

  // h and h' from the centre to the meeting point; `all`, if given, receives h at the steps: [mode_steps + 1].
  mode_state outward(double s, double* all = nullptr) const {
    const double second = -(n_ + 1.0) / (5.0 * gamma_) * (s - (3.0 * gamma_ - 4.0) / 3.0), x = step();
    mode_state y{1.0 + 0.5 * second * x * x, second * x};
    if (all != nullptr) all[0] = 1.0, all[1] = y.h;
    for (int i = 1; i < meeting; ++i) {
      y = advance(s, i, 1, y);
      if (all != nullptr) all[i + 1] = y.h;
    }
    return y;
  }

  mode_state inward(double s, double* all = nullptr) const {
    const double at_surface = -((3.0 * gamma_ - 4.0) / surface_ + s / slope_) / gamma_;
    mode_state y{1.0 - step() * at_surface, at_surface};
    if (all != nullptr) all[mode_steps] = 1.0, all[mode_steps - 1] = y.h;
    for (int i = mode_steps - 1; i > meeting; --i) {
      y = advance(s, i, -1, y);
      if (all != nullptr) all[i - 1] = y.h;
    }
    return y;
  }

  // Zero if both solutions are one.
  double mismatch(double s) const {
    const mode_state a = outward(s), b = inward(s);
    return a.h * b.slope - b.h * a.slope;
  }

 private:
  mode_state derivative(double s, int half, const mode_state& y) const {
    const auto i = static_cast<std::size_t>(half);
    const double x = 0.5 * half * step(), theta = theta_[i], d = derivative_[i];
    return {y.slope, -(4.0 / x + (n_ + 1.0) * d / theta) * y.slope -
                         (n_ + 1.0) / (gamma_ * theta) * ((3.0 * gamma_ - 4.0) * d / x + s) * y.h};
  }

  // A step of the classical Runge-Kutta scheme from step i to i + direction.
  mode_state advance(double s, int i, int direction, const mode_state& y) const {
    const double size = direction * step();
    const auto at = [&](const mode_state& d, double by) { return mode_state{y.h + by * d.h, y.slope + by * d.slope}; };
    const mode_state a = derivative(s, 2 * i, y), b = derivative(s, 2 * i + direction, at(a, 0.5 * size));
    const mode_state c = derivative(s, 2 * i + direction, at(b, 0.5 * size));
    const mode_state d = derivative(s, 2 * (i + direction), at(c, size));
    return {y.h + size / 6.0 * (a.h + 2.0 * (b.h + c.h) + d.h),
            y.slope + size / 6.0 * (a.slope + 2.0 * (b.slope + c.slope) + d.slope)};
  }

  double n_, gamma_, surface_, slope_;
  std::vector<double> theta_, derivative_;
};

}  // namespace

pulsation::pulsation(const polytrope& star, double gamma, int overtone)
    : radius_(star.radius), relative_(static_cast<std::size_t>(mode_steps) + 1) {
  PLX_ASSERT(gamma > 4.0 / 3.0 && overtone >= 0 && overtone <= 20, gamma, overtone);
  const wave_equation wave(star, gamma);
  // From w^2 R^3 / (G M) to s.
  const double unit = -star.solution.slope() / star.solution.surface();
  // The lowest w^2 is above 0 for gamma > 4/3 and grows with gamma - 4/3; the next ones are further apart.
  const double by = 0.05 * (3.0 * gamma - 4.0) * unit;
  double low = 0.0, high = by, at_low = wave.mismatch(low);
  for (int found = 0;; low = high, high += by) {
    const double at_high = wave.mismatch(high);
    if (at_low * at_high <= 0.0 && found++ == overtone) break;
    at_low = at_high;
  }
  for (int i = 0; i < 60; ++i) {
    const double middle = 0.5 * (low + high);
    (wave.mismatch(middle) * at_low > 0.0 ? low : high) = middle;
  }
  const double s = 0.5 * (low + high);
  square_ = s / unit;
  frequency_ = std::sqrt(square_ * star.gravity * star.mass / (radius_ * radius_ * radius_));
  const mode_state inner = wave.outward(s, relative_.data());
  std::vector<double> outer(relative_.size());
  const double scale = wave.inward(s, outer.data()).h / inner.h;
  for (int i = 0; i <= mode_steps; ++i) {
    const auto at = static_cast<std::size_t>(i);
    relative_[at] = i <= meeting ? relative_[at] * scale : outer[at];
  }
}

double pulsation::period() const { return 2.0 * std::numbers::pi / frequency_; }

double pulsation::displacement(double r) const {
  if (r >= radius_) return r > radius_ ? 0.0 : 1.0;
  const double at = r / radius_ * mode_steps;
  const auto i = std::min(static_cast<std::size_t>(at), relative_.size() - 2);
  const double t = at - static_cast<double>(i);
  return (r / radius_) * ((1.0 - t) * relative_[i] + t * relative_[i + 1]);
}

}  // namespace plx::star
