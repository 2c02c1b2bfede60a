// Communication patterns in small units, from which phases are built (phases.cpp).
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string_view>

#include "net/locality.hpp"

namespace plx::bench {

using number = std::complex<double>;

/// The calls of a toy or of a rotation; results are checked.
class traffic {
 public:
  virtual ~traffic() = default;
  /// Makes `n` independent calls, waits for all, and checks the results. Seconds from the first to the last answer.
  virtual double exchange(unsigned n) = 0;
  /// The number of calls of a dense unit, and of one burst.
  [[nodiscard]] virtual unsigned dense() const = 0;
  [[nodiscard]] virtual unsigned burst() const = 0;
  /// Checks that are only possible at the end.
  virtual void check() {}
};

std::unique_ptr<traffic> toy_traffic();
/// Rows of a tensor of nc^3 elements over all localities.
std::unique_ptr<traffic> rotation_traffic(unsigned nc);

/// Names of actions, for settings.
inline constexpr std::string_view toy_action = "bench_conjugate", row_action = "bench_store_row";

}  // namespace plx::bench
