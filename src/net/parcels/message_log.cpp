#include "net/parcels/message_log.hpp"

#include <array>
#include <new>
#include <utility>

#include "probe/record/worker_log.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/measure/origin.hpp"

namespace plx::net {

using plx::detail::this_worker;

namespace {

/// The cause of the caller's current work: the result that it passes on, or the running task; 0: neither.
probe::task_id source_now() noexcept {
  const plx::detail::worker* w = this_worker();
  if (w == nullptr) return 0;
  if (w->ready_by != nullptr) return w->ready_by->id;
  return w->in_task ? w->id : 0;
}

}  // namespace

struct message_log::chunk {
  static constexpr std::size_t size = 1024;
  std::array<message_record, size> records;
  std::array<bool, size> was_sent;
  std::atomic<std::size_t> used{0};
  chunk* before = nullptr;
};

// Invariant: records below `used`, and everything reachable through `before`, are immutable. One writer, which releases
// both; collect() acquires them.
struct alignas(64) message_log::lane {
  ~lane() {
    for (chunk* c = newest.load(std::memory_order_relaxed); c != nullptr;) delete std::exchange(c, c->before);
  }
  std::atomic<chunk*> newest{nullptr};
};

message_log::message_log(plx::detail::scheduler& s) : scheduler_(s) {
  for (unsigned i = 0; i <= s.worker_count(); ++i) lanes_.push_back(std::make_unique<lane>());
}

message_log::~message_log() = default;

void message_log::add(const message_record& r, bool was_sent) noexcept {
  if (kept_.fetch_add(1, std::memory_order_relaxed) >= most) {
    kept_.fetch_sub(1, std::memory_order_relaxed);
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const plx::detail::worker* w = this_worker();
  const bool own = w != nullptr && &w->home == &scheduler_;
  std::unique_lock<std::mutex> guard;
  if (!own) guard = std::unique_lock(others_lock_);
  lane& l = own ? *lanes_[w->index] : *lanes_.back();
  chunk* c = l.newest.load(std::memory_order_relaxed);  // stored by this thread
  if (c == nullptr || c->used.load(std::memory_order_relaxed) == chunk::size) {
    auto* fresh = new (std::nothrow) chunk;
    if (fresh == nullptr) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    fresh->before = c;
    c = fresh;
    l.newest.store(c, std::memory_order_release);
  }
  const std::size_t i = c->used.load(std::memory_order_relaxed);  // stored by this thread
  c->records[i] = r;
  c->was_sent[i] = was_sent;
  c->used.store(i + 1, std::memory_order_release);
}

void message_log::sent(std::uint64_t number, locality_id to, std::uint64_t bytes, std::uint32_t name,
                       ticks when) noexcept {
  add({.when = when, .task = source_now(), .number = number, .bytes = bytes, .peer = to, .name = name}, true);
}

probe::task_id message_log::received(std::uint64_t number, locality_id from, std::uint64_t bytes) noexcept {
  if (!on()) return 0;
  const plx::detail::worker* w = this_worker();
  const probe::task_id join = w != nullptr && w->log != nullptr ? w->log->next_id() | probe::join_bit : 0;
  add({.when = scheduler_.now(), .task = join, .number = number, .bytes = bytes, .peer = from}, false);
  return join;
}

message_log::records message_log::collect() const {
  records all;
  all.lost = lost_.load(std::memory_order_relaxed);
  for (const auto& l : lanes_) {
    std::vector<const chunk*> chunks;
    for (const chunk* c = l->newest.load(std::memory_order_acquire); c != nullptr; c = c->before) chunks.push_back(c);
    for (auto c = chunks.rbegin(); c != chunks.rend(); ++c) {
      const std::size_t used = (*c)->used.load(std::memory_order_acquire);
      for (std::size_t i = 0; i < used; ++i) ((*c)->was_sent[i] ? all.sent : all.received).push_back((*c)->records[i]);
    }
  }
  return all;
}

}  // namespace plx::net
