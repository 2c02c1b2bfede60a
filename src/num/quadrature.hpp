// Gauss-Legendre quadrature with any number of points.
//
// Thread safety: rules are values; const use from any thread. Cost: O(n^2) to construct a rule of n points.
// Example: num/test/quadrature_test.cpp
#pragma once

#include <vector>

namespace plx {

/// Nodes and weights on [-1, 1], nodes ascending and bitwise antisymmetric; exact for polynomials of degree 2n - 1.
struct quadrature_rule {
  std::vector<double> nodes, weights;
};

/// The rule of n points. Requires: n >= 1. Source: Newton's method on the Legendre polynomial from its asymptotic
/// zeros.
quadrature_rule gauss_legendre(int n);

/// The integral of f over [a, b] by one application of the rule.
template <class F>
double integrate(const quadrature_rule& rule, double a, double b, F&& f) {
  const double centre = 0.5 * (a + b), half = 0.5 * (b - a);
  double sum = 0;
  for (std::size_t i = 0; i < rule.nodes.size(); ++i) sum += rule.weights[i] * f(centre + half * rule.nodes[i]);
  return half * sum;
}

}  // namespace plx
