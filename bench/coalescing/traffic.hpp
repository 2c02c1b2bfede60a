// Who sends what to whom, in small units of which phases are made (phases.cpp).
#pragma once

#include <complex>
#include <cstdint>
#include <memory>
#include <string_view>

#include "net/locality.hpp"

namespace plx::bench {

using number = std::complex<double>;

/// The calls of a toy or of a rotation, with what comes back checked.
class traffic {
 public:
  virtual ~traffic() = default;
  /// Makes `n` independent calls, waits for all, and checks what they gave. Seconds from the first to the last answer.
  virtual double exchange(unsigned n) = 0;
  /// So many calls make a dense unit, and one burst.
  [[nodiscard]] virtual unsigned dense() const = 0;
  [[nodiscard]] virtual unsigned burst() const = 0;
  /// Checks what is only seen at the end.
  virtual void check() {}
};

std::unique_ptr<traffic> toy_traffic();
/// Rows of a tensor of nc^3 elements over all localities.
std::unique_ptr<traffic> rotation_traffic(unsigned nc);

/// Names of actions, for settings.
inline constexpr std::string_view toy_action = "bench_conjugate", row_action = "bench_store_row";

}  // namespace plx::bench
