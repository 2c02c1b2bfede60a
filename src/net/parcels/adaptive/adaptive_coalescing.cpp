#include "net/parcels/adaptive/adaptive_coalescing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "control/policy.hpp"
#include "net/core/action_entry.hpp"
#include "net/parcels/adaptive/coalescing_follower.hpp"
#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"

namespace plx::net {
namespace {

constexpr double period_s = 0.025;
constexpr const char* policy_name = "coalescing";
constexpr std::int64_t most_parcels = 65536, most_bytes = std::int64_t{1} << 20;
constexpr double most_interval_us = 1e6;

}  // namespace

/// An action, or all others (0), with adaptive coalescing.
struct adaptive_coalescing::target {
  target(std::uint16_t of, std::size_t at_first) : action(of), bytes_at_first(at_first) { now->how.bytes = at_first; }

  const std::uint16_t action;
  const std::size_t bytes_at_first;
  coalescing_follower follower{{}, bytes_at_first};
  collected_counts before;
  ticks looked = 0;  // time of the last sample

  // The values of the actuators, guarded by `lock`, under which only the port's locks are taken.
  struct chosen {
    std::mutex lock;
    coalescing how = self_clocking;
  };
  std::shared_ptr<chosen> now = std::make_shared<chosen>();
  probe::actuator_handle<probe::choice> way;
  probe::actuator_handle<std::int64_t> parcels, bytes;
  probe::actuator_handle<double> interval_us;
  std::vector<std::pair<probe::actuator*, std::uint64_t>> newest;  // decisions of the last change

  void add_actuators(probe::actuator_registry& r, parcel_port& port);
  traffic sample(parcel_port& port, ticks now_ticks, double tick_s);
  void move(const coalescing& to, probe::policy_context* policy);
  void undo(const coalescing& to, probe::policy_context* policy);
};

struct adaptive_coalescing::parts {
  std::mutex lock;
  std::vector<std::unique_ptr<target>> targets;
  probe::policy_handle policy;
  bool running = false;
  locality_load before;
  std::vector<double> message_s;  // of the last samples
};

// ----------------------------------------------------------------------------------------------------------- actuators

void adaptive_coalescing::target::add_actuators(probe::actuator_registry& r, parcel_port& port) {
  const action_entry* e = action == 0 ? nullptr : all_actions()[action];
  const std::string of = e == nullptr ? "" : fmt::format("@{}", function_of(*e));
  // `change` applies a value to the setting.
  const auto apply = [&](auto change) {
    return [&port, action = action, now = now, change](auto value) {
      const std::lock_guard guard(now->lock);
      change(now->how, value);
      port.steer(action, now->how);
    };
  };
  way = r.add_choice({"coalesce-way" + of, "", "Coalescing mode"}, {"self", "fixed"},
                     apply([](coalescing& c, probe::choice v) {
                       c.way = v.index == 0 ? coalescing_way::self_clocking : coalescing_way::fixed;
                     }));
  parcels = r.add<std::int64_t>({"coalesce-parcels" + of, "1", "Parcels per message (fixed)"}, self_clocking.parcels,
                                {1, most_parcels},
                                apply([](coalescing& c, std::int64_t v) { c.parcels = static_cast<unsigned>(v); }));
  interval_us =
      r.add<double>({"coalesce-interval" + of, "us", "Maximum delay of a message (fixed)"}, self_clocking.interval_us,
                    {0, most_interval_us}, apply([](coalescing& c, double v) { c.interval_us = v; }));
  bytes = r.add<std::int64_t>({"coalesce-bytes" + of, "bytes", "Bytes per message; 0: the default"},
                              static_cast<std::int64_t>(bytes_at_first), {0, most_bytes},
                              apply([](coalescing& c, std::int64_t v) { c.bytes = static_cast<std::size_t>(v); }));
}

void adaptive_coalescing::target::move(const coalescing& to, probe::policy_context* policy) {
  newest.clear();
  const auto set = [&](auto& a, auto value) {
    const auto done =
        policy != nullptr ? policy->set(*a, value, follower.why()) : a->set(value, policy_name, follower.why());
    if (!done) return log_warning("{}", done.error().message);
    if (*done != 0) newest.emplace_back(&*a, *done);
  };
  if (to.way == coalescing_way::fixed) {
    set(parcels, static_cast<std::int64_t>(to.parcels));
    set(interval_us, to.interval_us);
  }
  set(bytes, static_cast<std::int64_t>(to.bytes));
  set(way, probe::choice{to.way == coalescing_way::fixed ? 1u : 0u});
}

// A user may have changed an actuator meanwhile: then the wanted value is set.
void adaptive_coalescing::target::undo(const coalescing& to, probe::policy_context* policy) {
  for (; !newest.empty(); newest.pop_back())
    if (!newest.back().first->undo(newest.back().second, policy_name, follower.why())) break;
  move(to, policy);
}

// ------------------------------------------------------------------------------------------------------------ sampling

// The traffic since the previous sample.
traffic adaptive_coalescing::target::sample(parcel_port& port, ticks at, double tick_s) {
  const collected_counts n = port.collected(action);
  traffic t;
  t.span_s = static_cast<double>(at - std::exchange(looked, at)) * tick_s;
  t.parcels = static_cast<double>(n.parcels - before.parcels);
  t.messages = static_cast<double>(n.messages - before.messages);
  t.bytes = static_cast<double>(n.bytes - before.bytes);
  t.most_bytes = n.most_bytes;
  for (std::size_t i = 0; i < n.gaps.size(); ++i) {
    // From powers of two of ticks to powers of two of nanoseconds.
    const double middle_ns = i == 0 ? 0 : std::ldexp(0.7071, static_cast<int>(i)) * tick_s * 1e9;
    const auto which = std::clamp<int>(middle_ns < 1 ? 0 : std::ilogb(middle_ns) + 1, 0, int(t.gaps.size()) - 1);
    t.gaps[static_cast<std::size_t>(which)] += static_cast<double>(n.gaps[i] - before.gaps[i]);
  }
  before = n;
  return t;
}

void adaptive_coalescing::look(const locality_load& load, probe::policy_context* policy) {
  parts& p = *parts_;
  const std::lock_guard guard(p.lock);
  const plx::detail::scheduler& s = node_.home().get_scheduler();
  const ticks now = s.now();
  const double tick_s = 1 / static_cast<double>(s.span_of(1));
  const locality_load before = std::exchange(p.before, load);
  // The cost of a message: the time in the transport, plus a constant for allocation and the work of the receiver. A
  // preempted thread gives a large value, so the minimum of some samples is used.
  constexpr std::uint64_t enough = 16;
  constexpr std::size_t kept = 8;
  constexpr double around_s = 0.2e-6;
  if (load.sendings - before.sendings >= enough) {
    if (p.message_s.size() == kept) p.message_s.erase(p.message_s.begin());
    p.message_s.push_back((load.handing_s - before.handing_s) / static_cast<double>(load.sendings - before.sendings));
  }
  for (const auto& each : p.targets) {
    target& t = *each;
    traffic seen = t.sample(node_.port(), now, tick_s);
    const double all_s = seen.span_s * s.worker_count();
    seen.workers = s.worker_count();
    if (!(all_s > 0)) continue;
    seen.slack = std::clamp((load.idle_s - before.idle_s) / all_s, 0.0, 1.0);
    seen.overhead = std::clamp((load.network_s - before.network_s) / all_s, 0.0, 1.0);
    if (!p.message_s.empty()) seen.message_s = *std::min_element(p.message_s.begin(), p.message_s.end()) + around_s;
    const coalescing_move moved = t.follower.look(seen);
    const coalescing wanted = t.follower.setting();
    if (moved == coalescing_move::undone)
      t.undo(wanted, policy);
    else if (moved == coalescing_move::set)
      t.move(wanted, policy);
    else if (moved == coalescing_move::settled)
      node_.home().actuators().log()->note(fmt::format("{}: {}", policy_name, t.follower.why()));
  }
}

locality_load adaptive_coalescing::load() const {
  locality_load l;
  const probe::recorder& r = node_.home().recorder();
  for (unsigned i = 0; i < r.worker_count(); ++i) {
    const probe::worker_times t = r.times(i);
    l.idle_s += t.idle_s + t.background_s;
  }
  const parcel_port& port = node_.port();
  l.handing_s = port.handing_s();
  l.sendings = port.sendings();
  const double polling_s = port.polling_s();
  l.idle_s -= polling_s;
  l.network_s = polling_s + port.sending_s();
  return l;
}

// ------------------------------------------------------------------------------------------------------------- service

adaptive_coalescing::adaptive_coalescing(node& n) : node_(n), parts_(std::make_unique<parts>()) {}
adaptive_coalescing::~adaptive_coalescing() = default;

void adaptive_coalescing::add(std::uint16_t action, std::size_t bytes) {
  auto t = std::make_unique<target>(action, bytes);
  t->looked = node_.home().get_scheduler().now();
  t->before = node_.port().collected(action);
  t->add_actuators(node_.home().actuators(), node_.port());
  parts_->targets.push_back(std::move(t));
}

// The lock is held.
void adaptive_coalescing::start() {
  if (node_.size() == 1 || std::exchange(parts_->running, true)) return;
  parts_->before = load();
  if (node_.home().get_scheduler().deterministic())
    return log_info(
        "adaptive coalescing stays self-clocking: in deterministic mode, only the seed determines the schedule");
  parts_->policy = node_.home().policies().every({.name = policy_name, .resets = true}, period_s,
                                                 [this](probe::policy_context& me) { look(load(), &me); });
}

void adaptive_coalescing::collect(std::uint16_t action, const coalescing& how) {
  parts& p = *parts_;
  probe::policy_handle ends;  // destroyed outside the lock, as it waits for a running sample
  const std::lock_guard guard(p.lock);
  const auto it =
      std::find_if(p.targets.begin(), p.targets.end(), [action](const auto& t) { return t->action == action; });
  if (how.way == coalescing_way::adaptive) {
    const std::size_t bytes = std::min(how.bytes, static_cast<std::size_t>(most_bytes));
    if (it != p.targets.end()) {
      if ((*it)->bytes_at_first == bytes) return;
      p.targets.erase(it);
    }
    node_.port().collect(action, how);
    add(action, bytes);
    return start();
  }
  if (it != p.targets.end()) p.targets.erase(it);
  node_.port().collect(action, how);
  if (p.targets.empty() && std::exchange(p.running, false)) ends = std::move(p.policy);
}

void collect_as(node& n, std::uint16_t action, const coalescing& how) {
  n.get<adaptive_coalescing>().collect(action, how);
}

}  // namespace plx::net
