// Completion: the poll and the destruction of a device.
#include <algorithm>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "gpu/core/device_core.hpp"
#include "rt/async.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu::detail {

using plx::detail::spin_guard;

namespace {

// Pause after an unsuccessful poll: a fraction of the time since the last completion, so that detection is late by at
// most that fraction, and at most 20 us; but at least the duration of the poll, so that other threads get half of the
// calls of the library. A worker with other work polls again by the scheduler's clock.
constexpr unsigned waited_over_pause = 20;
const ticks shortest_pause = ticks_from(0.2e-6), longest_pause = ticks_from(20e-6);
// Shorter pauses are not worth sleeping.
const ticks shortest_gap = ticks_from(2e-6);
ticks pause_after(ticks look, ticks waited) noexcept {
  return std::min(longest_pause, std::max({shortest_pause, look, waited / waited_over_pause}));
}
constexpr unsigned ask_stream_every = 64;  // unsuccessful checks between queries of the stream: after an error neither
                                           // a callback nor a flag arrives

void submit_finisher(plx::detail::scheduler& s, const std::shared_ptr<finisher>& f) {
  static const task_info named(probe::register_name("gpu completions"));
  s.submit(plx::detail::make_posted(named, [&s, f] { f->run([&s, &f] { submit_finisher(s, f); }); }));
}

/// Resources of an abandoned device that it may still use; never freed.
struct left_behind {
  std::unique_ptr<memory_pool> device_pool, pinned_pool;
  std::vector<native_event> events, timed_events;
  std::vector<staging> staged;
  std::vector<void*> flag_pages;
  std::vector<callback_note*> notes;
};

}  // namespace

// Sets `done` if the point of the completion is reached. An error is that of the stream up to this point.
outcome device_core::reached(stream_core& s, completion& c, bool& done) {
  done = false;
  switch (c.way) {
    case completion_way::poll:
      return table.query(native, c.event, done);
    case completion_way::flag: {
      // acquire: pairs with the stream's write, which follows its earlier work.
      const std::uint32_t seen = std::atomic_ref(*s.flag).load(std::memory_order_acquire);
      done = static_cast<std::int32_t>(seen - c.flag) >= 0;
      break;
    }
    case completion_way::callback:
      done = c.note->called.load(std::memory_order_acquire);
      break;
  }
  if (done && c.event != nullptr) return table.query(native, c.event, done);
  if (done || ++s.looked % ask_stream_every != 0 || !s.put_lock.try_lock()) return {};
  bool all = false;
  outcome o;
  if (!s.capturing.load()) o = table.query_stream(native, s.native, all);  // a query would invalidate a capture
  s.put_lock.unlock();
  return o;
}

void device_core::retire(stream_core& s, completion& c) noexcept {
  if ((c.operations | c.operation) != 0) [[unlikely]]
    timeline_.reached(s, c);
  if (c.event != nullptr) give_event(std::exchange(c.event, nullptr));
  if (callback_note* const note = std::exchange(c.note, nullptr)) {
    if (c.failed != nullptr)
      unheard_.push_back(note);
    else
      note->drop();
  }
  if (c.retire != nullptr) c.retire(c);
  c.next = nullptr;
  (reached_last_ != nullptr ? reached_last_->next : reached_first_) = &c;
  reached_last_ = &c;
  poll_tallies_.reached.add();
  open_.fetch_sub(1);
}

// Removes completed records from the stream's queue.
void device_core::drain(stream_core& s) {
  for (;;) {
    completion* c = nullptr;
    {
      const spin_guard guard(s.queue_lock);
      c = s.first;
    }
    if (c == nullptr) return;
    bool done = false;
    const outcome o = reached(s, *c, done);
    poll_tallies_.questions.add();
    if (!o) {
      const error e = error_of(c->after, o);
      if (e.kind() == failure::device_lost) return lose(e);
      c->failed = std::make_exception_ptr(e);
    } else if (!done) {
      return;
    }
    {
      const spin_guard guard(s.queue_lock);
      s.first = c->next;
      if (s.first == nullptr) s.last = nullptr;
    }
    s.queued.fetch_sub(1, std::memory_order_relaxed);
    retire(s, *c);
  }
}

// Fails every completion with the device's error. No more are added, except by a thread that checked before the device
// was lost; the next poll handles that one.
void device_core::fail_all() {
  const std::exception_ptr e = lost();
  for (stream_core* s : looking_at_) {
    completion* c = nullptr;
    {
      const spin_guard guard(s->queue_lock);
      c = std::exchange(s->first, nullptr);
      s->last = nullptr;
    }
    while (c != nullptr) {
      completion* const next = c->next;
      s->queued.fetch_sub(1, std::memory_order_relaxed);
      c->failed = e;
      retire(*s, *c);
      c = next;
    }
  }
}

void device_core::finish_later(completion* first, completion* last) {
  finisher_->add(first, last);
  if (finish_here_) return run_finisher();
  submit_finisher(rt.get_scheduler(), finisher_);
}

void device_core::run_finisher() noexcept {
  finisher_->run([this] { submit_finisher(rt.get_scheduler(), finisher_); });
}

void device_core::finish_soon(completion& c) { finish_later(&c, &c); }

poll_result device_core::poll() {
  if (open_.load() == 0) {
    waiting_since_ = 0;
    return poll_result::idle;
  }
  auto& s = rt.get_scheduler();
  const bool by_clock = !finish_here_ && !s.deterministic();
  const ticks begin = now_ticks();
  if (waiting_since_ == 0) waiting_since_ = begin;
  poll_result r = poll_result::pending;
  if (!by_clock || begin >= next_look_) {
    if (timeline_.mode() != 0) [[unlikely]]
      timeline_.look();
    r = look();
    const ticks end = now_ticks();
    if (r == poll_result::progressed)
      waiting_since_ = end, next_look_ = 0;
    else
      next_look_ = end + pause_after(end - begin, end - waiting_since_);
    poll_tallies_.polls.add();
    poll_tallies_.ticks.add(end - begin);
  }
  // The threads that emulate the device may need this core.
  if (r == poll_result::pending && table.name == "cpu") std::this_thread::yield();
  if (by_clock)
    s.ask_again_after(std::max(shortest_gap, (begin - std::min(begin, waiting_since_)) / waited_over_pause));
  return r;
}

poll_result device_core::look() {
  {
    const spin_guard guard(list_lock_);
    looking_at_ = busy_;
  }
  if (!is_lost_.load(std::memory_order_acquire))
    for (stream_core* s : looking_at_) drain(*s);
  if (is_lost_.load(std::memory_order_acquire)) fail_all();
  {
    const spin_guard guard(list_lock_);
    std::erase_if(busy_, [](stream_core* s) {
      const spin_guard queue(s->queue_lock);
      if (s->first == nullptr) s->listed = false;
      return !s->listed;
    });
  }
  if (reached_first_ == nullptr) return poll_result::pending;
  finish_later(std::exchange(reached_first_, nullptr), std::exchange(reached_last_, nullptr));
  return poll_result::progressed;
}

void device_core::wait_for_all() {
  std::vector<stream_core*> all;
  {
    const spin_guard guard(list_lock_);
    for (auto& s : streams_) all.push_back(s.get());
  }
  std::vector<plx::future<void>> done;
  for (stream_core* s : all) {
    auto* c = plx::detail::make_state<future_completion>();
    done.push_back(plx::detail::adopt_state<void>(c));
    s->put_lock.lock();
    const bool added = add(*s, *c, completion_way::poll);
    s->put_lock.unlock();
    if (!added) c->finish(*c);
  }
  for (auto& f : done) f.get();
}

// True if all streams are idle; a stream with an error counts as idle.
bool device_core::all_done() noexcept {
  for (auto& s : streams_) {
    bool done = false;
    if (const outcome o = table.query_stream(native, s->native, done); o && !done) return false;
  }
  return true;
}

// Keeps everything that the device may still write to for the life of the process, and does not wait for the device.
void device_core::leave() noexcept {
  static std::mutex lock;
  static auto* const all = new std::vector<std::unique_ptr<left_behind>>;
  auto left = std::make_unique<left_behind>();
  left->device_pool = std::move(device_pool_);
  left->pinned_pool = std::move(pinned_pool_);
  left->events = std::move(all_events_);
  left->timed_events = timeline_.all_events();
  left->staged = std::move(all_staging_);
  left->flag_pages = std::move(flag_pages_);
  left->notes = std::move(unheard_);
  const std::lock_guard guard(lock);
  all->push_back(std::move(left));
}

// With the poller removed, pending work is awaited and finished here. Launches without a future have no completion, so
// the streams are queried as well.
device_core::~device_core() {
  door_->close();
  rt.remove_poller(poller_);
  finish_here_ = true;
  const ticks deadline = now_ticks() + ticks_from(options.shutdown_deadline_s);
  bool left = false;
  for (;;) {
    run_finisher();  // may submit more work
    poll();
    if (open_.load() == 0 && finisher_->quiet() && (is_lost_.load() || all_done())) break;
    if (!left && now_ticks() > deadline) {
      left = true;
      lose(error({failure::device_lost, 0, "shutdown", "",
                  fmt::format("{}: device {} was closed with pending work after {:.3g} s", table.name, label,
                              options.shutdown_deadline_s)}));
    }
    std::this_thread::yield();
  }
  pollers_->close();
  if (left) {
    for (auto& s : streams_) timeline_.leave(*s);
    leave();
  } else {
    for (auto& s : streams_) timeline_.close(*s);
    timeline_.free_stream();
    for (const native_event e : timeline_.all_events()) table.free_event(native, e);
    for (auto& s : streams_) table.free_stream(native, s->native);
    device_pool_.reset();
    pinned_pool_.reset();
    for (const native_event e : all_events_) table.free_event(native, e);
    for (const staging& b : all_staging_) table.release(native, memory_kind::pinned, b.at);
    for (void* p : flag_pages_) table.release(native, memory_kind::pinned, p);
    for (const callback_note* note : unheard_) delete note;
  }
  table.close(native);
}

}  // namespace plx::gpu::detail
