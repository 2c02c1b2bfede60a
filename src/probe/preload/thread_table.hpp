// The threads a program had: threads.csv.
//
// Thread safety: none, program.cpp locks. Memory: 120 bytes per thread, at most 2^16 of them; the threads beyond are
// summed by function.
// Example: tests/exec/any_program_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "probe/names.hpp"

namespace plx::probe {

struct thread_record {
  unsigned row = 0;
  int tid = 0;
  std::string name;
  name_id function = unnamed;
  ticks begin = 0;
  ticks end = 0;
  ticks waited = 0;
  double cpu_s = 0;
  double ready_s = unknown;       // runnable without a core; `unknown` where the system does not count it
  std::uint64_t voluntary = 0;    // switches: it gave its core away
  std::uint64_t involuntary = 0;  // it lost its core
  std::uint64_t threads = 1;      // that are summed here
  bool ended = true;

  static constexpr double unknown = -1;
};

class thread_table {
 public:
  void add(thread_record r);
  [[nodiscard]] std::uint64_t threads() const noexcept { return threads_; }
  /// thread,row,tid,name,function,begin_s,end_s,wait_s,cpu_s,ready_s,voluntary_switches,involuntary_switches,state;
  /// `living` are those that still run.
  result<void> write_csv(const std::string& path, ticks origin, const std::vector<thread_record>& living) const;

  static constexpr std::size_t most = std::size_t{1} << 16;

 private:
  std::vector<thread_record> kept_;
  std::map<name_id, thread_record> rest_;
  std::uint64_t threads_ = 0;
};

/// Processor time, time without a core, and context switches of this thread, or of one that still runs, since it was
/// created, into `r`.
void read_usage_of_this_thread(thread_record& r);
void read_usage(thread_record& r, int tid);
/// Seconds that a thread was runnable without a core since it was created: the second number of schedstat. `unknown`
/// when the thread is gone or the system does not count.
double ready_time_s(int tid);
/// What the system calls a thread; "" when it is gone.
std::string system_name(int tid);
std::string system_name_of_this_thread();

}  // namespace plx::probe
