#include "probe/worker_log.hpp"

#include <memory>

#include "probe/trace_ring.hpp"

namespace plx::probe {
namespace detail {

/// Open addressing with linear probing, at most half full. When it fills up, the writer makes one of twice the size;
/// the old one stays alive behind `previous`, because a reader may be in it. All old ones together are smaller than the
/// newest, so the bound on memory is twice the final table, and on time 1 copy per insertion on average.
struct hashed_keys {
  explicit hashed_keys(std::size_t capacity, hashed_keys* old)
      : mask(capacity - 1), cells(new hashed_key_cell[capacity]), previous(old) {}

  const std::size_t mask;
  std::size_t used = 0;  // the writer's
  std::unique_ptr<hashed_key_cell[]> cells;
  std::unique_ptr<hashed_keys> previous;

  /// The cell that holds the key or would hold it.
  hashed_key_cell& find(std::uint64_t key) const noexcept {
    std::size_t i = (key * 0x9e3779b97f4a7c15ull) >> 20;  // Knuth's multiplicative hash, upper bits
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
constexpr std::size_t last_capacity = 1u << 21;
}  // namespace

worker_log::~worker_log() {
  for (auto& chunk : names_) delete chunk.load(std::memory_order_relaxed);
  for (auto& chunk : keys_) delete chunk.load(std::memory_order_relaxed);
  delete hashed_.load(std::memory_order_relaxed);
}

detail::name_chunk* worker_log::new_name_chunk(unsigned which) noexcept {
  auto* chunk = new detail::name_chunk;
  names_[which].store(chunk, std::memory_order_release);  // pairs with the acquire in name()
  return chunk;
}

detail::key_chunk* worker_log::new_key_chunk(std::uint64_t which) noexcept {
  auto* chunk = new detail::key_chunk;
  keys_[which].store(chunk, std::memory_order_release);  // pairs with the acquire in visit_keys()
  return chunk;
}

detail::key_cell& worker_log::hashed_cell(std::uint64_t key) noexcept {
  detail::hashed_keys* table = hashed_.load(std::memory_order_relaxed);  // own store
  if (table == nullptr) table = grow_hashed();
  detail::hashed_key_cell* cell = &table->find(key);
  if (cell->key.load(std::memory_order_relaxed) == key) return cell->cost;
  if (2 * (table->used + 1) > table->mask + 1) {
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

/// The next larger table with everything copied, or nullptr when there is one of the largest size already.
detail::hashed_keys* worker_log::grow_hashed() noexcept {
  detail::hashed_keys* old = hashed_.load(std::memory_order_relaxed);
  const std::size_t capacity = old == nullptr ? first_capacity : 2 * (old->mask + 1);
  if (capacity > last_capacity) return nullptr;
  auto* table = new detail::hashed_keys(capacity, old);
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

void worker_log::add_trace(const task_slice& s) noexcept {
  trace_ring* ring = ring_.load(std::memory_order_acquire);  // pairs with the release in set_ring()
  if (ring == nullptr) return;
  ring->push({s.begin, s.end, s.key, s.name, (s.finished ? 1u : 0u) | (s.earlier != 0 ? 2u : 0u)});
}

const detail::name_cell* worker_log::name(name_id id) const noexcept {
  if (id >= max_names) return nullptr;
  const detail::name_chunk* chunk = names_[id >> detail::name_chunk_bits].load(std::memory_order_acquire);
  return chunk == nullptr ? nullptr : &chunk->cells[id & ((1u << detail::name_chunk_bits) - 1)];
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
