#include "probe/record/worker_log.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "probe/crash/flight_ring.hpp"
#include "probe/record/slice_counts.hpp"
#include "probe/record/trace_ring.hpp"

namespace plx::probe {
namespace detail {

/// Open addressing with linear probing, at most half full. When it fills up, the writer creates one of twice the size;
/// the old one stays allocated behind `previous`, because readers may use it. All old ones together are smaller than
/// the newest, so memory is bounded by twice the final table, and time by one copy per insertion on average.
struct hashed_keys {
  hashed_keys(std::unique_ptr<hashed_key_cell[]> c, std::size_t capacity, hashed_keys* old)
      : mask(capacity - 1), cells(std::move(c)), previous(old) {}

  const std::size_t mask;
  std::size_t used = 0;  // used by the writer only
  std::unique_ptr<hashed_key_cell[]> cells;
  std::unique_ptr<hashed_keys> previous;

  /// The cell of the key, or the free cell in which it would be inserted.
  hashed_key_cell& find(std::uint64_t key) const noexcept {
    std::size_t i = (key * 0x9e3779b97f4a7c15ull) >> 43;  // Knuth's multiplicative hash, the upper 21 bits
    for (;; ++i) {
      hashed_key_cell& c = cells[i & mask];
      const std::uint64_t there = c.key.load(std::memory_order_relaxed);
      if (there == key || there == no_key) return c;
    }
  }
};

}  // namespace detail

namespace {
constexpr std::size_t first_capacity = 1u << 10;
constexpr std::size_t last_capacity = 1u << 21;  // the bits of a hash
}  // namespace

worker_log::~worker_log() {
  for (auto& slot : names_) {
    const detail::name_chunk* chunk = slot.load(std::memory_order_relaxed);
    if (chunk == nullptr) continue;
    std::free(chunk->durations);
    delete chunk;
  }
  for (auto& chunk : keys_) delete chunk.load(std::memory_order_relaxed);
  delete hashed_.load(std::memory_order_relaxed);
}

// Without memory, measurements are lost: they go to a chunk that nothing reads, and the next record tries again.

detail::name_chunk* worker_log::new_name_chunk(unsigned which) noexcept {
  constexpr std::size_t bins = detail::names_of_chunk * duration_histogram::n_bins;
  static constinit std::uint64_t lost_durations[bins] = {};
  static constinit detail::name_chunk lost(lost_durations);
  // calloc: zeros of the operating system, which take no memory until they are written.
  auto* durations = static_cast<std::uint64_t*>(std::calloc(bins, sizeof(std::uint64_t)));
  if (durations == nullptr) return &lost;
  auto* chunk = new (std::nothrow) detail::name_chunk(durations);
  if (chunk == nullptr) return std::free(durations), &lost;
  names_[which].store(chunk, std::memory_order_release);  // pairs with the acquire in name()
  return chunk;
}

detail::key_chunk* worker_log::new_key_chunk(std::uint64_t which) noexcept {
  static constinit detail::key_chunk lost;
  auto* chunk = new (std::nothrow) detail::key_chunk;
  if (chunk == nullptr) return detail::add(lost_costs_, 1), &lost;
  keys_[which].store(chunk, std::memory_order_release);  // pairs with the acquire in visit_keys()
  return chunk;
}

detail::key_cell& worker_log::hashed_cell(std::uint64_t key) noexcept {
  detail::hashed_keys* table = hashed_.load(std::memory_order_relaxed);  // own store
  detail::hashed_key_cell* cell = table == nullptr ? nullptr : &table->find(key);
  if (cell != nullptr && cell->key.load(std::memory_order_relaxed) == key) return cell->cost;
  if (table == nullptr || 2 * (table->used + 1) > table->mask + 1) {
    table = grow_hashed();
    if (table == nullptr) {
      detail::add(lost_costs_, 1);
      return no_place_;
    }
    cell = &table->find(key);
  }
  ++table->used;
  cell->key.store(key, std::memory_order_relaxed);
  return cell->cost;
}

/// Creates the next larger table with all entries copied; nullptr if the largest size is reached, or without memory.
detail::hashed_keys* worker_log::grow_hashed() noexcept {
  detail::hashed_keys* old = hashed_.load(std::memory_order_relaxed);
  const std::size_t capacity = old == nullptr ? first_capacity : 2 * (old->mask + 1);
  if (capacity > last_capacity) return nullptr;
  std::unique_ptr<detail::hashed_key_cell[]> cells(new (std::nothrow) detail::hashed_key_cell[capacity]);
  auto* table = cells == nullptr ? nullptr : new (std::nothrow) detail::hashed_keys(std::move(cells), capacity, old);
  if (table == nullptr) return nullptr;
  for (std::size_t i = 0; old != nullptr && i <= old->mask; ++i) {
    const detail::hashed_key_cell& from = old->cells[i];
    const std::uint64_t key = from.key.load(std::memory_order_relaxed);
    if (key == no_key) continue;
    detail::hashed_key_cell& to = table->find(key);
    to.key.store(key, std::memory_order_relaxed);
    detail::add(to.cost.time, from.cost.time.load(std::memory_order_relaxed));
    detail::add(to.cost.calls, from.cost.calls.load(std::memory_order_relaxed));
    ++table->used;
  }
  hashed_.store(table, std::memory_order_release);  // pairs with the acquire in visit_keys()
  return table;
}

void worker_log::add_flight(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags, task_id id,
                            task_id cause) noexcept {
  if (flight_ring* ring = flight_.load(std::memory_order_acquire))  // pairs with the release in set_flight()
    ring->push(
        {begin, end, key, static_cast<name_id>(name_and_flags), static_cast<std::uint32_t>(name_and_flags >> 32)});
  if (id == 0) return;
  if (flight_ring* ring = links_.load(std::memory_order_acquire))  // pairs with the release in set_links()
    ring->push(flight_link{begin, end, id, cause}.packed());
}

void worker_log::set_flight(flight_ring* ring, ticks from) noexcept {
  flight_from_.store(~ticks{0}, std::memory_order_relaxed);
  flight_.store(ring, std::memory_order_release);  // pairs with the acquire in add_flight()
  if (ring != nullptr) flight_from_.store(from, std::memory_order_relaxed);
}

void worker_log::notify_end(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags,
                            ticks earlier) noexcept {
  const bool finished = (name_and_flags >> 32 & trace_record::finished) != 0;
  const ticks length = end > begin ? end - begin : 0;
  notify_observer({.kind = finished ? task_event_kind::stop : task_event_kind::suspend,
                   .name = static_cast<name_id>(name_and_flags),
                   .key = key,
                   .worker = index_,
                   .when = end,
                   .length = finished ? earlier + length : length});
}

void worker_log::count_events(name_id name, ticks end) noexcept {
  if (slice_counts* c = counts()) c->slice_ends(name, end);
}

void worker_log::notify_slowly(const task_event& e) noexcept {
  const std::uint32_t mode = mode_.load(std::memory_order_relaxed);
  if (slice_counts* c = (mode & counting) != 0 && e.kind != task_event_kind::create ? counts() : nullptr)
    c->slice_begins(e.when);
  if ((mode & watching) != 0) notify_observer(e);
}

void worker_log::notify_observer(const task_event& e) noexcept {
  if (task_observer* o = observer_.load(std::memory_order_acquire)) o->on_event(e);  // pairs with set_observer()
}

// The most frequent case needs no call and no saved register, which would be a fifth of its cost.
void worker_log::add_trace(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags, task_id id,
                           task_id cause, ticks ready) noexcept {
  trace_ring* ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  if (ring == nullptr || rates_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    return add_trace_otherwise(begin, end, key, name_and_flags, id, cause, ready);
  trace_record* at = ring->place_at_once();  // also null while edges wait for their record
  if (at == nullptr || !detail::pack_own_slice(*at, first_id_, begin, end, key, name_and_flags, id, cause, ready))
      [[unlikely]]
    return add_trace_otherwise(begin, end, key, name_and_flags, id, cause, ready);
  ring->written_at(at);
}

void worker_log::add_trace_otherwise(ticks begin, ticks end, std::uint64_t key, std::uint64_t name_and_flags,
                                     task_id id, task_id cause, ticks ready) noexcept {
  trace_ring* ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  if (ring == nullptr) return;
  if (n_more_edges_ != 0) push_more_edges(*ring);
  if ((cause & last_input_bit) != 0) cause = 0;  // the edge of each input has a record
  trace_record slice{begin, end, key, static_cast<name_id>(name_and_flags),
                     static_cast<std::uint32_t>(name_and_flags >> 32)};
  if (const trace_rates* rates = rates_.load(std::memory_order_acquire)) {  // pairs with set_trace_rates()
    const std::uint32_t every = rates->of(slice.name);
    if (every == 0 || (every != 1 && ++cell_of(slice.name).trace_turn % every != 0)) return;
    if (every != 1) {
      slice.flags |= every << trace_record::every_shift;
      detail::add(n_other_, id != 0 ? 2 : 1);
      return push_unpacked(*ring, slice, id, 0, ready);
    }
  }
  trace_record packed;
  if (id != 0 && detail::pack_slice(packed, first_id_, begin, end, key, name_and_flags, id, cause, ready)) {
    ring->push(packed);
    return;
  }
  detail::add(n_other_, 1);  // the slice; its link, if any, records the cause
  push_unpacked(*ring, slice, id, cause, ready);
}

void worker_log::push_unpacked(trace_ring& ring, const trace_record& slice, task_id id, task_id cause,
                               ticks ready) noexcept {
  if (id == 0)
    ring.push(slice);
  else
    ring.push({id, cause, ready, 0, trace_record::is_link}, slice);
}

void worker_log::edge(task_id from, task_id to, ticks when, name_id name) noexcept {
  if ((mode() & tracing) == 0 || from == 0 || to == 0) return;
  trace_ring* ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  if (ring == nullptr || rates_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
    return edge_otherwise(from, to, when, name);
  trace_record* at = ring->place_at_once();  // also null while edges wait for their record
  if (at == nullptr || (from == last_edge_from_ && when == last_edge_when_)) [[unlikely]]
    return edge_otherwise(from, to, when, name);
  last_edge_from_ = from;
  last_edge_when_ = when;
  *at = {from, to, when, 0, trace_record::is_edge};
  ring->written_at(at);
}

void worker_log::edge_otherwise(task_id from, task_id to, ticks when, name_id name) noexcept {
  trace_ring* ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  if (ring == nullptr) return;
  const trace_rates* rates = rates_.load(std::memory_order_acquire);  // pairs with set_trace_rates()
  if (rates != nullptr && rates->of(name) != 1) return;
  const std::uint64_t distance = detail::distance_of(to, first_id_);
  if (from == last_edge_from_ && when == last_edge_when_ && detail::is_near(distance)) {
    detail::add_target(more_edges_, distance, is_join(to));
    if (++n_more_edges_ == detail::most_targets)
      push_more_edges(*ring);
    else
      ring->look_anew();  // these edges are written before the next record
    return;
  }
  if (n_more_edges_ != 0) push_more_edges(*ring);
  last_edge_from_ = ring->push({from, to, when, 0, trace_record::is_edge}) ? from : 0;  // no edge may be appended to a
                                                                                        // lost one
  last_edge_when_ = when;
}

void worker_log::push_more_edges(trace_ring& ring) noexcept {
  ring.push(
      {more_edges_[0], more_edges_[1], more_edges_[2], static_cast<name_id>(last_edge_from_), trace_record::is_more});
  detail::add(n_other_, 1);
  n_more_edges_ = 0;
  more_edges_ = {};
}

void worker_log::push_other(const trace_record& r) noexcept {
  trace_ring* ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  if (ring == nullptr) return;
  if (n_more_edges_ != 0) push_more_edges(*ring);
  ring->push(r);
  detail::add(n_other_, 1);
}

// Where only some slices are traced, a lock would be attributed to the next one of these.
void worker_log::lock_held(ticks taken, ticks released, const void* object, name_id name, unsigned waits) noexcept {
  if ((mode() & tracing) == 0 || rates_.load(std::memory_order_relaxed) != nullptr) return;
  push_other({taken, released, reinterpret_cast<std::uintptr_t>(object), name,
              trace_record::is_lock | std::min(waits, 0xffffu) << trace_record::every_shift});
}

void worker_log::placed(task_id id, unsigned worker, unsigned priority) noexcept {
  if ((mode() & tracing) == 0 || rates_.load(std::memory_order_relaxed) != nullptr) return;
  push_other({id, worker | std::uint64_t{priority} << 32, 0, 0, trace_record::is_placement});
}

std::uint64_t worker_log::edges() const noexcept {
  const trace_ring* r = ring();
  if (r == nullptr) return 0;
  const std::uint64_t others = n_other_.load(std::memory_order_relaxed), all = r->pushed() + r->lost();
  return all > others ? all - others : 0;  // the two loads may be of different moments
}

void worker_log::ready_wait(ticks t) noexcept {
  detail::add(waits_.samples, 1);
  detail::add(waits_.total, t);
  if (t > waits_.longest.load(std::memory_order_relaxed)) waits_.longest.store(t, std::memory_order_relaxed);
  const unsigned bin = t == 0 ? 0u : static_cast<unsigned>(std::bit_width(t)) - 1u;
  detail::add(waits_.bins[std::min(bin, ready_waits::n_bins - 1)], 1);
}

const detail::name_cell* worker_log::name(name_id id) const noexcept {
  if (id >= max_names) return nullptr;
  const detail::name_chunk* chunk = names_[id >> detail::name_chunk_bits].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->cells[id & ((1u << detail::name_chunk_bits) - 1)];
}

const detail::blame_cell* worker_log::blame(name_id id) const noexcept {
  if (id >= max_names) return nullptr;
  const detail::name_chunk* chunk = names_[id >> detail::name_chunk_bits].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->blame[id & ((1u << detail::name_chunk_bits) - 1)];
}

// Only bins between the extremes can have calls.
void worker_log::add_durations(name_id id, duration_histogram& to) const noexcept {
  const detail::name_cell* c = name(id);
  if (c == nullptr || c->calls.load(std::memory_order_relaxed) == 0) return;
  std::uint64_t* bins = names_[id >> detail::name_chunk_bits].load(std::memory_order_acquire)->durations +
                        id % detail::names_of_chunk * duration_histogram::n_bins;
  const auto bin_of = [](const detail::counter& t) {
    const auto length = static_cast<std::int64_t>(t.load(std::memory_order_relaxed));
    return duration_histogram::bin_of(static_cast<double>(length));
  };
  for (std::size_t b = bin_of(c->shortest), last = bin_of(c->longest); b <= last; ++b)
    to.add(b, std::atomic_ref(bins[b]).load(std::memory_order_relaxed));
}

void worker_log::add_blame(name_id name, ticks now) noexcept {
  std::atomic<double>& idle = chunk_of(name).blame[name % detail::names_of_chunk].idle;
  idle.store(idle.load(std::memory_order_relaxed) + share_.take(now), std::memory_order_relaxed);
}

void worker_log::add_unattributed(ticks now) noexcept {
  unattributed_.store(unattributed() + share_.take(now), std::memory_order_relaxed);
}

void worker_log::held_up(name_id name, ticks t) noexcept {
  detail::add(chunk_of(name).blame[name % detail::names_of_chunk].lock_waits, t);
}

void worker_log::sleeps(ticks begin, ticks background_before, bool parks) noexcept {
  const ticks now = now_ticks(), polled = background_time() - background_before;
  idle_begins(begin, background_before);
  const ticks passed = now > begin ? now - begin : 0;
  share_.sleeps(now, passed > polled ? passed - polled : 0, parks);
}

std::uint64_t worker_log::pieces() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& slot : names_) {
    const detail::name_chunk* chunk = slot.load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    for (const detail::name_cell& c : chunk->cells)
      sum += c.calls.load(std::memory_order_relaxed) + c.open_pieces.load(std::memory_order_relaxed);
  }
  return sum;
}

void worker_log::visit_keys(key_visitor visit, void* context) const {
  const auto visit_cell = [&](std::uint64_t key, const detail::key_cell& c) {
    const ticks time = c.time.load(std::memory_order_relaxed);
    const std::uint64_t calls = c.calls.load(std::memory_order_relaxed);
    if (time != 0 || calls != 0) visit(context, key, time, calls);
  };
  for (std::size_t k = 0; k < keys_.size(); ++k) {
    const detail::key_chunk* chunk = keys_[k].load(std::memory_order_acquire);
    if (chunk == nullptr) continue;
    for (std::size_t i = 0; i < chunk->cells.size(); ++i)
      visit_cell((k << detail::key_chunk_bits) + i, chunk->cells[i]);
  }
  const detail::hashed_keys* table = hashed_.load(std::memory_order_acquire);
  for (std::size_t i = 0; table != nullptr && i <= table->mask; ++i) {
    const std::uint64_t key = table->cells[i].key.load(std::memory_order_relaxed);
    if (key != no_key) visit_cell(key, table->cells[i].cost);
  }
}

}  // namespace plx::probe
