#include "gpu/core/timeline.hpp"

#include <cxxabi.h>
#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "gpu/core/device_core.hpp"
#include "probe/record/recorder.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu::detail {

using plx::detail::spin_guard;

namespace {

/// Longer after the previous submission, the stream may have been empty in between.
const ticks longest_chain_gap = ticks_from(20e-6);
const ticks between_references = ticks_from(0.25);
constexpr unsigned first_looks = 8, first_events = 64;
constexpr double first_timeout_s = 0.1, timeout_s = 60e-6;
/// Libraries report long times with low precision: CUDA's floats resolve some 0.1 us here, 0.1 ms after half an hour.
constexpr double longest_exact_s = 2;

}  // namespace

device_timeline::device_timeline(device_core& d) : home_(d), lanes_(d.rt.recorder().devices()) {}
device_timeline::~device_timeline() { lanes_.remove_flush(this); }

std::string device_timeline::device_name() const {
  return fmt::format("{} {}", home_.table.name == "cpu" ? "cpu" : "gpu", home_.label);
}

// -------------------------------------------------------------------------------------------------- activity records

bool device_timeline::by_activity() noexcept {
  if (lanes_.get_source() != probe::device_lanes::source::activity) [[likely]]
    return false;
  const records known = records_.load(std::memory_order_acquire);
  return known != records::not_asked ? known == records::on : start_records();
}

bool device_timeline::start_records() noexcept {
  const std::lock_guard guard(clock_lock_);
  if (const records known = records_.load(std::memory_order_relaxed); known != records::not_asked)
    return known == records::on;
  try {
    const activity_functions* const f = home_.table.records;
    const std::string why_not =
        f == nullptr ? "this backend has none" : f->start(lanes_.library(), [](const activity& a) noexcept {
          activity_matcher::of_process().add_record(a);
        });
    if (!why_not.empty())
      log_warning("gpu: {}: no activity records: {}; timing operations by events", home_.table.name, why_not);
    else
      lanes_.add_flush([](void* self) { static_cast<device_timeline*>(self)->home_.table.records->flush(); }, this);
    records_.store(why_not.empty() ? records::on : records::none, std::memory_order_release);
    return why_not.empty();
  } catch (...) {  // out of memory
    return false;
  }
}

// ------------------------------------------------------------------------------------------------------ submission

pending_operation* device_timeline::begin(stream_core& s) noexcept {
  stream_timeline& t = s.timeline;
  if (s.capturing.load(std::memory_order_relaxed)) return nullptr;
  t.newest = 0;
  t.newest_tag = 0;
  if (t.lane == nullptr) {
    try {
      t.lane = lanes_.take(device_name(), fmt::format("stream {}", s.number));
      if (t.lane != nullptr && t.ring == nullptr)
        t.ring = std::make_unique<pending_operation[]>(stream_timeline::capacity);
    } catch (...) {  // out of memory
    }
    if (t.lane == nullptr || t.ring == nullptr) return nullptr;
  }
  if (by_activity()) {
    pending_operation& p = t.by_activity;
    p = {};
    note_submitter(p);
    p.tag = activity_matcher::of_process().submit(*t.lane, t.path_of_records, p.path);
    home_.table.records->tag(p.tag);
    return &p;
  }
  const std::uint64_t head = t.head.load(std::memory_order_relaxed);  // own store
  // acquire: pairs with the release in read().
  if (!ready() || head - t.tail.load(std::memory_order_acquire) == stream_timeline::capacity) {
    t.lane->lose(1);
    t.chained = false;
    return nullptr;
  }
  pending_operation& p = t.ring[head % stream_timeline::capacity];
  p = {};
  note_submitter(p);
  p.reference = n_references_.load(std::memory_order_relaxed);
  if (t.chained && p.submitted - t.last_submitted < longest_chain_gap) return &p;
  p.begin = take_event();
  if (p.begin != nullptr && home_.table.record(home_.native, p.begin, s.native)) return &p;
  abandon(s, p);
  t.lane->lose(1);
  return nullptr;
}

void device_timeline::note_submitter(pending_operation& p) noexcept {
  p.submitted = now_ticks();
  const plx::detail::worker* const w = plx::detail::this_worker();
  if (w == nullptr || !w->in_task || w->id == 0) return;
  p.from = w->id;
  p.path = w->path + (p.submitted > w->boundary ? p.submitted - w->boundary : 0);
}

void device_timeline::end(stream_core& s, pending_operation& p) noexcept {
  stream_timeline& t = s.timeline;
  if (p.tag != 0) {
    home_.table.records->tag(0);
    p.number = t.lane->next_number();
    t.newest = t.lane->id_of(p.number);
    t.newest_tag = p.tag;
    t.path_here = std::max(t.path_here, p.path);
    t.chained = false;
    const probe::name_id name = p.operation != nullptr ? probe::register_name(p.operation->name) : p.name;
    activity_matcher::of_process().describe(p.tag, {.submitted = p.submitted,
                                                    .from = p.from,
                                                    .number = p.number,
                                                    .bytes = p.bytes,
                                                    .name = name,
                                                    .items = p.items,
                                                    .kind = p.kind});
    return;
  }
  p.end = take_event();
  if (p.end == nullptr || !home_.table.record(home_.native, p.end, s.native)) {
    abandon(s, p);
    t.lane->lose(1);
    return;
  }
  p.number = t.lane->next_number();
  t.newest = t.lane->id_of(p.number);
  t.last_submitted = now_ticks();
  t.chained = true;
  const std::uint64_t head = t.head.load(std::memory_order_relaxed) + 1;
  t.head.store(head, std::memory_order_release);
  if (head - t.tail.load(std::memory_order_relaxed) < stream_timeline::capacity / 2 || t.half_full.out.load()) return;
  t.half_full.out.store(true);
  t.half_full.failed = nullptr;
  t.half_full.finish = [](completion& self) noexcept { static_cast<stream_timeline::marker&>(self).out.store(false); };
  if (!home_.add(s, t.half_full, completion_way::poll)) t.half_full.out.store(false);
}

void device_timeline::abandon(stream_core& s, pending_operation& p) noexcept {
  if (p.tag != 0) {
    home_.table.records->tag(0);
    activity_matcher::of_process().forget(p.tag);
  }
  for (const native_event e : {p.begin, p.end})
    if (e != nullptr) give_event(e);
  p = {};
  s.timeline.chained = false;
  s.timeline.newest = 0;
}

void device_timeline::stand_behind(stream_core& s, completion& c) const noexcept {
  c.operations = s.timeline.head.load(std::memory_order_relaxed);  // own store, under put_lock
  c.operation = mode() != 0 ? s.timeline.newest : 0;
  c.tag = s.timeline.newest_tag;
  c.path = s.timeline.path_here;
}

native_event device_timeline::take_event() noexcept {
  {
    const spin_guard guard(events_lock_);
    if (!events_.empty()) {
      const native_event e = events_.back();
      events_.pop_back();
      return e;
    }
  }
  native_event e = nullptr;
  if (!home_.table.make_event(home_.native, true, e)) return nullptr;
  try {
    const spin_guard guard(events_lock_);
    all_events_.push_back(e);
    events_.reserve(all_events_.capacity());  // so that give_event() does not allocate
    return e;
  } catch (...) {
    home_.table.free_event(home_.native, e);
    return nullptr;
  }
}

void device_timeline::give_event(native_event e) noexcept {
  const spin_guard guard(events_lock_);
  events_.push_back(e);
}

// -------------------------------------------------------------------------------------------------------- the clock

// Whether times are available. The first call creates the events and calibrates the clock.
bool device_timeline::ready() noexcept {
  if (clock_known_.load(std::memory_order_acquire)) return true;  // pairs with the release below
  const std::lock_guard guard(clock_lock_);
  if (clock_known_.load(std::memory_order_relaxed)) return true;
  const ticks now = now_ticks();
  if (now < next_try_) return false;
  next_try_ = now + ticks_from(10e-3);
  native_event some[first_events];
  for (native_event& e : some)
    if ((e = take_event()) == nullptr) return false;
  for (const native_event e : some) give_event(e);
  if (home_.table.event_time == nullptr) {
    if (clock_stream_ == nullptr && !home_.table.make_stream(home_.native, clock_stream_)) return false;
    for (unsigned i = 0; i < first_looks; ++i)
      if (!compare_clocks(first_timeout_s)) return false;
    next_look_ = now_ticks() + between_references;
  }
  clock_known_.store(true, std::memory_order_release);
  return true;
}

// Records an event in an otherwise empty stream between two readings of the host clock.
bool device_timeline::compare_clocks(double timeout) noexcept {
  const std::uint32_t n = n_references_.load(std::memory_order_relaxed);
  reference& r = references_[n % references_kept];
  if (r.event == nullptr && (r.event = take_event()) == nullptr) return false;
  const ticks before = now_ticks(), deadline = before + ticks_from(timeout);
  if (!home_.table.record(home_.native, r.event, clock_stream_)) return false;
  ticks after = before;
  for (bool done = false; !done;) {
    if (!home_.table.query(home_.native, r.event, done)) return false;
    after = now_ticks();
    if (!done && after > deadline) return false;
    if (!done && n < first_looks) std::this_thread::yield();
  }
  r.device_s = 0;
  if (n > 0) {
    const reference& last = references_[(n - 1) % references_kept];
    double since = 0;
    if (!home_.table.elapsed(home_.native, last.event, r.event, since)) return false;
    r.device_s = last.device_s + since;
  }
  clock_.observe(r.device_s, before, after);
  n_references_.store(n + 1, std::memory_order_relaxed);
  return true;
}

void device_timeline::look() noexcept {
  if (!clock_known_.load(std::memory_order_acquire) || home_.table.event_time != nullptr) return;
  const ticks now = now_ticks();
  if (now < next_look_) return;
  next_look_ = now + (compare_clocks(timeout_s) ? between_references : between_references / 16);
}

// Measures from the clock reference that was newest at submission. That may be long ago, as the clock references cannot
// be taken while the device is busy; then from the closest one.
bool device_timeline::time_of(native_event e, std::uint32_t newest, ticks& when) noexcept {
  const backend& b = home_.table;
  if (b.event_time != nullptr) return static_cast<bool>(b.event_time(home_.native, e, when));
  const std::uint32_t n = n_references_.load(std::memory_order_relaxed);
  // One less than are kept: the next comparison overwrites the oldest reference before it increases the count.
  const std::uint32_t oldest = n >= references_kept ? n - references_kept + 1 : 0;
  const auto at = [this](std::uint32_t k) -> const reference& { return references_[k % references_kept]; };
  std::uint32_t from = std::max(newest, oldest + 1) - 1;
  double since = 0;
  if (!b.elapsed(home_.native, at(from).event, e, since)) return false;
  if (std::abs(since) > longest_exact_s) {
    const std::uint32_t near =
        nearest_moment(oldest, n, at(from).device_s + since, [&](std::uint32_t k) { return at(k).device_s; });
    if (near != from && !b.elapsed(home_.native, at(from = near).event, e, since)) return false;
  }
  when = clock_.at(at(from).device_s + since);
  return true;
}

// ----------------------------------------------------------------------------------------------------------- reading

void device_timeline::reached(stream_core& s, completion& c) noexcept {
  read(s, c.operations, c.failed != nullptr);
  if (c.operation == 0) return;
  c.path = std::max(c.path, c.tag == 0 ? s.timeline.path
                                       : activity_matcher::of_process().path_behind(s.timeline.path_of_records, c.tag));
}

void device_timeline::read(stream_core& s, std::uint64_t until, bool failed) noexcept {
  stream_timeline& t = s.timeline;
  std::uint64_t tail = t.tail.load(std::memory_order_relaxed);  // own store
  if (tail >= until) return;
  until = std::min(until, t.head.load(std::memory_order_acquire));  // pairs with the release of end()
  for (; tail < until; ++tail) {
    pending_operation& p = t.ring[tail % stream_timeline::capacity];
    read_one(s, p, failed && tail + 1 == until);
    for (const native_event e : {p.begin, p.end})
      if (e != nullptr) give_event(e);
    t.tail.store(tail + 1, std::memory_order_release);  // pairs with the acquire of begin()
  }
}

// The clocks agree to some microseconds. Known orders are enforced: no operation begins before its submission or before
// the end of the previous one in its stream, and none ends after its completion was detected.
void device_timeline::read_one(stream_core& s, const pending_operation& p, bool failed) noexcept {
  stream_timeline& t = s.timeline;
  ticks begin = t.last_end, end = 0;
  const ticks now = now_ticks();
  const bool known =
      (p.begin != nullptr ? time_of(p.begin, p.reference, begin) : t.last_known) && time_of(p.end, p.reference, end);
  t.last_known = known;
  if (!known) return t.lane->lose(1);
  begin = std::max({begin, p.submitted, t.last_end});
  end = std::clamp(end, std::min(begin, now), now);
  begin = std::min(begin, end);
  t.path = std::max(t.path, p.path) + (end - begin);
  t.last_end = end;
  try {
    t.lane->add({.begin = begin,
                 .end = end,
                 .submitted = p.submitted,
                 .from = p.from,
                 .number = p.number,
                 .bytes = p.bytes,
                 .name = name_of(p),
                 .items = p.items,
                 .kind = p.kind,
                 .failed = failed});
    if (failed)
      home_.rt.recorder().mark("device",
                               fmt::format("'{}' failed on device {}", probe::name_of(name_of(p)), home_.label));
  } catch (...) {
    t.lane->lose(1);
  }
}

probe::name_id device_timeline::name_of(const pending_operation& p) noexcept {
  if (p.operation == nullptr) return p.name;
  if (p.operation != last_named_) {
    last_name_ = probe::register_name(p.operation->name);
    last_named_ = p.operation;
  }
  return last_name_;
}

void device_timeline::close(stream_core& s) noexcept {
  stream_timeline& t = s.timeline;
  read(s, t.head.load(std::memory_order_acquire), false);
  if (t.lane == nullptr) return;
  if (records_.load(std::memory_order_acquire) == records::on) {
    home_.table.records->flush();
    if (const std::uint64_t n = activity_matcher::of_process().leave(t.path_of_records); n > 0) t.lane->lose(n);
  }
  std::exchange(t.lane, nullptr)->give_back();
}

void device_timeline::leave(stream_core& s) noexcept {
  stream_timeline& t = s.timeline;
  if (t.lane == nullptr) return;
  std::uint64_t n = t.head.load(std::memory_order_relaxed) - t.tail.load(std::memory_order_relaxed);
  if (records_.load(std::memory_order_acquire) == records::on)
    n += activity_matcher::of_process().leave(t.path_of_records);
  if (n > 0) t.lane->lose(n);
  std::exchange(t.lane, nullptr)->give_back();
}

void device_timeline::free_stream() noexcept {
  if (clock_stream_ != nullptr) home_.table.free_stream(home_.native, clock_stream_);
}

// ------------------------------------------------------------------------------------------------ activity records

namespace {

/// "void plx::star::device::advance<8>(items)" gives "advance".
std::string short_name(const char* mangled) {
  int failed = 0;
  char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, &failed);
  std::string name = text != nullptr ? text : mangled;
  std::free(text);
  std::size_t end = 0;  // where the arguments of the template or of the function begin
  for (std::size_t i = 0; i < name.size() && end == 0; ++i)
    if (name.compare(i, 21, "(anonymous namespace)") == 0)
      i += 20;
    else if (name[i] == '<' || name[i] == '(')
      end = i;
  if (end != 0) name.resize(end);
  const std::size_t begin = name.find_last_of(": ");
  return begin == std::string::npos ? name : name.substr(begin + 1);
}

}  // namespace

activity_matcher& activity_matcher::of_process() {
  static auto* const matcher = new activity_matcher;  // never destroyed: records may arrive during process exit
  return *matcher;
}

std::uint64_t activity_matcher::submit(probe::device_lane& lane, stream_path& owner, ticks path) noexcept {
  const std::lock_guard guard(lock_);
  const std::uint64_t tag = ++newest_;
  entry& e = (*entries_)[tag % places];
  if (e.tag != 0 && !e.has_record) e.lane->lose(1);  // its record can no longer be matched
  e.tag = tag, e.lane = &lane, e.owner = &owner;
  e.path = path;
  e.described = e.has_record = false;
  e.early.clear();
  return tag;
}

void activity_matcher::describe(std::uint64_t tag, const probe::device_operation& o) noexcept {
  const std::lock_guard guard(lock_);
  entry& e = (*entries_)[tag % places];
  if (e.tag != tag) return;
  e.operation = o;
  e.described = true;
  try {
    for (const activity& a : e.early) report(e, a);
  } catch (...) {  // out of memory
  }
  e.early.clear();
}

void activity_matcher::forget(std::uint64_t tag) noexcept {
  const std::lock_guard guard(lock_);
  if (entry& e = (*entries_)[tag % places]; e.tag == tag) e.tag = 0;
}

void activity_matcher::add_record(const activity& a) noexcept {
  const std::lock_guard guard(lock_);
  entry& e = (*entries_)[a.tag % places];
  if (a.tag == 0 || e.tag != a.tag) return;
  e.has_record = true;
  grow(e, a);
  try {
    if (e.described)
      report(e, a);
    else
      e.early.push_back(a);
  } catch (...) {  // out of memory
  }
}

// An earlier submission whose record arrives late is omitted; the path is then too short.
void activity_matcher::grow(entry& e, const activity& a) noexcept {
  stream_path& p = *e.owner;
  if (a.tag < p.tag) return;
  const ticks begin = std::max<ticks>(a.begin, p.end);
  p.path = std::max(p.path, e.path) + (a.end > begin ? a.end - begin : 0);
  p.end = std::max<ticks>(p.end, a.end);
  p.tag = a.tag;
  e.path = p.path;
}

ticks activity_matcher::path_behind(const stream_path& owner, std::uint64_t tag) noexcept {
  const std::lock_guard guard(lock_);
  const entry& e = (*entries_)[tag % places];
  if (e.tag == tag && e.has_record) return e.path;
  return owner.tag < tag ? owner.path : 0;
}

void activity_matcher::report(const entry& e, const activity& a) {
  probe::device_operation o = e.operation;
  o.begin = std::max<ticks>(a.begin, o.submitted);
  o.end = std::max<ticks>(a.end, o.begin);
  o.part = o.kind != probe::device_work::graph;  // a call of another library may launch several kernels
  if (o.kind == probe::device_work::graph) {     // reported as its parts
    static const probe::name_id copy = probe::register_name("copy"), fill = probe::register_name("fill");
    const bool kernel = a.kind == activity::what::kernel, copies = a.kind == activity::what::copy;
    o.items = 1;
    o.bytes = a.bytes;
    o.kind = kernel ? probe::device_work::kernel : copies ? probe::device_work::copy : probe::device_work::fill;
    o.name = !kernel ? copies ? copy : fill : probe::register_name(short_name(a.kernel != nullptr ? a.kernel : ""));
  }
  e.lane->add(o);
}

std::uint64_t activity_matcher::leave(const stream_path& owner) noexcept {
  std::uint64_t without_record = 0;
  const std::lock_guard guard(lock_);
  for (entry& e : *entries_)
    if (e.owner == &owner && e.tag != 0) {
      without_record += e.has_record ? 0 : 1;
      e.tag = 0;
    }
  return without_record;
}

}  // namespace plx::gpu::detail
