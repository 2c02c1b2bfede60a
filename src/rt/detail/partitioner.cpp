#include "rt/detail/partitioner.hpp"

#include "rt/detail/scheduler.hpp"

namespace plx::detail {

bool own_deque_is_empty() noexcept {
  // Between two pieces others may go on: so the seeds find what depends on the order of pieces.
  if (this_worker()->home.deterministic()) choice_point();
  return this_worker()->deque.empty();
}
bool on_a_worker() noexcept { return this_worker() != nullptr; }

void loop_grain::next(std::int64_t done) noexcept {
  if (worker* w = this_worker(); w != nullptr && w->home.deterministic()) {  // the seed decides, not the clock
    if (done == size_ && w->home.choose(3) == 0) size_ *= 2;
    return;
  }
  static const ticks enough = ticks_from(2e-6), little = ticks_from(0.25e-6);
  const ticks now = now_ticks();
  // Far from enough: the next one is eight times as large, so that short loops look at the clock a few times only.
  if (done == size_ && now - begin_ < enough) size_ *= now - begin_ < little ? 8 : 2;
  begin_ = now;
}

}  // namespace plx::detail
