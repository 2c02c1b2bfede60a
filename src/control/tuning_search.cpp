// The strategies: exhaustive and random search, a race among candidates whose measurements vary, and those of NLopt.
#include "control/tuning_search.hpp"

#if PLX_HAVE_NLOPT
#include <nlopt.h>
#endif

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace plx::probe::detail {

places start_of(const parameters& space) {
  places at;
  for (const parameter& p : space) at.push_back(p.place_of(p.start));
  return at;
}

median_bounds bounds_of_median(const std::vector<double>& sorted, double doubt) noexcept {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::size_t n = sorted.size();
  if (n == 0) return {infinity, -infinity, infinity};
  const double median = n % 2 == 1 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
  // P(Binomial(n, 1/2) = r) as a logarithm, since 2^-n underflows, and P(Binomial(n, 1/2) < r).
  double log_term = -static_cast<double>(n) * std::log(2.0), below = 0;
  std::size_t r = 0;
  while (r < n / 2 && 2 * (below + std::exp(log_term)) <= doubt) {
    below += std::exp(log_term);
    ++r;
    log_term += std::log(static_cast<double>(n - r + 1) / static_cast<double>(r));
  }
  if (r == 0) return {median, -infinity, infinity};
  return {median, sorted[r - 1], sorted[n - r]};
}

namespace {

double anywhere(const parameter& p, tuning_random& random) {
  return p.what == parameter::kind::real ? random.uniform() : static_cast<double>(random.below(p.levels()));
}

places anywhere(const parameters& space, tuning_random& random) {
  places at;
  for (const parameter& p : space) at.push_back(anywhere(p, random));
  return at;
}

std::uint64_t levels_of(const parameter& p, int grid) noexcept {
  return p.what == parameter::kind::real ? static_cast<std::uint64_t>(std::max(grid, 2)) : p.levels();
}

std::uint64_t grid_size(const parameters& space, int grid) noexcept {
  constexpr double most = 0x1p62;
  double n = 1;
  for (const parameter& p : space) n *= static_cast<double>(levels_of(p, grid));
  return n < most ? static_cast<std::uint64_t>(n) : std::uint64_t{1} << 62;
}

places grid_point(const parameters& space, int grid, std::uint64_t number) {
  places at;
  for (const parameter& p : space) {
    const std::uint64_t levels = levels_of(p, grid);
    const auto level = static_cast<double>(number % levels);
    at.push_back(p.what == parameter::kind::real ? level / static_cast<double>(levels - 1) : level);
    number /= levels;
  }
  return at;
}

class exhaustive_search final : public search {
 public:
  explicit exhaustive_search(const tuning_options& o) : space_(o.space), grid_(o.grid) {}
  std::optional<places> next() override {
    if (next_ == grid_size(space_, grid_)) return std::nullopt;
    return grid_point(space_, grid_, next_++);
  }
  void observe(double) override {}

 private:
  const parameters space_;
  const int grid_;
  std::uint64_t next_ = 0;
};

class random_search final : public search {
 public:
  explicit random_search(const tuning_options& o) : space_(o.space), random_(o.seed) {}
  std::optional<places> next() override {
    if (std::exchange(first_, false)) return start_of(space_);
    return anywhere(space_, random_);
  }
  void observe(double) override {}

 private:
  const parameters space_;
  tuning_random random_;
  bool first_ = true;
};

/// Candidates are measured in rounds, once per round in random order, so that slow drifts affect all of them equally.
/// After rounds 5, 8, 13, 20, 31, ... each gets an interval that contains its median with probability 1 - doubt /
/// (candidates x checks), whatever the distribution (bounds_of_median). A candidate whose interval lies entirely above
/// another one's is dropped. All intervals of all checks hold simultaneously with probability 1 - doubt; then the
/// candidate with the lowest median never lies above another, so it is dropped with probability `doubt` at most. This
/// assumes independent rounds and constant medians. The race ends when one candidate remains, when all remaining ones
/// differ by less than the indifference, or when the budget is spent: then the lowest median wins, without a guarantee.
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

  void observe(double value) override {
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

#if PLX_HAVE_NLOPT

/// NLopt calls the objective function itself, whereas a session is asked for the next place and receives the value
/// later. So for each place the search is rerun from the start, with the same random numbers and the known values,
/// until it requests an unknown one.
class nlopt_search final : public search {
 public:
  nlopt_search(const tuning_options& o, nlopt_algorithm algorithm)
      : space_(o.space), algorithm_(algorithm), budget_(o.budget), seed_(static_cast<unsigned long>(o.seed)) {}

  std::optional<places> next() override {
    replayed_ = 0;
    asked_.clear();
    nlopt_srand(seed_);
    nlopt_opt opt = nlopt_create(algorithm_, static_cast<unsigned>(space_.size()));
    if (opt == nullptr) return std::nullopt;
    places low, high, step, tolerance, x = start_of(space_);
    for (const parameter& p : space_) {
      const bool real = p.what == parameter::kind::real;
      const double last = real ? 1 : static_cast<double>(p.levels() - 1);
      // Integers are rounded; each one, including the ends, gets an interval of the same length.
      low.push_back(real ? 0 : -0.499);
      high.push_back(real ? 1 : last + 0.499);
      step.push_back(real ? 0.25 : std::max(1.0, last / 4));
      tolerance.push_back(real ? 1e-5 : 0.2);
    }
    nlopt_set_lower_bounds(opt, low.data());
    nlopt_set_upper_bounds(opt, high.data());
    nlopt_set_initial_step(opt, step.data());
    nlopt_set_xtol_abs(opt, tolerance.data());
    nlopt_set_maxeval(opt, static_cast<int>(std::min<std::int64_t>(2 * budget_, std::numeric_limits<int>::max())));
    nlopt_set_min_objective(opt, &nlopt_search::value_at, this);
    opt_ = opt;
    double value = 0;
    nlopt_optimize(opt, x.data(), &value);
    opt_ = nullptr;
    nlopt_destroy(opt);
    if (asked_.empty()) return std::nullopt;  // it converged on the known values
    return asked_;
  }

  // NLopt computes with the values, so the worst one must be finite.
  void observe(double value) override { known_.push_back(std::isfinite(value) ? value : 1e300); }

 private:
  static double value_at(unsigned n, const double* x, double*, void* self) {
    auto& me = *static_cast<nlopt_search*>(self);
    if (me.replayed_ < me.known_.size()) return me.known_[me.replayed_++];
    if (me.asked_.empty()) {
      for (unsigned i = 0; i < n; ++i) {
        const parameter& p = me.space_[i];
        me.asked_.push_back(p.place_of(p.value_at(x[i])));
      }
    }
    nlopt_force_stop(me.opt_);
    return std::numeric_limits<double>::max();
  }

  const parameters space_;
  const nlopt_algorithm algorithm_;
  const std::int64_t budget_;
  const unsigned long seed_;
  nlopt_opt opt_ = nullptr;
  std::vector<double> known_;  // in the order of the requests
  std::size_t replayed_ = 0;
  places asked_;
};

std::unique_ptr<search> make_nlopt(const tuning_options& o) {
  const nlopt_algorithm algorithm = o.how == strategy::nelder_mead ? NLOPT_LN_NELDERMEAD
                                    : o.how == strategy::subplex   ? NLOPT_LN_SBPLX
                                    : o.how == strategy::bobyqa    ? NLOPT_LN_BOBYQA
                                    : o.how == strategy::direct    ? NLOPT_GN_DIRECT_L
                                                                   : NLOPT_GN_ESCH;
  return std::make_unique<nlopt_search>(o, algorithm);
}

#else

std::unique_ptr<search> make_nlopt(const tuning_options&) { return nullptr; }

#endif

}  // namespace

std::unique_ptr<search> make_search(const tuning_options& o) {
  switch (o.how) {
    case strategy::exhaustive:
      return std::make_unique<exhaustive_search>(o);
    case strategy::random:
      return std::make_unique<random_search>(o);
    case strategy::noise_aware:
      return std::make_unique<race>(o);
    default:
      return make_nlopt(o);
  }
}

}  // namespace plx::probe::detail
