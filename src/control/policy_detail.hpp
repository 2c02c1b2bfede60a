// Internal: a policy, and the list of policies that events read. For policy.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control/policy.hpp"

namespace plx::probe::detail {

/// Invariant: once `off` is set, no call of the function begins. A call first sets `running` (unless concurrent calls
/// are permitted) and then checks `off`.
struct policy {
  policy(policy_options o, event_filter f, std::unique_ptr<policy_registry::function> g,
         std::shared_ptr<decision_log> l)
      : options(std::move(o)), filter(std::move(f)), function(std::move(g)), log(std::move(l)) {}

  const policy_options options;
  const event_filter filter;
  std::unique_ptr<policy_registry::function> function;  // null: removed and not running
  const std::shared_ptr<decision_log> log;
  std::uint64_t beat_id = 0;  // for periodic policies; guarded by the registry's mutex

  std::atomic<bool> off{false};
  std::atomic<bool> running{false};
  std::atomic<ticks> last_call{0};
  std::atomic<std::uint64_t> calls{0}, skipped{0}, decisions{0};
  std::atomic<ticks> total{0}, longest{0};

  mutable std::mutex mutex;  // guards the members below
  std::string failure;
  std::vector<std::weak_ptr<actuator>> touched;

  [[nodiscard]] bool wants(const task_event& e) const noexcept {
    if ((filter.kinds & event_filter::bit(e.kind)) == 0) return false;
    return filter.names.empty() || std::find(filter.names.begin(), filter.names.end(), e.name) != filter.names.end();
  }
  /// Calls the function, unless it is disabled or busy. An exception disables the policy.
  void call(const task_event* e) noexcept;
  void call_now(const task_event* e) noexcept;
  void fail(std::string_view what) noexcept;
  /// No further call begins. Resets actuators if the options request it.
  void end(std::string_view why) noexcept;
  [[nodiscard]] policy_report report() const;
};

/// Read by on_event(); immutable, replaced as a whole.
struct event_list {
  std::vector<std::shared_ptr<policy>> policies;
};

struct policy_registry_state {
  beat* periodic;
  actuator_registry& actuators;
  void (*watch)(void*, task_observer*);
  void* arg;
  task_observer* self;

  std::atomic<unsigned> kinds{0};  // requested by any policy; a hint
  std::atomic<const event_list*> events{nullptr};

  mutable std::mutex mutex;  // guards the members below
  bool stopped = false;
  std::vector<std::shared_ptr<policy>> all;   // in the order of addition
  std::vector<std::shared_ptr<policy>> gone;  // the last removed ones, for report()
  std::vector<std::uint64_t> beats_left;      // of periodic policies removed by a policy: they no longer do anything
  std::vector<const event_list*> replaced;    // may still have readers

  static constexpr std::size_t most_gone = 256;

  ~policy_registry_state();
  /// Publishes a new list of all event policies.
  void publish_locked();
  void remove(const std::shared_ptr<policy>& p) noexcept;
  void free_replaced() noexcept;
};

}  // namespace plx::probe::detail
