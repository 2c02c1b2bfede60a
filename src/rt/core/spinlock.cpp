#include "rt/core/spinlock.hpp"

#include <sched.h>

namespace plx::detail {

void spinlock::wait_until_free() noexcept {
  for (unsigned i = 0; locked_.load(std::memory_order_relaxed); ++i) {
    if (i < 100)
      cpu_relax();
    else
      sched_yield();
  }
}

}  // namespace plx::detail
