#include "rt/detail/timer_slack.hpp"

#include <utility>

#if defined(__linux__)
#include <sys/prctl.h>
#endif

namespace plx::detail {

bool sleep_sharply(bool sharply) noexcept {
  thread_local bool sharp = false;
  if (sharply == sharp) [[likely]]
    return sharp;
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, sharply ? 1ul : 0ul);  // nanoseconds; 0: what the thread had at first
#endif
  return std::exchange(sharp, sharply);
}

}  // namespace plx::detail
