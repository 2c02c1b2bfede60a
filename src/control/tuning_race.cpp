// A race among candidates whose measurements vary.
//
// Candidates are measured in rounds, once per round in random order, so that slow drifts affect all of them equally.
// After rounds 5, 8, 13, 20, 31, ... each gets an interval that contains its median with probability 1 - doubt /
// (candidates x checks), whatever the distribution (bounds_of_median). A candidate whose interval lies entirely above
// another one's is dropped. All intervals of all checks hold simultaneously with probability 1 - doubt; then the
// candidate with the lowest median never lies above another, so it is dropped with probability `doubt` at most. This
// assumes independent rounds and constant medians. The race ends when one candidate remains, when all remaining ones
// differ by less than the indifference, or when the budget is spent: then the lowest median wins, without a guarantee.
#include <algorithm>
#include <cmath>
#include <limits>

#include "control/tuning_search.hpp"

namespace plx::probe::detail {

median_bounds bounds_of_median(const std::vector<double>& sorted, double doubt) noexcept {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::size_t n = sorted.size();
  if (n == 0) return {infinity, -infinity, infinity};
  const double median = n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
  double term = std::exp2(-static_cast<double>(n)), below = 0;  // P(Binomial(n, 1/2) = r), and P(Binomial(n, 1/2) < r)
  std::size_t r = 0;
  while (r < n / 2 && 2 * (below + term) <= doubt) {
    below += term;
    ++r;
    term *= static_cast<double>(n - r + 1) / static_cast<double>(r);
  }
  if (r == 0) return {median, -infinity, infinity};
  return {median, sorted[r - 1], sorted[n - r]};
}

namespace {

class race final : public search {
 public:
  explicit race(const tuning_options& o) : doubt_(o.doubt), indifference_(o.indifference), random_(o.seed) {
    constexpr std::int64_t least_rounds = 12;
    const std::uint64_t all = grid_size(o.space, o.grid);
    const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(o.budget / least_rounds, 2));
    add(start_of(o.space));
    if (all <= most)
      for (std::uint64_t i = 0; i < all; ++i) add(grid_point(o.space, o.grid, i));
    for (std::uint64_t tries = 0; all > most && runners_.size() < most && tries < 20 * most; ++tries)
      add(anywhere(o.space, random_));
    n_candidates_ = runners_.size();
    for (std::int64_t round = first_look; 2 * round <= o.budget; round = after(round)) ++looks_;
    looks_ = std::max(looks_, 1);
  }

  [[nodiscard]] bool repeats() const noexcept override { return true; }

  std::optional<places> next() override {
    if (runners_.size() == 1 || equal_) return std::nullopt;
    if (turn_.empty()) begin_round();
    return runners_[turn_.back()].at;
  }

  void told(double value) override {
    runner& r = runners_[turn_.back()];
    r.values.insert(std::upper_bound(r.values.begin(), r.values.end(), value), value);
    turn_.pop_back();
    if (turn_.empty() && ++rounds_ == next_look_) look();
  }

  [[nodiscard]] std::optional<found> best() const override {
    const runner* least = nullptr;
    const runner* start = nullptr;
    for (const runner& r : runners_) {
      if (r.values.empty()) continue;
      if (r.is_start) start = &r;
      if (least == nullptr || median(r) < median(*least)) least = &r;
    }
    if (least == nullptr) return std::nullopt;
    if (start != nullptr && median(*start) - median(*least) <= indifference_ * std::abs(median(*least))) least = start;
    return found{least->at, median(*least), runners_.size() == 1 || equal_};
  }

 private:
  struct runner {
    places at;
    bool is_start;
    std::vector<double> values{};  // sorted
  };
  static constexpr std::int64_t first_look = 5;
  static std::int64_t after(std::int64_t look) noexcept { return look + look / 2 + 1; }
  static double median(const runner& r) noexcept { return bounds_of_median(r.values, 1).median; }

  void add(places at) {
    const bool there = std::any_of(runners_.begin(), runners_.end(), [&](const runner& r) { return r.at == at; });
    if (!there) runners_.push_back({std::move(at), runners_.empty()});
  }
  void begin_round() {
    for (std::size_t i = 0; i < runners_.size(); ++i) turn_.push_back(i);
    for (std::size_t i = turn_.size(); i > 1; --i) std::swap(turn_[i - 1], turn_[random_.below(i)]);
  }
  void look() {
    next_look_ = after(next_look_);
    const double doubt = doubt_ / static_cast<double>(n_candidates_) / looks_;
    double least_high = std::numeric_limits<double>::infinity();
    for (const runner& r : runners_) least_high = std::min(least_high, bounds_of_median(r.values, doubt).high);
    std::erase_if(runners_, [&](const runner& r) { return bounds_of_median(r.values, doubt).low > least_high; });
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const runner& r : runners_) {
      const median_bounds b = bounds_of_median(r.values, doubt);
      low = std::min(low, b.low);
      high = std::max(high, b.high);
    }
    equal_ = indifference_ > 0 && std::isfinite(high - low) && high - low <= indifference_ * std::abs(low);
  }

  const double doubt_, indifference_;
  tuning_random random_;
  std::vector<runner> runners_;  // not dropped
  std::size_t n_candidates_ = 0;
  int looks_ = 0;
  std::vector<std::size_t> turn_;  // not yet measured in this round
  std::int64_t rounds_ = 0, next_look_ = first_look;
  bool equal_ = false;
};

}  // namespace

std::unique_ptr<search> make_race(const tuning_options& o) { return std::make_unique<race>(o); }

}  // namespace plx::probe::detail
