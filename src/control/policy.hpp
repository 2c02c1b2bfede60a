// Policies: functions of the program that are called when something happens to a task, or periodically, and that set
// actuators by what they see.
//
//   auto keep = rt.policies().every({.name = "fewer streams"}, 0.1, [&](policy_context& me) {
//     if (queue_length() < 4) me.set(*streams, streams->get() - 1, "the queue is short");
//   });
//
// Adding and removing never stops the workers: who is told an event reads a list that is replaced as a whole.
// A policy that throws is switched off and reported: in the log, as a mark in the trace, and in report().
// Thread safety: everything. Cost: with no policy for events none; with one, two stores and a load per event, and two
// clock reads per call; each policy's own cost is in report(). What a policy does must not wait for a task, and events
// that it causes itself are told to nobody. Periodic ones share the thread of probe/counters/beat.hpp.
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

class beat;
class counter_registry;
class registration;

/// An event comes while the policy's function still runs for another worker: it waits for that one; it is not told, but
/// counted; or the function is called all the same, and must bear that.
enum class when_busy : std::uint8_t { wait, skip, join };

/// How a policy is called and what becomes of its changes.
struct policy_options {
  std::string name;
  /// When the policy goes or fails, actuators whose newest change is its own get their standard values.
  bool resets = false;
  when_busy busy = when_busy::wait;
};

/// Which events a policy is told. With nothing set: all.
struct event_filter {
  static constexpr unsigned all_kinds = 0x1f;
  unsigned kinds = all_kinds;    // a bit for each task_event_kind
  std::vector<name_id> names{};  // of tasks; empty: every name

  /// The bit that stands for a kind of event.
  static constexpr unsigned bit(task_event_kind k) noexcept { return 1u << static_cast<unsigned>(k); }
  /// Events of these kinds.
  static event_filter of(std::initializer_list<task_event_kind> kinds, std::vector<name_id> names = {});
};

/// What one policy cost so far.
struct policy_report {
  std::string name;
  std::uint64_t calls = 0;
  double total_s = 0;
  double longest_s = 0;
  std::uint64_t skipped = 0;    // events that came while it was busy
  std::uint64_t decisions = 0;  // changes it made
  bool off = false;             // it failed
  std::string failure{};        // what it threw
};

namespace detail {
struct policy;
struct policy_registry_state;
}  // namespace detail

/// What a policy's function is given for one call.
class policy_context {
 public:
  /// The policy's name.
  [[nodiscard]] std::string_view name() const noexcept;
  /// What happened; null when called periodically.
  [[nodiscard]] const task_event* event() const noexcept { return event_; }
  /// Since the call before, 0 at the first.
  [[nodiscard]] double elapsed_s() const noexcept { return elapsed_s_; }

  /// Sets an actuator in this policy's name; as actuator::set_text().
  template <class T>
  result<std::uint64_t> set(actuator_of<T>& a, std::type_identity_t<T> value, std::string_view why) {
    return permitted() ? noted(a, a.set(value, name(), why)) : refused();
  }
  /// A mark in the trace.
  void note(std::string_view text);
  /// This call is the last one, and sets nothing any more. The handle may go later.
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

/// Keeps a policy while it lives. It may outlive the registry. Thread safety: one thread at a time; a policy that ends
/// itself calls policy_context::stop(), because the handle may not be there yet.
class policy_handle {
 public:
  policy_handle() = default;
  policy_handle(policy_handle&&) noexcept = default;
  policy_handle& operator=(policy_handle&& other) noexcept;
  ~policy_handle() { remove(); }

  /// When it returns, the policy does not run and never will. Called by a policy (itself or another): no call begins
  /// any more; one that has begun may still run.
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
  /// `periodic` must live until stop(). `watch(arg, this or null)` is called when the first policy for events comes and
  /// when the last one goes, to have on_event() called or not.
  policy_registry(beat& periodic, actuator_registry& actuators, void (*watch)(void* arg, task_observer*) = nullptr,
                  void* arg = nullptr);
  /// stop(). Requires: nobody calls on_event() any more.
  ~policy_registry();
  policy_registry(const policy_registry&) = delete;
  policy_registry& operator=(const policy_registry&) = delete;

  /// Calls f(policy_context&) for each event that passes, on the thread that tells it.
  template <class F>
  [[nodiscard]] policy_handle on_event(policy_options options, event_filter filter, F f) {
    return add(std::move(options), std::move(filter), 0, std::make_unique<function_of<F>>(std::move(f)));
  }
  /// Calls f(policy_context&) every `period_s` seconds. Requires: period_s > 0.
  template <class F>
  [[nodiscard]] policy_handle every(policy_options options, double period_s, F f) {
    return add(std::move(options), {.kinds = 0}, period_s, std::make_unique<function_of<F>>(std::move(f)));
  }

  /// Those that are there, and after them the last 256 that are gone.
  [[nodiscard]] std::vector<policy_report> report() const;
  /// name,calls,total_s,longest_s,skipped,decisions,state
  result<void> write_csv(const std::string& path) const;
  /// Removes all policies; none can be added any more.
  void stop() noexcept;

  void on_event(const task_event& e) noexcept override;

  /// What a policy calls, with its type hidden.
  struct function {
    virtual ~function() = default;
    /// Calls it.
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
