#include "probe/record/slice_counts.hpp"

#include <new>

#include "probe/record/work.hpp"

namespace plx::probe {
namespace {

/// There is one writer.
template <class T>
void add_own(std::atomic<T>& to, T n) noexcept {
  to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

}  // namespace

slice_counts::slice_counts(count_source* source, std::size_t n_events) noexcept
    : source_(source), n_events_(source == nullptr ? 0 : n_events) {}

slice_counts::~slice_counts() {
  for (auto& c : chunks_) delete c.load(std::memory_order_relaxed);
}

/// Without memory: no task.
slice_counts::cell* slice_counts::cell_of(name_id name) noexcept {
  if (name >= max_names) name = unnamed;
  std::atomic<chunk*>& slot = chunks_[name / names_of_chunk];
  chunk* c = slot.load(std::memory_order_relaxed);  // own store
  if (c == nullptr) {
    c = new (std::nothrow) chunk;
    if (c == nullptr) return &no_task_;
    slot.store(c, std::memory_order_release);  // pairs with the acquire in find()
  }
  return &(*c)[name % names_of_chunk];
}

const slice_counts::cell* slice_counts::find(name_id name) const noexcept {
  if (name >= max_names) return nullptr;
  const chunk* c = chunks_[name / names_of_chunk].load(std::memory_order_acquire);
  return c == nullptr ? nullptr : &(*c)[name % names_of_chunk];
}

void slice_counts::count_into(cell& c) noexcept {
  event_counts now;
  if (source_ == nullptr) return;
  if (!source_->read(now)) return add_own(failed_, std::uint64_t{1});
  for (std::size_t i = 0; i < n_events_; ++i) {
    add_own(c.events[i], now[i] - last_[i]);
    last_[i] = now[i];
  }
}

void slice_counts::slice_ends(name_id name, ticks end) noexcept {
  cell& c = *cell_of(name);
  count_into(c);
  ended_ = end;
  if (flops_ == 0 && bytes_ == 0) return;
  add_own(c.flops, flops_);
  add_own(c.bytes, bytes_);
  flops_ = bytes_ = 0;
}

void slice_counts::slice_begins(ticks begin) noexcept {
  if (begin != ended_) count_into(no_task_);
}

void slice_counts::add_work(double flops, double bytes) noexcept {
  flops_ += flops;
  bytes_ += bytes;
}

slice_counts::work slice_counts::add_to(name_id name, std::span<std::uint64_t> to) const noexcept {
  const cell* c = find(name);
  if (c == nullptr) return {};
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += c->events[i].load(std::memory_order_relaxed);
  return {c->flops.load(std::memory_order_relaxed), c->bytes.load(std::memory_order_relaxed)};
}

void slice_counts::add_no_task(std::span<std::uint64_t> to) const noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += no_task_.events[i].load(std::memory_order_relaxed);
}

void detail::add_work(double flops, double bytes) noexcept {
  const auto here = counts_of_running_task.load(std::memory_order_relaxed);
  if (slice_counts* c = here == nullptr ? nullptr : here()) c->add_work(flops, bytes);
}

}  // namespace plx::probe
