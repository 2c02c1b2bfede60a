#include "num/quadrature.hpp"

#include <cmath>
#include <numbers>

namespace plx {

quadrature_rule gauss_legendre(int n) {
  quadrature_rule rule;
  rule.nodes.resize(n);
  rule.weights.resize(n);
  for (int i = 0; i < (n + 1) / 2; ++i) {
    double x = std::cos(std::numbers::pi * (i + 0.75) / (n + 0.5));
    double slope = 1;
    for (int iteration = 0; iteration < 100; ++iteration) {
      double p = 1, previous = 0;  // P_k and P_{k-1} at x
      for (int k = 1; k <= n; ++k) {
        const double next = ((2 * k - 1) * x * p - (k - 1) * previous) / k;
        previous = p;
        p = next;
      }
      slope = n * (x * p - previous) / (x * x - 1);
      const double step = p / slope;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    if (2 * i + 1 == n) x = 0;
    rule.nodes[i] = -x;
    rule.nodes[n - 1 - i] = x;
    rule.weights[i] = rule.weights[n - 1 - i] = 2 / ((1 - x * x) * slope * slope);
  }
  return rule;
}

}  // namespace plx
