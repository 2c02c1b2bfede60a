// The origin of a task: its id, what made it ready and when, and the longest path of tasks that leads to it. Origins
// exist only while dependencies are recorded (probe::wanted), and for a sample of the tasks otherwise.
//
// Thread safety: an origin belongs to the holder of the task or the future; inputs are noted by several threads
// concurrently. Cost: a relaxed load per task while nothing is recorded; otherwise see docs/probe.md. Memory: 64 pooled
// bytes per task that is ready or waits. Example: origin_test.cpp.
//
// The resulting graph: nodes are tasks, and joins, where inputs meet (a when_all, the end of a group). An edge means
// that its end could not continue before its beginning had progressed that far. Edges are added to the log of the
// worker that knows both ends: the start of a task records what made it ready; the end of a task records the join it
// contributes to; reading a result that is already available records the task that produced it.
#pragma once

#include <atomic>

#include "probe/record/worker_log.hpp"
#include "rt/core/task.hpp"

namespace plx::detail {

struct worker;
struct delay_pool;  // virtual_delay.hpp

struct origin {
  probe::task_id id = 0;       // id of the task or the join
  probe::task_id cause = 0;    // what made it ready, unless an edge has recorded it
  std::atomic<ticks> when{0};  // when it became ready, or its last input arrived
  std::atomic<ticks> path{0};  // length of the longest path that ends here
};

/// The memory of an unused origin, kept by a worker.
struct spare_origin {
  spare_origin* next;
};

[[nodiscard]] inline bool origins_wanted() noexcept {
  return probe::wanted.load(std::memory_order_relaxed) % probe::wants_events != 0;
}

/// One in this many tasks records how long it was ready, even if no dependencies are recorded.
inline constexpr std::uint64_t ready_sample = 128;

/// The caller, on worker `w` or on an external thread, makes `t` ready: it is being submitted. `here`: to
/// the runtime of `w`.
void note_ready(worker* w, task& t, bool here = true) noexcept;
/// After note_ready() by a thread outside, with virtual speed-ups in the runtime of `any`: that thread has no delays.
void note_ready_outside(const worker& any, task& t) noexcept;
/// `t` starts on `w`, whose id and path are 0.
void note_begin(worker& w, task& t) noexcept;
/// The running task suspends: `t` will resume it.
void note_suspended(worker& w, task& t) noexcept;

/// The caller contributes one of several inputs to `join`: a join or, if `of_task`, a task that is not submitted yet.
/// Called before the last input can release it.
void note_input(origin*& join, bool of_task) noexcept;
/// The running task resumes after all inputs have arrived, without further waiting. Frees the join.
void note_inputs_taken(origin*& join) noexcept;

/// The running task has produced a result and, if `at_end`, does nothing afterwards. Called before the result is
/// visible.
void note_made(origin*& made_by, bool at_end) noexcept;
/// Until note_going_on(), everything that the running task does is recorded with the current time, without further
/// clock reads. False if nothing is recorded, or if this is the case already.
[[nodiscard]] bool note_moment() noexcept;
/// The running task, or a continuation in its frame, calls user code.
void note_going_on() noexcept;
/// The running task reads a result that was already available.
void note_read(const origin& made_by) noexcept;
/// As note_read(), by the only reader: the origin is freed, unless it is a join.
void note_taken(origin*& made_by) noexcept;
void free_origin(origin* o) noexcept;
/// The virtual time of a thread outside at `now`: that of the last result that it has read, or of a worker without
/// debt.
[[nodiscard]] ticks virtual_time_outside(const delay_pool& pool, ticks now) noexcept;
/// The runtime of `w` ends: a result of it that the calling thread has read is no longer a cause. Another runtime's
/// tasks may later have the same ids.
void forget_seen(worker& w) noexcept;
/// Returns the spare origins of `w` to the pool.
void free_spare_origins(worker& w) noexcept;

/// The running task while it runs one of its children inline: the child originates from it, and it resumes after the
/// child has ended. With virtual speed-ups, the delay before either slice. The worker's task_info is that of the slice.
class caller_origin {
 public:
  /// `child` starts now.
  caller_origin(worker& w, task& child) noexcept;
  /// The child has ended.
  void goes_on(worker& w) const noexcept;

 private:
  probe::task_id id_;
  ticks path_;
};

/// During the lifetime of this object, in which the caller only fires continuations, everything that becomes ready
/// originates from the result that is passed on. Null: no effect.
class made_ready_by {
 public:
  explicit made_ready_by(const origin* result) noexcept;
  ~made_ready_by();
  made_ready_by(const made_ready_by&) = delete;
  made_ready_by& operator=(const made_ready_by&) = delete;

  // Copies: the result may be destroyed before the last continuation fires.
  probe::task_id id = 0;
  ticks path = 0, when = 0;

 private:
  worker* worker_ = nullptr;
  const made_ready_by* before_ = nullptr;
};

}  // namespace plx::detail
