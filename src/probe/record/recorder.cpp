// Statistics of a recorder, and the cost of measurement.

#include <algorithm>
#include <cmath>

#include "probe/record/recorder.hpp"
#include "probe/record/recorder_detail.hpp"

namespace plx::probe {
namespace {

/// The statistics of one name, summed over workers. Sums are modulo 2^64: see open_time in worker_log.hpp.
struct cell_sum {
  std::uint64_t calls = 0, time = 0, shortest = ~0ull, longest = 0, open_time = 0, open_pieces = 0, lock_waits = 0;
  double squares = 0, blamed = 0;

  void add(const detail::name_cell& c) {
    // Time moves from open_time to `time`: at most the move that is under way is counted twice. acquire: the first
    // pairs with the release in worker_log::add_statistics(), the second keeps the last load behind it.
    std::uint64_t open = 0, of_ended = 0;
    do {
      open = c.open_time.load(std::memory_order_acquire);
      of_ended = c.time.load(std::memory_order_acquire);
    } while (open != c.open_time.load(std::memory_order_relaxed));
    open_time += open;
    time += of_ended;
    calls += c.calls.load(std::memory_order_relaxed);
    squares += c.squares.load(std::memory_order_relaxed);
    shortest = std::min(shortest, c.shortest.load(std::memory_order_relaxed));
    longest = std::max(longest, c.longest.load(std::memory_order_relaxed));
    open_pieces += c.open_pieces.load(std::memory_order_relaxed);
  }
  void add(const detail::blame_cell& c) {
    blamed += c.idle.load(std::memory_order_relaxed);
    lock_waits += c.lock_waits.load(std::memory_order_relaxed);
  }
};

task_statistics statistics_of(name_id id, const cell_sum& sum, const duration_histogram& durations) {
  task_statistics t{.id = id, .name = name_of(id), .calls = sum.calls, .slices = sum.calls + sum.open_pieces};
  const double tick_s = 1.0 / ticks_per_second();
  t.total_s = seconds(sum.time + sum.open_time);
  t.blamed_s = sum.blamed * tick_s;
  t.lock_waits_s = seconds(sum.lock_waits);
  if (sum.calls == 0) return t;
  const double n = static_cast<double>(sum.calls);
  const double mean = static_cast<double>(sum.time) / n;
  const double variance = std::max(0.0, sum.squares / n - mean * mean);  // rounding may make it slightly negative
  t.mean_s = mean * tick_s;
  t.min_s = seconds(sum.shortest);
  t.max_s = seconds(sum.longest);
  t.stddev_s = std::sqrt(variance) * tick_s;
  const auto quantile_s = [&](double share) {
    return std::max(t.min_s, std::min(t.max_s, durations.quantile(share) * tick_s));
  };
  t.p50_s = quantile_s(0.5);
  t.p99_s = quantile_s(0.99);
  return t;
}

/// Null if there is no memory: then the worker has no ring, and its records are dropped.
template <class Ring>
std::unique_ptr<Ring> ring_of(std::size_t records) {
  try {
    return std::make_unique<Ring>(records);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::uint16_t trace_every(double share) {
  return static_cast<std::uint16_t>(std::lround(std::min(1 / share, 65535.0)));
}

}  // namespace

recorder::recorder(unsigned n_workers, unsigned most_workers)
    : state_(std::make_unique<state>(std::max(n_workers, most_workers))) {
  (void)cost_of_recording();
  for (unsigned i = 0; i < n_workers; ++i) state_->workers.push_back(std::make_unique<worker_trace>(i, state_->space));
}

recorder::~recorder() = default;

worker_log* recorder::add_worker() {
  const std::lock_guard lock(state_->mutex);
  worker_list& all = state_->workers;
  if (all.size() == all.most()) return nullptr;
  const worker_trace& first = *all[0];
  auto w = std::make_unique<worker_trace>(static_cast<unsigned>(all.size()), state_->space);
  w->log.set_trace_rates(state_->rates_in_use);
  if (first.ring) {
    w->ring = ring_of<trace_ring>(first.ring->capacity());
    w->log.set_ring(w->ring.get());
  }
  if (state_->observer != nullptr) w->log.set_observer(state_->observer);
  if (first.log.flight() != nullptr) {
    w->flight = ring_of<flight_ring>(first.flight->capacity());
    w->log.set_flight(w->flight.get(), ticks_from(state_->flight_from_s));
    if (state_->edges_for_flight) {
      w->links = ring_of<flight_ring>(w->flight->capacity());
      w->log.set_links(w->links.get());
    }
  }
  w->log.set_mode(first.log.mode());
  return &all.push_back(std::move(w)).log;
}

void recorder::name_worker(unsigned i, std::string_view name) {
  PLX_ASSERT_LT(i, worker_count());
  const std::lock_guard lock(state_->mutex);
  if (state_->worker_names.size() <= i) state_->worker_names.resize(i + 1);
  state_->worker_names[i] = name;
}

unsigned recorder::worker_count() const noexcept { return state_->workers.size(); }

worker_log& recorder::worker(unsigned i) noexcept {
  PLX_ASSERT_LT(i, worker_count());
  return state_->workers[i]->log;
}

const worker_log& recorder::worker(unsigned i) const noexcept {
  PLX_ASSERT_LT(i, worker_count());
  return state_->workers[i]->log;
}

void recorder::statistics(bool on) { state_->set_mode(worker_log::statistics, on); }
void recorder::costs(bool on) { state_->set_mode(worker_log::costs, on); }
void recorder::counting(bool on) { state_->set_mode(worker_log::counting, on); }
device_lanes& recorder::devices() noexcept { return state_->lanes; }
const device_lanes& recorder::devices() const noexcept { return state_->lanes; }

void recorder::trace(bool on, std::size_t ring_records, double share) {
  PLX_ASSERT(share > 0 && share <= 1, share);
  const std::lock_guard use(state_->use_mutex);
  state_->take_back();
  if (on && !state_->sink_in_use) state_->memory_in_use = true;
  state_->set_tracing(on, ring_records, share);
}

void recorder::state::set_tracing(bool on, std::size_t ring_records, double of_slices) {
  {
    const std::lock_guard lock(mutex);
    want_edges(on && of_slices == 1, edges_for_paths);
    if (on) {
      share = of_slices;
      set_rates(trace_every(of_slices));
      for (auto& w : workers) {
        if (w->ring) continue;
        w->ring = ring_of<trace_ring>(ring_records);
        w->log.set_ring(w->ring.get());
      }
    }
  }
  set_mode(worker_log::tracing, on);
  lanes.set_tracing(on);
}

void recorder::trace_kind(name_id name, double share) {
  PLX_ASSERT(share >= 0 && share <= 1, share);
  const std::lock_guard lock(state_->mutex);
  if (name >= max_names || (share == 1 && state_->rates_in_use == nullptr)) return;
  if (state_->rates_in_use == nullptr) state_->set_rates(1, true);
  state_->rates->every[name].store(share == 0 ? 0 : trace_every(share), std::memory_order_relaxed);
  if (share > 0 && share < state_->share) state_->share = share;
  if (state_->tracing_locked() && state_->edges_for_trace)
    state_->want_edges(state_->some_kind_is_whole(), state_->edges_for_paths);
}

/// Considers only task types that have run.
bool recorder::state::some_kind_is_whole() const {
  for (name_id id = 0, n = name_count(); id < n; ++id)
    for (const auto& w : workers) {
      const detail::name_cell* c = rates->of(id) == 1 ? w->log.name(id) : nullptr;
      if (c != nullptr && c->calls.load(std::memory_order_relaxed) + c->open_pieces.load(std::memory_order_relaxed) > 0)
        return true;
    }
  return false;
}

/// The table is created once and kept: workers may read it.
void recorder::state::set_rates(std::uint16_t every, bool kinds) {
  const bool all = every == 1 && !kinds;
  if (!all && rates == nullptr) rates = std::make_unique<trace_rates>();
  if (rates != nullptr)
    for (auto& e : rates->every) e.store(every, std::memory_order_relaxed);
  rates_in_use = all ? nullptr : rates.get();
  for (auto& w : workers) w->log.set_trace_rates(rates_in_use);
}

void recorder::paths(bool on) {
  const std::lock_guard lock(state_->mutex);
  state_->want_edges(state_->edges_for_trace, on);
}

double recorder::span_s() const {
  ticks longest = 0;
  for (const auto& w : state_->workers) longest = std::max(longest, w->log.longest_path());
  return seconds(longest);
}

void recorder::observe(task_observer* o) {
  {
    const std::lock_guard lock(state_->mutex);
    if (o != nullptr) state_->observer = o;
    for (auto& w : state_->workers)
      if (o != nullptr) w->log.set_observer(o);
    state_->want_events(o != nullptr);
  }
  state_->set_mode(worker_log::watching, o != nullptr);
}

void recorder::flight(std::size_t records, double from_s) {
  const std::lock_guard lock(state_->mutex);
  state_->flight_enabled = records != 0;
  state_->flight_from_s = from_s;
  state_->set_flight(records);
}

void recorder::flight_links(bool on) {
  const std::lock_guard lock(state_->mutex);
  unsigned& uses = state_->flight_links_uses;
  const bool changes = on ? uses++ == 0 : uses != 0 && --uses == 0;
  if (!changes) return;
  state_->want_edges_for_flight(on);
  for (auto& w : state_->workers) {
    if (on && w->flight && !w->links) w->links = ring_of<flight_ring>(w->flight->capacity());
    w->log.set_links(on ? w->links.get() : nullptr);
  }
}

flight_use::flight_use(recorder& r, std::size_t records) : recorder_(r) {
  recorder::state& state = *r.state_;
  const std::lock_guard lock(state.mutex);
  if (state.flight_uses++ == 0 && !state.flight_enabled) state.set_flight(records);
}

flight_use::~flight_use() {
  recorder::state& state = *recorder_.state_;
  const std::lock_guard lock(state.mutex);
  if (--state.flight_uses == 0 && !state.flight_enabled) state.set_flight(0);
}

/// Makes rings of `records` for workers without one, unless 0, and has them used if anything uses the flight recorder.
/// Requires: mutex held.
void recorder::state::set_flight(std::size_t records) {
  const bool used = flight_enabled || flight_uses != 0;
  for (auto& w : workers) {
    if (records != 0 && !w->flight) w->flight = ring_of<flight_ring>(records);
    w->log.set_flight(used ? w->flight.get() : nullptr, ticks_from(flight_from_s));
  }
}

void recorder::lock_for_fork() {
  state_->use_mutex.lock();
  state_->drain_mutex.lock();
  state_->mutex.lock();
}

void recorder::unlock_after_fork() noexcept {
  state_->mutex.unlock();
  state_->drain_mutex.unlock();
  state_->use_mutex.unlock();
}

void recorder::drain() {
  const std::lock_guard draining(state_->drain_mutex);
  if (state_->sink != nullptr && !state_->of_parent()) return state_->drain_to_sink(false);
  const std::lock_guard lock(state_->mutex);
  state_->drain_locked();
}

std::uint64_t recorder::traced() const {
  const std::lock_guard lock(state_->mutex);
  return state_->kept + state_->lanes.kept() + state_->streamed.load(std::memory_order_relaxed);
}

std::uint64_t recorder::trace_lost() const {
  const std::lock_guard lock(state_->mutex);
  return state_->lost_locked();
}

std::vector<task_statistics> recorder::state::statistics_of_workers(std::size_t first, std::size_t last) const {
  std::vector<task_statistics> all;
  for (name_id id = 0, n = name_count(); id < n; ++id) {
    cell_sum sum;
    for (std::size_t w = first; w < last; ++w) {
      const worker_log& log = workers[w]->log;
      if (const detail::name_cell* c = log.name(id)) sum.add(*c), sum.add(*log.blame(id));
    }
    if (sum.calls + sum.open_pieces > 0) all.push_back(statistics_of(id, sum, durations_of(id, first, last)));
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.total_s > b.total_s; });
  return all;
}

duration_histogram recorder::state::durations_of(name_id id, std::size_t first, std::size_t last) const {
  duration_histogram sum;
  for (std::size_t w = first; w < last; ++w) workers[w]->log.add_durations(id, sum);
  return sum;
}

duration_histogram recorder::durations(name_id id) const { return state_->durations_of(id, 0, worker_count()); }

std::vector<task_statistics> recorder::tasks() const { return state_->statistics_of_workers(0, worker_count()); }

std::vector<task_statistics> recorder::tasks(unsigned i) const {
  PLX_ASSERT_LT(i, worker_count());
  return state_->statistics_of_workers(i, i + 1);
}

cost_map recorder::state::all_costs() const {
  cost_map sums;
  for (const auto& w : workers) {
    w->log.for_each_key([&](std::uint64_t key, ticks time, std::uint64_t calls) {
      key_sum& sum = sums[key];
      sum.time += time;
      sum.calls += calls;
    });
  }
  return sums;
}

std::vector<key_cost> recorder::costs() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<key_cost> costs;
  for (const auto& [key, sum] : state_->all_costs()) {
    const auto then = state_->cost_base.find(key);
    const key_sum base = then == state_->cost_base.end() ? key_sum{} : then->second;
    if (sum.time == base.time && sum.calls == base.calls) continue;
    costs.push_back({key, seconds(sum.time - base.time), sum.calls - base.calls});
  }
  std::sort(costs.begin(), costs.end(), [](const key_cost& a, const key_cost& b) { return a.key < b.key; });
  return costs;
}

std::uint64_t recorder::costs_lost() const {
  std::uint64_t lost = 0;
  for (const auto& w : state_->workers) lost += w->log.lost_costs();
  return lost;
}

/// The workers' counters only grow, because each has one writer: a reset stores their present values.
void recorder::reset_costs() {
  const std::lock_guard lock(state_->mutex);
  state_->cost_base = state_->all_costs();
}

worker_times recorder::times(unsigned i) const {
  const worker_log& log = worker(i);
  cell_sum sum;
  for (name_id id = 0, n = name_count(); id < n; ++id)
    if (const detail::name_cell* c = log.name(id)) sum.add(*c);
  return {.exec_s = seconds(sum.time + sum.open_time),
          .idle_s = seconds(log.idle_time()),
          .overhead_s = seconds(log.overhead_time()),
          .background_s = seconds(log.background_time()),
          .tasks = sum.calls};
}

void recorder::times_of_names(unsigned i, std::vector<ticks>& into) const {
  const worker_log& log = worker(i);
  into.assign(name_count(), 0);
  for (name_id id = 0; id < into.size(); ++id) {
    cell_sum sum;
    if (const detail::name_cell* c = log.name(id)) sum.add(*c), into[id] = sum.time + sum.open_time;
  }
}

idle_balance& recorder::balance() noexcept { return state_->balance; }

idle_blame recorder::blame() const {
  double blamed = 0, unattributed = state_->balance.alone(now_ticks());
  for (const auto& w : state_->workers) {
    unattributed += w->log.unattributed();
    for (name_id id = 0, n = name_count(); id < n; ++id)
      if (const detail::blame_cell* c = w->log.blame(id)) blamed += c->idle.load(std::memory_order_relaxed);
  }
  const double tick_s = 1.0 / ticks_per_second();
  return {blamed * tick_s, unattributed * tick_s};
}

ready_wait recorder::ready_wait() const {
  std::array<std::uint64_t, ready_waits::n_bins> bins{};
  probe::ready_wait all;
  ticks total = 0, longest = 0;
  for (const auto& w : state_->workers) {
    const ready_waits& some = w->log.waits();
    for (unsigned b = 0; b < bins.size(); ++b) bins[b] += some.bins[b].load(std::memory_order_relaxed);
    total += some.total.load(std::memory_order_relaxed);
    longest = std::max(longest, some.longest.load(std::memory_order_relaxed));
  }
  for (const std::uint64_t n : bins) all.samples += n;
  if (all.samples == 0) return all;
  const auto percentile = [&](double share) {
    const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(all.samples));
    std::uint64_t below = 0;
    unsigned b = 0;
    while (b + 1 < bins.size() && (below += bins[b]) <= rank) ++b;
    return seconds(std::min(ticks{2} << b, longest));
  };
  all.mean_s = seconds(total) / static_cast<double>(all.samples);
  all.p50_s = percentile(0.5);
  all.p99_s = percentile(0.99);
  all.max_s = seconds(longest);
  return all;
}

namespace {

constexpr int measured_records = 8192;

/// Measured on a log with a few names and keys, which fits the second-level cache.
double ticks_per_slice(worker_log& log) {
  const ticks start = now_ticks();
  for (std::uint32_t i = 0; i < measured_records; ++i)
    log.record({.name = i & 7, .key = i * 7919 % 4096, .begin = i, .end = 2 * i + 100, .id = log.next_id()});
  return static_cast<double>(now_ticks() - start) / measured_records;
}

double ticks_per_look() {
  constexpr int looks = 1000;
  const ticks start = now_ticks();
  for (int i = 1; i < looks; ++i) {
    const ticks now = now_ticks();
    asm volatile("" : : "r"(now));
  }
  return static_cast<double>(now_ticks() - start) / looks;
}

recording_cost measure() {
  worker_log log;
  trace_ring ring(measured_records * 4);
  ticks_per_slice(log);  // allocates the chunks
  recording_cost cost;
  cost.slice = std::min(ticks_per_slice(log), ticks_per_slice(log));
  log.set_ring(&ring);
  log.set_mode(log.mode() | worker_log::tracing);
  ticks_per_slice(log);
  cost.record = std::max(0.0, std::min(ticks_per_slice(log), ticks_per_slice(log)) - cost.slice);
  cost.clock = std::min(ticks_per_look(), ticks_per_look());
  return cost;
}

}  // namespace

const recording_cost& cost_of_recording() {
  static const recording_cost cost = measure();
  return cost;
}

double recorder::measurement_cost() const {
  const recording_cost& each = cost_of_recording();
  double cost = 0;
  double all_s = 0;
  for (unsigned i = 0; i < worker_count(); ++i) {
    const worker_log& log = worker(i);
    const auto count = [](const auto* ring) { return ring == nullptr ? 0.0 : static_cast<double>(ring->pushed()); };
    const double lost = log.ring() == nullptr ? 0.0 : static_cast<double>(log.ring()->lost());
    cost += static_cast<double>(log.pieces()) * each.slice;
    cost += (count(log.ring()) + lost + count(log.flight()) + count(log.links())) * each.record;
    cost += static_cast<double>(log.edges()) * each.clock;  // the clock is read when a task becomes ready or an input
                                                            // arrives
    const worker_times t = times(i);
    all_s += t.exec_s + t.idle_s + t.overhead_s + t.background_s;
  }
  const double background_s = state_->background_s.load(std::memory_order_relaxed);
  return all_s > 0 ? (cost / ticks_per_second() + background_s) / all_s : 0.0;
}

void recorder::set_background(double s) noexcept { state_->background_s.store(s, std::memory_order_relaxed); }

}  // namespace plx::probe
