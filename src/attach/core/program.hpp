// The measurement of a program that has no runtime: one recorder, whose workers are the program's threads, and one
// session. plx_probe.h, the hooks of plx-exec, OpenMP and Kokkos all record through it.
//
// A thread takes a row at its first event and gives it back when it ends; a new thread takes the row of one that ended,
// so memory grows with the threads that live at once, not with those that come and go.
// Thread safety: everything. Cost: an event is a look at two words, a read of the clock and some ns of the row.
//   While nothing is measured: one load.
// States: off -> running <-> paused (for some microseconds, see settle()) -> ended. A program that forks is off in the
//   child. Nothing is ever freed, because threads may run until the process is gone.
// Example: tests/exec/any_program_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "attach/core/thread_row.hpp"
#include "base/clock.hpp"
#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/wait_log.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

/// What this thread is to the measurement. In static storage of the thread: no allocation, ready at once.
struct thread_slot {
  thread_row* row = nullptr;
  unsigned inside = 0;  // > 0: in the measurement's own code, whose locks and threads are not the program's
  bool gone = false;    // it has given its row back, and ends
};
#if defined(__GNUC__)
#define PLX_DETAIL_STATIC_TLS \
  [[gnu::tls_model("initial-exec")]]  // no allocation at the first use, as in signal handlers
#else
#define PLX_DETAIL_STATIC_TLS
#endif
PLX_DETAIL_STATIC_TLS extern constinit thread_local thread_slot this_slot;

/// While it lives, nothing that this thread does is measured.
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
    std::string_view main_name = "main";  // the timer of this thread
    bool says_where = false;              // one line on stderr at the end
    bool to_the_end = false;              // the program's own plx_probe_finalize() does not end it
  };
  /// Begins; files will go to s.output. Error: it had begun before, or has ended.
  static result<void> begin(settings s, begin_options o);
  /// Also while settle() pauses it: events wait for its end then.
  static bool measures() noexcept {
    const mode m = state_.load(std::memory_order_relaxed);
    return m == mode::running || m == mode::paused;
  }
  /// Whether begin() was called in this process, and not in the one that it was forked from.
  static bool begun() noexcept;
  /// Null before begin().
  static program* get() noexcept { return the_.load(std::memory_order_acquire); }

  /// Runs f(row, now) for this thread's row, if it is measured and not inside. Returns what f did, or false.
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

  /// This thread gets a row, on which a timer `root` runs until it ends; `cause` is who made it, at `made`. False when
  /// it has none and gets none.
  static bool attach(name_id root = unnamed, task_id cause = 0, ticks made = 0);
  /// This thread ends.
  static void detach() noexcept;
  /// See plx_probe_name_thread.
  void name_thread(std::string_view name);

  /// Cuts the open pieces of all threads, which wait meanwhile, so that readers see all time until now.
  void settle();
  /// Writes the files as things are now.
  result<void> write_now();
  /// Ends, and writes the files. The first call counts; others wait for nothing. In a child of fork it does nothing.
  void finish() noexcept;

  /// False when only the end of the process ends it.
  [[nodiscard]] bool ends_on_request() const noexcept;

  recorder& rec() noexcept;
  counter_registry& counters() noexcept;
  /// As plx_probe_sample.
  void sample(std::string_view name, double value);
  /// This thread is about to wait: the site, or null when record_wait() may find it. See wait_sites::before().
  static const void* site_before(thread_row& row, const void* object, const void* caller) noexcept;
  /// This thread waited for `object`, null for none, at a site that site_before() returned.
  static void record_wait(thread_row& row, const char* kind, const void* object, const void* caller, const void* site,
                          ticks waited) noexcept;
  /// Before code goes away (dlclose): names that can only be found now.
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

/// A call that may block: from here to the end of the block the thread waits for `object`. `kind` lives for ever.
/// Waits within waits are one. If the thread is cancelled meanwhile, it ends as well. errno stays as it is.
class wait_scope {
 public:
  [[gnu::always_inline]] wait_scope(const char* kind, const void* object) noexcept
      : kind_(kind), object_(object), caller_(__builtin_return_address(0)), waits_(begin()) {}
  ~wait_scope() {
    if (waits_) end();
  }
  /// It turned out not to wait: nothing is booked.
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
  bool waits_;  // the last: begin() sets the site
};

}  // namespace plx::probe
