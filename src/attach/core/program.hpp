// The measurement of a program without the runtime: one recorder, whose workers are the program's threads, and one
// session. plx_probe.h, the hooks of plx-exec, OpenMP and Kokkos all record through it.
//
// A thread takes a row at its first event and releases it when it ends; new threads reuse rows of ended ones, so memory
// grows with the number of concurrent threads, not with the number created.
// Thread safety: all functions. Cost: an event loads two words, reads the clock and takes some ns in the row; while
//   measurement is off, one load.
// States: off -> running <-> paused (for some microseconds, see settle()) -> ended; off in the child of a fork. Memory
//   is never freed, because threads may run until the process ends.
// Example: tests/exec/any_program_test.cpp
#pragma once

#include <atomic>
#include <memory>
#include <string_view>

#include "attach/core/thread_row.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/wait_log.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

class message_list;  // attach/core/message_list.hpp

/// The measurement's state of this thread. In static thread-local storage: no allocation, available at once.
struct thread_slot {
  thread_row* row = nullptr;
  unsigned inside = 0;  // > 0: in code of the measurement, whose locks and threads are not measured
  bool gone = false;    // the thread has released its row and ends
};
#if defined(__GNUC__)
#define PLX_DETAIL_STATIC_TLS [[gnu::tls_model("initial-exec")]]  // no allocation on first use, also in signal handlers
#else
#define PLX_DETAIL_STATIC_TLS
#endif
PLX_DETAIL_STATIC_TLS extern constinit thread_local thread_slot this_slot;

/// Disables measurement of this thread during its lifetime.
class inside_scope {
 public:
  inside_scope() noexcept { ++this_slot.inside; }
  ~inside_scope() { --this_slot.inside; }
  inside_scope(const inside_scope&) = delete;
  inside_scope& operator=(const inside_scope&) = delete;
};

class program {
 public:
  enum class mode : int { off, running, paused, ended };

  struct begin_options {
    std::string_view main_name = "main";  // timer of this thread
    bool says_where = false;              // prints one line to stderr at the end
    bool to_the_end = false;              // ignores plx_probe_finalize() of the program
  };
  /// Begins; files are written to s.output. Errors: already begun or ended.
  static result<void> begin(settings s, begin_options o);
  /// Also true while settle() pauses it, when events wait.
  static bool measures() noexcept {
    const mode m = state_.load(std::memory_order_relaxed);
    return m == mode::running || m == mode::paused;
  }
  /// True if begin() was called in this process; false in a forked child.
  static bool begun() noexcept;
  /// Null before begin().
  static program* get() noexcept { return the_.load(std::memory_order_acquire); }

  /// Calls f(row, now) for this thread's row, if it is measured. Returns the result of f, or false.
  template <class F>
  static bool event(F&& f) {
    thread_slot& slot = this_slot;
    if (state_.load(std::memory_order_relaxed) == mode::off || slot.inside != 0) return false;
    if (slot.row == nullptr && !attach()) return false;
    ++slot.inside;
    const bool done = enter(*slot.row) && f(*slot.row, now_ticks());
    leave(*slot.row);
    --slot.inside;
    return done;
  }

  /// Assigns a row to this thread, with a timer `root` that runs until the thread ends; `cause` is its creator, at
  /// `made`. Returns false if the thread has no row and cannot get one.
  static bool attach(name_id root = unnamed, task_id cause = 0, ticks made = 0);
  /// Called when this thread ends.
  static void detach() noexcept;
  /// See plx_probe_name_thread.
  void name_thread(std::string_view name);

  /// Ends the open slices of all threads, which wait meanwhile, so that readers see all time up to now.
  void settle();
  /// Writes the files with the current state.
  result<void> write_now();
  /// Ends the measurement and writes the files. Only the first call has an effect; others return at once. In a forked
  /// child it does nothing. `dying`: as in session::finish().
  void finish(bool dying = false) noexcept;

  /// False if only the end of the process ends the measurement.
  [[nodiscard]] bool ends_on_request() const noexcept;

  /// The messages for the trace; null if none is recorded.
  message_list* messages() noexcept;
  /// Whether the settings call this process `number` of a job of `processes`.
  [[nodiscard]] bool is_process(unsigned number, unsigned processes) const noexcept;

  recorder& rec() noexcept;
  counter_registry& counters() noexcept;
  /// As plx_probe_sample.
  void sample(std::string_view name, double value);
  /// Called before this thread waits: returns the site, or null if record_wait() may determine it. See
  /// wait_sites::before().
  static const void* site_before(thread_row& row, const void* object, const void* caller) noexcept;
  /// Records a wait of this thread for `object` (null: none), with the result of site_before().
  static void record_wait(thread_row& row, const char* kind, const void* object, const void* caller, const void* site,
                          ticks waited) noexcept;
  /// Records that this thread held a mutex for a time during which others waited for it, until its release by the code
  /// that returns to `released_in`.
  static void record_hold(thread_row& row, const void* mutex, const void* taken_in, const void* released_in,
                          ticks held) noexcept;
  /// Resolves names that cannot be found after code is unloaded (dlclose).
  void settle_names();

 private:
  program(settings s, begin_options o);
  ~program() = delete;
  static bool enter(thread_row& row) noexcept;
  static void leave(thread_row& row) noexcept { row.busy.store(false, std::memory_order_release); }

  static std::atomic<mode> state_;
  static std::atomic<program*> the_;
  struct parts;
  std::unique_ptr<parts> parts_;
};

/// A call that may block: the thread waits for `object` until the end of the block. `kind` must have static lifetime.
/// Nested waits count as one. Cancellation of the thread also ends the wait. Preserves errno.
class wait_scope {
 public:
  [[gnu::always_inline]] wait_scope(const char* kind, const void* object) noexcept
      : kind_(kind), object_(object), caller_(__builtin_return_address(0)), waits_(begin()) {}
  ~wait_scope() {
    if (waits_) end();
  }
  /// Discards the wait, since the call did not block.
  void was_none() noexcept { object_ = kind_ = nullptr; }
  wait_scope(const wait_scope&) = delete;
  wait_scope& operator=(const wait_scope&) = delete;

 private:
  bool begin() noexcept;
  void end() noexcept;
  const char* kind_;
  const void* object_;
  const void* caller_;
  const void* site_ = nullptr;
  bool waits_;  // last member: begin() sets the site
};

}  // namespace plx::probe
