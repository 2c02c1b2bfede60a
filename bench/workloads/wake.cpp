// wake/LIBRARY: median us from a post by an external thread until the task runs, in a process that has been idle for 2
// ms. idle/LIBRARY: core time used by the workers of an idle process, in percent of one core, starting 1 ms after the
// last work.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "timing.hpp"

namespace {

using plx::bench::entry;

// How soon a posted task runs when all workers sleep.
using wake_clock = std::chrono::steady_clock;

/// Posts a task from the calling external thread, waits until it has run, and returns when it started.
using wake_run = wake_clock::time_point();

/// When a task began that `submit(task)` has posted.
template <class Submit>
wake_clock::time_point begin_of_posted(Submit&& submit) {
  wake_clock::time_point began;
  std::binary_semaphore ran(0);
  submit([&] {
    began = wake_clock::now();
    ran.release();
  });
  ran.acquire();
  return began;
}

const entry<wake_run> with_plx("plx",
                               [] { return begin_of_posted([](auto task) { plx::bench::plx_runtime().post(task); }); });
#ifdef PLX_HAVE_TBB
const entry<wake_run> with_tbb("tbb", [] {
  return begin_of_posted([](auto task) { plx::bench::tbb_arena().enqueue(task); });
});
#endif

// ---- standard library
// A thread that sleeps on a condition variable, as in a hand-written pool.
namespace with_std {

struct sleeper {
  std::mutex mutex;
  std::condition_variable changed;
  bool posted = false;
  bool end = false;
  wake_clock::time_point began;
  std::binary_semaphore ran{0};
  std::thread thread{[this] {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return posted || end; });
      if (end) return;
      began = wake_clock::now();
      posted = false;
      ran.release();
    }
  }};

  ~sleeper() {
    {
      std::lock_guard lock(mutex);
      end = true;
    }
    changed.notify_one();
    thread.join();
  }
};

const entry<wake_run> me("std", [] {
  static sleeper s;
  {
    std::lock_guard lock(s.mutex);
    s.posted = true;
  }
  s.changed.notify_one();
  s.ran.acquire();
  return s.began;
});

}  // namespace with_std

// ---- measurement
using namespace std::chrono_literals;

double median_wake_us(const entry<wake_run>& e, int posts) {
  std::vector<double> us;
  for (int i = 0; i < posts; ++i) {
    std::this_thread::sleep_for(2ms);
    const auto posted = wake_clock::now();
    us.push_back(std::chrono::duration<double, std::micro>(e.run() - posted).count());
  }
  return plx::bench::median(us);
}

double idle_percent(const entry<wake_run>& e, double seconds) {
  e.run();
  std::this_thread::sleep_for(1ms);
  const double begin = plx::bench::core_seconds();
  const double wall =
      plx::bench::wall_time_of([&] { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); });
  return 100 * (plx::bench::core_seconds() - begin) / wall;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  const auto entries = entry<wake_run>::all();
  std::vector<std::vector<double>> wake(entries.size()), idle(entries.size());
  for (int turn = 0; turn < c.turns(7); ++turn) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& library = plx::bench::library::of(entries[i]->label);
      library.start(c.threads);
      entries[i]->run();
      wake[i].push_back(median_wake_us(*entries[i], c.quick ? 20 : 100));
      idle[i].push_back(idle_percent(*entries[i], c.quick ? 0.1 : 0.3));
      library.stop();
    }
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    c.numbers.add(std::string("wake/") + entries[i]->label, plx::bench::median(wake[i]), "us", plx::bench::lower);
  for (std::size_t i = 0; i < entries.size(); ++i)
    c.numbers.add(std::string("idle/") + entries[i]->label, plx::bench::median(idle[i]), "% of a core",
                  plx::bench::lower);
  return c.finish();
}
