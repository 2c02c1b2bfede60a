// The unit of scheduling: a function and the data that measurement needs about it.
//
// A task is a plain struct that lives wherever its creator puts it (in the parent's frame, in one allocation with a
// future's state, in a fiber). The scheduler only holds pointers. See docs/runtime.md, "The life of a task".
#pragma once

#include <cstdint>

#include "probe/record/names.hpp"

namespace plx {

/// high: runs before all other ready tasks. low: runs when a worker would otherwise be idle.
enum class priority : std::uint8_t { normal, high, low };

/// Where and when a task runs, if requested. All zero is the default: by any worker, with normal priority, on a stack
/// of the runtime's ordinary size.
struct task_placement {
  plx::priority priority = plx::priority::normal;
  std::uint8_t stack = 0;    // class of its stack's size, see stack_class(); 0: the runtime's ordinary one
  std::uint16_t worker = 0;  // one more than the index of the only worker that runs it, also after a wait; 0: any

  [[nodiscard]] constexpr bool ordinary() const noexcept {
    return priority == plx::priority::normal && stack == 0 && worker == 0;
  }
  friend constexpr bool operator==(const task_placement&, const task_placement&) = default;
};

/// Identifies a task to the scheduler and to measurement: its name, the object it works on (a block of a mesh, a Markov
/// chain), and where it runs.
struct task_info {
  probe::name_id name = 0;
  task_placement where{};
  std::uint64_t key = probe::no_key;

  constexpr task_info() noexcept = default;
  constexpr task_info(probe::name_id n, std::uint64_t k = probe::no_key, task_placement w = {}) noexcept
      : name(n), where(w), key(k) {}
  friend constexpr bool operator==(const task_info&, const task_info&) = default;
};

namespace detail {

/// The caller of the task: the worker loop, or the frame that waits for it and runs it inline from its own deque.
enum class run_mode : bool { scheduled, run_inline };

struct origin;  // origin.hpp

struct task {
  using run_function = void (*)(task*, run_mode);

  run_function run = nullptr;   // runs the task and disposes of it; `this` may be gone when it returns
  const void* owner = nullptr;  // the task_group or future state it belongs to, if any
  task* next = nullptr;         // link in a queue
  origin* from = nullptr;       // its origin, while it is measured
  task_info info{};
};

/// Drops the origin of `t`, which will not run as a task of its own.
void forget_origin(task& t) noexcept;

}  // namespace detail
}  // namespace plx
