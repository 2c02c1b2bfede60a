// Progress points: a program says that it has completed a unit of its work, such as a step.
//
//   plx::progress("step");
//
// Thread safety: any thread. Cost: a relaxed load while nothing listens; with virtual speed-ups
// (rt/measure/speedup.hpp) a lock, so for units of 10 us and more. Example: control/test/speedup_plan_test.cpp
#pragma once

#include <atomic>
#include <string_view>

namespace plx {
namespace probe {

/// Receives progress points. One call at a time.
class progress_listener {
 public:
  /// The program has passed a point of that name.
  virtual void passed(std::string_view name) noexcept = 0;

 protected:
  ~progress_listener() = default;
};

/// From now on `l` receives the progress points of the process. False if there is another listener.
bool listen_to_progress(progress_listener& l);
/// After it returns, `l` receives none. No effect if it did not listen.
void ignore_progress(progress_listener& l) noexcept;

namespace detail {
inline std::atomic<bool> progress_wanted{false};
void pass_progress(std::string_view name) noexcept;
}  // namespace detail

}  // namespace probe

/// The program has completed a unit of work, of which a faster program completes more per second. Points of different
/// names are counted separately.
inline void progress(std::string_view name) noexcept {
  if (probe::detail::progress_wanted.load(std::memory_order_relaxed)) [[unlikely]]
    probe::detail::pass_progress(name);
}

}  // namespace plx
