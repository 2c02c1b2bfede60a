#include "control/speedup_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

#include "base/text.hpp"
#include "probe/record/text_sink.hpp"

namespace plx::probe {
namespace {

/// The share of the doubt for check `k` = 1, 2, ...: the sum over any number of checks is below 1.
double share_of_check(std::size_t k) { return 6 / std::pow(std::numbers::pi * static_cast<double>(k), 2); }

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return detail::bounds_of_median(values, 1).median;
}

}  // namespace

speedup_plan::speedup_plan(speedup_options o) : options_(std::move(o)), random_(options_.seed) {}

void speedup_plan::add(name_id id) {
  if (std::any_of(types_.begin(), types_.end(), [id](const type& t) { return t.id == id; })) return;
  type& t = types_.emplace_back(type{id, {}});
  for (const unsigned p : options_.percents) t.runners.push_back({p, {}});
}

speedup_plan::experiment speedup_plan::next() {
  if (turn_.empty()) begin_round();
  if (turn_.empty() || before_ == 0 || changed_ != 0) return {};
  const type& t = types_[turn_.back().type];
  return {t.id, t.runners[turn_.back().runner].percent};
}

void speedup_plan::measured(double period) {
  if (!(period > 0) || !std::isfinite(period)) return;
  if (next().percent != 0) {
    changed_ = period;
    return;
  }
  unchanged_.push_back(period);
  const double between = 0.5 * (before_ + period);
  before_ = period;
  if (changed_ == 0) return;
  runner& r = types_[turn_.back().type].runners[turn_.back().runner];
  const double gain = 1 - std::exchange(changed_, 0) / between;
  r.gains.insert(std::upper_bound(r.gains.begin(), r.gains.end(), gain), gain);
  turn_.pop_back();
  if (turn_.empty()) end_round();
}

void speedup_plan::begin_round() {
  for (std::size_t t = 0; t < types_.size(); ++t)
    for (std::size_t r = 0; !types_[t].settled && r < types_[t].runners.size(); ++r) turn_.push_back({t, r});
  for (std::size_t i = turn_.size(); i > 1; --i) std::swap(turn_[i - 1], turn_[random_.below(i)]);
}

bool speedup_plan::narrow(const type& t, double doubt) const {
  return std::all_of(t.runners.begin(), t.runners.end(), [&](const runner& r) {
    const detail::median_bounds b = detail::bounds_of_median(r.gains, doubt);
    return b.high - b.low <= options_.indifference;  // false for infinite ones
  });
}

bool speedup_plan::below(const type& t, const type& other, double doubt) {
  for (std::size_t i = 0; i < t.runners.size(); ++i)
    if (!(detail::bounds_of_median(t.runners[i].gains, doubt).high <
          detail::bounds_of_median(other.runners[i].gains, doubt).low))
      return false;
  return true;
}

void speedup_plan::end_round() {
  ++rounds_;
  if (rounds_ == next_look_) {
    next_look_ += next_look_ / 2 + 1;
    const double all = static_cast<double>(types_.size() * options_.percents.size());
    const double doubt = options_.doubt / all * share_of_check(++looks_);
    std::vector<bool> settled;
    for (const type& t : types_)
      settled.push_back(t.settled || narrow(t, doubt) ||
                        std::any_of(types_.begin(), types_.end(), [&](const type& o) { return below(t, o, doubt); }));
    for (std::size_t i = 0; i < types_.size(); ++i) types_[i].settled = settled[i];
  }
}

bool speedup_plan::done() const noexcept {
  return !types_.empty() && std::all_of(types_.begin(), types_.end(), [](const type& t) { return t.settled; });
}

std::vector<speedup_gain> speedup_plan::gains() const {
  constexpr double doubt = 0.05;
  std::vector<speedup_gain> all;
  for (const type& t : types_)
    for (const runner& r : t.runners) {
      const detail::median_bounds b = detail::bounds_of_median(r.gains, doubt);
      all.push_back({t.id, r.percent, r.gains.size(), r.gains.empty() ? 0 : b.median, b.low, b.high, t.settled});
    }
  return all;
}

double speedup_plan::period() const {
  return unchanged_.empty() ? std::numeric_limits<double>::quiet_NaN() : median_of(unchanged_);
}

// ----------------------------------------------------------------------------------------------------- results

namespace {

std::string cell(const speedup_gain& g) {
  if (g.rounds == 0) return "-";
  const std::string median = fmt::format("{:.1f} %", 100 * g.gain);
  if (!std::isfinite(g.high - g.low)) return median + " (few rounds)";
  return fmt::format("{} ({:.1f} to {:.1f})", median, 100 * g.low, 100 * g.high);
}

std::string shortened_name(name_id id) {
  constexpr std::size_t widest = 26;
  const std::string name(name_of(id));
  return name.size() <= widest ? name : name.substr(0, widest - 3) + "...";
}

}  // namespace

std::string speedup_text(const speedup_report& r) {
  if (r.gains.empty()) return {};
  std::vector<std::pair<double, std::vector<speedup_gain>>> types;  // the gain of the largest speed-up, and all
  for (const speedup_gain& g : r.gains) {
    if (types.empty() || types.back().second.back().type != g.type) types.emplace_back();
    types.back().second.push_back(g);
    types.back().first = g.gain;
  }
  std::stable_sort(types.begin(), types.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format("by how much the period of \"{}\" ({}) shrinks if a task type takes less time\n",
                                 r.point, std::isnan(r.period_s) ? "-" : fmt::format("{:.4g} ms", 1e3 * r.period_s));
  text += fmt::format("{:<26}", "task type");
  for (const speedup_gain& g : types.front().second)
    text += fmt::format(" {:>24}", fmt::format("{} % less", g.percent));
  text += " rounds\n";
  for (const auto& [largest, gains] : types) {
    text += fmt::format("{:<26}", shortened_name(gains.front().type));
    for (const speedup_gain& g : gains) text += fmt::format(" {:>24}", cell(g));
    text += fmt::format(" {:>6}\n", gains.front().rounds);
  }
  text += fmt::format("medians with 95 % intervals; {} in {:.1f} s, with {:.1f} s of inserted delay\n",
                      plural(r.experiments, "experiment"), r.time_s, r.inserted_s);
  return text;
}

std::string speedup_csv(const speedup_report& r) {
  std::string text = "type,percent,rounds,gain,gain_low,gain_high,state\n";
  for (const speedup_gain& g : r.gains) {
    const bool bounded = std::isfinite(g.high - g.low);
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{}\n", csv_field(name_of(g.type)), g.percent, g.rounds,
                   g.rounds == 0 ? "" : fmt::format("{:.6f}", g.gain), bounded ? fmt::format("{:.6f}", g.low) : "",
                   bounded ? fmt::format("{:.6f}", g.high) : "", g.settled ? "settled" : "open");
  }
  return text;
}

}  // namespace plx::probe
