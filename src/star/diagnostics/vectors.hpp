// Three-dimensional vectors of diagnostics.
//
// Thread safety: pure. Cost: a few operations. Example: star/diagnostics/star_shapes.cpp
#pragma once

#include <cmath>

#include "star/problems/problem.hpp"

namespace plx::star {

inline vector operator+(const vector& a, const vector& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
inline vector operator-(const vector& a, const vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
inline vector operator*(double s, const vector& a) { return {s * a[0], s * a[1], s * a[2]}; }
inline double dot(const vector& a, const vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
inline vector cross(const vector& a, const vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double norm(const vector& a) { return std::sqrt(dot(a, a)); }
/// Turned by an angle about the z axis.
inline vector turned(const vector& a, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return {c * a[0] - s * a[1], s * a[0] + c * a[1], a[2]};
}

}  // namespace plx::star
