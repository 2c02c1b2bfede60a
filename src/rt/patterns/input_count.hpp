// Counts the inputs of what comes next, and knows them for measurement: for programs that keep their own dependencies,
// such as a mesh whose blocks wait for their neighbours.
//
// Thread safety: arrive() by anyone; reset(), post() and passed() by whoever knows that nobody arrives meanwhile, such
// as the one that arrived last. Cost: one locked decrement per input; while a trace is recorded, an edge more.
// Memory order: what was written before an arrive() is seen by the one that arrives last, and by the task it posts.
// Example: input_count_test.cpp
#pragma once

#include <atomic>
#include <cstdint>

#include "rt/async.hpp"
#include "rt/measure/origin.hpp"

namespace plx {

/// How many inputs are missing, and which have come.
class input_count {
 public:
  input_count() noexcept = default;
  explicit input_count(std::int32_t n) noexcept : missing_(n) {}
  input_count(const input_count&) = delete;
  input_count& operator=(const input_count&) = delete;
  ~input_count() { detail::free_origin(inputs_); }

  /// So many inputs are missing from now on.
  void reset(std::int32_t n) noexcept { missing_.store(n, std::memory_order_relaxed); }
  /// One input is there. True for the last one, who then calls post() or passed().
  [[nodiscard]] bool arrive() noexcept {
    if (detail::origins_wanted()) [[unlikely]]
      detail::note_input(inputs_, false);
    return missing_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  /// plx::post(), of a task that could not begin without the inputs.
  template <class F>
  void post(task_info info, F&& f) {
    detail::origin* const inputs = std::exchange(inputs_, nullptr);  // the task may count anew
    {
      const detail::made_ready_by all(inputs);
      plx::post(info, std::forward<F>(f));
    }
    detail::free_origin(inputs);
  }
  /// The running task goes on, which it could not without the inputs.
  void passed() noexcept {
    if (inputs_ != nullptr) [[unlikely]]
      detail::note_inputs_taken(inputs_);
  }

  /// While one lives, all that the calling task arrives at, it arrives at in the same moment: of many arrivals one
  /// after the other, a trace looks at the clock once. Requires: the task does nothing else meanwhile that takes time.
  class moment {
   public:
    /// Begins now; the clock is read only while somebody records.
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
