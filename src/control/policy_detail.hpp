// Internal: a policy, and the list of them that events read. For policy.cpp and policy_registry.cpp.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control/policy.hpp"

namespace plx::probe::detail {

/// Invariant: once `off` is set, no call of the function begins. Who begins one holds `running` (unless calls may be
/// many at a time) and looks at `off` after that.
struct policy {
  policy(policy_options o, event_filter f, std::unique_ptr<policy_registry::function> g,
         std::shared_ptr<decision_log> l)
      : options(std::move(o)), filter(std::move(f)), function(std::move(g)), log(std::move(l)) {}

  const policy_options options;
  const event_filter filter;
  std::unique_ptr<policy_registry::function> function;  // null: removed, and nobody runs it
  const std::shared_ptr<decision_log> log;
  std::uint64_t beat_id = 0;  // of a periodic one; guarded by the registry's mutex

  std::atomic<bool> off{false};
  std::atomic<bool> running{false};
  std::atomic<ticks> last_call{0};
  std::atomic<std::uint64_t> calls{0}, skipped{0}, decisions{0};
  std::atomic<ticks> total{0}, longest{0};

  mutable std::mutex mutex;  // of what stands below
  std::string failure;
  std::vector<std::weak_ptr<actuator>> touched;

  [[nodiscard]] bool wants(const task_event& e) const noexcept {
    if ((filter.kinds & event_filter::bit(e.kind)) == 0) return false;
    return filter.names.empty() || std::find(filter.names.begin(), filter.names.end(), e.name) != filter.names.end();
  }
  /// Calls the function, unless it is off or busy. What it throws ends the policy.
  void call(const task_event* e) noexcept;
  void call_now(const task_event* e) noexcept;
  void fail(std::string_view what) noexcept;
  /// No call begins any more. Actuators get their standard values if the policy wants that.
  void end(std::string_view why) noexcept;
  [[nodiscard]] policy_report report() const;
};

/// What on_event() reads; never changed, only replaced.
struct event_list {
  std::vector<std::shared_ptr<policy>> policies;
};

struct policy_registry_state {
  beat* periodic;
  actuator_registry& actuators;
  void (*watch)(void*, task_observer*);
  void* arg;
  task_observer* self;

  std::atomic<unsigned> kinds{0};  // that some policy wants; a hint
  std::atomic<const event_list*> events{nullptr};

  mutable std::mutex mutex;  // of what stands below
  bool stopped = false;
  std::vector<std::shared_ptr<policy>> all;   // in the order of their coming
  std::vector<std::shared_ptr<policy>> gone;  // the last of them, for report()
  std::vector<std::uint64_t> beats_left;      // of periodic ones that a policy removed: they do nothing any more
  std::vector<const event_list*> replaced;    // their readers may not be done yet

  static constexpr std::size_t most_gone = 256;

  ~policy_registry_state();
  /// The list of all event policies, anew.
  void publish_locked();
  void remove(const std::shared_ptr<policy>& p) noexcept;
  void free_replaced() noexcept;
};

}  // namespace plx::probe::detail
