// The policy `coalescing`: samples the traffic of adaptive parcels 40 times a second and adjusts their coalescing.
//
// Each target, an action or all others, has four actuators: coalesce-way (self-clocking or fixed), coalesce-parcels,
// coalesce-interval and coalesce-bytes, with @ACTION for one action. Each change and its reason are in the log of
// decisions, and so in the trace; a change that reduced the rate is undone. The algorithm is in
// net/parcels/adaptive/coalescing_follower.hpp. Thread safety: everything. Cost: none while nothing is adaptive;
// otherwise a count per parcel, and some microseconds of the measurement thread per sample. Example:
// net/parcels/adaptive/test/adaptive_coalescing_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "net/coalescing.hpp"
#include "net/core/node.hpp"

namespace plx::probe {
class policy_context;
}
namespace plx::net {

/// The time spent by a locality since it began, in seconds: increasing sums.
struct locality_load {
  double idle_s = 0;     ///< of workers without work, including unsuccessful polling
  double network_s = 0;  ///< of workers on messages
  double handing_s = 0;  ///< of tasks, for handing messages to the transport
  std::uint64_t sendings = 0;
};

class adaptive_coalescing final : public service {
 public:
  explicit adaptive_coalescing(node& n);
  ~adaptive_coalescing() override;

  /// Sets the coalescing of an action (0: of all others): parcel_port::collect(), and starts or stops the policy.
  /// Adaptive starts as self-clocking with how.bytes, at most 1 MiB; with others than before it starts again.
  void collect(std::uint16_t action, const coalescing& how);
  /// Takes one sample, as the policy does; called directly where no policy runs (deterministic mode).
  void look(const locality_load& load, probe::policy_context* policy = nullptr);

 private:
  struct target;
  struct parts;
  void add(std::uint16_t action, std::size_t bytes);
  void start();
  [[nodiscard]] locality_load load() const;

  node& node_;
  const std::unique_ptr<parts> parts_;
};

/// Sets the coalescing of an action (0: of all others) on a node.
void collect_as(node& n, std::uint16_t action, const coalescing& how);

}  // namespace plx::net
