// An event that happens when a test says so, and its counts by task type in a runtime with one worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "probe/monitor/task_counts.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"

namespace plx {

struct counted_by_hand final : probe::count_source {
  std::atomic<std::uint64_t> n{0};
  bool read(probe::event_counts& into) noexcept override { return into[0] = n, true; }
  bool read_from_outside(probe::event_counts& into, double&) const noexcept override { return into[0] = n, true; }
};

class counts_by_hand {
 public:
  /// Requires: one worker.
  explicit counts_by_hand(runtime& rt) : rt_(rt), counts_(rt.recorder(), false, {{"by hand", 1}}, {event_}) {}

  [[nodiscard]] counted_by_hand& event() const noexcept { return *event_; }

  /// Ends counting: afterwards the worker uses no counts, and this object may end before the runtime. Call it once.
  probe::counts_of_tasks sums_at_the_end() {
    rt_.run([] {});  // the worker's slices before this one have ended, and are counted
    rt_.recorder().counting(false);
    rt_.run([] {});  // the slice of the line above has ended
    return counts_.sums();
  }

 private:
  runtime& rt_;
  const std::shared_ptr<counted_by_hand> event_ = std::make_shared<counted_by_hand>();
  const probe::task_counts counts_;
};

}  // namespace plx
