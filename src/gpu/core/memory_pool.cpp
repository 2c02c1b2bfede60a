#include "gpu/core/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gpu/core/device_core.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu::detail {

using plx::detail::spin_guard;

// Classes 4 o + q hold (4 + q) / 4 * 256 * 2^o bytes.
unsigned memory_pool::class_of(std::size_t bytes) noexcept {
  constexpr std::size_t smallest = 256;
  if (bytes <= smallest) return 0;
  const auto octave = static_cast<unsigned>(std::bit_width((bytes - 1) / smallest) - 1);
  const std::size_t step = (smallest << octave) / 4;
  const auto quarter = static_cast<unsigned>((bytes - (smallest << octave) + step - 1) / step);
  return 4 * octave + quarter;  // quarter 4 is the first class of the next octave
}
std::size_t memory_pool::bytes_of(unsigned size_class) noexcept {
  return (std::size_t{64} << (size_class / 4)) * (4 + size_class % 4);
}

memory_pool::memory_pool(device_core& d, memory_kind kind) : home_(d), kind_(kind) {
  for (unsigned i = 0; i < d.rt.worker_count(); ++i) shelves_.push_back(std::make_unique<shelf>());
}

memory_pool::~memory_pool() {
  for (memory_block* b : take_all()) release(b);
}

memory_pool::shelf* memory_pool::my_shelf() noexcept {
  const plx::detail::worker* w = plx::detail::this_worker();
  return w != nullptr && &w->home == &home_.rt.get_scheduler() ? shelves_[w->index].get() : nullptr;
}

namespace {

// The newest block that needs no event, else the newest one. Null: each inspected block needs an event across a
// capture.
memory_block* choose(memory_block** blocks, std::size_t n, const stream_core& s) noexcept {
  constexpr std::size_t most_looked_at = 8;
  const bool captures = s.capturing.load(std::memory_order_relaxed);
  std::size_t chosen = n;
  for (std::size_t i = n; i-- > n - std::min(n, most_looked_at);) {
    const stream_core* const last = blocks[i]->last;
    if (last == &s || last == nullptr) {
      chosen = i;
      break;
    }
    if (chosen == n && !captures && !last->capturing.load(std::memory_order_relaxed)) chosen = i;
  }
  return chosen == n ? nullptr : std::exchange(blocks[chosen], blocks[n - 1]);
}

}  // namespace

memory_block* memory_pool::from_magazine(shelf& mine, stream_core& s, unsigned size_class) noexcept {
  const spin_guard guard(mine.lock);
  magazine* m = mine.of[size_class].get();
  if (m == nullptr || m->n == 0) return nullptr;
  memory_block* const b = choose(m->rounds.data(), m->n, s);
  if (b == nullptr) return nullptr;
  --m->n;
  ++mine.hits;
  mine.taken_bytes += bytes_of(size_class);
  return b;
}

memory_block* memory_pool::from_depot(stream_core& s, unsigned size_class) noexcept {
  const spin_guard guard(lock_);
  auto& all = depot_[size_class];
  if (all.empty()) return nullptr;
  memory_block* const b = choose(all.data(), all.size(), s);
  if (b == nullptr) return nullptr;
  all.pop_back();
  ++hits_;
  taken_bytes_ += bytes_of(size_class);
  return b;
}

// Orders work submitted to `s` from now on after the last use of the block. False: one of the two streams captures.
bool memory_pool::order(stream_core& s, memory_block& b) {
  if (b.last == nullptr || b.last == &s) return true;
  if (!home_.try_wait_for(s, *b.last)) return false;
  const spin_guard guard(lock_);
  ++crossings_;
  return true;
}

memory_block* memory_pool::from_device(stream_core& s, unsigned size_class, std::size_t wanted) {
  home_.check(s);
  const std::size_t bytes = bytes_of(size_class);
  void* p = nullptr;
  const outcome o = home_.allocate(kind_, bytes, p);
  if (!o && home_.table.kind_of(o.code) == failure::out_of_memory) {
    const memory_counts c = counts();
    throw make_error(
        home_.table, o, "", home_.label,
        fmt::format("{} bytes of {} memory requested, {} in use by buffers, {} on the device; free memory "
                    "of the pools was released first",
                    wanted, kind_ == memory_kind::device ? "device" : "pinned", c.used_bytes, home_.info.memory_bytes));
  }
  home_.expect(&s, o);
  auto* b = new memory_block{p, nullptr, size_class};
  const spin_guard guard(lock_);
  ++misses_;
  reserved_ += bytes;
  taken_bytes_ += bytes;
  return b;
}

memory_block* memory_pool::get(stream_core& s, std::size_t bytes) {
  const unsigned size_class = class_of(bytes);
  if (size_class >= classes)
    throw error(
        {failure::wrong_use, 0, "buffer", "", fmt::format("a buffer of {} bytes exceeds the supported size", bytes)});
  memory_block* b = nullptr;
  if (shelf* mine = my_shelf()) b = from_magazine(*mine, s, size_class);
  if (b == nullptr) b = from_depot(s, size_class);
  if (b == nullptr) return from_device(s, size_class, bytes);
  try {
    if (order(s, *b)) return b;
  } catch (...) {
    put(*b->last, b);
    throw;
  }
  put(*b->last, b);
  return from_device(s, size_class, bytes);
}

void memory_pool::put(stream_core& s, memory_block* b) noexcept {
  b->last = &s;
  const std::size_t bytes = bytes_of(b->size_class);
  if (!home_.options.recycle_buffers && home_.settle(s)) {
    {
      const spin_guard guard(lock_);
      given_bytes_ += bytes;
    }
    return release(b);
  }
  if (shelf* mine = my_shelf()) {
    const spin_guard guard(mine->lock);
    auto& m = mine->of[b->size_class];
    if (m == nullptr) m = std::make_unique<magazine>();
    if (m->n < magazine_rounds) {
      m->rounds[m->n++] = b;
      mine->given_bytes += bytes;
      return;
    }
  }
  const spin_guard guard(lock_);
  depot_[b->size_class].push_back(b);
  given_bytes_ += bytes;
}

std::vector<memory_block*> memory_pool::take_all() {
  std::vector<memory_block*> all;
  for (auto& each : shelves_) {
    const spin_guard guard(each->lock);
    for (auto& m : each->of) {
      if (m == nullptr) continue;
      all.insert(all.end(), m->rounds.begin(), m->rounds.begin() + m->n);
      m->n = 0;
    }
  }
  const spin_guard guard(lock_);
  for (auto& each : depot_) {
    all.insert(all.end(), each.begin(), each.end());
    each.clear();
  }
  return all;
}

void memory_pool::release(memory_block* b) noexcept {
  home_.table.release(home_.native, kind_, b->at);
  {
    const spin_guard guard(lock_);
    reserved_ -= bytes_of(b->size_class);
  }
  delete b;
}

void memory_pool::trim(const stream_core* held) {
  std::vector<std::pair<stream_core*, bool>> users;  // and whether its work is done
  for (memory_block* b : take_all()) {
    bool free = b->last == nullptr;
    if (!free) {
      auto it = std::find_if(users.begin(), users.end(), [b](const auto& u) { return u.first == b->last; });
      if (it == users.end()) it = users.insert(users.end(), {b->last, home_.settle(*b->last, held)});
      free = it->second;
    }
    if (free) {
      release(b);
    } else {
      const spin_guard guard(lock_);
      depot_[b->size_class].push_back(b);
    }
  }
  const spin_guard guard(lock_);
  ++trims_;
}

memory_counts memory_pool::counts() const noexcept {
  memory_counts c;
  std::uint64_t taken = 0, given = 0;
  for (const auto& each : shelves_) {
    const spin_guard guard(each->lock);
    c.magazine_hits += each->hits;
    taken += each->taken_bytes;
    given += each->given_bytes;
  }
  const spin_guard guard(lock_);
  c.hits = hits_ + c.magazine_hits;
  c.crossings = crossings_;
  c.misses = misses_;
  c.trims = trims_;
  c.reserved_bytes = reserved_;
  c.used_bytes = taken + taken_bytes_ - given - given_bytes_;
  return c;
}

}  // namespace plx::gpu::detail
