// Events of tasks, delivered to an observer; used by policies.
//
// Thread safety: on_event() is called by any worker, concurrently, between slices. Cost: a virtual call per event while
// there is an observer; otherwise a test of a bit. Example: control/test/policy_test.cpp
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "probe/record/names.hpp"

namespace plx::probe {

/// The kinds of events of a task.
enum class task_event_kind : std::uint8_t { create, start, suspend, resume, stop };

struct task_event {
  task_event_kind kind = task_event_kind::create;
  name_id name = unnamed;
  std::uint64_t key = no_key;
  unsigned worker = 0;
  ticks when = 0;    // create: 0, the clock is not read
  ticks length = 0;  // suspend: of the slice; stop: of the whole task
};

/// Receives every event of every task.
class task_observer {
 public:
  /// Must not block or throw, and should be fast.
  virtual void on_event(const task_event& e) noexcept = 0;

 protected:
  ~task_observer() = default;
};

}  // namespace plx::probe
