// Results of the parquet equations beside those of other methods: exact diagonalization, second order, Monte Carlo.
//
// Thread safety: compare() is called by a task. Cost: seconds each; those that are slow some minutes.
// Example: parquet/references/test/references_test.cpp
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace plx::parquet {

/// One number beside a reference result.
struct comparison {
  std::string quantity;
  double value = 0, expected = 0;
  double error = 0;    // statistical, of the expected value; 0: none
  double allowed = 0;  // difference, in the units of the values: what the approximation, the box and `error` explain

  double difference() const noexcept { return value - expected; }
  /// False for NaN.
  bool holds() const noexcept { return difference() <= allowed && -difference() <= allowed; }
};

/// A model, and the method that gives its reference results.
struct reference {
  const char* model;
  const char* by;
  bool slow;  // some minutes instead of seconds
  /// Error: one line: the iteration diverges or does not converge, the Monte Carlo fails, or `stop` was set (not null).
  result<std::vector<comparison>> (*compare)(const std::atomic<bool>* stop);
};

/// The one with the largest difference relative to the allowed one; the first with NaN if there is one. Requires: some
/// is not empty.
const comparison& worst_of(std::span<const comparison> some);

/// All of them, the slow ones last.
std::span<const reference> all_references();

}  // namespace plx::parquet
