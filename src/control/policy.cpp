// The list of policies, and its replacement while events are delivered.

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "control/policy.hpp"
#include "control/read_section.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/counters/periodic_thread.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::probe {
namespace detail {

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
  std::uint64_t periodic_id = 0;  // for periodic policies; guarded by the registry's mutex

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
  periodic_thread* periodic;
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
  std::vector<std::uint64_t> removed_ids;     // of periodic policies removed by a policy: they no longer do anything
  std::vector<const event_list*> replaced;    // may still have readers

  static constexpr std::size_t most_gone = 256;

  ~policy_registry_state();
  /// Publishes a new list of all event policies.
  void publish_locked();
  void remove(const std::shared_ptr<policy>& p) noexcept;
  void free_replaced() noexcept;
};

}  // namespace detail

// A policy: its calls, cost and end.

event_filter event_filter::of(std::initializer_list<task_event_kind> kinds, std::vector<name_id> names) {
  event_filter f{.kinds = 0, .names = std::move(names)};
  for (const task_event_kind k : kinds) f.kinds |= bit(k);
  return f;
}

std::string_view policy_context::name() const noexcept { return policy_.options.name; }

bool policy_context::permitted() const noexcept { return !policy_.off.load(std::memory_order_relaxed); }

result<std::uint64_t> policy_context::refused() const {
  return error{fmt::format("policy '{}' was removed and cannot change actuators", name())};
}

result<std::uint64_t> policy_context::noted(actuator& a, result<std::uint64_t> done) {
  if (!done || *done == 0) return done;
  policy_.decisions.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(policy_.mutex);
  for (const auto& each : policy_.touched)
    if (each.lock().get() == &a) return done;
  policy_.touched.push_back(a.weak_from_this());
  return done;
}

void policy_context::stop() noexcept { policy_.end("the policy stopped itself"); }

void policy_context::note(std::string_view text) { policy_.log->note(fmt::format("{}: {}", name(), text)); }

namespace detail {

void policy::call(const task_event* e) noexcept {
  if (off.load(std::memory_order_relaxed)) return;
  if (options.busy == when_busy::join) return call_now(e);
  // acquire: pairs with the release below; this call sees the effects of the previous one.
  while (running.exchange(true, std::memory_order_acquire)) {
    if (options.busy == when_busy::skip) return void(skipped.fetch_add(1, std::memory_order_relaxed));
    std::this_thread::yield();
  }
  if (!off.load(std::memory_order_relaxed)) call_now(e);
  running.store(false, std::memory_order_release);
}

void policy::call_now(const task_event* e) noexcept {
  const ticks begin = now_ticks();
  const ticks before = last_call.exchange(begin, std::memory_order_relaxed);
  policy_context context(*this, e, before == 0 || before > begin ? 0.0 : seconds(begin - before));
  try {
    function->call(context);
  } catch (const std::exception& x) {
    fail(x.what());
  } catch (...) {
    fail("it threw an exception that is not a std::exception");
  }
  const ticks took = now_ticks() - begin;
  calls.fetch_add(1, std::memory_order_relaxed);
  total.fetch_add(took, std::memory_order_relaxed);
  ticks most = longest.load(std::memory_order_relaxed);
  while (most < took && !longest.compare_exchange_weak(most, took, std::memory_order_relaxed)) {
  }
}

void policy::fail(std::string_view what) noexcept {
  {
    const std::lock_guard lock(mutex);
    if (failure.empty()) failure = what;
  }
  if (off.load(std::memory_order_relaxed)) return;  // removed meanwhile, or failed in another call
  end("the policy failed");
  log_error("policy '{}' failed and was disabled: {}", options.name, what);
  log->note(fmt::format("{} failed and was disabled: {}", options.name, what));
}

void policy::end(std::string_view why) noexcept {
  off.store(true, std::memory_order_seq_cst);
  if (!options.resets) return;
  std::vector<std::weak_ptr<actuator>> set_by_it;
  {
    const std::lock_guard lock(mutex);
    set_by_it.swap(touched);
  }
  for (const auto& weak : set_by_it) {
    const auto a = weak.lock();
    if (a == nullptr || a->changed_by() != options.name) continue;
    if (auto done = a->reset(options.name, why); !done) log_warning("{}", done.error().message);
  }
}

policy_report policy::report() const {
  policy_report r{.name = options.name,
                  .calls = calls.load(std::memory_order_relaxed),
                  .total_s = seconds(total.load(std::memory_order_relaxed)),
                  .longest_s = seconds(longest.load(std::memory_order_relaxed)),
                  .skipped = skipped.load(std::memory_order_relaxed),
                  .decisions = decisions.load(std::memory_order_relaxed)};
  const std::lock_guard lock(mutex);
  r.off = !failure.empty();
  r.failure = failure;
  return r;
}

policy_registry_state::~policy_registry_state() {
  delete events.load(std::memory_order_relaxed);
  for (const event_list* l : replaced) delete l;
}

void policy_registry_state::publish_locked() {
  auto next = std::make_unique<event_list>();
  unsigned wanted = 0;
  for (const auto& p : all) {
    if (p->filter.kinds == 0) continue;
    next->policies.push_back(p);
    wanted |= p->filter.kinds;
  }
  const bool empty = next->policies.empty();
  // seq_cst: see read_section.
  if (const event_list* old = events.exchange(empty ? nullptr : next.release(), std::memory_order_seq_cst))
    replaced.push_back(old);
  const bool watched = kinds.exchange(wanted, std::memory_order_relaxed) != 0;
  if (watch != nullptr && watched != (wanted != 0)) watch(arg, wanted != 0 ? self : nullptr);
}

// Lists that were replaced before this call are freed once their readers are done.
void policy_registry_state::free_replaced() noexcept {
  std::vector<const event_list*> mine;
  {
    const std::lock_guard lock(mutex);
    mine.swap(replaced);
  }
  wait_for_readers();
  for (const event_list* l : mine) delete l;
}

// A policy that removes another one cannot wait, since the two might wait for each other. The list is then freed by a
// later call that can wait.
void policy_registry_state::remove(const std::shared_ptr<policy>& p) noexcept {
  const bool by_a_policy = in_read_section();
  std::uint64_t id = 0;
  p->off.store(true, std::memory_order_seq_cst);
  {
    const std::lock_guard lock(mutex);
    const auto it = std::find(all.begin(), all.end(), p);
    if (it == all.end()) return;
    if (gone.size() == most_gone) gone.erase(gone.begin());
    gone.push_back(p);
    all.erase(it);
    id = p->periodic_id;
    if (by_a_policy && id != 0) removed_ids.push_back(id);
    if (p->filter.kinds != 0) publish_locked();
  }
  if (!by_a_policy) {
    if (id != 0) periodic->remove(id);
    free_replaced();
    p->function.reset();
  }
  p->end("the policy was removed");
}

}  // namespace detail

policy_handle& policy_handle::operator=(policy_handle&& other) noexcept {
  remove();
  state_ = std::move(other.state_);
  policy_ = std::move(other.policy_);
  return *this;
}

void policy_handle::remove() noexcept {
  const auto state = state_.lock();
  if (state != nullptr && policy_ != nullptr) state->remove(policy_);
  keep();
}

void policy_handle::keep() noexcept {
  state_.reset();
  policy_.reset();
}

policy_registry::policy_registry(periodic_thread& periodic, actuator_registry& actuators,
                                 void (*watch)(void*, task_observer*), void* arg)
    : state_(std::make_shared<detail::policy_registry_state>(&periodic, actuators, watch, arg, this)) {}

policy_registry::~policy_registry() { stop(); }

void policy_registry::stop() noexcept {
  std::vector<std::shared_ptr<detail::policy>> left;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopped = true;
    left = state_->all;
  }
  for (const auto& p : left) state_->remove(p);
  std::vector<std::uint64_t> ids;
  {
    const std::lock_guard lock(state_->mutex);
    ids.swap(state_->removed_ids);
  }
  for (const std::uint64_t id : ids) state_->periodic->remove(id);
}

policy_handle policy_registry::add(policy_options options, event_filter filter, double period_s,
                                   std::unique_ptr<function> f) {
  policy_handle handle;
  auto p =
      std::make_shared<detail::policy>(std::move(options), std::move(filter), std::move(f), state_->actuators.log());
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopped) return handle;
    state_->all.push_back(p);
    if (period_s > 0)
      p->periodic_id = state_->periodic->every(period_s, [p] {
        const read_section here;  // marks this thread as running a policy, so that events that it causes are not
                                  // delivered
        p->call(nullptr);
      });
    else
      state_->publish_locked();
  }
  if (!in_read_section()) state_->free_replaced();
  handle.state_ = state_;
  handle.policy_ = std::move(p);
  return handle;
}

void policy_registry::on_event(const task_event& e) noexcept {
  if ((state_->kinds.load(std::memory_order_relaxed) & event_filter::bit(e.kind)) == 0) return;
  if (in_read_section()) return;  // caused by a policy
  const read_section here;
  const detail::event_list* list = state_->events.load(std::memory_order_seq_cst);
  if (list == nullptr) return;
  for (const auto& p : list->policies)
    if (p->wants(e)) p->call(&e);
}

std::vector<policy_report> policy_registry::report() const {
  std::vector<policy_report> all;
  const std::lock_guard lock(state_->mutex);
  for (const auto& p : state_->all) all.push_back(p->report());
  for (const auto& p : state_->gone) all.push_back(p->report());
  return all;
}

result<void> policy_registry::write_csv(const std::string& path) const {
  std::string text = "name,calls,total_s,longest_s,skipped,decisions,state\n";
  for (const policy_report& r : report())
    fmt::format_to(std::back_inserter(text), "{},{},{:.9g},{:.9g},{},{},{}\n", csv_field(r.name), r.calls, r.total_s,
                   r.longest_s, r.skipped, r.decisions, csv_field(r.off ? "failed: " + r.failure : "running"));
  return write_measurement(path, text);
}

std::vector<registration> add_policy_counters(counter_registry& counters, const policy_registry& policies,
                                              const decision_log& log) {
  const auto sum = [&policies](auto of) {
    return [&policies, of] {
      double total = 0;
      for (const policy_report& r : policies.report()) total += static_cast<double>(of(r));
      return total;
    };
  };
  std::vector<registration> all;
  all.push_back(counters.add({"/policies/count/calls", "1", "Calls of all policies", true},
                             sum([](const policy_report& r) { return r.calls; })));
  all.push_back(counters.add({"/policies/count/failed", "1", "Policies disabled because they threw an exception", true},
                             sum([](const policy_report& r) { return r.off ? 1 : 0; })));
  all.push_back(counters.add({"/policies/time/total", "s", "Time in all policies", true},
                             sum([](const policy_report& r) { return r.total_s; })));
  all.push_back(counters.add({"/policies/count/decisions", "1", "Changes of actuators and other decisions", true},
                             [&log] { return log.count(); }));
  return all;
}

}  // namespace plx::probe
