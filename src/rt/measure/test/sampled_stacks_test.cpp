// Sampled stacks of tasks: docs/probe.md, "Sampled stacks".
#include <gtest/gtest.h>
#include <time.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "probe/record/test/temporary_test.hpp"
#include "probe/sample/sampler.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"
#include "session/session.hpp"

namespace plx {
namespace {

#if defined(PLX_TSAN)
constexpr bool samples_loops = false;  // ThreadSanitizer delivers signals within calls of the system only
#else
constexpr bool samples_loops = probe::walks_stacks();
#endif

[[gnu::noinline]] double sampled_loop(double x) {
  for (int i = 0; i < 50'000; ++i) x = x * 1.0000001 + 1e-9;
  return x;
}
/// Takes `for_s` of CPU time.
[[gnu::noinline]] void sampled_work(double for_s) {
  const auto now_s = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  };
  const double end = now_s() + for_s;
  double x = 1;
  while (now_s() < end) x = sampled_loop(x);
  asm volatile("" : : "g"(&x) : "memory");
}
[[gnu::noinline]] void work_of_outer(double for_s) {
  sampled_work(for_s);
  asm volatile("" ::: "memory");
}

/// The lines of stacks.collapsed.
class stacks_of_run {
 public:
  explicit stacks_of_run(const std::string& folder) {
    std::ifstream in(folder + "/stacks.collapsed");
    for (std::string line; std::getline(in, line);) {
      const auto space = line.rfind(' ');
      lines_[line.substr(0, space)] += std::stoull(line.substr(space + 1));
    }
  }
  /// Periods of the stacks below `root` (empty: all) that contain `part` and not `without`.
  [[nodiscard]] std::uint64_t periods(const std::string& root, const std::string& part = "",
                                      const std::string& without = "\n") const {
    std::uint64_t sum = 0;
    for (const auto& [stack, n] : lines_)
      if ((root.empty() || stack == root || stack.starts_with(root + ";")) && stack.find(part) != stack.npos &&
          stack.find(without) == stack.npos)
        sum += n;
    return sum;
  }
  [[nodiscard]] std::string text() const {
    std::ostringstream out;
    for (const auto& [stack, n] : lines_) out << stack << ' ' << n << '\n';
    return out.str();
  }

 private:
  std::map<std::string, std::uint64_t> lines_;
};

template <class F>
stacks_of_run sampled(const std::string& name, F f, bool deterministic = false) {
  const std::string folder = probe::temporary_path(name);
  std::filesystem::remove_all(folder);
  auto s = std::make_shared<probe::settings>();
  s->output = folder;
  s->sample_stacks_hz = 1000;
  {
    runtime rt({.workers = 2, .deterministic = deterministic, .measure = std::move(s)});
    probe::sampler& stacks = *rt.session()->stacks();
    for (int i = 0; i < 100 && stacks.tree().samples() < 40; ++i) {  // a busy machine may sample rarely
      rt.run(f);
      stacks.drain();
    }
  }
  for (const char* file : {"stacks.svg", "stacks.csv", "measurement.json"})
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + file)) << file;
  return stacks_of_run(folder);
}

TEST(SampledStacks, MostSamplesOfATaskAreInItsHotFunction) {
  static const task_info hot{probe::register_name("hot task")};
  const auto run = sampled("hot", [] {
    task_group g;
    for (int i = 0; i < 20; ++i) g.run(hot, [] { sampled_work(0.02); });
    g.wait();
  });
  const std::uint64_t all = run.periods("hot task");
  EXPECT_GT(10 * all, 8 * run.periods("")) << run.text();
  if (!samples_loops) return;
  EXPECT_GT(10 * run.periods("hot task", "sampled_work"), 8 * all) << run.text();
  // Functions that only start tasks are not shown, nor is any stack cut.
  EXPECT_EQ(run.periods("hot task", "loop_entry"), 0u) << run.text();
  EXPECT_GT(10 * run.periods("hot task", "", "(callers not known)"), 9 * all) << run.text();
}

TEST(SampledStacks, ATaskWithinAnotherHasItsOwnTypeAndFrames) {
  static const task_info outer{probe::register_name("outer task")}, inner{probe::register_name("inner task")};
  const auto run = sampled("nested", [] {
    async(outer, [] {
      work_of_outer(0.15);
      task_group g;
      for (int i = 0; i < 10; ++i) g.run(inner, [] { sampled_work(0.02); });
      g.wait();  // runs most of them in this frame
    }).get();
  });
  const std::uint64_t both = run.periods("inner task") + run.periods("outer task");
  EXPECT_GT(10 * both, 8 * run.periods("")) << run.text();
  EXPECT_GT(5 * run.periods("inner task"), both) << run.text();  // 200 of 350 ms
  EXPECT_GT(20 * run.periods("outer task"), both) << run.text();
  if (!samples_loops) return;
  EXPECT_EQ(run.periods("inner task", "work_of_outer"), 0u) << run.text();
  EXPECT_GT(10 * run.periods("outer task", "work_of_outer"), 8 * run.periods("outer task")) << run.text();
}

TEST(SampledStacks, ASuspendedTaskIsNotSampled) {
  static const task_info waits{probe::register_name("waiting task")}, works{probe::register_name("working task")};
  const auto run = sampled("waits", [] {
    task_group g;
    for (int i = 0; i < 4; ++i) g.run(waits, [] { this_thread::sleep_for(std::chrono::milliseconds(150)); });
    for (int i = 0; i < 4; ++i) g.run(works, [] { sampled_work(0.03); });
    g.wait();
  });
  EXPECT_GT(10 * run.periods("working task"), 7 * run.periods("")) << run.text();
  EXPECT_LT(20 * run.periods("waiting task"), run.periods("")) << run.text();
}

TEST(SampledStacks, TheProgramsOwnThreadAndTheDeterministicModeAreSampled) {
  static const task_info conducted{probe::register_name("conducted task")};
  const auto run = sampled(
      "deterministic", [] { async(conducted, [] { sampled_work(0.1); }).get(); }, true);
  EXPECT_GT(10 * run.periods("conducted task"), 8 * run.periods("")) << run.text();
}

TEST(SampledStacks, TwoRuntimesHaveTheirOwnSamples) {
  static const task_info first{probe::register_name("first runtime")}, second{probe::register_name("second runtime")};
  stacks_of_run inner("");
  bool once = false;
  const auto outer = sampled("first", [&] {
    async(first, [] { sampled_work(0.05); }).get();
    if (std::exchange(once, true)) return;
    std::thread([&] { inner = sampled("second", [] { async(second, [] { sampled_work(0.05); }).get(); }); }).join();
  });
  EXPECT_GT(inner.periods("second runtime"), 0u);
  EXPECT_EQ(inner.periods("first runtime"), 0u);
  EXPECT_GT(outer.periods("first runtime"), 0u);
  EXPECT_EQ(outer.periods("second runtime"), 0u);
}

}  // namespace
}  // namespace plx
