#include "rt/algorithm/detail/partitioner.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "rt/core/scheduler.hpp"
#include "rt/measure/loop_tuning.hpp"

namespace plx::detail {

bool own_deque_is_empty() noexcept {
  // Other tasks may run between two chunks, so that the seeds find dependences on the order of chunks.
  if (this_worker()->home.deterministic()) choice_point();
  return this_worker()->deque.empty();
}
bool on_a_worker() noexcept { return this_worker() != nullptr; }

bool events_first(ticks now) { return pass_between_pieces(now); }

static bool chosen() noexcept { return this_worker()->home.deterministic(); }  // the seed decides, not the clock

unsigned shares() noexcept {
  const scheduler& home = this_worker()->home;
  return chosen() ? static_cast<unsigned>(this_worker()->home.choose(3)) : std::bit_width(home.worker_cap() - 1u);
}

// Remembered by the place in the program: the loop of a time step has the same size as in the last step. But the value
// is verified: the same place may run another loop this time, see trial().
void loop_grain::begin(const loop_site& site, std::int64_t n, loop_run& run) noexcept {
  static const ticks usual = ticks_from(2e-6);
  run.piece = usual;
  if (!chosen()) known_ = site.grain.load(std::memory_order_relaxed);
  if (loop_tuning* tuning = this_worker()->home.tuned_loops(); tuning != nullptr && n > 8) [[unlikely]] {
    const loop_tuning::begun b = tuning->begin(site.code, n);
    if (b.piece_ns != 0) {
      run.piece = ticks_from(1e-9 * static_cast<double>(b.piece_ns));
      known_ = static_cast<std::int64_t>(static_cast<double>(known_) * static_cast<double>(run.piece) /
                                         static_cast<double>(usual));
    }
    run.n = n;
    run.place = b.place;
    run.began = now_ticks();
  }
  if (n <= 8) known_ = 0;  // the calls may be long
  if (known_ > 1) size_ = std::clamp(n / 8, std::int64_t{1}, known_);
  begin();
}

void loop_grain::begin() noexcept {
  done_ = 0;
  took_ = 0;
  begin_ = now_ticks();
}

void loop_run::report(bool complete) noexcept {
  const double took_s = complete ? seconds(now_ticks() - began) : std::numeric_limits<double>::quiet_NaN();
  this_worker()->home.tuned_loops()->end(std::exchange(place, nullptr), n, took_s);
}

// Loops at the same place may differ: the type of a body does not determine what a std::function calls. A wrong
// estimate costs at most 32 us: 64 trials of half a chunk each.
void loop_grain::judge(std::int64_t done, ticks piece) noexcept {
  const ticks now = now_ticks(), took = ticks_between(begin_, now);
  begin_ = now;
  if (took > piece / 2)
    size_ = known_ =
        std::max(done * static_cast<std::int64_t>(piece) / static_cast<std::int64_t>(took), std::int64_t{1});
}

void loop_grain::next(std::int64_t done, ticks piece) noexcept {
  if (chosen()) {
    if (done == size_ && this_worker()->home.choose(3) == 0) size_ *= 2;
    return;
  }
  const ticks now = now_ticks(), took = ticks_between(begin_, now);
  begin_ = now;
  done_ += done;
  took_ += took;
  if (took > 2 * piece) {  // the estimate was too large
    size_ = known_ =
        std::max(done * static_cast<std::int64_t>(piece) / static_cast<std::int64_t>(took), std::int64_t{1});
  } else if (done == size_ && took < piece) {
    // Far below the target: the next chunk is eight times as large, so that short loops read the clock only a few
    // times.
    size_ *= took < piece / 8 ? 8 : 2;
  }
}

void loop_grain::remember(loop_site& site) const noexcept {
  if (done_ == 0 || chosen()) return;
  static const double enough = static_cast<double>(ticks_from(2e-6));
  const double fits = static_cast<double>(done_) * enough / (static_cast<double>(took_) + 1);
  site.grain.store(static_cast<std::int64_t>(fits < 1e15 ? fits : 1e15), std::memory_order_relaxed);
}

}  // namespace plx::detail
