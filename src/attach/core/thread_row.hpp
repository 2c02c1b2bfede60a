// The measurement of one thread of a program: its open timers and waits, and their logs.
//
// A timer interrupted by a nested timer or by a wait ends its slice, like a suspended task: slices of a row never
// overlap, and the profile's times are exclusive. Inclusive times go to a separate log.
// Thread safety: a row belongs to one thread at a time (new threads reuse rows of ended ones); another thread may call
//   cut() and close() while the owner is paused, see program::settle(). Cost: some ns and one read of the clock.
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
#include "probe/record/wait_log.hpp"
#include "probe/record/worker_log.hpp"

namespace plx::probe {

// The threads of a program: threads.csv.
//
// Thread safety: none; program.cpp locks. Memory: 120 bytes per thread, at most 2^16 of them; further threads are
// summed by function. Example: tests/exec/any_program_test.cpp

struct thread_record {
  unsigned row = 0;
  int tid = 0;
  std::string name;
  name_id function = unnamed;
  ticks begin = 0;
  ticks end = 0;
  ticks waited = 0;
  double cpu_s = 0;
  double ready_s = unknown;       // runnable without a core; `unknown` if the system does not report it
  std::uint64_t voluntary = 0;    // context switches because the thread blocked
  std::uint64_t involuntary = 0;  // context switches by preemption
  std::uint64_t threads = 1;      // number of threads summed here
  bool ended = true;

  static constexpr double unknown = -1;
};

class thread_table {
 public:
  void add(thread_record r);
  [[nodiscard]] std::uint64_t threads() const noexcept { return threads_; }
  /// Writes the columns
  /// thread,row,tid,name,function,begin_s,end_s,wait_s,cpu_s,ready_s,voluntary_switches,involuntary_switches,state;
  /// `living` are the threads still running.
  result<void> write_csv(const std::string& path, ticks origin, const std::vector<thread_record>& living) const;

  static constexpr std::size_t most = std::size_t{1} << 16;

 private:
  std::vector<thread_record> kept_;
  std::map<name_id, thread_record> rest_;
  std::uint64_t threads_ = 0;
};

/// Reads processor time, time without a core, and context switches of this thread, or of another running thread, since
/// its creation.
void read_usage_of_this_thread(thread_record& r);
void read_usage(thread_record& r, int tid);
/// Seconds that a thread was runnable without a core since its creation: the second number of schedstat. `unknown` if
/// the thread has ended or the system does not report it.
double ready_time_s(int tid);
/// The system's name of a thread; "" if it has ended.
std::string system_name(int tid);
std::string system_name_of_this_thread();

/// A timer removed from its thread.
struct paused_timer {
  name_id name = unnamed;
  std::uint64_t key = no_key;
  ticks begin = 0;
  ticks earlier = 0;  // time that it ran before, exclusive
  ticks away = 0;     // since when it does not run; inclusive time is now - begin
};

class thread_row {
 public:
  thread_row(unsigned index, worker_log& log) : index_(index), log_(log) { stack_.reserve(64); }

  // Called by the owner.

  /// `cause`: the timer of another thread that created this one at `made`, for traces.
  void start(name_id name, std::uint64_t key, ticks now, task_id cause = 0, ticks made = 0);
  /// The innermost timer's number in the trace; 0 without a trace.
  [[nodiscard]] task_id current() const noexcept { return stack_.empty() ? 0 : stack_.back().id; }
  /// The same of the timer around the innermost one.
  [[nodiscard]] task_id around() const noexcept { return stack_.size() < 2 ? 0 : stack_[stack_.size() - 2].id; }
  /// False if `name` was not the innermost timer: then nested timers were stopped too, or it was not running.
  bool stop(name_id name, ticks now);
  /// Removes the innermost timer. False if there is none.
  bool yield(paused_timer& out, ticks now);
  void resume(const paused_timer& timer, ticks now);
  /// The thread begins to wait at `asked`, before `now`, or at the last cut() if that was later; 0: at `now`. False if
  /// it already waits; then end_wait() must not be called.
  bool begin_wait(ticks now, ticks asked = 0);
  /// Returns the time waited, excluding timers that ran meanwhile.
  ticks end_wait(ticks now);
  [[nodiscard]] bool waits() const noexcept { return !stack_.empty() && stack_.back().wait; }

  // Called by the owner, or by another thread while the owner is paused.

  /// Ends the open slice and begins the next, so that readers see all time up to now.
  void cut(ticks now);
  /// Stops all open timers and waits.
  void close(ticks now);
  /// A thread takes the row: its own sums begin.
  void begin_thread(ticks now) noexcept {
    begin_ = now;
    waited_.store(0, std::memory_order_relaxed);
  }

  /// The name of the innermost timer, also within waits; `unnamed` if there is none. Can be called from any thread and
  /// in a signal handler.
  [[nodiscard]] name_id innermost() const noexcept { return innermost_.load(std::memory_order_relaxed); }

  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] ticks began() const noexcept { return begin_; }
  /// Time that this thread has waited. Can be called from any thread.
  [[nodiscard]] ticks waited() const noexcept { return waited_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t depth() const noexcept { return stack_.size(); }
  [[nodiscard]] worker_log& log() noexcept { return log_; }
  /// Calls and inclusive times; recursive timers are counted once.
  [[nodiscard]] const worker_log& inclusive() const noexcept { return inclusive_; }
  /// Stops that did not match their starts, of all owners of the row.
  [[nodiscard]] std::uint64_t misfits() const noexcept { return misfits_.load(std::memory_order_relaxed); }

  /// For the owner only.
  [[nodiscard]] recent_sites& sites() noexcept { return sites_; }
  [[nodiscard]] recent_sites& hold_sites() noexcept { return hold_sites_; }
  /// How long locks were held while others waited, by site: lock_holds.hpp. Written by the owner.
  [[nodiscard]] wait_log& holds() noexcept { return holds_; }

  /// Set while the owner is in one of the functions above: see program::settle().
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
    task_id id = 0;     // in a trace; common to its slices
    task_id cause = 0;  // the enclosing timer; recorded with the first slice
    ticks made = 0;     // time of `cause`
  };
  void record(open& top, ticks now, bool finished) noexcept;
  void push(open o);
  void pop(ticks now);
  void note_innermost() noexcept;
  [[nodiscard]] bool is_open(name_id name) const noexcept;

  const unsigned index_;
  worker_log& log_;
  worker_log inclusive_;
  std::vector<open> stack_;
  std::atomic<name_id> innermost_{unnamed};  // in stack_; relaxed, since it stands for no other data
  recent_sites sites_, hold_sites_;
  wait_log holds_;
  ticks begin_ = 0;
  detail::counter waited_{0};
  detail::counter misfits_{0};
};

}  // namespace plx::probe
