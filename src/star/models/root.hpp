// Roots and maxima of functions of one variable.
//
// Thread safety: pure. Cost: 5 to 60 calls of the function. Example: star/models/self_consistent.cpp
#pragma once

#include <algorithm>
#include <cmath>

namespace plx::star::models {

/// A root of f between a and b, to this accuracy: regula falsi with Illinois' rule. If f has the same sign at both, the
/// end at which it is smaller.
template <class F>
double root_between(F&& f, double a, double b, double accuracy) {
  double at_a = f(a), at_b = f(b);
  if ((at_a > 0.0) == (at_b > 0.0)) return std::abs(at_a) < std::abs(at_b) ? a : b;
  double best = std::abs(at_a) < std::abs(at_b) ? a : b, at_best = best == a ? at_a : at_b;
  for (int i = 0; i < 200 && std::abs(b - a) > accuracy; ++i) {
    // Every fourth time the middle, so that the bracket shrinks for any function.
    double x = i % 4 == 3 ? 0.5 * (a + b) : b - at_b * (b - a) / (at_b - at_a);
    if (!(std::abs(x - a) < std::abs(b - a)) || !(std::abs(x - b) < std::abs(b - a))) x = 0.5 * (a + b);
    const double at_x = f(x);
    if (std::abs(at_x) < std::abs(at_best)) best = x, at_best = at_x;
    if (at_x == 0.0) return x;
    if ((at_x > 0.0) == (at_b > 0.0)) {
      b = x, at_b = at_x, at_a *= 0.5;
    } else {
      a = b, at_a = at_b;
      b = x, at_b = at_x;
    }
    if (std::abs(at_best) < 1e-14) return best;
  }
  return best;
}

/// The place of the largest value of f between a and b, among `parts` intervals, refined by golden sections.
template <class F>
double largest_at(F&& f, double a, double b, int parts) {
  int best = 0;
  double at_best = f(a);
  for (int i = 1; i <= parts; ++i)
    if (const double value = f(a + (b - a) * i / parts); value > at_best) best = i, at_best = value;
  double low = a + (b - a) * std::max(best - 1, 0) / parts, high = a + (b - a) * std::min(best + 1, parts) / parts;
  constexpr double golden = 0.6180339887498949;
  double x = high - golden * (high - low), y = low + golden * (high - low), at_x = f(x), at_y = f(y);
  for (int i = 0; i < 40; ++i) {
    if (at_x > at_y) {
      high = y, y = x, at_y = at_x;
      x = high - golden * (high - low), at_x = f(x);
    } else {
      low = x, x = y, at_x = at_y;
      y = low + golden * (high - low), at_y = f(y);
    }
  }
  return 0.5 * (low + high);
}

}  // namespace plx::star::models
