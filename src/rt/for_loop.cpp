#include "rt/for_loop.hpp"

#include "rt/detail/scheduler.hpp"

namespace plx::detail {

bool own_deque_is_empty() noexcept { return this_worker()->deque.empty(); }
bool on_a_worker() noexcept { return this_worker() != nullptr; }

void loop_grain::end(std::int64_t done) noexcept {
  static const ticks enough = ticks_from(2e-6);
  if (done == size_ && now_ticks() - begin_ < enough) size_ *= 2;
}

}  // namespace plx::detail
