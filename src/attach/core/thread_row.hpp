// What one thread of a program measures: its open timers and waits, and the logs they go to.
//
// A timer that is interrupted by another one within it, or by a wait, ends a piece, as a suspended task does: pieces of
// a row never overlap, and the profile's times are exclusive. Inclusive times go to a log of their own.
// Thread safety: a row belongs to one thread at a time (a new thread takes the row of one that ended); cut(), close()
//   may be called by another while the owner is kept out, see program::settle(). Cost: some ns and one read of the
//   clock.
// Example: attach/core/test/thread_row_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "attach/core/wait_sites.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "probe/record/names.hpp"
#include "probe/record/worker_log.hpp"

namespace plx::probe {

// The threads a program had: threads.csv.
//
// Thread safety: none, program.cpp locks. Memory: 120 bytes per thread, at most 2^16 of them; the threads beyond are
// summed by function.
// Example: tests/exec/any_program_test.cpp

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

/// A timer that was taken off its thread.
struct paused_timer {
  name_id name = unnamed;
  std::uint64_t key = no_key;
  ticks begin = 0;
  ticks earlier = 0;  // time that it ran itself
  ticks away = 0;     // inclusive time is now - begin; since when it does not run
};

class thread_row {
 public:
  thread_row(unsigned index, worker_log& log) : index_(index), log_(log) { stack_.reserve(64); }

  // For its thread.

  /// `cause`: the timer of another thread that brought this one about at `made`, in a trace.
  void start(name_id name, std::uint64_t key, ticks now, task_id cause = 0, ticks made = 0);
  /// The innermost timer's number in the trace; 0 without a trace.
  [[nodiscard]] task_id current() const noexcept { return stack_.empty() ? 0 : stack_.back().id; }
  /// False when `name` was not the innermost timer: those within it were stopped too, or it was not started at all.
  bool stop(name_id name, ticks now);
  /// Takes the innermost timer off. False when there is none.
  bool yield(paused_timer& out, ticks now);
  void resume(const paused_timer& timer, ticks now);
  /// The thread begins to wait. False when it waits already: then there is no end_wait() either.
  bool begin_wait(ticks now);
  /// The time that it waited, without timers that ran meanwhile.
  ticks end_wait(ticks now);
  [[nodiscard]] bool waits() const noexcept { return !stack_.empty() && stack_.back().wait; }

  // For its thread, or for another while it is kept out.

  /// Ends the piece that is open, and begins the next: so that readers see all time up to now.
  void cut(ticks now);
  /// Stops whatever is open.
  void close(ticks now);
  /// A thread takes the row: sums of its own begin.
  void begin_thread(ticks now) noexcept {
    begin_ = now;
    waited_.store(0, std::memory_order_relaxed);
  }

  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] ticks began() const noexcept { return begin_; }
  /// Time that this thread has waited. Anyone may ask while it runs.
  [[nodiscard]] ticks waited() const noexcept { return waited_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t depth() const noexcept { return stack_.size(); }
  [[nodiscard]] worker_log& log() noexcept { return log_; }
  /// Calls and inclusive times, those of a timer within itself left out.
  [[nodiscard]] const worker_log& inclusive() const noexcept { return inclusive_; }
  /// Stops that did not fit their starts, of all threads that had the row.
  [[nodiscard]] std::uint64_t misfits() const noexcept { return misfits_.load(std::memory_order_relaxed); }

  /// Of the thread alone.
  [[nodiscard]] recent_sites& sites() noexcept { return sites_; }

  /// Set while the thread is in one of the functions above: see program::settle().
  std::atomic<bool> busy{false};

 private:
  struct open {
    name_id name;
    bool wait;
    bool within_itself;
    std::uint64_t key;
    ticks begin;
    ticks piece;
    ticks earlier;
    task_id id = 0;     // in a trace, so that its pieces belong together,
    task_id cause = 0;  // and the timer around it is known; told with the first piece,
    ticks made = 0;     // and when that was
  };
  void record(open& top, ticks now, bool finished) noexcept;
  void push(open o);
  void pop(ticks now);
  [[nodiscard]] bool is_open(name_id name) const noexcept;

  const unsigned index_;
  worker_log& log_;
  worker_log inclusive_;
  std::vector<open> stack_;
  recent_sites sites_;
  ticks begin_ = 0;
  detail::counter waited_{0};
  detail::counter misfits_{0};
};

}  // namespace plx::probe
