// Where a task comes from: its number, who made it ready, when, and the longest path of tasks that leads there. Exists
// only while measurement wants to know (probe::wanted), and for a sample of the tasks otherwise.
//
// Thread safety: an origin belongs to whoever holds the task or the future; inputs are noted by many at a time. Cost:
// without anybody who wants to know, a relaxed load per task; else see docs/probe.md. Memory: 64 pooled bytes per task
// that is ready or waits. Example: origin_test.cpp.
//
// The graph that comes out: tasks are nodes, and joins, where inputs meet (a when_all, the end of a group). An edge
// says that its end could not go on before its beginning had come so far. Edges are given to the log of the worker that
// knows both ends: who begins a task tells who made it ready; who ends one tells the join it goes to; who reads a
// result that is there already tells who made it.
#pragma once

#include <atomic>

#include "probe/record/worker_log.hpp"
#include "rt/core/task.hpp"

namespace plx::detail {

struct worker;

struct origin {
  probe::task_id id = 0;       // of the task, or of the join
  probe::task_id cause = 0;    // who made it ready, as far as no edge has said so
  std::atomic<ticks> when{0};  // it became ready, or its last input came
  std::atomic<ticks> path{0};  // the longest path that leads here
};

/// The memory of an origin that nobody has, kept by a worker.
struct spare_origin {
  spare_origin* next;
};

[[nodiscard]] inline bool origins_wanted() noexcept {
  return probe::wanted.load(std::memory_order_relaxed) % probe::wants_events != 0;
}

/// One in so many tasks tells how long it lay ready even if nobody wants origins.
inline constexpr std::uint64_t ready_sample = 128;

/// The caller, on worker `w` or on a foreign thread, makes `t` ready: it is submitted now.
void note_ready(worker* w, task& t) noexcept;
/// `t` begins on `w`, whose id and path are 0.
void note_begin(worker& w, task& t) noexcept;
/// The running task is suspended: `t` will make it go on.
void note_suspended(worker& w, task& t) noexcept;

/// The caller is one of several inputs of `join`: a join's, or, when `of_task`, of a task that is not submitted yet.
/// Before the last one may go on.
void note_input(origin*& join, bool of_task) noexcept;
/// The running task goes on after all inputs have come: waits for nothing more. Frees the join.
void note_inputs_taken(origin*& join) noexcept;

/// The running task has made a result, and, `at_end`, does nothing more. Before anybody can see it.
void note_made(origin*& made_by, bool at_end) noexcept;
/// What the running task does from now on is told as of this moment, without further looks at the clock, until
/// note_going_on(). False when nobody wants to know, or it is so already.
[[nodiscard]] bool note_moment() noexcept;
/// The running task, or a continuation in its frame, calls user code.
void note_going_on() noexcept;
/// The running task reads a result that was there.
void note_read(const origin& made_by) noexcept;
/// The same by the only reader: nobody else looks at it any more, so it is freed, but for a join.
void note_taken(origin*& made_by) noexcept;
void free_origin(origin* o) noexcept;
/// The runtime of `w` ends: what the calling thread has seen of it is no cause any more. Another one's tasks may have
/// the same ids some time.
void forget_seen(worker& w) noexcept;
/// Gives what `w` keeps back to the pool.
void free_spare_origins(worker& w) noexcept;

/// The running task, while it calls one of its children in its own frame. That one comes from it, and it goes on when
/// the child has ended.
class caller_origin {
 public:
  /// `child` begins now.
  caller_origin(worker& w, task& child) noexcept;
  /// The child has ended.
  void goes_on(worker& w) const noexcept;

 private:
  probe::task_id id_;
  ticks path_;
};

/// While one of these lives, and the caller does nothing but firing continuations, what it makes ready or joins comes
/// from a result that is passed on. Null: nothing changes.
class made_ready_by {
 public:
  explicit made_ready_by(const origin* result) noexcept;
  ~made_ready_by();
  made_ready_by(const made_ready_by&) = delete;
  made_ready_by& operator=(const made_ready_by&) = delete;

  // Copies: the result may be gone before the last continuation is fired.
  probe::task_id id = 0;
  ticks path = 0;

 private:
  worker* worker_ = nullptr;
  const made_ready_by* before_ = nullptr;
};

}  // namespace plx::detail
