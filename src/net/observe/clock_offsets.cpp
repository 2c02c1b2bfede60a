#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "net/action.hpp"
#include "net/core/sender.hpp"
#include "net/locality.hpp"
#include "net/observe/clock_offsets.hpp"
#include "net/observe/tree_gather.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_sink.hpp"
#include "rt/async.hpp"

namespace plx::net {

std::optional<clock_point> best_point(std::span<const clock_exchange> exchanges) noexcept {
  const clock_exchange* best = nullptr;
  for (const clock_exchange& e : exchanges)
    if (e.answered >= e.asked && (best == nullptr || e.answered - e.asked < best->answered - best->asked)) best = &e;
  if (best == nullptr) return std::nullopt;
  const ticks trip = best->answered - best->asked;
  return clock_point{.there = best->there, .here = best->asked + trip / 2, .uncertainty = (trip + 1) / 2};
}

namespace {

using plx::detail::spin_guard;

void clock_asked(sender by, std::uint64_t turn, ticks when) {
  node_here().get<clock_offsets>().asked(by.who, turn, when);
}
void clock_answered(sender by, std::uint64_t turn, ticks asked, ticks there) {
  clock_offsets& own = node_here().get<clock_offsets>();
  own.answered(by.who, turn, {.asked = asked, .there = there, .answered = own.now()});
}

void clocks_requested(sender from, std::uint64_t round, double timeout_s, std::uint8_t direct,
                      std::vector<locality_id> without);
void clocks_found(sender from, std::uint64_t round, const std::vector<locality_id>& silent,
                  std::vector<clock_edge> edges);

}  // namespace

template <>
inline constexpr bool is_control<&clock_asked> = true;
template <>
inline constexpr bool is_control<&clock_answered> = true;
template <>
inline constexpr bool is_direct<&clock_asked> = true;
template <>
inline constexpr bool is_direct<&clock_answered> = true;

template <>
inline constexpr bool is_control<&clocks_requested> = true;
template <>
inline constexpr bool is_control<&clocks_found> = true;

namespace {

/// The edges of a subtree.
struct clock_part {
  std::vector<clock_edge> edges;

  static clock_part make(node& n, locality_id parent, double timeout_s) {
    const auto edge = n.get<clock_offsets>().measure_parent(parent, timeout_s);
    return edge ? clock_part{{*edge}} : clock_part{};
  }
  void add(clock_part&& other) { edges.insert(edges.end(), other.edges.begin(), other.edges.end()); }
  static void request(locality_id to, const gather_request& q) {
    post<&clocks_requested>(to, sender{find_here()}, q.round, q.timeout_s, q.direct, q.without);
  }
  static void reply(locality_id to, std::uint64_t round, const std::vector<locality_id>& silent, const clock_part& p) {
    post<&clocks_found>(to, sender{find_here()}, round, silent, p.edges);
  }
};

void clocks_requested(sender from, std::uint64_t round, double timeout_s, std::uint8_t direct,
                      std::vector<locality_id> without) {
  node_here().get<tree_gather<clock_part>>().take_request(from.who, {round, timeout_s, direct, std::move(without)});
}
void clocks_found(sender from, std::uint64_t round, const std::vector<locality_id>& silent,
                  std::vector<clock_edge> edges) {
  node_here().get<tree_gather<clock_part>>().take_reply(from.who, round, silent, {std::move(edges)});
}

}  // namespace

class clock_offsets::new_points final : public probe::trace_source {
 public:
  void add(locality_id which, double per_s, const clock_point& p) {
    const spin_guard guard(lock_);
    points_.push_back({which, per_s, p});
  }
  void drain(probe::trace_sink& to) override {
    std::vector<point> all;
    {
      const spin_guard guard(lock_);
      all.swap(points_);
    }
    for (const point& p : all) to.clock(p.which, p.per_s, p.at);
  }

 private:
  struct point {
    locality_id which;
    double per_s;
    clock_point at;
  };
  plx::detail::spinlock lock_;
  std::vector<point> points_;
};

clock_offsets::~clock_offsets() = default;

clock_offsets::clock_offsets(node& n)
    : node_(n), points_(std::make_shared<new_points>()), per_s_(ticks_per_second()), maps_(n.size()) {
  if (n.here() == 0) n.home().recorder().add_source(points_);
}

void clock_offsets::read_with(ticks (*clock)(void*), void* context, double per_s) noexcept {
  clock_ = clock;
  context_ = context;
  per_s_ = per_s;
}

void clock_offsets::begin(double period_s) {
  {
    const std::lock_guard guard(repeats_lock_);
    if (std::exchange(repeats_, true)) return;
  }
  repeated_ = async([this, period = std::chrono::duration<double>(period_s)] {
    const double longest_s = std::max(deadline_s, period.count() / 2);
    std::unique_lock guard(repeats_lock_);
    while (!repeats_end_.wait_for(guard, period, [this] { return !repeats_; })) {
      guard.unlock();
      measure(longest_s);
      guard.lock();
    }
  });
}

void clock_offsets::end() {
  {
    const std::lock_guard guard(repeats_lock_);
    if (!std::exchange(repeats_, false)) return;
    repeats_end_.notify_all();
  }
  repeated_.get();
}

clock_map clock_offsets::of(locality_id which) const {
  const spin_guard guard(lock_);
  return maps_.at(which);
}

void clock_offsets::measure(double timeout_s, const std::vector<bool>& without) {
  const std::lock_guard one(rounds_);
  const gather_deadline end(node_, timeout_s);
  auto& tree = node_.get<tree_gather<clock_part>>();
  const std::vector<char> found = take(tree.gather(timeout_s, without).edges);
  // A locality whose parent has no new point measures this clock directly.
  std::vector<locality_id> missing;
  for (locality_id i = 0; i < node_.size(); ++i)
    if (found[i] == 0 && i != node_.here() && !node_.is_lost(i) && (without.empty() || !without[i]))
      missing.push_back(i);
  if (end.left_s() > 0) static_cast<void>(take(tree.gather_directly(missing, end.left_s()).edges));
}

/// Converts the edges to points of this clock. Returns by locality whether it is converted.
std::vector<char> clock_offsets::take(std::vector<clock_edge> edges) {
  constexpr double longest_s = 1e6;
  std::vector<char> found(node_.size());
  found[node_.here()] = 1;
  // A parent has a smaller number than its children: its own point is added first.
  std::sort(edges.begin(), edges.end(), [](const clock_edge& a, const clock_edge& b) { return a.of < b.of; });
  const spin_guard guard(lock_);
  for (const clock_edge& e : edges) {
    if (e.of >= node_.size() || e.parent >= e.of || found[e.parent] == 0 || found[e.of] != 0) continue;
    if (!(e.per_s > 0 && e.per_s < 1e12 && e.uncertainty_s >= 0 && e.uncertainty_s < longest_s)) continue;
    clock_point p{.there = e.there, .here = e.here, .uncertainty = static_cast<ticks>(e.uncertainty_s * per_s_) + 1};
    if (e.parent != node_.here()) {
      const clock_map& of_parent = maps_[e.parent];
      const ticks last = of_parent.points().back().there;
      const auto distance = static_cast<double>(e.here > last ? e.here - last : last - e.here);
      if (distance > longest_s * per_s_) continue;  // impossible, and may be too large to convert
      p.here = of_parent(e.here);
      p.uncertainty += of_parent.uncertainty_at(e.here) + 1;  // rounding
    }
    found[e.of] = 1;
    if (!maps_[e.of].known()) maps_[e.of] = clock_map(per_s_, e.per_s);
    if (maps_[e.of].add(p)) points_->add(e.of, e.per_s, p);
  }
  return found;
}

std::optional<clock_edge> clock_offsets::measure_parent(locality_id parent, double timeout_s) {
  const std::lock_guard one(one_at_a_time_);
  future<void> done;
  std::uint64_t turn = 0;
  {
    const spin_guard guard(lock_);
    turn = ++turn_;
    measuring_ = true;
    peer_ = parent;
    found_.clear();
    found_.reserve(exchanges);
    done_ = promise<void>();
    done = done_.get_future();
  }
  ask(parent, turn);
  // A parent that was lost before peer_ was set is not reported again.
  if (!node_.is_lost(parent)) (void)done.wait_for(std::chrono::duration<double>(timeout_s));
  promise<void> unused;
  ends(turn, unused);
  const spin_guard guard(lock_);
  const auto best = best_point(found_);
  if (!best) return {};
  // The point is of the parent's clock: here and there change places.
  return clock_edge{.of = node_.here(),
                    .parent = parent,
                    .per_s = per_s_,
                    .there = best->here,
                    .here = best->there,
                    .uncertainty_s = static_cast<double>(best->uncertainty) / per_s_};
}

/// True if this call ended the measurement; the caller then sets `to_notify`.
bool clock_offsets::ends(std::uint64_t turn, promise<void>& to_notify) {
  const spin_guard guard(lock_);
  if (turn != turn_ || !std::exchange(measuring_, false)) return false;
  to_notify = std::move(done_);
  return true;
}

void clock_offsets::ask(locality_id peer, std::uint64_t turn) {
  post<&clock_asked>(peer, sender{node_.here()}, turn, now());
}

void clock_offsets::asked(locality_id by, std::uint64_t turn, ticks when) {
  post<&clock_answered>(by, sender{node_.here()}, turn, when, now());
}

void clock_offsets::answered(locality_id by, std::uint64_t turn, const clock_exchange& e) {
  bool again = false;
  {
    const spin_guard guard(lock_);
    if (turn != turn_ || !measuring_ || by != peer_) return;
    found_.push_back(e);
    again = found_.size() < exchanges;
  }
  if (again) return ask(by, turn);
  promise<void> waiter;
  if (ends(turn, waiter)) waiter.set_value();
}

void clock_offsets::peer_lost(locality_id peer) {
  std::uint64_t turn = 0;
  {
    const spin_guard guard(lock_);
    if (!measuring_ || peer_ != peer) return;
    turn = turn_;
  }
  promise<void> waiter;
  if (ends(turn, waiter)) waiter.set_value();
}

}  // namespace plx::net
