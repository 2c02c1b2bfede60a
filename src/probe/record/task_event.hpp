// What happens to tasks, told to one who watches. For policies; what is told nobody pays nothing.
//
// Thread safety: on_event is called by any worker, several at a time, between the pieces of tasks. Cost: while somebody
// watches, a virtual call per event; else a test of a bit. Example: probe/task_event_test.cpp
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "probe/record/names.hpp"

namespace plx::probe {

/// What happens to a task.
enum class task_event_kind : std::uint8_t { create, start, suspend, resume, stop };

struct task_event {
  task_event_kind kind = task_event_kind::create;
  name_id name = unnamed;
  std::uint64_t key = no_key;
  unsigned worker = 0;
  ticks when = 0;    // create: 0, no clock is read for it
  ticks length = 0;  // suspend: of the piece; stop: of the whole task
};

/// One who is told of each event of each task.
class task_observer {
 public:
  /// Must neither wait nor throw, and should be quick.
  virtual void on_event(const task_event& e) noexcept = 0;

 protected:
  ~task_observer() = default;
};

}  // namespace plx::probe
