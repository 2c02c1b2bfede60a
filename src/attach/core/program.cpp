#include "attach/core/program.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "attach/core/lock_holds.hpp"
#include "attach/core/message_list.hpp"
#include "attach/core/thread_row.hpp"
#include "attach/core/wait_sites.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/record/text_sink.hpp"
#include "probe/sample/sampler.hpp"
#include "session/session.hpp"

namespace plx::probe {

constinit thread_local thread_slot this_slot;
constinit std::atomic<program::mode> program::state_{mode::off};
constinit std::atomic<program*> program::the_{nullptr};

namespace {

constexpr unsigned most_rows = 4096;
constexpr unsigned most_counted_rows = 64;  // rows with counters of their own
/// Smaller rings than in a runtime, since there may be many threads.
constexpr std::int64_t ring_divisor = 8;
/// Those of the default that exist without a scheduler.
constexpr const char* sampled_without_runtime = "/threads/idle-rate,/threads/count/tasks,/machine/memory/resident";

// Executes a memory barrier in every thread of the process, so that the threads need none (membarrier(2), constants of
// linux/membarrier.h). Without it, sleeps for many times the delay of a store.
constexpr int barrier_of_this_process = 1 << 3, register_for_it = 1 << 4;
void barrier_in_every_thread() {
#if defined(SYS_membarrier)
  if (syscall(SYS_membarrier, barrier_of_this_process, 0, 0) == 0) return;
#endif
  usleep(2000);
}

int own_tid() {
#if defined(SYS_gettid)
  return static_cast<int>(syscall(SYS_gettid));
#else
  return 0;
#endif
}

/// Its destructor runs when a thread ends.
pthread_key_t end_of_thread;

void print(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

/// Reports that the requested files could not be written, since no caller can receive the error.
void complain(const std::string& why) {
  if (!log_wants(log_level::error)) print(fmt::format("plx: the measurement could not be written: {}\n", why));
}

/// The innermost timer of this thread, for a sample of its stack.
sampled_state sampled_now(const sample_source& self) noexcept {
  const thread_row* row = this_slot.row;
  if (row == nullptr || this_slot.inside != 0)
    return {.activity = sampled_activity::outside, .task = unnamed, .stack = self.stack};
  return {.activity = sampled_activity::task, .task = row->innermost(), .stack = self.stack};
}

struct sample_sum {
  std::uint64_t n = 0;
  double sum = 0, squares = 0, least = 0, greatest = 0;
};

}  // namespace

struct program::parts {
  struct living {
    std::unique_ptr<thread_row> row;
    thread_record record;  // of the thread that owns the row
    bool taken = false;
    std::string first_name;  // name of the first thread that owned the row
    std::uint64_t threads = 0;
    double ready_before_s = 0;  // at the begin of the measurement; 0 for later threads
  };

  parts(settings s, begin_options o)
      : says_where(o.says_where),
        to_the_end(o.to_the_end),
        pid(getpid()),
        origin(now_ticks()),
        rec(1, most_rows),
        output(s.output),
        csv(has_word(s.profile, "csv") || s.diagnose),
        samples_counters(s.sample_interval_s > 0) {
    s.trace_records = std::max<std::int64_t>(2, s.trace_records / ring_divisor);
    if (s.sample_counter == settings().sample_counter) s.sample_counter = sampled_without_runtime;
    kept = add_machine_counters(counters);
    for (auto& r : add_recorder_counters(counters, rec)) kept.push_back(std::move(r));
    for (auto& r : add_wait_counters(counters, rec)) kept.push_back(std::move(r));
    if (s.diagnose)
      for (auto& r : add_processor_counters(counters)) kept.push_back(std::move(r));
    kept.push_back(counters.add({"/process/count/threads", "1", "Threads started", true},
                                [this] { return begun.load(std::memory_order_relaxed); }));
    if (s.trace) rec.add_source(messages = std::make_shared<message_list>());
    run = std::make_unique<session>(rec, counters, std::move(s));
  }

  const bool says_where;
  const bool to_the_end;
  const pid_t pid;
  const ticks origin;
  recorder rec;
  counter_registry counters;
  std::vector<registration> kept;
  const std::string output;
  const bool csv;
  const bool samples_counters;             // then the session writes the samples
  std::shared_ptr<message_list> messages;  // null without a trace
  std::unique_ptr<session> run;
  wait_sites sites, hold_sites;
  std::atomic<bool> finished{false};
  std::atomic<std::uint64_t> begun{0};  // threads

  // Guards the members below. Not held while counters are read or added, since their functions may call this code.
  std::mutex mutex;
  std::vector<living> rows;
  std::vector<unsigned> free_rows;
  thread_table table;
  std::uint64_t without_row = 0;
  std::map<std::string, sample_sum, std::less<>> samples;

  living* take_row();
  void keep_out_and(ticks now, bool close);
  thread_record finished_record(const living& l, ticks now, bool ended) const;
  void name_rows();
  result<void> write_own(ticks now, bool locked, bool lines);
  std::string timers_csv() const;
  std::string samples_csv() const;
  std::string waits_csv() const;
  void say_where(ticks now, bool locked);
};

program::program(settings s, begin_options o) : parts_(std::make_unique<parts>(std::move(s), o)) {}

result<void> program::begin(settings s, begin_options o) {
  static std::mutex one_at_a_time;
  const inside_scope inside;
  const std::lock_guard lock(one_at_a_time);
  if (get() != nullptr) return error{"the measurement of this process was already started"};
  if (!s.any()) return error{"no measurement is requested: set PLX_PROFILE=1 or another option of docs/probe.md"};
#if defined(SYS_membarrier)
  (void)syscall(SYS_membarrier, register_for_it, 0, 0);
#endif
  if (pthread_key_create(&end_of_thread, [](void*) { detach(); }) != 0)
    return error{"cannot detect the end of threads: all keys of pthread_key_create are in use"};
  pthread_atfork(nullptr, nullptr, [] {
    state_.store(mode::off, std::memory_order_relaxed);
    this_slot = {};
  });
  the_.store(new program(std::move(s), o), std::memory_order_release);
  state_.store(mode::running, std::memory_order_release);
  --this_slot.inside;
  attach(register_name(o.main_name));
  ++this_slot.inside;
  if (this_slot.row != nullptr) {
    const std::lock_guard rows_lock(get()->parts_->mutex);
    get()->parts_->rows[this_slot.row->index()].ready_before_s = std::max(0.0, ready_time_s(own_tid()));
  }
  // Makes the time of threads without events visible to readers during the run.
  const settings& asked = get()->parts_->run->asked();
  if (asked.diagnose || asked.sample_interval_s > 0 || asked.print_interval_s > 0 || !asked.serve.empty())
    get()->parts_->run->periodic().every(0.05, [] { get()->settle(); });
  return {};
}

bool program::begun() noexcept {
  const program* p = get();
  return p != nullptr && p->parts_->pid == getpid();
}

message_list* program::messages() noexcept { return parts_->messages.get(); }
bool program::is_process(unsigned number, unsigned processes) const noexcept {
  const settings& s = parts_->run->asked();
  return s.locality == number && s.localities == processes;
}

recorder& program::rec() noexcept { return parts_->rec; }
counter_registry& program::counters() noexcept { return parts_->counters; }

// ------------------------------------------------------------------------------------------------------------- threads

program::parts::living* program::parts::take_row() {
  if (!free_rows.empty()) {
    living& l = rows[free_rows.back()];
    free_rows.pop_back();
    return &l;
  }
  if (rows.size() == rec.worker_count() && rec.add_worker() == nullptr) {
    ++without_row;
    return nullptr;
  }
  living& l = rows.emplace_back();
  const auto index = static_cast<unsigned>(rows.size() - 1);
  l.row = std::make_unique<thread_row>(index, rec.worker(index));
  return &l;
}

bool program::attach(name_id root, task_id cause, ticks made) {
  thread_slot& slot = this_slot;
  program* p = get();
  if (slot.gone || slot.row != nullptr || p == nullptr || state_.load(std::memory_order_relaxed) == mode::ended)
    return slot.row != nullptr && !slot.gone;
  const inside_scope inside;
  std::unique_lock lock(p->parts_->mutex);
  const std::size_t n_rows = p->parts_->rows.size();
  parts::living* l = p->parts_->take_row();
  slot.gone = l == nullptr;  // no row: never retried
  if (l == nullptr) return false;
  p->parts_->begun.fetch_add(1, std::memory_order_relaxed);
  if (root == unnamed) root = register_name("thread");
  const ticks now = now_ticks();
  l->taken = true;
  l->threads += 1;
  l->record = {};
  l->ready_before_s = 0;
  l->record.row = l->row->index();
  l->record.tid = own_tid();
  l->record.function = root;
  l->record.begin = now;
  if (l->threads == 1) l->first_name = name_of(root);
  l->row->begin_thread(now);
  l->row->start(root, no_key, now, cause, made);
  slot.row = l->row.get();
  pthread_setspecific(end_of_thread, slot.row);
  const unsigned index = slot.row->index();
  const int tid = l->record.tid;
  lock.unlock();
  if (sampler* stacks = p->parts_->run->stacks())
    if (auto r = stacks->watch(tid, {.now = sampled_now, .context = nullptr, .stack = stack_of_this_thread()}); !r)
      log_warning("a thread is not sampled: {}", r.error().message);
  if (index == n_rows && index > 0 && index < most_counted_rows) {
    auto fresh = add_worker_counters(p->counters(), p->rec(), index);
    lock.lock();
    for (auto& r : fresh) p->parts_->kept.push_back(std::move(r));
  }
  return true;
}

/// `ended`: the calling thread is ending.
thread_record program::parts::finished_record(const living& l, ticks now, bool ended) const {
  thread_record r = l.record;
  r.end = now;
  r.ended = ended;
  r.waited = l.row->waited();
  if (ended)
    read_usage_of_this_thread(r);
  else
    read_usage(r, r.tid);
  if (r.ready_s >= 0) r.ready_s = std::max(0.0, r.ready_s - l.ready_before_s);
  if (r.name.empty()) r.name = ended ? system_name_of_this_thread() : system_name(r.tid);
  return r;
}

void program::detach() noexcept {
  thread_slot& slot = this_slot;
  thread_row* row = std::exchange(slot.row, nullptr);
  slot.gone = true;
  if (row == nullptr || !begun()) return;
  const inside_scope inside;
  if (sampler* stacks = get()->parts_->run->stacks()) stacks->unwatch(own_tid());
  if (enter(*row)) {
    row->close(now_ticks());
    leave(*row);
    parts& p = *get()->parts_;
    const std::lock_guard lock(p.mutex);
    parts::living& l = p.rows[row->index()];
    if (!l.taken) return;  // finish() was called before
    p.table.add(p.finished_record(l, now_ticks(), true));
    l.taken = false;
    p.free_rows.push_back(row->index());
  } else {
    leave(*row);
  }
}

void program::name_thread(std::string_view name) {
  if (!event([](thread_row&, ticks) { return true; })) return;
  const inside_scope inside;
  const std::lock_guard lock(parts_->mutex);
  parts::living& l = parts_->rows[this_slot.row->index()];
  l.record.name = name;
  if (l.threads == 1) l.first_name = name;
}

// ------------------------------------------------------------------------------------------------------------- pausing

bool program::enter(thread_row& row) noexcept {
  for (;;) {
    row.busy.store(true, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);    // paired with barrier_in_every_thread()
    const mode m = state_.load(std::memory_order_acquire);  // pairs with the releases in settle()
    if (m == mode::running) [[likely]]
      return true;
    if (m != mode::paused) return false;
    row.busy.store(false, std::memory_order_release);
    while (state_.load(std::memory_order_relaxed) == mode::paused) usleep(10);
  }
}

/// Requires: the state keeps threads from entering; mutex held. A thread that does not leave within 50 ms (interrupted
/// by a signal handler that does not return) is skipped.
void program::parts::keep_out_and(ticks now, bool close) {
  barrier_in_every_thread();
  const double end = monotonic_seconds() + 0.05;
  for (living& l : rows) {
    if (!l.taken) continue;
    bool busy = l.row->busy.load(std::memory_order_acquire);  // pairs with the release in leave()
    const bool own = l.row.get() == this_slot.row;
    while (busy && !own && monotonic_seconds() < end) {
      usleep(10);
      busy = l.row->busy.load(std::memory_order_acquire);
    }
    if (busy) continue;
    if (close)
      l.row->close(std::max(now, now_ticks()));
    else
      l.row->cut(now);
  }
}

void program::settle() {
  const inside_scope inside;
  const std::lock_guard lock(parts_->mutex);
  const ticks now = now_ticks();  // before the pause: a thread that begins to wait meanwhile waits from then on
  mode expected = mode::running;
  if (!state_.compare_exchange_strong(expected, mode::paused)) return;
  parts_->keep_out_and(now, false);
  expected = mode::paused;
  state_.compare_exchange_strong(expected, mode::running, std::memory_order_release);  // pairs with enter()
}

// ------------------------------------------------------------------------------------------------------------- records

void program::sample(std::string_view name, double value) {
  if (!measures() || !std::isfinite(value)) return;
  const inside_scope inside;
  parts_->rec.trace_counter(name, value);
  const std::lock_guard lock(parts_->mutex);
  auto it = parts_->samples.find(name);
  if (it == parts_->samples.end()) it = parts_->samples.try_emplace(std::string(name)).first;
  sample_sum& s = it->second;
  s.least = s.n == 0 ? value : std::min(s.least, value);
  s.greatest = s.n == 0 ? value : std::max(s.greatest, value);
  s.sum += value;
  s.squares += value * value;
  ++s.n;
}

const void* program::site_before(thread_row& row, const void* object, const void* caller) noexcept {
  return object == nullptr ? nullptr : get()->parts_->sites.before(row.sites(), object, caller);
}

void program::record_wait(thread_row& row, const char* kind, const void* object, const void* caller, const void* site,
                          ticks waited) noexcept {
  program* p = get();
  if (object != nullptr) object = p->parts_->sites.after(row.sites(), object, caller, site, waited);
  p->rec().waits_of(row.index()).add({.kind = kind, .object = object}, waited);
}

void program::record_hold(thread_row& row, const void* mutex, const void* taken_in, const void* released_in,
                          ticks held) noexcept {
  const void* site = get()->parts_->hold_sites.of_hold(row.hold_sites(), mutex, taken_in, released_in, held);
  row.holds().add({.kind = "mutex", .object = site}, held);
}

bool wait_scope::begin() noexcept {
  const int before = errno;
  const ticks asked = program::measures() ? now_ticks() : 0;  // before the event, which settle() may delay
  const bool waits = program::event([this, asked](thread_row& row, ticks now) {
    if (!row.begin_wait(now, asked)) return false;  // 0 if the measurement began in between
    site_ = program::site_before(row, object_, caller_);
    return true;
  });
  errno = before;
  return waits;
}

void wait_scope::end() noexcept {
  const int before = errno;
  program::event([this](thread_row& row, ticks now) {
    const ticks waited = row.end_wait(now);
    if (kind_ != nullptr) program::record_wait(row, kind_, object_, caller_, site_, waited);
    return true;
  });
  errno = before;
}

void program::settle_names() {
  const inside_scope inside;
  parts_->sites.name_all();
  parts_->hold_sites.name_all();
}

// ----------------------------------------------------------------------------------------------------------------- end

std::string program::parts::timers_csv() const {
  struct sum {
    std::uint64_t calls = 0, outer = 0, inclusive = 0, exclusive = 0, least = ~0ull, greatest = 0;
  };
  std::map<name_id, sum> sums;
  for (name_id id = 0; id < name_count(); ++id) {
    for (const living& l : rows) {
      if (const auto* c = l.row->inclusive().name(id); c != nullptr && c->calls.load() != 0) {
        sum& s = sums[id];
        s.outer += c->calls.load();
        s.inclusive += c->time.load();
        s.least = std::min<std::uint64_t>(s.least, c->shortest.load());
        s.greatest = std::max<std::uint64_t>(s.greatest, c->longest.load());
      }
    }
    const auto it = sums.find(id);
    if (it == sums.end()) continue;
    for (const living& l : rows) {
      if (const auto* c = l.row->log().name(id)) {
        it->second.calls += c->calls.load();
        const std::uint64_t open_time = c->open_time.load();  // before `time`, to which the worker moves it
        it->second.exclusive += open_time + c->time.load();
      }
    }
  }
  std::vector<std::pair<name_id, sum>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.inclusive > b.second.inclusive; });
  std::string text = "name,calls,inclusive_s,exclusive_s,mean_s,min_s,max_s\n";
  for (const auto& [id, s] : order)
    fmt::format_to(std::back_inserter(text), "{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}\n", csv_field(name_of(id)),
                   s.calls, seconds(s.inclusive), seconds(s.exclusive),
                   seconds(s.inclusive) / static_cast<double>(s.outer), seconds(s.least), seconds(s.greatest));
  return text;
}

std::string program::parts::samples_csv() const {
  std::string text = "name,samples,mean,min,max,stddev\n";
  for (const auto& [name, s] : samples) {
    const double n = static_cast<double>(s.n), mean = s.sum / n;
    fmt::format_to(std::back_inserter(text), "{},{},{:.9g},{:.9g},{:.9g},{:.9g}\n", csv_field(name), s.n, mean, s.least,
                   s.greatest, std::sqrt(std::max(0.0, s.squares / n - mean * mean)));
  }
  return text;
}

/// The session's table with objects instead of sites.
std::string program::parts::waits_csv() const {
  std::map<std::tuple<std::string_view, const void*, std::string_view>, wait_statistics> sums;
  for (const wait_statistics& w : rec.waits()) {
    wait_statistics& s = sums[{w.kind, sites.object_of(w.object), w.name}];
    s.waits += w.waits;
    s.total_s += w.total_s;
    s.max_s = std::max(s.max_s, w.max_s);
  }
  std::vector<std::pair<decltype(sums)::key_type, wait_statistics>> order(sums.begin(), sums.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second.total_s > b.second.total_s; });
  std::string text = "kind,object,name,waits,total_s,max_s\n";
  for (const auto& [what, s] : order) {
    const auto& [kind, object, name] = what;
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{:.9g},{:.9g}\n", csv_field(kind),
                   object == nullptr ? std::string() : fmt::format("{}", object), csv_field(name), s.waits, s.total_s,
                   s.max_s);
  }
  return text;
}

/// Requires: mutex held.
void program::parts::name_rows() {
  for (const living& l : rows)
    rec.name_worker(l.row->index(),
                    l.threads > 1 ? fmt::format("{} and {} more", l.first_name, l.threads - 1) : l.first_name);
}

/// Writes the files that the session does not write. Requires: the folder exists.
result<void> program::parts::write_own(ticks now, bool locked, bool lines) {
  if (!csv) return {};
  if (!samples_counters) {
    std::error_code none;
    std::filesystem::remove(output + "/counters.csv", none);  // of an earlier run
    if (auto r = counters.append_csv(output + "/counters.csv", seconds(now - origin)); !r) return r;
  }
  std::unique_lock lock(mutex, std::defer_lock);
  if (locked) lock.lock();
  std::vector<thread_record> running;
  for (const living& l : rows) {
    if (!l.taken) continue;
    running.push_back(finished_record(l, now, false));
  }
  result<void> first = table.write_csv(output + "/threads.csv", origin, running);
  const auto note = [&](result<void> r) {
    if (!r && first) first = std::move(r);
  };
  note(write_measurement(output + "/timers.csv", timers_csv()));
  note(write_measurement(output + "/waits.csv", waits_csv()));
  std::vector<const wait_log*> holds;
  for (const living& l : rows) holds.push_back(&l.row->holds());
  note(write_measurement(output + "/holds.csv", holds_csv(holds, hold_sites, lines)));
  if (!samples.empty()) note(write_measurement(output + "/samples.csv", samples_csv()));
  return first;
}

result<void> program::write_now() {
  const inside_scope inside;
  settle();
  settle_names();
  {
    const std::lock_guard lock(parts_->mutex);
    parts_->name_rows();
  }
  if (auto done = parts_->run->write_now(); !done) return done;
  return parts_->write_own(now_ticks(), true, false);
}

// Threads may start and end during this call.
void program::parts::say_where(ticks now, bool locked) {
  std::uint64_t waits = 0, misfits = 0;
  double wait_s = 0;
  for (const wait_statistics& w : rec.waits()) waits += w.waits, wait_s += w.total_s;
  std::unique_lock lock(mutex, std::defer_lock);
  if (locked) lock.lock();
  for (const living& l : rows) misfits += l.row->misfits();
  std::string text = fmt::format("plx: {} in {:.3g} s, {} of {:.3g} s in total; see {}/\n",
                                 plural(table.threads() + rows.size() - free_rows.size(), "thread"),
                                 seconds(now - origin), plural(waits, "wait"), wait_s, printable(output));
  if (misfits != 0)
    text += fmt::format("plx: {} stopped while not innermost; the times are not exact\n", plural(misfits, "timer"));
  if (without_row != 0)
    text += fmt::format("plx: did not measure {}: more than {} existed at once\n", plural(without_row, "thread"),
                        most_rows);
  print(text);
}

bool program::ends_on_request() const noexcept { return !parts_->to_the_end; }

void program::finish(bool dying) noexcept {
  if (!begun() || parts_->finished.exchange(true)) return;
  const inside_scope inside;
  const ticks now = now_ticks();
  if (sampler* stacks = parts_->run->stacks()) stacks->stop();  // closed rows have no timers
  // A thread interrupted by the signal that ends the program may hold the lock forever.
  std::unique_lock lock(parts_->mutex, std::defer_lock);
  for (int i = 0; i < 500 && !lock.try_lock(); ++i) usleep(1000);
  const bool locked = lock.owns_lock();
  state_.store(mode::ended, std::memory_order_release);
  parts_->keep_out_and(now, true);
  try {
    parts_->sites.name_all();
    parts_->name_rows();
    if (locked) lock.unlock();
    auto tables = [&] { return parts_->write_own(now, locked, !dying); };
    const auto done = parts_->run->finish(
        {.dying = dying, .tables = [](void* f) { return (*static_cast<decltype(tables)*>(f))(); }, .context = &tables});
    if (!done)
      complain(done.error().message);
    else if (parts_->says_where)
      parts_->say_where(now, locked);
    parts_->run->end_live_page();
  } catch (const std::exception& x) {
    complain(x.what());
  }
}

}  // namespace plx::probe
