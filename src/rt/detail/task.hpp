// The unit that the scheduler moves around: a function and what measurement wants to know about it.
//
// A task is a plain struct that lives wherever its maker puts it (in the parent's frame, in one allocation with a
// future's state, in a fiber). The scheduler only holds pointers. See docs/runtime.md, "The life of a task".
#pragma once

#include <cstdint>

#include "probe/names.hpp"

namespace plx {

/// What measurement knows a task by: its name, and the object it works on (a block of a mesh, a Markov chain).
struct task_info {
  probe::name_id name = 0;
  std::uint64_t key = probe::no_key;
};

namespace detail {

/// Who runs the task: the worker loop, or the frame that waits for it and took it back from its own deque.
enum class run_mode : bool { scheduled, taken_back };

struct task {
  using run_function = void (*)(task*, run_mode);

  run_function run = nullptr;   // runs the task and disposes of it; `this` may be gone when it returns
  const void* owner = nullptr;  // the task_group or future state it belongs to, if any
  task* next = nullptr;         // link in the injection queue
  task_info info{};
};

}  // namespace detail
}  // namespace plx
