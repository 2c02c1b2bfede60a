// Waiting in tests for what other threads do: for the event, however late a busy machine lets it happen, and not for a
// time in which it should have happened.
#pragma once

#include <chrono>
#include <thread>

namespace plx {

/// Longer than any machine makes a test wait, shorter than a test may take: what has not come by then never comes.
inline constexpr std::chrono::seconds test_patience{300};

/// Asks f(), and calls pause() between two times: what a task waits for others with is this_thread::yield. True as soon
/// as it says so, false when that has not been within `test_patience`.
template <class F, class Pause>
[[nodiscard]] bool comes_true(F&& f, Pause&& pause) {
  for (const auto end = std::chrono::steady_clock::now() + test_patience; !f(); pause())
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}
/// As above, every millisecond.
template <class F>
[[nodiscard]] bool comes_true(F&& f) {
  return comes_true(f, [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
}

}  // namespace plx
