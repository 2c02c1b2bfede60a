#include "net/parcels/message_log.hpp"

#include <array>
#include <new>
#include <utility>

#include "base/text.hpp"
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
  std::array<probe::trace_parcel, size> records;
  std::array<bool, size> was_sent;
  std::atomic<std::size_t> used{0};
  std::atomic<chunk*> next{nullptr};
};

// Invariant: records below `used` are immutable, and a chunk with a next one is full. One writer, which releases
// `used`, `next` and `first`; drain() acquires them, and deletes chunks that it has read and that have a next one.
struct alignas(64) message_log::lane {
  ~lane() {
    for (chunk* c = oldest != nullptr ? oldest : first.load(std::memory_order_relaxed); c != nullptr;)
      delete std::exchange(c, c->next.load(std::memory_order_relaxed));
  }
  std::atomic<chunk*> first{nullptr};
  chunk* newest = nullptr;  // of the writer
  chunk* oldest = nullptr;  // of the reader, and so is `read`
  std::size_t read = 0;     // records of `oldest`
};

message_log::message_log(plx::detail::scheduler& s) : scheduler_(s) {
  for (unsigned i = 0; i <= s.worker_count(); ++i) lanes_.push_back(std::make_unique<lane>());
}

message_log::~message_log() = default;

void message_log::add(const probe::trace_parcel& r, bool was_sent) noexcept {
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
  chunk* c = l.newest;
  if (c == nullptr || c->used.load(std::memory_order_relaxed) == chunk::size) {
    auto* fresh = new (std::nothrow) chunk;
    if (fresh == nullptr) {
      kept_.fetch_sub(1, std::memory_order_relaxed);
      lost_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    (c == nullptr ? l.first : c->next).store(fresh, std::memory_order_release);  // pairs with drain()
    l.newest = c = fresh;
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

void message_log::drain(probe::trace_sink& to) {
  std::array<std::vector<probe::trace_parcel>, 2> some;  // received, sent
  for (const auto& l : lanes_) {
    if (l->oldest == nullptr) l->oldest = l->first.load(std::memory_order_acquire);  // pairs with add()
    while (l->oldest != nullptr) {
      chunk& c = *l->oldest;
      chunk* const next = c.next.load(std::memory_order_acquire);  // before `used`: with a next one, it is full
      const std::size_t used = c.used.load(std::memory_order_acquire);
      for (; l->read < used; ++l->read) some[c.was_sent[l->read] ? 1 : 0].push_back(c.records[l->read]);
      if (next == nullptr) break;
      delete std::exchange(l->oldest, next);
      l->read = 0;
    }
  }
  kept_.fetch_sub(some[0].size() + some[1].size(), std::memory_order_relaxed);
  to.parcels(false, some[0]);
  to.parcels(true, some[1]);
  const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
  if (lost != lost_passed_)
    to.mark({now_ticks(), "measurement", plural(lost - lost_passed_, "record") + " of parcels dropped (buffer full)"});
  lost_passed_ = lost;
}

}  // namespace plx::net
