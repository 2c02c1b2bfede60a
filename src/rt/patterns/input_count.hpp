// Counts the inputs of the next action and records them for measurement: for programs that manage their own
// dependencies, such as a mesh whose blocks wait for their neighbours.
//
// Thread safety: arrive() from any thread; reset(), post() and passed() only while no other thread can arrive, such as
// by the last arrival. Cost: one locked decrement per input; one edge more while a trace is recorded.
// Memory order: writes before an arrive() are visible to the last arrival and to the task that it posts.
// Example: input_count_test.cpp
#pragma once

#include <atomic>
#include <cstdint>

#include "rt/async.hpp"
#include "rt/measure/origin.hpp"

namespace plx {

/// The number of missing inputs, and a record of those that have arrived.
class input_count {
 public:
  input_count() noexcept = default;
  explicit input_count(std::int32_t n) noexcept : missing_(n) {}
  input_count(const input_count&) = delete;
  input_count& operator=(const input_count&) = delete;
  ~input_count() { detail::free_origin(inputs_); }

  /// From now on `n` inputs are missing.
  void reset(std::int32_t n) noexcept { missing_.store(n, std::memory_order_relaxed); }
  /// One input has arrived. True for the last one, whose caller then calls post() or passed().
  [[nodiscard]] bool arrive() noexcept {
    if (detail::origins_wanted()) [[unlikely]]
      detail::note_input(inputs_, false);
    return missing_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// plx::post() of a task that depends on the inputs.
  template <class F>
  void post(task_info info, F&& f) {
    detail::origin* const inputs = std::exchange(inputs_, nullptr);  // the task may start a new count
    {
      const detail::made_ready_by all(inputs);
      plx::post(info, std::forward<F>(f));
    }
    detail::free_origin(inputs);
  }
  /// The running task continues; it depends on the inputs.
  void passed() noexcept {
    if (inputs_ != nullptr) [[unlikely]]
      detail::note_inputs_taken(inputs_);
  }

  /// During its lifetime, all arrivals of the calling task have the same time stamp: for many arrivals in a row, a
  /// trace reads the clock once. Requires: the task does nothing else meanwhile that takes time.
  class moment {
   public:
    /// Starts now; the clock is read only while a trace is recorded.
    moment() noexcept : mine_(detail::origins_wanted() && detail::note_moment()) {}
    ~moment() {
      if (mine_) [[unlikely]]
        detail::note_going_on();
    }
    moment(const moment&) = delete;
    moment& operator=(const moment&) = delete;

   private:
    bool mine_;
  };

 private:
  std::atomic<std::int32_t> missing_{0};
  detail::origin* inputs_ = nullptr;
};

}  // namespace plx
