#include "control/worker_cap_follower.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "control/tuning_search.hpp"

namespace plx::probe {

worker_cap_follower::worker_cap_follower(worker_cap_options o)
    : options_(o), kept_(std::max(o.workers, 1u)), rest_length_(o.rest) {
  next_trial();
}

// all, trial, trial, all, all, trial, ...: each pair contains one of both, in alternating order.
bool worker_cap_follower::turn_is_trial() const noexcept { return comparing_ && (turn_ + 1) / 2 % 2 == 1; }

void worker_cap_follower::measured(double throughput) {
  if (!(throughput > 0) || !std::isfinite(throughput)) return;
  if (!comparing_) return rest(throughput);
  const bool is_trial = turn_is_trial();
  ++turn_;
  if (turn_ % 2 == 1) {
    first_of_pair_ = throughput;
    return;
  }
  pair_done(is_trial ? throughput / first_of_pair_ : first_of_pair_ / throughput);
}

void worker_cap_follower::begin(unsigned trial) {
  trial_ = trial;
  comparing_ = true;
  turn_ = 0;
  ratios_.clear();
}

void worker_cap_follower::pair_done(double ratio) {
  ratios_.insert(std::upper_bound(ratios_.begin(), ratios_.end(), ratio), ratio);
  const double limit = (1 - options_.tolerance) * best_ratio_;
  const auto n = static_cast<int>(ratios_.size());
  const auto bounds = detail::bounds_of_median(ratios_, options_.doubt);
  // Keeping all workers unnecessarily costs no time, but trying too few for long does. So a trial that looks worse ends
  // without proof: at once if far below the limit, soon if slightly below.
  const double far = limit - 3 * options_.tolerance;
  if ((n == 2 && ratios_.back() < far) || (n >= 5 && bounds.median < far)) return end(false, "clearly lower");
  if (n >= 12 && bounds.median < limit) return end(false, "lower");
  if (bounds.low >= limit) return end(true, "equivalent");
  if (bounds.high < limit) return end(false, "lower");
  if (n >= options_.most_pairs) end(trial_ == kept_, "inconclusive");
}

void worker_cap_follower::end(bool enough, const char* verdict) {
  const double median = detail::bounds_of_median(ratios_, 1).median;
  why_ = fmt::format("the throughput of {} is {:.3f} x that of {} (median of {}): {}", plural(trial_, "worker"), median,
                     options_.workers, plural(ratios_.size(), "pair"), verdict);
  if (enough) best_ratio_ = std::max(best_ratio_, median);
  comparing_ = false;
  if (enough != (trial_ == kept_)) rest_length_ = options_.rest;  // something changed
  if (!enough) too_few_ = trial_;
  if (!enough && trial_ == kept_) kept_ = options_.workers;
  if (enough) kept_ = trial_;
  next_trial();
}

// A step that is small relative to the cap is not worth a comparison.
void worker_cap_follower::next_trial() {
  if (kept_ - too_few_ > std::max(1u, kept_ / 8)) return begin((kept_ + too_few_) / 2);
  resting_ = 0;
  rest_mean_ = 0;
}

void worker_cap_follower::rest(double throughput) {
  constexpr std::int64_t sure = 8;  // measurements
  const bool other =
      resting_ > sure && std::abs(throughput - rest_mean_) > options_.other_phase * std::max(throughput, rest_mean_);
  // The mean follows similar values; a different level must occur several times.
  strange_ = other ? strange_ + 1 : 0;
  ++resting_;
  if (!other) rest_mean_ += (throughput - rest_mean_) / static_cast<double>(std::min(resting_, sure));
  if (strange_ < 4 && resting_ < rest_length_) return;
  rest_length_ = strange_ >= 4 ? options_.rest : std::min(2 * rest_length_, 16 * options_.rest);
  strange_ = 0;
  too_few_ = 0;
  best_ratio_ = 1;
  if (kept_ < options_.workers) return begin(kept_);
  next_trial();
}

}  // namespace plx::probe
