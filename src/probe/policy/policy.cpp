// One policy: how it is called, what it costs, how it ends.
#include "probe/policy/policy.hpp"

#include <fmt/format.h>

#include <exception>
#include <thread>

#include "base/log.hpp"
#include "probe/policy/policy_detail.hpp"

namespace plx::probe {

event_filter event_filter::of(std::initializer_list<task_event_kind> kinds, std::vector<name_id> names) {
  event_filter f{.kinds = 0, .names = std::move(names)};
  for (const task_event_kind k : kinds) f.kinds |= bit(k);
  return f;
}

std::string_view policy_context::name() const noexcept { return policy_.options.name; }

bool policy_context::permitted() const noexcept { return !policy_.off.load(std::memory_order_relaxed); }

result<std::uint64_t> policy_context::refused() const {
  return error{fmt::format("policy '{}' is removed and decides nothing any more", name())};
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
  // acquire: pairs with the release below; what the last call left behind is seen by this one.
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
    fail("it threw something that is no std::exception");
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
  log_error("policy '{}' failed and is switched off: {}", options.name, what);
  log->note(fmt::format("{} failed and is switched off: {}", options.name, what));
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

}  // namespace detail
}  // namespace plx::probe
