// Strategies that move from a place to a neighbour: hill climbing and simulated annealing.
#include <algorithm>
#include <cmath>
#include <limits>

#include "control/tuning_search.hpp"

namespace plx::probe::detail {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

/// Tries both directions of every parameter (for choices, every word), and moves to a better place at once. After as
/// many moves as there are parameters, their sum is tried as a further move (Hooke, Jeeves (1961)), to follow narrow
/// valleys. A round without improvement halves the steps; when they are minimal, the climb restarts at a random place.
/// The search ends after `climbs` climbs.
class hill_climbing final : public search {
 public:
  static constexpr int climbs = 4;

  explicit hill_climbing(const tuning_options& o) : space_(o.space), random_(o.seed), here_(start_of(space_)) {
    begin_climb();
  }

  std::optional<places> next() override {
    if (here_value_ == none && !tried_here_) return here_;
    while (moves_.empty()) {
      if (shorten()) {
        list_moves();
        continue;
      }
      if (++climb_ == climbs) return std::nullopt;
      here_ = anywhere(space_, random_);
      begin_climb();
      return here_;
    }
    tried_ = std::move(moves_.back());
    moves_.pop_back();
    return tried_;
  }

  void told(double value) override {
    if (!tried_here_) {
      tried_here_ = true;
      here_value_ = value;
      anchor_ = here_;
      return list_moves();
    }
    if (!(value < here_value_)) return;
    here_value_ = value;
    here_ = tried_;
    list_moves();
    if (++better_ % space_.size() == 0) leap();
  }

 private:
  void begin_climb() {
    tried_here_ = false;
    here_value_ = none;
    steps_.clear();
    moves_.clear();
    for (const parameter& p : space_)
      steps_.push_back(p.what == parameter::kind::real ? 0.25 : std::max(1.0, std::floor(most_place(p) / 4)));
  }
  bool shorten() {
    bool any = false;
    for (std::size_t i = 0; i < space_.size(); ++i) {
      const bool real = space_[i].what == parameter::kind::real;
      if (space_[i].what == parameter::kind::choice || steps_[i] <= (real ? 1e-3 : 1.0)) continue;
      steps_[i] = real ? steps_[i] / 2 : std::max(1.0, std::floor(steps_[i] / 2));
      any = true;
    }
    return any;
  }
  void list_moves() {
    moves_.clear();
    for (std::size_t i = 0; i < space_.size(); ++i) {
      if (space_[i].what == parameter::kind::choice) {
        for (std::uint64_t w = 0; w < space_[i].levels(); ++w)
          if (static_cast<double>(w) != here_[i]) move(i, static_cast<double>(w));
        continue;
      }
      for (const double to : {here_[i] - steps_[i], here_[i] + steps_[i]})
        if (to >= 0 && to <= most_place(space_[i])) move(i, to);
    }
    for (std::size_t i = moves_.size(); i > 1; --i) std::swap(moves_[i - 1], moves_[random_.below(i)]);
  }

  void move(std::size_t i, double to) { moves_.emplace_back(here_)[i] = to; }
  void leap() {
    places to = here_;
    for (std::size_t i = 0; i < space_.size(); ++i)
      if (space_[i].what != parameter::kind::choice)
        to[i] = std::clamp(2 * here_[i] - anchor_[i], 0.0, most_place(space_[i]));
    anchor_ = here_;
    moves_.push_back(std::move(to));  // the next one to try
  }

  const parameters space_;
  tuning_random random_;
  places here_, tried_, anchor_;
  std::uint64_t better_ = 0;  // moves to a better place
  double here_value_ = none;
  bool tried_here_ = false;
  std::vector<double> steps_;
  std::vector<places> moves_;  // to be tried, the next one last
  int climb_ = 0;
};

/// Kirkpatrick, Gelatt, Vecchi (1983). The spread of the values at random places is the initial temperature, which
/// decreases by a constant factor to a thousandth of it. Steps become shorter with it.
class annealing final : public search {
 public:
  explicit annealing(const tuning_options& o)
      : space_(o.space),
        random_(o.seed),
        warm_(std::clamp<std::int64_t>(o.budget / 10, 4, 20)),
        budget_(std::max<std::int64_t>(o.budget, warm_ + 1)),
        here_(start_of(space_)) {}

  std::optional<places> next() override {
    if (n_ == 0) return tried_ = here_;
    if (n_ < warm_) return tried_ = anywhere(space_, random_);
    return tried_ = nearby(space_, here_, std::max(0.3 * (1 - progress()), 0.01), random_);
  }

  void told(double value) override {
    ++n_;
    if (n_ <= warm_) {
      if (std::isfinite(value)) seen_.push_back(value);
      if (n_ == warm_) warm_up();
    }
    const bool better = value < here_value_;
    const bool anyway = n_ > warm_ && random_.uniform() < std::exp((here_value_ - value) / temperature());
    if (!better && !anyway) return;
    here_ = tried_;
    here_value_ = value;
  }

 private:
  [[nodiscard]] double progress() const noexcept {
    return std::min(1.0, static_cast<double>(n_ - warm_) / static_cast<double>(budget_ - warm_));
  }
  [[nodiscard]] double temperature() const noexcept { return spread_ * std::pow(1e-3, progress()); }
  void warm_up() {
    double mean = 0, squares = 0;
    for (const double v : seen_) mean += v / static_cast<double>(seen_.size());
    for (const double v : seen_) squares += (v - mean) * (v - mean) / static_cast<double>(seen_.size());
    spread_ = std::max(std::sqrt(squares), 1e-300);
  }

  const parameters space_;
  tuning_random random_;
  const std::int64_t warm_, budget_;
  std::int64_t n_ = 0;
  places here_, tried_;
  double here_value_ = none;
  double spread_ = 1;
  std::vector<double> seen_;
};

}  // namespace

std::unique_ptr<search> make_hill_climbing(const tuning_options& o) { return std::make_unique<hill_climbing>(o); }
std::unique_ptr<search> make_annealing(const tuning_options& o) { return std::make_unique<annealing>(o); }

}  // namespace plx::probe::detail
