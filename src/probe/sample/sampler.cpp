#include "probe/sample/sampler.hpp"

#include <fmt/format.h>

#if defined(__linux__) && defined(__GLIBC__)
#define PLX_SAMPLES_STACKS 1
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#else
#define PLX_SAMPLES_STACKS 0
#endif

#include <array>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "probe/sample/stack_walk.hpp"

namespace plx::probe {

stack_bounds stack_of_this_thread() noexcept {
  stack_bounds s;
#if PLX_SAMPLES_STACKS
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return s;
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    s.low = reinterpret_cast<std::uintptr_t>(low);
    s.top = s.low + size;
  }
  pthread_attr_destroy(&attributes);
#endif
  return s;
}

#if PLX_SAMPLES_STACKS

namespace {

constexpr std::size_t ring_words = std::size_t{1} << 15;
constexpr std::size_t most_threads = 4160;  // all threads that plx-exec measures

/// A watched thread. Created once and reused: a signal may arrive after the thread is not watched any more.
struct watched {
  watched(std::uint64_t n, std::uint64_t* words) noexcept : number(n), ring(words, ring_words) {}

  const std::uint64_t number;  // in `entries`

  std::atomic<int> thread_id{0};      // 0: none
  std::atomic<unsigned> handlers{0};  // that run: of its thread, and of an earlier one whose signal arrives late
  bool in_use = false;                // guarded by `lock`
  std::uint64_t lost_before = 0;      // by earlier threads; guarded by `lock`
  sample_source source;
  timer_t timer{};
  sample_ring ring;
  walk_cache cache;
  std::uintptr_t frames[sample_ring::most_frames + 1];
};

// Read by the handler; entries are never removed. `lock` guards additions, and which sampler uses an entry.
constinit std::array<std::atomic<watched*>, most_threads> entries{};
constinit std::atomic<std::size_t> n_entries{0};
constinit std::mutex lock;
int used_signal = 0;  // guarded by `lock`; 0: no handler is installed

int own_tid() noexcept { return static_cast<int>(::syscall(SYS_gettid)); }

/// In the upper half of what a timer sends, so that the handler knows its own.
constexpr std::uint64_t mark = 0x706c7853u;

void record(watched& w, const siginfo_t& info, const void* context) noexcept {
  const sampled_state now = w.source.now(w.source);
  const walked_stack walked = walk_stack(context, now.stack, w.frames, std::size(w.frames), w.cache);
  constexpr int most_weight = 0xffff;
  const int periods = info.si_overrun < 0 || info.si_overrun >= most_weight ? most_weight : info.si_overrun + 1;
  w.ring.push({.activity = now.activity,
               .whole = walked.whole,
               .weight = static_cast<std::uint16_t>(periods),
               .task = now.task,
               .frames = {w.frames, walked.frames}});
}

/// The handler is counted before thread_id is read, in the order of all seq_cst operations; release() does the
/// opposite. So either release() waits for this handler, or this handler sees that the entry is not its thread's any
/// more.
void sample(watched& w, const siginfo_t& info, const void* context) noexcept {
  w.handlers.fetch_add(1, std::memory_order_seq_cst);
  if (w.thread_id.load(std::memory_order_seq_cst) == own_tid()) record(w, info, context);
  w.handlers.fetch_sub(1, std::memory_order_release);  // pairs with the load in release()
}

/// No handler uses the entry afterwards.
void release(watched& w) noexcept {
  w.thread_id.store(0, std::memory_order_seq_cst);
  ::timer_delete(w.timer);
  while (w.handlers.load(std::memory_order_seq_cst) != 0) ::sched_yield();
}

void on_timer(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const auto value = reinterpret_cast<std::uint64_t>(info->si_value.sival_ptr);
  if (info->si_code == SI_TIMER && value >> 32 == mark) {
    const std::size_t i = value & 0xffffffffu;
    if (i < n_entries.load(std::memory_order_acquire))
      sample(*entries[i].load(std::memory_order_relaxed), *info, context);
  } else if (signal != SIGURG) {  // sent by another process, or by the program: as if there were no handler
    struct sigaction usual {};
    usual.sa_handler = SIG_DFL;
    ::sigaction(signal, &usual, nullptr);
    ::raise(signal);
  }
  errno = error;
}

bool is_ours(int signal) noexcept {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_timer;
}

bool is_free(int signal) noexcept {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL)
    return false;
  itimerval running{};
  return signal != SIGPROF ||
         (::getitimer(ITIMER_PROF, &running) == 0 && running.it_value.tv_sec == 0 && running.it_value.tv_usec == 0);
}

/// The handler stays when sampling ends: a signal on its way would end the process otherwise. Requires: `lock` held.
/// Returns 0 if every signal is in use.
int install() noexcept {
  if (used_signal != 0 && is_ours(used_signal)) return used_signal;
  int chosen = is_free(SIGURG) ? SIGURG : is_free(SIGPROF) ? SIGPROF : 0;
  for (int s = SIGRTMAX - 1; chosen == 0 && s >= SIGRTMIN; --s)
    if (is_free(s)) chosen = s;
  if (chosen == 0) return 0;
  struct sigaction handler {};
  handler.sa_sigaction = on_timer;
  handler.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&handler.sa_mask);  // its stack may be small, and a handler of the program could wait
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigdelset(&handler.sa_mask, fault);
  if (::sigaction(chosen, &handler, nullptr) != 0) return 0;
  return used_signal = chosen;
}

/// The clock of a thread's CPU time. pthread_getcpuclockid() computes the same, but requires the thread's handle.
clockid_t cpu_clock_of(int thread_id) noexcept {
  constexpr unsigned per_thread = 4, scheduler_time = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread_id) << 3 | per_thread | scheduler_time);
}

/// Requires: `lock` held. Null: no memory, or too many threads.
watched* free_entry() noexcept {
  const std::size_t n = n_entries.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < n; ++i) {
    watched* w = entries[i].load(std::memory_order_relaxed);
    if (!w->in_use) return w;
  }
  if (n == most_threads) return nullptr;
  const std::size_t bytes = sizeof(watched) + ring_words * sizeof(std::uint64_t);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* words = reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(memory) + sizeof(watched));
  auto* w = new (memory) watched(n, words);
  entries[n].store(w, std::memory_order_relaxed);
  n_entries.store(n + 1, std::memory_order_release);  // pairs with the acquire in the handler
  return w;
}

}  // namespace

struct sampler::state {
  double hz = 0;
  int signal = 0;
  bool stopped = false;
  std::string failure;
  sample_tree tree;
  std::uint64_t lost = 0;         // of threads that are not watched any more
  std::vector<watched*> threads;  // guarded by `lock`, like the members above

  void drain_one(watched& w) noexcept {
    w.ring.drain([this](const stack_sample& s) noexcept {
      try {
        tree.add(s);
      } catch (const std::bad_alloc&) {
        lost += s.weight;
      }
    });
  }
  void end(watched& w) noexcept {
    release(w);
    drain_one(w);
    lost += w.ring.lost() - w.lost_before;
    w.in_use = false;
  }
  void end_all() noexcept {
    for (watched* w : threads) end(*w);
    threads.clear();
  }
};

sampler::sampler(std::unique_ptr<state> s) : state_(std::move(s)) {}
sampler::~sampler() { stop(); }

result<std::unique_ptr<sampler>> sampler::start(double hz) {
  PLX_ASSERT(hz > 0 && hz <= most_hz, hz);
  auto s = std::make_unique<state>();
  const std::lock_guard guard(lock);
  s->hz = hz;
  s->threads.reserve(most_threads);  // watch() allocates nothing after it has started a timer
  s->signal = install();
  if (s->signal == 0) return error{"SIGURG, SIGPROF and all real-time signals have handlers of the program"};
  return std::unique_ptr<sampler>(new sampler(std::move(s)));
}

result<void> sampler::watch(int thread_id, const sample_source& source) {
  const std::lock_guard guard(lock);
  if (state_->stopped) return {};
  watched* w = free_entry();
  if (w == nullptr) return error{fmt::format("no memory for the samples of more than {} threads", n_entries.load())};
  w->source = source;
  w->lost_before = w->ring.lost();
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = state_->signal;
  event.sigev_value.sival_ptr = reinterpret_cast<void*>(mark << 32 | w->number);
  event._sigev_un._tid = thread_id;
  if (::timer_create(cpu_clock_of(thread_id), &event, &w->timer) != 0)
    return error{fmt::format("no timer for thread {}: {}", thread_id, std::strerror(errno))};
  const auto period_ns = static_cast<long>(std::llround(1e9 / state_->hz));
  itimerspec period{};
  period.it_interval = {period_ns / 1'000'000'000, period_ns % 1'000'000'000};
  period.it_value = period.it_interval;
  // The signals of a timer that cannot be set never come: the entry is still free.
  w->thread_id.store(thread_id, std::memory_order_seq_cst);
  if (::timer_settime(w->timer, 0, &period, nullptr) != 0) {
    const int failed = errno;
    release(*w);
    return error{
        fmt::format("no timer for thread {} with a period of {} ns: {}", thread_id, period_ns, std::strerror(failed))};
  }
  w->in_use = true;
  state_->threads.push_back(w);
  return {};
}

void sampler::unwatch(int thread_id) noexcept {
  const std::lock_guard guard(lock);
  auto& threads = state_->threads;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (threads[i]->thread_id.load(std::memory_order_relaxed) != thread_id) continue;
    state_->end(*threads[i]);
    threads[i] = threads.back();
    threads.pop_back();
    return;
  }
}

void sampler::stop() noexcept {
  const std::lock_guard guard(lock);
  state_->stopped = true;
  state_->end_all();
}

void sampler::drain() {
  const std::lock_guard guard(lock);
  for (watched* w : state_->threads) state_->drain_one(*w);
  if (state_->stopped || is_ours(state_->signal)) return;
  state_->stopped = true;
  state_->failure = fmt::format("the program has set its own handler for signal {}", state_->signal);
  state_->end_all();
  log_warning("stacks are not sampled any more: {}", state_->failure);
}

sample_tree sampler::tree() const {
  const std::lock_guard guard(lock);
  return state_->tree;
}

std::uint64_t sampler::lost() const {
  const std::lock_guard guard(lock);
  std::uint64_t n = state_->lost;
  for (const watched* w : state_->threads) n += w->ring.lost() - w->lost_before;
  return n;
}

double sampler::hz() const noexcept { return state_->hz; }
int sampler::signal() const noexcept { return state_->signal; }
std::string sampler::failure() const {
  const std::lock_guard guard(lock);
  return state_->failure;
}

#else

struct sampler::state {};
sampler::sampler(std::unique_ptr<state> s) : state_(std::move(s)) {}
sampler::~sampler() = default;
result<std::unique_ptr<sampler>> sampler::start(double) { return error{"stacks are sampled on Linux with glibc only"}; }
result<void> sampler::watch(int, const sample_source&) { return {}; }
void sampler::unwatch(int) noexcept {}
void sampler::stop() noexcept {}
void sampler::drain() {}
sample_tree sampler::tree() const { return sample_tree(); }
std::uint64_t sampler::lost() const { return 0; }
double sampler::hz() const noexcept { return 0; }
int sampler::signal() const noexcept { return 0; }
std::string sampler::failure() const { return {}; }

#endif

}  // namespace plx::probe
