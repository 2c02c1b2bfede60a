// Timing for comparisons: core time of the whole process, or wall time.
#pragma once

#include <chrono>
#include <ctime>
#include <thread>

namespace plx::bench {

/// Processor seconds used by all threads of this process.
inline double core_seconds() {
  std::timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Core seconds of `f()`, after a pause in which the threads of previous measurements fall asleep.
template <class F>
double core_time_of(F&& f) {
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  const double begin = core_seconds();
  f();
  return core_seconds() - begin;
}

template <class F>
double wall_time_of(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace plx::bench
