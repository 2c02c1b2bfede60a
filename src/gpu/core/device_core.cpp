// Submission to streams. Completion: core/poll.cpp.
#include "gpu/core/device_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "base/log.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu::detail {

using plx::detail::spin_guard;

namespace {

// Why a device could not be opened.
error open_error(const backend& b, const outcome& o, int index) {
  int n = 0;
  if (b.kind_of(o.code) != failure::no_device || !b.count(b, n) || n == 0)
    return make_error(b, o, "", std::to_string(index));
  return error({failure::no_device, o.code, o.call, "",
                fmt::format("{}: device {} does not exist; the machine has {} ({})", b.name, index, n,
                            n == 1 ? "number 0" : fmt::format("numbers 0 to {}", n - 1))});
}

}  // namespace

device_core::device_core(runtime& r, const backend& b, int i, device_options o)
    : rt(r), table(b), index(i), options(o), label(std::to_string(i)) {
  if (const outcome opened = table.open(table, index, native); !opened) throw open_error(table, opened, index);
  try {
    if (const outcome described = table.describe(native, info); !described)
      throw make_error(table, described, "", label);
    label = fmt::format("{} ({})", index, info.name);
  } catch (...) {
    table.close(native);
    throw;
  }
  spread_over_.resize(std::max(1u, options.streams));
  device_pool_ = std::make_unique<memory_pool>(*this, memory_kind::device);
  pinned_pool_ = std::make_unique<memory_pool>(*this, memory_kind::pinned);
  door_ = open_counter_door(*this);
  poller_ = rt.add_poller(poll, this);
}

device_counts device_core::counts() noexcept {
  device_counts c;
  ticks launching = 0;
  const spin_guard guard(list_lock_);
  for (const auto& s : streams_) {
    const stream_tallies& t = s->tallies;
    c.launches += t.launches.get();
    c.items += t.items.get();
    c.graphs += t.graphs.get();
    c.copies += t.copies.get();
    c.bytes += t.bytes.get();
    c.fills += t.fills.get();
    c.completions += t.completions.get();
    launching += t.launch_ticks.get();
  }
  c.batches = batches_.load(std::memory_order_relaxed);
  c.batched_items = batched_items_.load(std::memory_order_relaxed);
  c.polls = poll_tallies_.polls.get();
  c.questions = poll_tallies_.questions.get();
  c.reached = poll_tallies_.reached.get();
  c.launching_s = seconds(launching);
  c.polling_s = seconds(poll_tallies_.ticks.get());
  return c;
}

// ------------------------------------------------------------------------------------------------------------ streams

// Replaces the native stream by a new one if possible.
void device_core::renew(stream_core& s) noexcept {
  bool done = false;
  native_stream made = nullptr;
  const spin_guard guard(s.put_lock);
  if (!table.query_stream(native, s.native, done) || !done || !table.make_stream(native, made)) return;
  table.free_stream(native, std::exchange(s.native, made));
  s.timeline.chained = false;
}

stream_core* device_core::take_stream() {
  stream_core* found = nullptr;
  {
    const spin_guard guard(list_lock_);
    if (!idle_streams_.empty()) {
      found = idle_streams_.back();
      idle_streams_.pop_back();
    }
  }
  if (found != nullptr) {
    if (!options.recycle_streams) renew(*found);
    return found;
  }
  if (is_lost_.load(std::memory_order_acquire)) std::rethrow_exception(lost());
  native_stream made = nullptr;
  expect(nullptr, table.make_stream(native, made));
  auto s = std::make_unique<stream_core>(*this, made);
  const spin_guard guard(list_lock_);
  s->number = streams_.size() + 1;
  return streams_.emplace_back(std::move(s)).get();
}

// An idle stream is inserted last, so that it is taken first.
void device_core::give_stream(stream_core* s) noexcept {
  const spin_guard guard(list_lock_);
  const bool done = s->queued.load(std::memory_order_relaxed) == 0;
  idle_streams_.insert(done ? idle_streams_.end() : idle_streams_.begin(), s);
}

stream_core& device_core::pick_stream() {
  // acquire: pairs with the release below; streams that are seen are complete.
  const unsigned n = n_spread_.load(std::memory_order_acquire);
  const unsigned first = turn_.fetch_add(1, std::memory_order_relaxed);
  stream_core* least = nullptr;
  std::uint32_t least_queued = ~0u;
  for (unsigned i = 0; i < n; ++i) {
    stream_core* const s = spread_over_[(first + i) % n];
    const std::uint32_t queued = s->queued.load(std::memory_order_relaxed);
    if (queued == 0) return *s;
    if (queued < least_queued) least = s, least_queued = queued;
  }
  if (n == spread_over_.size()) return *least;
  stream_core* const made = take_stream();
  const spin_guard guard(list_lock_);
  const unsigned now = n_spread_.load(std::memory_order_relaxed);
  if (now == spread_over_.size()) {
    idle_streams_.push_back(made);
    return *spread_over_[first % now];
  }
  spread_over_[now] = made;
  n_spread_.store(now + 1, std::memory_order_release);
  return *made;
}

void device_core::wait_for(stream_core& s, stream_core& other) {
  if (!try_wait_for(s, other))
    throw error({failure::wrong_use, 0, "wait_for", "",
                 "a stream cannot wait for another one while either captures a graph: expected launches, copies and "
                 "fills of one stream only; wait before or after the capture"});
}

bool device_core::try_wait_for(stream_core& s, stream_core& other) {
  if (&s == &other) return true;
  check(s);
  const native_event e = take_event();
  outcome o;
  bool captures = s.capturing.load();
  if (!captures) {
    const spin_guard guard(other.put_lock);
    captures = other.capturing.load();
    if (!captures) o = table.record(native, e, other.native);
  }
  if (!captures && o) {
    const spin_guard guard(s.put_lock);
    captures = s.capturing.load();
    if (!captures) o = table.wait(native, s.native, e);
    s.timeline.chained = false;  // the next operation begins after those in `other`
  }
  give_event(e);  // waiting refers to the recorded point, so the event can be reused
  expect(&s, o);
  return !captures;
}

namespace {

// Two threads that each hold one stream may need the other's lock, so neither waits for long.
bool lock_within(plx::detail::spinlock& lock, double seconds) noexcept {
  for (const ticks end = now_ticks() + ticks_from(seconds); !lock.try_lock(); std::this_thread::yield())
    if (now_ticks() >= end) return false;
  return true;
}

}  // namespace

bool device_core::settle(stream_core& s, const stream_core* held) noexcept {
  try {
    if (is_lost_.load(std::memory_order_acquire)) return true;
    const native_event e = take_event();
    outcome o;
    bool captures = false;
    if (held != nullptr && held != &s && !lock_within(s.put_lock, 1e-3)) {
      give_event(e);
      return false;
    }
    if (held == nullptr) s.put_lock.lock();
    captures = s.capturing.load();
    if (!captures) o = table.record(native, e, s.native);
    if (held != &s) s.put_lock.unlock();
    bool done = captures || !o;
    while (!done && !is_lost_.load(std::memory_order_acquire)) {
      if (const outcome q = table.query(native, e, done); !q) break;
      if (!done) std::this_thread::yield();
    }
    give_event(e);
    return o && !captures;
  } catch (const error&) {
    return false;
  }
}

void device_core::trim_all(const stream_core* held) {
  device_pool_->trim(held);
  pinned_pool_->trim(held);
  std::vector<staging> free;
  {
    const spin_guard guard(events_lock_);
    free.swap(free_staging_);
    std::erase_if(all_staging_, [&free](const staging& b) {
      return std::any_of(free.begin(), free.end(), [&b](const staging& f) { return f.at == b.at; });
    });
  }
  for (const staging& b : free) table.release(native, memory_kind::pinned, b.at);
}

outcome device_core::allocate(memory_kind kind, std::size_t bytes, void*& p, const stream_core* held) {
  const outcome o = table.allocate(native, kind, bytes, p);
  if (o || table.kind_of(o.code) != failure::out_of_memory) return o;
  trim_all(held);
  return table.allocate(native, kind, bytes, p);
}

// The page is allocated without the lock, since that may be slow; two threads that allocate concurrently keep both.
std::uint32_t* device_core::take_flag(stream_core& s) {
  constexpr unsigned line = 64, page = 4096;
  for (void* got = nullptr;;) {
    {
      const spin_guard guard(list_lock_);
      if (got != nullptr) flag_pages_.push_back(got), flags_left_ = page / line;
      if (flags_left_ > 0)
        return reinterpret_cast<std::uint32_t*>(static_cast<char*>(flag_pages_.back()) + --flags_left_ * line);
    }
    expect(nullptr, allocate(memory_kind::pinned, page, got, &s));
    std::memset(got, 0, page);
  }
}

native_event device_core::take_event() {
  {
    const spin_guard guard(events_lock_);
    if (!events_.empty()) {
      const native_event e = events_.back();
      events_.pop_back();
      return e;
    }
  }
  native_event e = nullptr;
  expect(nullptr, table.make_event(native, false, e));
  const spin_guard guard(events_lock_);
  all_events_.push_back(e);
  return e;
}

void device_core::give_event(native_event e) noexcept {
  const spin_guard guard(events_lock_);
  events_.push_back(e);
}

// ----------------------------------------------------------------------------------------------------------- launches

void device_core::check(stream_core&) {
  if (is_lost_.load(std::memory_order_acquire)) [[unlikely]]
    std::rethrow_exception(lost());
}

void device_core::launch(stream_core& s, const any_operation& op, const void* items, unsigned n, item_errors errors) {
  check(s);
  s.last_operation = &op;
  timed t(timeline_, s);
  const ticks begin = now_ticks();
  const outcome o = table.launch(native, op, {s.native, stage, &s}, items, n, errors);
  s.tallies.launch_ticks.add(now_ticks() - begin);
  if (!s.stage_failed) [[unlikely]]
    fail(&s, std::exchange(s.stage_failed, {}));
  expect(&s, o);
  t.kernel(op, n);
  if (s.captured != nullptr) {  // counted when it runs
    s.timeline.note_captured(&op, 0);
    ++s.captured->launches;
    s.captured->items += n;
    return;
  }
  s.tallies.launches.add();
  s.tallies.items.add(n);
  if (!s.staged.empty()) add_staged(s);
}

void device_core::launch_for(completion& c, const any_operation& op, const void* items, unsigned n, item_errors errors,
                             bool batched) {
  stream_core& s = pick_stream();
  {
    const spin_guard guard(s.put_lock);
    launch(s, op, items, n, errors);
    if (batched) count_batch(n);
    if (c.launched != nullptr && timeline_.mode() != 0 && s.timeline.newest != 0) c.launched(c, s.timeline.newest);
    if (add(s, c, options.way)) return;
  }
  // The launch runs. Its buffers are not released before it is done, and it must not be launched again.
  if (!is_lost_.load(std::memory_order_acquire)) {
    const outcome o = table.synchronize(native, s.native);
    const std::exception_ptr why = std::exchange(c.failed, nullptr);
    if (!o) {
      const error e = error_of(&op, o);
      if (e.kind() == failure::device_lost) lose(e);
      c.failed = std::make_exception_ptr(e);
    } else if (!reported_unmarked_.exchange(true)) {
      try {
        std::rethrow_exception(why);
      } catch (const std::exception& e) {
        log_warning("gpu: no completion could be added behind a launch, so a worker waited for it: {}", e.what());
      }
    }
  }
  c.finish(c);
}

staging device_core::take_staging(stream_core& s, std::size_t bytes) {
  const auto size_class = static_cast<unsigned>(std::bit_width((bytes - 1) >> 12));
  {
    const spin_guard guard(events_lock_);
    const auto it = std::find_if(free_staging_.rbegin(), free_staging_.rend(),
                                 [size_class](const staging& b) { return b.size_class == size_class; });
    if (it != free_staging_.rend()) {
      const staging found = *it;
      free_staging_.erase(std::next(it).base());
      return found;
    }
  }
  staging made{nullptr, size_class};
  s.stage_failed = allocate(memory_kind::pinned, std::size_t{4096} << size_class, made.at, &s);
  if (s.stage_failed) {
    const spin_guard guard(events_lock_);
    all_staging_.push_back(made);
  }
  return made;
}

void device_core::give_staging(const std::vector<staging>& blocks) noexcept {
  const spin_guard guard(events_lock_);
  free_staging_.insert(free_staging_.end(), blocks.begin(), blocks.end());
}

const void* device_core::stage(const gpu::launch& where, const void* items, std::size_t bytes) {
  auto& s = *static_cast<stream_core*>(where.owner);
  const staging b = s.home.take_staging(s, bytes);
  if (!s.stage_failed) return nullptr;
  std::memcpy(b.at, items, bytes);
  s.staged.push_back(b);
  return b.at;
}

namespace {

/// Returns pinned memory once its launches are done.
struct staged_completion final : completion {
  staged_completion(device_core& d, std::vector<staging> b) : home(d), blocks(std::move(b)) {
    finish = [](completion& self) noexcept { delete &static_cast<staged_completion&>(self); };
  }
  device_core& home;
  std::vector<staging> blocks;
};

/// The items of a graph and the number of their holders: a completion in each stream that the graph was launched in,
/// and the function that creates these.
struct graph_items {
  device_core& home;
  std::vector<staging> blocks;
  std::atomic<std::size_t> holders;
  std::atomic<bool> kept{false};  // a stream may still read them: they are not reused
  // acq_rel: the last holder sees the others' writes to `kept`.
  void drop() noexcept {
    if (holders.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (!kept.load(std::memory_order_relaxed)) home.give_staging(blocks);
    delete this;
  }
};
struct graph_completion final : completion {
  explicit graph_completion(graph_items& i) : items(i) {
    finish = [](completion& self) noexcept { delete &static_cast<graph_completion&>(self); };
    retire = [](completion& self) noexcept { static_cast<graph_completion&>(self).items.drop(); };
  }
  graph_items& items;
};

}  // namespace

void device_core::add_graph(stream_core& s, completion& c) noexcept {
  if (add(s, c, completion_way::poll)) return;
  graph_items& items = static_cast<graph_completion&>(c).items;
  items.kept.store(true, std::memory_order_relaxed);
  items.drop();
  c.finish(c);
}

void device_core::drop(std::unique_ptr<graph_core> g) noexcept {
  if (g->staged.empty()) return;
  auto* items = new graph_items{*this, std::move(g->staged), g->streams.size() + 1};
  for (stream_core* s : g->streams) {
    auto* c = new graph_completion(*items);
    const spin_guard guard(s->put_lock);
    if (s->capturing.load())
      c->next = std::exchange(s->late, c);
    else
      add_graph(*s, *c);
  }
  items->drop();
}

void device_core::drop_late(stream_core& s) noexcept {
  for (completion* c = std::exchange(s.late, nullptr); c != nullptr;)
    add_graph(s, *std::exchange(c, std::exchange(c->next, nullptr)));
}

void device_core::add_staged(stream_core& s) noexcept {
  auto* c = new staged_completion(*this, std::exchange(s.staged, {}));
  c->retire = [](completion& self) noexcept {
    auto& me = static_cast<staged_completion&>(self);
    me.home.give_staging(me.blocks);
  };
  if (add(s, *c, completion_way::poll)) return;
  s.staged = std::move(c->blocks);  // still in use: the next completion covers these too
  c->finish(*c);
}

// -------------------------------------------------------------------------------------------------------- completions

outcome device_core::put_place(stream_core& s, completion& c) {
  if (c.way == completion_way::poll || table.kernels_fail_alone) {
    c.event = take_event();
    const outcome o = table.record(native, c.event, s.native);
    if (!o) give_event(std::exchange(c.event, nullptr));
    if (!o || c.way == completion_way::poll) return o;
  }
  const outcome o = put_signal(s, c);
  if (!o && c.event != nullptr) give_event(std::exchange(c.event, nullptr));
  return o;
}

outcome device_core::put_signal(stream_core& s, completion& c) {
  switch (c.way) {
    case completion_way::poll:
      return {};
    case completion_way::flag:
      if (s.flag == nullptr) s.flag = take_flag(s);
      c.flag = s.flags_written + 1;
      if (const outcome o = table.write_flag(native, s.native, s.flag, c.flag); !o) return o;
      ++s.flags_written;
      return {};
    case completion_way::callback:
      break;
  }
  c.note = new callback_note;
  c.note->door = pollers_;
  const auto called = [](void* arg) {
    auto* note = static_cast<callback_note*>(arg);
    note->called.store(true, std::memory_order_release);  // pairs with reached()
    note->door->ask();
    note->drop();
  };
  const outcome o = table.call(native, s.native, called, c.note);
  if (!o) delete std::exchange(c.note, nullptr);
  return o;
}

void device_core::check_future(const stream_core& s) {
  if (s.capturing.load())
    throw error({failure::wrong_use, 0, "future", "",
                 "a future was requested during the capture of a graph: expected "
                 "launches, copies and fills only; request it after the graph is launched"});
}

bool device_core::add(stream_core& s, completion& c, completion_way way) noexcept {
  c.way = way;
  c.after = s.last_operation;
  c.submitted = now_ticks();
  try {
    check(s);
    check_future(s);
    expect(&s, put_place(s, c));
    timeline_.stand_behind(s, c);
    push(s, c);
    s.tallies.completions.add();
    return true;
  } catch (...) {
    c.failed = std::current_exception();
    return false;
  }
}

void poller_door::ask() {
  const std::lock_guard guard(lock_);
  if (rt_ != nullptr) rt_->ask_pollers();
}

void device_core::push(stream_core& s, completion& c) {
  // A polling worker either sees the count or is woken: see scheduler::ask_pollers().
  const bool first = open_.fetch_add(1) == 0;
  {
    const spin_guard guard(s.queue_lock);
    (s.last != nullptr ? s.last->next : s.first) = &c;
    s.last = &c;
  }
  s.queued.fetch_add(1, std::memory_order_relaxed);
  {
    const spin_guard guard(list_lock_);
    if (!std::exchange(s.listed, true)) busy_.push_back(&s);
  }
  if (first) rt.ask_pollers();
}

// ------------------------------------------------------------------------------------------------------------- errors

error device_core::error_of(const any_operation* op, const outcome& o) const {
  std::string about;
  if (op != nullptr && table.kind_of(o.code) == failure::unsupported)
    about = fmt::format("the operation has no kernel for backend {} on this device", table.name);
  return make_error(table, o, op != nullptr ? op->name : "", label, about);
}

void device_core::fail(stream_core* s, const outcome& o) {
  const error e = error_of(s != nullptr ? s->last_operation : nullptr, o);
  if (e.kind() == failure::device_lost) lose(e);
  throw e;
}

void device_core::lose(const error& e) noexcept {
  {
    const spin_guard guard(lost_lock_);
    if (lost_ == nullptr) lost_ = std::make_exception_ptr(e);
  }
  is_lost_.store(true, std::memory_order_release);  // pairs with the acquire loads before lost() is called
  rt.ask_pollers();
}

std::exception_ptr device_core::lost() {
  const spin_guard guard(lost_lock_);
  return lost_;
}

}  // namespace plx::gpu::detail
