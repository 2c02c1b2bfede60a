// Waits in tests for the work of other threads: until the event, however late it occurs on a busy machine, and not for
// a time within which it should have occurred.
#pragma once

#include <chrono>
#include <thread>

namespace plx {

/// Longer than any machine delays a test, shorter than the time limit of a test: an event that has not occurred by then
/// never will.
inline constexpr std::chrono::seconds test_timeout{300};

/// Evaluates f() repeatedly and calls pause() in between; a task passes this_thread::yield. Returns true as soon as f()
/// is true, false if that takes longer than `test_timeout`.
template <class F, class Pause>
[[nodiscard]] bool comes_true(F&& f, Pause&& pause) {
  for (const auto end = std::chrono::steady_clock::now() + test_timeout; !f(); pause())
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}
/// The same, every millisecond.
template <class F>
[[nodiscard]] bool comes_true(F&& f) {
  return comes_true(f, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

}  // namespace plx
