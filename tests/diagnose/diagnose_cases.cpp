// Programs that are slow on purpose, each in one way, and one that is not. test_diagnose.py lists what `parallax
// diagnose` must report for each. Usage: diagnose_cases CASE, with PLX_DIAGNOSE=1; PLX_THREADS changes the number of
// workers. `diagnose_cases counted TYPE=FACTOR` lengthens the tasks of a type. `diagnose_cases slowdown CASE N` prints
// how many times the CPU time of one thread each of N threads needs for the work of stream or stream_in_cache, without
// the runtime.
//
// The slowness of each follows from its structure, not from the machine, so that the cores may be shared with others.
// Tasks that must take a known time hold their worker in a sleep of the operating system.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "gpu/backend.hpp"
#include "gpu/device.hpp"
#include "gpu/executor.hpp"
#include "gpu/operation.hpp"
#include "probe/record/work.hpp"
#include "rt/async.hpp"
#include "rt/channel.hpp"
#include "rt/for_loop.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using std::chrono::milliseconds;

task_info named(const char* name) { return {probe::register_name(name)}; }

/// Computes until that much wall time has passed.
void compute(double s) {
  const ticks end = now_ticks() + ticks_from(s);
  while (now_ticks() < end) {
  }
}

/// Occupies the worker without computing, so that the time is the same if cores are shared with others.
void hold(double s) { std::this_thread::sleep_for(std::chrono::duration<double>(s)); }

/// Many independent tasks of a suitable length: nothing to report.
void healthy() {
  task_group g;
  for (int i = 0; i < 800; ++i) g.run(named("solve"), [] { compute(1e-3); });
  g.wait();
}

/// One task at a time, with workers for four: main() does the rest itself, and creates the tasks late.
void starved(runtime& rt) {
  for (int i = 0; i < 20; ++i) {
    rt.run(named("alone"), [] { hold(10e-3); });
    hold(10e-3);
  }
}

/// Each task needs the previous one.
void chain() {
  auto last = make_ready_future();
  for (int i = 0; i < 40; ++i) last = last.then(named("link"), [](future<void>) { hold(10e-3); });
  last.get();
}

/// A tree of tasks, each of which only creates the next two and waits for them.
void tiny_tree(int depth) {
  if (depth == 0) return;
  task_group g;
  for (int child = 0; child < 2; ++child) g.run(named("tiny"), [depth] { tiny_tree(depth - 1); });
  g.wait();
}

/// A million tasks that do almost nothing, created where they run: their cost is task management, independent of the
/// load on the machine. (Tasks that are created in one place and stolen one by one cost several times as much as local
/// ones because of cache misses; how much depends on the other users of the cores.)
void small_grain() { tiny_tree(19); }

/// All work is done under one lock, whose holder waits.
void lock() {
  static mutex m("accumulator");
  task_group g;
  for (int i = 0; i < 40; ++i)
    g.run(named("deposit"), [] {
      std::lock_guard guard(m);
      this_thread::sleep_for(milliseconds(10));
    });
  g.wait();
}

/// The same lock, held for a very short time.
void lock_for_short() {
  static mutex m("counter");
  [[maybe_unused]] static long n = 0;
  task_group g;
  for (int i = 0; i < 400; ++i)
    g.run(named("deposit"), [] {
      compute(1e-3);
      std::lock_guard guard(m);
      ++n;
    });
  g.wait();
}

/// One task that takes as long as all others together.
void imbalance() {
  task_group g;
  g.run(named("the long one"), [] { hold(0.6); });
  for (int i = 0; i < 40; ++i) g.run(named("a short one"), [] { hold(5e-3); });
  g.wait();
}

/// A serial part, then tasks for all workers.
void set_up() {
  async(named("set up"), [] { hold(0.4); }).get();
  task_group g;
  for (int i = 0; i < 40; ++i) g.run(named("solve"), [] { hold(10e-3); });
  g.wait();
}

/// Tasks bound to one worker: they wait there while the others are idle.
void latency() {
  task_group g;
  for (int i = 0; i < 400; ++i) {
    task_info info = named("bound");
    info.where.worker = 1;
    g.run(info, [] { hold(1e-3); });
  }
  g.wait();
}

/// Keeps the memory that each task allocated.
void memory() {
  std::vector<std::vector<char>> kept;
  for (int i = 0; i < 50; ++i) {
    task_group g;
    for (int k = 0; k < 4; ++k) g.run(named("step"), [] { compute(5e-3); });
    g.wait();
    kept.emplace_back(std::size_t{4} << 20, static_cast<char>(i));
  }
}

/// Needs the same memory, from the beginning.
void memory_at_once() {
  std::vector<char> all(std::size_t{200} << 20, 'x');
  for (int i = 0; i < 50; ++i) {
    task_group g;
    for (int k = 0; k < 4; ++k) g.run(named("step"), [] { compute(5e-3); });
    g.wait();
  }
  if (all[all.size() / 2] != 'x') std::abort();
}

/// Tasks read data that arrive slowly, by a blocking system call.
void io() {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  constexpr int messages = 200;
  std::thread sender([&] {
    for (int i = 0; i < messages; ++i) {
      std::this_thread::sleep_for(milliseconds(4));
      if (write(ends[1], "0123456789abcdef", 16) != 16) std::abort();
    }
  });
  task_group g;
  for (int i = 0; i < messages; ++i)
    g.run(named("read"), [&] {
      char text[16];
      if (read(ends[0], text, sizeof text) != sizeof text) std::abort();
    });
  g.wait();
  sender.join();
}

/// Tasks write data that another process takes slowly, like a slow disk: a pipe holds one piece.
void slow_writes() {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  constexpr std::size_t piece = std::size_t{1} << 16;  // the capacity of a pipe
  constexpr int pieces = 100;
  const pid_t child = fork();
  if (child < 0) std::abort();
  if (child == 0) {
    static char some[piece];
    close(ends[1]);
    do usleep(8'000);
    while (read(ends[0], some, piece) > 0);
    _exit(0);
  }
  close(ends[0]);
  task_group g;
  for (int i = 0; i < pieces; ++i)
    g.run(named("write"), [&] {
      static const char text[piece] = {};
      if (write(ends[1], text, piece) != static_cast<ssize_t>(piece)) std::abort();
    });
  g.wait();
  close(ends[1]);  // ends the child, which is not waited for: then its bytes would count here
}

/// Steps of four tasks, of which another one in each step takes four times as long as the others.
void imbalance_that_moves() {
  for (int step = 0; step < 20; ++step) {
    task_group g;
    for (int part = 0; part < 4; ++part)
      g.run(named("relax"), [longer = part == step % 4] { hold(longer ? 40e-3 : 10e-3); });
    g.wait();
  }
}

/// Steps of `n` equal tasks, of 240 ms together.
void steps_of(int n) {
  for (int step = 0; step < 10; ++step) {
    task_group g;
    for (int i = 0; i < n; ++i) g.run(named("relax"), [n] { hold(0.24 / n); });
    g.wait();
  }
}
void coarse() { steps_of(6); }
void fine() { steps_of(48); }

/// Tasks for all workers, then one at a time.
void two_phases() {
  task_group g;
  for (int i = 0; i < 80; ++i) g.run(named("together"), [] { hold(20e-3); });
  g.wait();
  for (int i = 0; i < 20; ++i) async(named("alone"), [] { hold(20e-3); }).get();
}

/// Many tasks wait for one result; with `parts`, each for a part of it that is made by a task of its own.
void wait_for_one(int parts) {
  std::vector<shared_future<void>> made;
  for (int i = 0; i < parts; ++i) made.push_back(async(named("make"), [parts] { hold(0.4 / parts); }).share());
  task_group g;
  for (int i = 0; i < 40; ++i)
    g.run(named("use"), [&, i] {
      made[static_cast<std::size_t>(i % parts)].wait();
      hold(10e-3);
    });
  g.wait();
}
void fan_in() { wait_for_one(1); }
void fan_in_parts() { wait_for_one(40); }

/// Computes on two workers, beside what occupies the cores.
void compute_on_two() {
  task_group g;
  for (int i = 0; i < 100; ++i) g.run(named("solve"), [] { compute(8e-3); });
  g.wait();
}

/// Other threads of the program, which compute or sleep meanwhile.
void beside_threads(bool computing) {
  std::atomic<bool> ended{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      while (!ended.load(std::memory_order_relaxed))
        if (computing)
          compute(1e-3);
        else
          hold(1e-2);
    });
  compute_on_two();
  ended.store(true, std::memory_order_relaxed);
  for (std::thread& t : others) t.join();
}
void own_threads() { beside_threads(true); }
void own_threads_asleep() { beside_threads(false); }

/// Other programs, which compute or sleep meanwhile.
void beside_programs(bool computing) {
  pid_t others[4];
  const pid_t parent = getpid();
  for (pid_t& child : others) {
    child = fork();
    if (child < 0) std::abort();
    if (child != 0) continue;
    while (getppid() == parent) {  // otherwise it has died without killing them
      if (computing)
        compute(10e-3);
      else
        usleep(200'000);
    }
    _exit(0);
  }
  compute_on_two();
  for (const pid_t child : others) kill(child, SIGKILL), waitpid(child, nullptr, 0);
}
void other_programs() { beside_programs(true); }
void other_programs_asleep() { beside_programs(false); }

/// Kernels of a device, each of which needs the one before, and tasks of `task_s` between them.
struct kernel_item {
  double s;
};
void kernel_cpu(const kernel_item& k) { hold(k.s); }
constexpr auto kernel = gpu::cpu_operation<kernel_item, kernel_cpu>("kernel");
void beside_device(runtime& rt, double kernel_s, double task_s) {
  gpu::device device(rt, gpu::find_backend("cpu"));
  const gpu::executor on(device);
  rt.run(named("main"), [&] {
    for (int i = 0; i < 20; ++i) {
      async(on, kernel, kernel_item{kernel_s}).get();
      task_group g;
      for (int k = 0; k < 4; ++k) g.run(named("host"), [task_s] { hold(task_s); });
      g.wait();
    }
  });
}
void slow_device(runtime& rt) { beside_device(rt, 40e-3, 2e-3); }
void quick_device(runtime& rt) { beside_device(rt, 1e-3, 40e-3); }

/// Tasks that each increment a number of their own, `bytes` apart.
template <std::size_t bytes>
void count_up() {
  struct alignas(bytes) number {
    std::atomic<long> n{0};
  };
  static number numbers[8];
  task_group g;
  for (number& own : numbers)
    g.run(named("count"), [&own] {
      for (int i = 0; i < 12'000'000; ++i) own.n.fetch_add(1, std::memory_order_relaxed);
    });
  g.wait();
}

/// Adds to numbers that come from memory: each task to its part of more than the caches hold. `in_cache`: as many
/// additions to the same number of parts, each of which fits into a core's cache and is passed over repeatedly.
class additions {
 public:
  static constexpr std::size_t n_parts = 256, passes = 4;
  explicit additions(bool in_cache)
      : part_size_(in_cache ? (std::size_t{32} << 10) / sizeof(number) : streamed_part_size()),
        repeats_(in_cache ? streamed_part_size() / part_size_ : 1),
        numbers_(n_parts * part_size_) {}

  void add(std::size_t part) {
    number* const begin = numbers_.data() + part * part_size_;
    for (std::size_t k = 0; k < repeats_; ++k) {
      for (std::size_t i = 0; i < part_size_; ++i) begin[i] += 1;
      std::atomic_signal_fence(std::memory_order_seq_cst);  // each repetition really happens
    }
  }

 private:
  using number = std::uint64_t;
  /// All parts together: twice the last cache, between 256 MiB and 1 GiB.
  static std::size_t streamed_part_size() {
    const std::size_t cache = static_cast<std::size_t>(std::max(0L, sysconf(_SC_LEVEL3_CACHE_SIZE)));
    const std::size_t all = std::clamp(2 * cache, std::size_t{256} << 20, std::size_t{1} << 30);
    return all / n_parts / (std::size_t{32} << 10) * (std::size_t{32} << 10) / sizeof(number);
  }
  std::size_t part_size_, repeats_;
  std::vector<number> numbers_;
};

template <bool in_cache>
void stream() {
  additions all(in_cache);
  for (std::size_t pass = 0; pass < additions::passes; ++pass) {
    task_group g;
    for (std::size_t part = 0; part < additions::n_parts; ++part) g.run(named("add"), [&all, part] { all.add(part); });
    g.wait();
  }
}

/// a += s b in memory, or as often in caches, with the work stated.
template <bool in_cache>
void triad() {
  constexpr std::size_t n_parts = 256, part = (in_cache ? std::size_t{8} << 10 : std::size_t{1} << 20) / sizeof(double);
  constexpr std::size_t repeats = in_cache ? 128 : 1, passes = 40;
  const std::unique_ptr<double[]> a(new double[n_parts * part]), b(new double[n_parts * part]);
  for_loop(named("fill"), std::size_t{0}, n_parts, [&](std::size_t p) {
    std::fill_n(a.get() + p * part, part, 1.0);
    std::fill_n(b.get() + p * part, part, 2.0);
  });
  for (std::size_t pass = 0; pass < passes; ++pass) {
    task_group g;
    for (std::size_t p = 0; p < n_parts; ++p)
      g.run(named("triad"), [x = a.get() + p * part, y = b.get() + p * part] {
        for (std::size_t k = 0; k < repeats; ++k) {
          for (std::size_t i = 0; i < part; ++i) x[i] += 1e-3 * y[i];
          std::atomic_signal_fence(std::memory_order_seq_cst);  // each repetition really happens
        }
        probe::count_work(2.0 * part * repeats, 24.0 * part);
      });
    g.wait();
  }
}

/// The CPU time of each of `n` threads for the parts that it adds to, relative to that of a thread alone.
double slowdown_of_threads(bool in_cache, std::size_t n) {
  additions all(in_cache);
  const auto cpu_s = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const auto pass = [&](std::size_t first, std::size_t step) {
    const double begin_s = cpu_s();
    for (std::size_t part = first; part < additions::n_parts; part += step) all.add(part);
    return cpu_s() - begin_s;
  };
  double alone_s = 0, together_s = 0;
  for (std::size_t k = 0; k < additions::passes; ++k) {
    alone_s += pass(0, 1);
    std::vector<double> each_s(n);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < n; ++t) threads.emplace_back([&, t] { each_s[t] = pass(t, n); });
    for (std::thread& t : threads) t.join();
    for (const double s : each_s) together_s += s;
  }
  return together_s / alone_s;
}

/// Rounds of tasks of three types, whose lengths are counted in ticks of the clock: a slower core, or one that was lost
/// for a part of a task, does not lengthen them. Times of those of the type `longer_type` are multiplied by `longer`.
std::string longer_type;
double longer = 1;
void count_ticks(std::string_view type, double s) { compute(type == longer_type ? s * longer : s); }
void counted() {
  for (int round = 0; round < 5; ++round) {
    task_group g;
    for (int i = 0; i < 12; ++i) {
      g.run(named("long"), [] { count_ticks("long", 5e-3); });
      g.run(named("short"), [] { count_ticks("short", 2e-3); });
    }
    g.wait();
    async(named("reduce"), [] { count_ticks("reduce", 5e-3); }).get();
  }
}

/// Tasks that sleep instead of waiting.
void sleeping() {
  for (int i = 0; i < 40; ++i) {
    compute(1e-3);
    this_thread::sleep_for(milliseconds(10));
  }
}

struct known_case {
  const char* name;
  unsigned workers;
  void (*run)();
  void (*run_outside)(runtime&) = nullptr;
};
constexpr known_case cases[] = {
    {"healthy", 2, healthy},
    {"starved", 4, nullptr, starved},
    {"chain", 4, chain},
    {"small_grain", 2, small_grain},
    {"lock", 4, lock},
    {"lock_for_short", 2, lock_for_short},
    {"imbalance", 4, imbalance},
    {"set_up", 4, set_up},
    {"latency", 4, latency},
    {"memory", 2, memory},
    {"memory_at_once", 2, memory_at_once},
    {"io", 2, io},
    {"slow_writes", 2, slow_writes},
    {"sleeping", 4, sleeping},
    {"false_sharing", 2, count_up<sizeof(std::atomic<long>)>},
    {"padded", 2, count_up<64>},
    {"stream", 2, stream<false>},
    {"stream_in_cache", 2, stream<true>},
    {"triad", 2, triad<false>},
    {"triad_in_cache", 2, triad<true>},
    {"counted", 2, counted},
    {"imbalance_that_moves", 4, imbalance_that_moves},
    {"coarse", 4, coarse},
    {"fine", 4, fine},
    {"two_phases", 4, two_phases},
    {"fan_in", 4, fan_in},
    {"fan_in_parts", 4, fan_in_parts},
    {"own_threads", 2, own_threads},
    {"own_threads_asleep", 2, own_threads_asleep},
    {"many_workers", 8, compute_on_two},
    {"other_programs", 2, other_programs},
    {"other_programs_asleep", 2, other_programs_asleep},
    {"slow_device", 4, nullptr, slow_device},
    {"quick_device", 4, nullptr, quick_device},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "slowdown") == 0 && std::atoi(argv[3]) > 0) {
    const bool in_cache = std::strcmp(argv[2], "stream_in_cache") == 0;
    std::printf("%.3f\n", slowdown_of_threads(in_cache, static_cast<std::size_t>(std::atoi(argv[3]))));
    return 0;
  }
  runtime_options options = options_from_arguments(argc, argv);
  if (argc == 3 && std::strcmp(argv[1], "counted") == 0) {
    const std::string_view change = argv[2];
    longer_type = change.substr(0, change.find('='));
    longer = std::atof(argv[2] + std::min(change.size(), longer_type.size() + 1));
    if (longer > 0) argc = 2;
  }
  for (const known_case& c : cases) {
    if (argc != 2 || std::strcmp(argv[1], c.name) != 0) continue;
    if (std::getenv("PLX_THREADS") == nullptr) options.workers = c.workers;
    runtime rt(options);
    if (c.run != nullptr)
      rt.run(named("main"), c.run);
    else
      c.run_outside(rt);
    return 0;
  }
  std::fprintf(stderr, "diagnose_cases: expected one of");
  for (const known_case& c : cases) std::fprintf(stderr, " %s", c.name);
  std::fprintf(stderr, "\n");
  return 2;
}
