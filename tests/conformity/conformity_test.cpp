// Programs written with the standard library's names give the same results with plx.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>

#include "report.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using conformity::report;
using program = void (*)(report&);

// Runs a program with std once, and with plx on an external thread and on 1, 2 and 4 workers.
void compare(program with_std, program with_plx) {
  report expected;
  with_std(expected);
  EXPECT_GT(expected.lines().size(), 4u);
  {
    plx::runtime rt({.workers = 2, .bind = false});
    report external;
    with_plx(external);
    EXPECT_EQ(external.lines(), expected.lines()) << "from an external thread";
  }
  for (unsigned workers : {1u, 2u, 4u}) {
    plx::runtime rt({.workers = workers, .bind = false});
    report ours;
    rt.run([&] { with_plx(ours); });
    EXPECT_EQ(ours.lines(), expected.lines()) << workers << " workers";
  }
}

TEST(conformity, futures) { compare(conformity::with_std::futures, conformity::with_plx::futures); }
TEST(conformity, locks) { compare(conformity::with_std::locks, conformity::with_plx::locks); }
TEST(conformity, threads) { compare(conformity::with_std::threads, conformity::with_plx::threads); }

TEST(conformity, timed_waits) { compare(conformity::with_std::timed_waits, conformity::with_plx::timed_waits); }

struct switches {
  conformity::walkers_result result;
  long voluntary = 0;
  long involuntary = 0;
  double seconds = 0;
};

template <class Run>
switches counted(const char* name, Run run) {
  rusage before{}, after{};
  const auto begin = std::chrono::steady_clock::now();
  getrusage(RUSAGE_SELF, &before);
  switches s;
  s.result = run();
  getrusage(RUSAGE_SELF, &after);
  s.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  s.voluntary = after.ru_nvcsw - before.ru_nvcsw;
  s.involuntary = after.ru_nivcsw - before.ru_nivcsw;
  std::printf("%s: %ld voluntary and %ld involuntary context switches for %llu measurements, %.3f s\n", name,
              s.voluntary, s.involuntary, static_cast<unsigned long long>(s.result.measured), s.seconds);
  return s;
}

TEST(conformity, walkers_and_accumulators) {
  const conformity::walkers_options options{};
  const auto threads = counted("std", [&] { return conformity::with_std::walkers(options); });
  plx::runtime rt({.workers = 2, .bind = false});
  const auto tasks = counted("plx", [&] { return rt.run([&] { return conformity::with_plx::walkers(options); }); });
  EXPECT_EQ(threads.result.measured, options.measurements);
  EXPECT_EQ(tasks.result.measured, options.measurements);
  EXPECT_EQ(tasks.result.sum, threads.result.sum);
  // A thread that waits for an accumulator causes a context switch of the kernel; a task does not.
  EXPECT_LT(tasks.voluntary, threads.voluntary);
}

TEST(conformity, walkers_on_every_schedule) {
  const conformity::walkers_options options{.walkers = 3, .accumulators = 2, .measurements = 30};
  const auto expected = conformity::with_std::walkers(options);
  plx::testing::on_every_schedule([&] {
    const auto ours = conformity::with_plx::walkers(options);
    EXPECT_EQ(ours.sum, expected.sum);
    EXPECT_EQ(ours.measured, options.measurements);
  });
}

}  // namespace
