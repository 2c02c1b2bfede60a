// The cpu backend: the execution of stream entries, activity records like those of GPU libraries, and the table.
#include "gpu/cpu/cpu_backend.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "gpu/cpu/cpu_device.hpp"

namespace plx::gpu::cpu {

std::uint64_t device::choose(std::uint64_t n) {
  rng ^= rng << 13, rng ^= rng >> 7, rng ^= rng << 17;
  return (rng * 0x2545f4914f6cdd1du >> 16) % n;
}

bool device::step(std::unique_lock<std::mutex>& lock) {
  if (lost || home.held || streams.empty()) return false;
  const std::size_t first = home.o.stepped ? choose(streams.size()) : turn++;
  for (std::size_t i = 0; i < streams.size(); ++i) {
    stream& s = *streams[(first + i) % streams.size()];
    if (s.running || s.entries.empty() || !s.entries.front().work->may_begin()) continue;
    const entry at = s.entries.front();
    const std::shared_ptr<work>& next = at.work;
    s.running = true;
    lock.unlock();
    if (home.o.delay_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(home.o.delay_s));
    code failed = ok;
    const ticks begin = now_ticks();
    try {
      next->run();
    } catch (...) {
      failed = item_failed;
    }
    if (at.tag != 0 && next->is_recorded()) {
      activity a{.tag = at.tag, .begin = begin, .end = now_ticks()};
      next->describe(a);
      report_activity(a);
    }
    lock.lock();
    s.running = false;
    if (failed != ok) s.failed = failed, ++s.failures;
    if (!lost) next->done(s);
    if (!s.entries.empty()) s.entries.pop_front();
    home.changed.notify_all();
    return true;
  }
  return false;
}

void device::run() {
  std::unique_lock lock(home.lock);
  while (!stop)
    if (!step(lock)) home.changed.wait(lock);
}

void device::perhaps_step(std::unique_lock<std::mutex>& lock) {
  if (home.o.stepped && choose(2) == 0) step(lock);
}

testing_backend::testing_backend(options o) : shared_(std::make_unique<shared>(o)) {}
testing_backend::~testing_backend() = default;
const backend& testing_backend::get() const noexcept { return shared_->table; }

void testing_backend::fail_call(const char* call, code c, unsigned after, unsigned times) {
  const std::lock_guard lock(shared_->lock);
  shared_->faults[call] = {c, after, times};
}

void testing_backend::lose(int index) {
  const std::lock_guard lock(shared_->lock);
  shared_->lost.push_back(index);
  for (device* d : shared_->open_devices)
    if (d->index == index) d->lost = true;
  shared_->changed.notify_all();
}

void testing_backend::hold(bool on) {
  const std::lock_guard lock(shared_->lock);
  shared_->held = on;
  shared_->changed.notify_all();
}

std::size_t testing_backend::allocated_bytes() const noexcept {
  const std::lock_guard lock(shared_->lock);
  return shared_->allocated;
}
std::uint64_t testing_backend::launches() const noexcept {
  const std::lock_guard lock(shared_->lock);
  return shared_->launches;
}
std::uint64_t testing_backend::items() const noexcept {
  const std::lock_guard lock(shared_->lock);
  return shared_->items;
}

code testing_backend::shared::fault_of(const char* call) {
  const auto found = faults.find(call);
  if (found == faults.end()) return ok;
  fault& f = found->second;
  if (f.after > 0) return --f.after, ok;
  if (f.times == 0) return ok;
  --f.times;
  return f.with;
}

namespace {

using listener = void (*)(const activity&) noexcept;
std::atomic<listener> heard_by{nullptr};
thread_local std::uint64_t tag_here = 0;

}  // namespace

std::uint64_t current_tag() noexcept { return tag_here; }

void report_activity(const activity& a) noexcept {
  if (const listener heard = heard_by.load(std::memory_order_acquire)) heard(a);
}

const activity_functions& cpu_records() noexcept {
  static constexpr activity_functions functions{[](const std::string&, listener heard) {
                                                  heard_by.store(heard, std::memory_order_release);
                                                  return std::string();
                                                },
                                                [](std::uint64_t tag) noexcept { tag_here = tag; }, []() noexcept {}};
  return functions;
}

// ----------------------------------------------------------------------------------------------------------- calls

namespace {

using shared = testing_backend::shared;

device& of(native_device d) { return *reinterpret_cast<device*>(d); }
stream& of(native_stream s) { return *reinterpret_cast<stream*>(s); }
event& of(native_event e) { return *reinterpret_cast<event*>(e); }
graph& of(native_graph g) { return *reinterpret_cast<graph*>(g); }

/// Begins every call: takes the lock and determines the injected failure.
struct entered {
  entered(native_device d, const char* name)
      : home(of(d).home), lock(home.lock), call(name), failed(of(d).lost ? device_lost : home.fault_of(name)) {
    if (failed == device_lost) of(d).lost = true;
  }
  [[nodiscard]] outcome result() const { return {failed, call}; }
  shared& home;
  std::unique_lock<std::mutex> lock;
  const char* call;
  code failed;
};

// --------------------------------------------------------------------------------------------------------- entries

struct kernel_work final : work {
  kernel_work(const any_operation& o, const void* from, unsigned count, item_errors e)
      : op(o), n(count), errors(e), items(std::size_t{o.item_bytes} * count + o.item_alignment) {
    void* p = items.data();
    std::size_t space = items.size();
    first = static_cast<std::byte*>(std::align(op.item_alignment, std::size_t{op.item_bytes} * n, p, space));
    std::memcpy(first, from, std::size_t{op.item_bytes} * n);
  }
  void run() override {
    std::exception_ptr unheard;
    for (unsigned i = 0; i < n; ++i) {
      try {
        op.cpu(first + std::size_t{op.item_bytes} * i);
      } catch (...) {
        (errors != nullptr ? errors[i] : unheard) = std::current_exception();
      }
    }
    if (unheard) std::rethrow_exception(unheard);
  }
  void describe(activity& a) const override { a.kernel = op.name; }
  [[nodiscard]] bool is_recorded() const override { return true; }
  const any_operation& op;
  const unsigned n;
  const item_errors errors;
  std::vector<std::byte> items;
  std::byte* first = nullptr;
};

struct copy_work final : work {
  copy_work(void* t, const void* f, std::size_t n) : to(t), from(f), bytes(n) {}
  void run() override { std::memmove(to, from, bytes); }
  void describe(activity& a) const override { a.kind = activity::what::copy, a.bytes = bytes; }
  [[nodiscard]] bool is_recorded() const override { return true; }
  void* to;
  const void* from;
  std::size_t bytes;
};

struct fill_work final : work {
  fill_work(void* t, std::uint8_t b, std::size_t n) : to(t), byte(b), bytes(n) {}
  void run() override { std::memset(to, byte, bytes); }
  void describe(activity& a) const override { a.kind = activity::what::fill, a.bytes = bytes; }
  [[nodiscard]] bool is_recorded() const override { return true; }
  void* to;
  std::uint8_t byte;
  std::size_t bytes;
};

struct call_work final : work {
  call_work(void (*g)(void*), void* a) : f(g), arg(a) {}
  void run() override { f(arg); }
  void (*f)(void*);
  void* arg;
};

struct flag_work final : work {
  flag_work(std::uint32_t* f, std::uint32_t v) : flag(f), value(v) {}
  // release: pairs with the acquire load of the flag's reader.
  void run() override { std::atomic_ref(*flag).store(value, std::memory_order_release); }
  std::uint32_t* flag;
  std::uint32_t value;
};

struct record_work final : work {
  explicit record_work(std::shared_ptr<place> p) : here(std::move(p)) {}
  void done(stream& s) override {
    here->reached = true;
    here->of = &s;
    here->failed = s.failed;
    here->failures = s.failures;
    here->when = now_ticks();
  }
  std::shared_ptr<place> here;
};

struct wait_work final : work {
  explicit wait_work(std::shared_ptr<place> p) : until(std::move(p)) {}
  [[nodiscard]] bool may_begin() const override { return until == nullptr || until->reached; }
  std::shared_ptr<place> until;
};

template <class W, class... A>
outcome put(entered& in, stream& s, A&&... a) {
  if (in.failed != ok) return in.result();
  (s.capturing ? s.captured.emplace_back(std::make_shared<W>(std::forward<A>(a)...))
               : s.entries.emplace_back(std::make_shared<W>(std::forward<A>(a)...), current_tag()).work);
  in.home.changed.notify_all();
  return {};
}

// -------------------------------------------------------------------------------------------------- devices, streams

outcome count(const backend& b, int& n) {
  auto& home = *static_cast<shared*>(b.self);
  n = home.o.count_fails == ok ? home.o.devices : 0;
  return {home.o.count_fails, "count"};
}

outcome open(const backend& b, int index, native_device& d) {
  auto& home = *static_cast<shared*>(b.self);
  if (home.o.count_fails != ok) return {home.o.count_fails, "open"};
  if (index < 0 || index >= home.o.devices) return {no_device, "open"};
  const std::lock_guard lock(home.lock);
  auto* made = new device(home, index);
  made->rng = home.o.seed * 0x9e3779b97f4a7c15u + static_cast<unsigned>(index) + 1;
  made->lost = std::find(home.lost.begin(), home.lost.end(), index) != home.lost.end();
  home.open_devices.push_back(made);
  if (!home.o.stepped) made->thread = std::thread([made] { made->run(); });
  d = reinterpret_cast<native_device>(made);
  return {};
}

void close(native_device d) noexcept {
  device& dev = of(d);
  {
    const std::lock_guard lock(dev.home.lock);
    std::erase(dev.home.open_devices, &dev);
    dev.stop = true;
    dev.home.changed.notify_all();
  }
  if (dev.thread.joinable()) dev.thread.join();
  for (const stream* s : dev.streams) delete s;  // of an abandoned device: its entries do not run
  delete &dev;
}

outcome describe(native_device d, device_info& info) {
  const options& o = of(d).home.o;
  info = {"cpu", o.memory_bytes, 1, "host", "", "", o.group_bytes};
  return {};
}

outcome make_stream(native_device d, native_stream& s) {
  entered in(d, "make_stream");
  if (in.failed != ok) return in.result();
  auto* made = new stream(of(d));
  of(d).streams.push_back(made);
  s = reinterpret_cast<native_stream>(made);
  return {};
}

void free_stream(native_device d, native_stream s) noexcept {
  std::unique_lock lock(of(d).home.lock);
  of(d).home.changed.wait(lock, [s] { return !of(s).running; });
  std::erase(of(d).streams, &of(s));
  delete &of(s);
}

outcome synchronize(native_device d, native_stream s) {
  entered in(d, "synchronize");
  device& dev = of(d);
  of(s).spoiled |= of(s).capturing;
  while (in.failed == ok && !dev.lost && (!of(s).entries.empty() || of(s).running)) {
    if (!in.home.o.stepped)
      in.home.changed.wait(in.lock);
    else if (!dev.step(in.lock))
      return {invalid, "synchronize"};  // it waits for an event that will never be reached
  }
  if (dev.lost) return {device_lost, in.call};
  return {in.failed != ok ? in.failed : std::exchange(of(s).failed, ok), in.call};
}

outcome query_stream(native_device d, native_stream s, bool& done) {
  entered in(d, "query_stream");
  of(d).perhaps_step(in.lock);
  of(s).spoiled |= of(s).capturing;  // as in CUDA: a capturing stream must not be queried
  done = of(s).entries.empty() && !of(s).running;
  return in.result();
}

// ----------------------------------------------------------------------------------------------------------- events

outcome make_event(native_device d, bool, native_event& e) {
  entered in(d, "make_event");
  if (in.failed == ok) e = reinterpret_cast<native_event>(new event);
  return in.result();
}
void free_event(native_device d, native_event e) noexcept {
  const std::lock_guard lock(of(d).home.lock);
  delete &of(e);
}
outcome record(native_device d, native_event e, native_stream s) {
  entered in(d, "record");
  if (in.failed != ok) return in.result();
  of(e).last = std::make_shared<place>();
  return put<record_work>(in, of(s), of(e).last);
}
outcome query(native_device d, native_event e, bool& done) {
  entered in(d, "query");
  if (in.failed != ok) return in.result();
  of(d).perhaps_step(in.lock);
  const place* const p = of(e).last.get();
  done = p == nullptr || p->reached;
  if (done && p != nullptr && p->failed != ok && p->of->failures == p->failures) p->of->failed = ok;  // now reported
  return {p != nullptr && done ? p->failed : ok, "query"};
}
outcome wait(native_device d, native_stream s, native_event e) {
  entered in(d, "wait");
  return put<wait_work>(in, of(s), of(e).last);
}
outcome elapsed(native_device d, native_event begin, native_event end, double& seconds) {
  entered in(d, "elapsed");
  if (of(begin).last == nullptr || of(end).last == nullptr || !of(end).last->reached) return {invalid, "elapsed"};
  const ticks from = of(begin).last->when, to = of(end).last->when;
  seconds = to >= from ? plx::seconds(to - from) : -plx::seconds(from - to);
  if (in.home.o.clock_rate != 1)  // as in CUDA: milliseconds in single precision
    seconds = 1e-3 * static_cast<double>(static_cast<float>(1e3 * seconds * in.home.o.clock_rate));
  return in.result();
}
outcome event_time(native_device d, native_event e, ticks& when) {
  entered in(d, "event_time");
  if (in.failed != ok) return in.result();
  const place* const p = of(e).last.get();
  if (p == nullptr || !p->reached) return {invalid, "event_time"};
  when = p->when;
  return {};
}

// ----------------------------------------------------------------------------------------------------------- memory

constexpr std::size_t alignment = 256;  // as in CUDA

outcome allocate(native_device d, memory_kind, std::size_t bytes, void*& p) {
  entered in(d, "allocate");
  p = nullptr;
  if (in.failed != ok) return in.result();
  const std::size_t whole = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (whole > in.home.o.memory_bytes - in.home.allocated) return {out_of_memory, "allocate"};
  p = std::aligned_alloc(alignment, whole);
  if (p == nullptr) return {out_of_memory, "allocate"};
  in.home.allocated += whole;
  in.home.blocks[p] = whole;
  return {};
}
// Waits for the entries that run on this device, as the libraries of real devices do when memory is freed, and on lost
// devices: their streams cannot be waited for, and their last entries may still read this memory.
void release(native_device d, memory_kind, void* p) noexcept {
  std::unique_lock lock(of(d).home.lock);
  of(d).home.changed.wait(lock, [&] {
    return std::ranges::none_of(of(d).home.open_devices, [&](const device* each) {
      const bool elsewhere = each->thread.joinable() && each->thread.get_id() != std::this_thread::get_id();
      return elsewhere && (each == &of(d) || each->lost) &&
             std::ranges::any_of(each->streams, [](const stream* s) { return s->running; });
    });
  });
  const auto found = of(d).home.blocks.find(p);
  if (found == of(d).home.blocks.end()) return;
  of(d).home.allocated -= found->second;
  of(d).home.blocks.erase(found);
  std::free(p);
}
outcome copy(native_device d, native_stream s, void* to, const void* from, std::size_t bytes) {
  entered in(d, "copy");
  return put<copy_work>(in, of(s), to, from, bytes);
}
outcome fill(native_device d, native_stream s, void* to, std::uint8_t byte, std::size_t bytes) {
  entered in(d, "fill");
  return put<fill_work>(in, of(s), to, byte, bytes);
}
outcome call(native_device d, native_stream s, void (*f)(void*), void* arg) {
  entered in(d, "call");
  return put<call_work>(in, of(s), f, arg);
}
outcome write_flag(native_device d, native_stream s, std::uint32_t* flag, std::uint32_t value) {
  entered in(d, "write_flag");
  return put<flag_work>(in, of(s), flag, value);
}

// ------------------------------------------------------------------------------------------------- kernels and graphs

outcome launch(native_device d, const any_operation& op, const gpu::launch& where, const void* items, unsigned count,
               item_errors errors) {
  entered in(d, "launch");
  if (in.failed != ok) return in.result();
  if (op.cpu == nullptr) return {no_kernel, "launch"};
  ++in.home.launches;
  in.home.items += count;
  return put<kernel_work>(in, of(where.stream), op, items, count, errors);
}
outcome begin_capture(native_device d, native_stream s) {
  entered in(d, "begin_capture");
  if (in.failed != ok) return in.result();
  if (of(s).capturing) return {invalid, "begin_capture"};
  of(s).capturing = true;
  of(s).spoiled = false;
  return {};
}
outcome end_capture(native_device d, native_stream s, native_graph& g) {
  entered in(d, "end_capture");
  g = nullptr;
  if (!of(s).capturing) return {invalid, "end_capture"};
  of(s).capturing = false;
  auto captured = std::exchange(of(s).captured, {});
  if (of(s).spoiled) return {invalid, "end_capture"};
  if (in.failed == ok) g = reinterpret_cast<native_graph>(new graph{std::move(captured)});
  return in.result();
}
outcome launch_graph(native_device d, native_graph g, native_stream s) {
  entered in(d, "launch_graph");
  if (in.failed != ok) return in.result();
  for (const auto& each : of(g).entries) of(s).entries.push_back({each, current_tag()});
  ++in.home.launches;
  in.home.changed.notify_all();
  return {};
}
void free_graph(native_device, native_graph g) noexcept { delete &of(g); }

// ------------------------------------------------------------------------------------------------------------- codes

struct code_row {
  const char* name;
  const char* text;
  failure kind;
};
constexpr std::array<code_row, 9> codes{{{"ok", "no error", failure::none},
                                         {"item_failed", "an item of a launch threw an exception", failure::other},
                                         {"out_of_memory", "out of memory", failure::out_of_memory},
                                         {"device_lost", "the device is gone", failure::device_lost},
                                         {"no_driver", "there is no driver", failure::no_driver},
                                         {"driver_too_old", "the driver is too old", failure::driver_too_old},
                                         {"no_device", "there is no such device", failure::no_device},
                                         {"invalid", "invalid argument or state", failure::wrong_use},
                                         {"no_kernel", "there is no such kernel", failure::unsupported}}};
const code_row& row(int code) { return codes[static_cast<std::size_t>(std::clamp(code, 0, 8))]; }
std::string_view code_name(int code) { return row(code).name; }
std::string_view code_text(int code) { return row(code).text; }
failure kind_of(int code) { return row(code).kind; }

}  // namespace

testing_backend::shared::shared(options opt)
    : o(opt), table{"cpu",         this,         count,       open,
                    close,         describe,     make_stream, free_stream,
                    synchronize,   query_stream, make_event,  free_event,
                    record,        query,        wait,        elapsed,
                    allocate,      release,      copy,        fill,
                    call,          write_flag,   launch,      begin_capture,
                    end_capture,   launch_graph, free_graph,  code_name,
                    code_text,     kind_of,      true,        opt.clock_rate == 1 ? event_time : nullptr,
                    &cpu_records()} {}

const backend& table() noexcept {
  static testing_backend the_one{options{}};
  return the_one.get();
}

}  // namespace plx::gpu::cpu
