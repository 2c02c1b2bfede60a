// Policies: functions that are called for task events or periodically, and that change actuators.
//
//   auto keep = rt.policies().every({.name = "fewer streams"}, 0.1, [&](policy_context& me) {
//     if (queue_length() < 4) me.set(*streams, streams->get() - 1, "the queue is short");
//   });
//
// Adding and removing policies never blocks the workers: events read a list that is replaced as a whole. A policy that
// throws is disabled and reported: in the log, as a mark in the trace, and in report().
// Thread safety: all functions. Cost: none without policies for events; with one, two stores and a load per event, and
// two clock reads per call; report() contains each policy's own cost. A policy must not wait for a task. Events that a
// policy causes itself are not delivered. Periodic policies share the thread of probe/counters/periodic_thread.hpp.
// Example: control/test/policy_test.cpp
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "control/actuator.hpp"
#include "probe/record/task_event.hpp"

namespace plx::probe {

class periodic_thread;
class counter_registry;
class registration;

/// The handling of an event while the policy's function runs on another worker. wait: it waits for the running call.
/// skip: it is only counted. join: the function is called concurrently.
enum class when_busy : std::uint8_t { wait, skip, join };

/// Name and behaviour of a policy.
struct policy_options {
  std::string name;
  /// If set, actuators last changed by this policy return to their defaults when it is removed or fails.
  bool resets = false;
  when_busy busy = when_busy::wait;
};

/// The events delivered to a policy. Default: all.
struct event_filter {
  static constexpr unsigned all_kinds = 0x1f;
  unsigned kinds = all_kinds;    // one bit per task_event_kind
  std::vector<name_id> names{};  // of tasks; empty: all names

  /// The bit of a kind of event.
  static constexpr unsigned bit(task_event_kind k) noexcept { return 1u << static_cast<unsigned>(k); }
  /// Events of these kinds.
  static event_filter of(std::initializer_list<task_event_kind> kinds, std::vector<name_id> names = {});
};

/// Statistics of one policy.
struct policy_report {
  std::string name;
  std::uint64_t calls = 0;
  double total_s = 0;
  double longest_s = 0;
  std::uint64_t skipped = 0;    // events that arrived while it was busy
  std::uint64_t decisions = 0;  // changes made
  bool off = false;             // disabled by a failure
  std::string failure{};        // message of its exception
};

namespace detail {
struct policy;
struct policy_registry_state;
}  // namespace detail

/// The argument of a policy's function.
class policy_context {
 public:
  /// The policy's name.
  [[nodiscard]] std::string_view name() const noexcept;
  /// The event; null in periodic calls.
  [[nodiscard]] const task_event* event() const noexcept { return event_; }
  /// Time since the previous call; 0 in the first one.
  [[nodiscard]] double elapsed_s() const noexcept { return elapsed_s_; }

  /// Sets an actuator with the policy as author; otherwise as actuator::set_text().
  template <class T>
  result<std::uint64_t> set(actuator_of<T>& a, std::type_identity_t<T> value, std::string_view why) {
    return permitted() ? noted(a, a.set(value, name(), why)) : refused();
  }
  /// Adds a mark to the trace.
  void note(std::string_view text);
  /// Ends the policy: no further calls or changes. The handle may be destroyed later.
  void stop() noexcept;

 private:
  friend struct detail::policy;
  policy_context(detail::policy& p, const task_event* e, double elapsed_s)
      : policy_(p), event_(e), elapsed_s_(elapsed_s) {}
  [[nodiscard]] bool permitted() const noexcept;
  result<std::uint64_t> refused() const;
  result<std::uint64_t> noted(actuator& a, result<std::uint64_t> done);

  detail::policy& policy_;
  const task_event* event_;
  double elapsed_s_;
};

/// Owns a policy. May outlive the registry. Thread safety: one thread at a time. A policy that ends itself calls
/// policy_context::stop(), because the handle may not exist yet.
class policy_handle {
 public:
  policy_handle() = default;
  policy_handle(policy_handle&&) noexcept = default;
  policy_handle& operator=(policy_handle&& other) noexcept;
  ~policy_handle() { remove(); }

  /// On return the policy does not run and never will. If called by a policy (itself or another), no further call
  /// begins, but one that has begun may still run.
  void remove() noexcept;
  /// The policy stays as long as the registry.
  void keep() noexcept;

 private:
  friend class policy_registry;
  std::weak_ptr<detail::policy_registry_state> state_;
  std::shared_ptr<detail::policy> policy_;
};

/// The policies of one runtime.
class policy_registry final : public task_observer {
 public:
  /// `periodic` must live until stop(). `watch(arg, this or null)` is called when the first policy for events is added
  /// and after the last one is removed, to enable or disable calls of on_event().
  policy_registry(periodic_thread& periodic, actuator_registry& actuators,
                  void (*watch)(void* arg, task_observer*) = nullptr, void* arg = nullptr);
  /// Calls stop(). Requires: on_event() is no longer called.
  ~policy_registry();
  policy_registry(const policy_registry&) = delete;
  policy_registry& operator=(const policy_registry&) = delete;

  /// Calls f(policy_context&) for each event that passes the filter, on the thread of the event.
  template <class F>
  [[nodiscard]] policy_handle on_event(policy_options options, event_filter filter, F f) {
    return add(std::move(options), std::move(filter), 0, std::make_unique<function_of<F>>(std::move(f)));
  }
  /// Calls f(policy_context&) every `period_s` seconds. Requires: period_s > 0.
  template <class F>
  [[nodiscard]] policy_handle every(policy_options options, double period_s, F f) {
    return add(std::move(options), {.kinds = 0}, period_s, std::make_unique<function_of<F>>(std::move(f)));
  }

  /// The current policies, followed by the last 256 removed ones.
  [[nodiscard]] std::vector<policy_report> report() const;
  /// Columns name,calls,total_s,longest_s,skipped,decisions,state.
  result<void> write_csv(const std::string& path) const;
  /// Removes all policies; no more can be added.
  void stop() noexcept;

  void on_event(const task_event& e) noexcept override;

  /// The function of a policy, type-erased.
  struct function {
    virtual ~function() = default;
    /// Calls the function.
    virtual void call(policy_context& c) = 0;
  };

 private:
  template <class F>
  struct function_of final : function {
    explicit function_of(F g) : f(std::move(g)) {}
    void call(policy_context& c) override { f(c); }
    F f;
  };
  policy_handle add(policy_options options, event_filter filter, double period_s, std::unique_ptr<function> f);

  std::shared_ptr<detail::policy_registry_state> state_;
};

/// /policies/count/{calls,failed,decisions}, /policies/time/total
std::vector<registration> add_policy_counters(counter_registry& counters, const policy_registry& policies,
                                              const decision_log& log);

}  // namespace plx::probe
