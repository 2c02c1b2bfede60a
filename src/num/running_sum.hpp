// A sum of many terms, compensated: its error does not grow with their number. The order of the terms matters for the
// last bits; num/exact_sum.hpp is for sums in any order.
//
// Thread safety: none. Cost: some 1 ns per term. Example: star/driver/simulation.cpp
// Source: Neumaier (1974), Z. Angew. Math. Mech. 54, 39.
#pragma once

namespace plx {

struct running_sum {
  double sum = 0.0, lost = 0.0;

  /// Adds a term.
  void add(double term) {
    const double next = sum + term;
    lost += size(sum) >= size(term) ? (sum - next) + term : (term - next) + sum;
    sum = next;
  }
  /// The sum of all terms.
  double value() const { return sum + lost; }

 private:
  static double size(double x) { return x < 0.0 ? -x : x; }
};

}  // namespace plx
