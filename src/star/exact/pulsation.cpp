#include "star/exact/pulsation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/assert.hpp"

namespace plx::star {

namespace {

constexpr int steps = 2000, meeting = 1200;  // of equal length from the centre to the surface

struct state {
  double h, slope;
};

// The wave equation with x = r / length unit, w^2 = s * 4 pi G rho_c:
// h'' + (4 / x + (n + 1) theta' / theta) h' + (n + 1) / (gamma theta) ((3 gamma - 4) theta' / x + s) h = 0.
class wave_equation {
 public:
  wave_equation(const polytrope& star, double gamma)
      : n_(star.n), gamma_(gamma), surface_(star.solution.surface()), slope_(star.solution.slope()) {
    for (int i = 0; i <= 2 * steps; ++i) {  // values at half steps, too
      theta_.push_back(star.solution.at(0.5 * i * step()));
      derivative_.push_back(star.solution.slope(0.5 * i * step()));
    }
  }

  double step() const { return surface_ / steps; }

  // h and h' from the centre to the meeting point; `all`, if given, receives h at the steps.
  state outward(double s, std::vector<double>* all = nullptr) const {
    const double second = -(n_ + 1.0) / (5.0 * gamma_) * (s - (3.0 * gamma_ - 4.0) / 3.0), x = step();
    state y{1.0 + 0.5 * second * x * x, second * x};
    if (all != nullptr) (*all)[0] = 1.0, (*all)[1] = y.h;
    for (int i = 1; i < meeting; ++i) {
      y = advance(s, i, 1, y);
      if (all != nullptr) (*all)[static_cast<std::size_t>(i + 1)] = y.h;
    }
    return y;
  }

  state inward(double s, std::vector<double>* all = nullptr) const {
    const double at_surface = -((3.0 * gamma_ - 4.0) / surface_ + s / slope_) / gamma_;
    state y{1.0 - step() * at_surface, at_surface};
    if (all != nullptr) (*all)[steps] = 1.0, (*all)[steps - 1] = y.h;
    for (int i = steps - 1; i > meeting; --i) {
      y = advance(s, i, -1, y);
      if (all != nullptr) (*all)[static_cast<std::size_t>(i - 1)] = y.h;
    }
    return y;
  }

  // Zero if both solutions are one.
  double mismatch(double s) const {
    const state a = outward(s), b = inward(s);
    return a.h * b.slope - b.h * a.slope;
  }

 private:
  state derivative(double s, int half, const state& y) const {
    const auto i = static_cast<std::size_t>(half);
    const double x = 0.5 * half * step(), theta = theta_[i], d = derivative_[i];
    return {y.slope, -(4.0 / x + (n_ + 1.0) * d / theta) * y.slope -
                         (n_ + 1.0) / (gamma_ * theta) * ((3.0 * gamma_ - 4.0) * d / x + s) * y.h};
  }

  // A step of the classical Runge-Kutta scheme from step i to i + direction.
  state advance(double s, int i, int direction, const state& y) const {
    const double size = direction * step();
    const auto at = [&](const state& d, double by) { return state{y.h + by * d.h, y.slope + by * d.slope}; };
    const state a = derivative(s, 2 * i, y), b = derivative(s, 2 * i + direction, at(a, 0.5 * size));
    const state c = derivative(s, 2 * i + direction, at(b, 0.5 * size));
    const state d = derivative(s, 2 * (i + direction), at(c, size));
    return {y.h + size / 6.0 * (a.h + 2.0 * (b.h + c.h) + d.h),
            y.slope + size / 6.0 * (a.slope + 2.0 * (b.slope + c.slope) + d.slope)};
  }

  double n_, gamma_, surface_, slope_;
  std::vector<double> theta_, derivative_;
};

}  // namespace

pulsation::pulsation(const polytrope& star, double gamma, int overtone)
    : radius_(star.radius), relative_(static_cast<std::size_t>(steps) + 1) {
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
  const state inner = wave.outward(s, &relative_);
  std::vector<double> outer(relative_.size());
  const double scale = wave.inward(s, &outer).h / inner.h;
  for (int i = 0; i <= steps; ++i) {
    const auto at = static_cast<std::size_t>(i);
    relative_[at] = i <= meeting ? relative_[at] * scale : outer[at];
  }
}

double pulsation::period() const { return 2.0 * std::numbers::pi / frequency_; }

double pulsation::displacement(double r) const {
  if (r >= radius_) return r > radius_ ? 0.0 : 1.0;
  const double at = r / radius_ * steps;
  const auto i = std::min(static_cast<std::size_t>(at), relative_.size() - 2);
  const double t = at - static_cast<double>(i);
  return (r / radius_) * ((1.0 - t) * relative_[i] + t * relative_[i + 1]);
}

}  // namespace plx::star
