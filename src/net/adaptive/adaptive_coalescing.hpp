// The policy `coalescing`: looks at parcels that collect adaptively, 40 times a second, and moves how they collect.
//
// Each of them, an action or all others, has four actuators: coalesce-way (self-clocking or fixed), coalesce-parcels,
// coalesce-interval and coalesce-bytes, with @ACTION for one. What is moved, and why, is in the log of decisions and so
// in the trace; what made things worse is undone. How it chooses: net/adaptive/coalescing_follower.hpp. Thread safety:
// everything. Cost: none while nothing is adaptive; else a count per parcel and some microseconds of the measurement's
// thread per look. Example: net/adaptive/test/adaptive_coalescing_test.cpp
#pragma once

#include <cstdint>
#include <memory>

#include "net/coalescing.hpp"
#include "net/core/node.hpp"

namespace plx::probe {
class policy_context;
}
namespace plx::net {

/// What a locality did with its time since it began, in seconds: sums that grow.
struct locality_load {
  double idle_s = 0;     ///< of its workers without work, fruitless polling included
  double network_s = 0;  ///< of its workers with messages
  double handing_s = 0;  ///< of tasks, to hand messages over
  std::uint64_t sendings = 0;
};

class adaptive_coalescing final : public service {
 public:
  explicit adaptive_coalescing(node& n);
  ~adaptive_coalescing() override;

  /// How parcels of an action (0: of all others) collect from now on; parcel_port::collect(), and the policy with it.
  void collect(std::uint16_t action, const coalescing& how);
  /// One look, as the policy has it; by hand where no policy runs (the deterministic mode).
  void look(const locality_load& load, probe::policy_context* policy = nullptr);

 private:
  struct target;
  struct parts;
  void add(std::uint16_t action);
  void start();
  [[nodiscard]] locality_load load() const;

  node& node_;
  const std::unique_ptr<parts> parts_;
};

/// Says a node how parcels of an action (0: of all others) collect.
void collect_as(node& n, std::uint16_t action, const coalescing& how);

}  // namespace plx::net
