#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/text.hpp"
#include "probe/counters/counter_registry_detail.hpp"

namespace plx::probe::detail {

constexpr std::size_t most_derived = 1000;

struct statistic_kind {
  const char* name;
  const char* help;
  bool has_unit;  // of the counter
  bool rolling;
};

constexpr statistic_kind statistics[] = {
    {"average", "mean of the samples", true, false},
    {"stddev", "standard deviation of the samples", true, false},
    {"median", "median of the samples", true, false},
    {"min", "smallest sample", true, false},
    {"max", "largest sample", true, false},
    {"count", "number of samples", false, false},
    {"rate", "growth per second between the last two samples", false, false},
    {"rolling_average", "mean of the last samples", true, true},
    {"rolling_stddev", "standard deviation of the last samples", true, true},
    {"rolling_median", "median of the last samples", true, true},
    {"rolling_min", "smallest of the last samples", true, true},
    {"rolling_max", "largest of the last samples", true, true},
};

struct operation {
  const char* name;
  const char* help;
  double (*of)(const std::vector<double>&);
};

double sum(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }
double mean(const std::vector<double>& v) { return sum(v) / static_cast<double>(v.size()); }

double quotient(const std::vector<double>& v) {
  double below = 1;
  for (std::size_t i = 1; i < v.size(); ++i) below *= v[i];
  if (below == 0) throw std::runtime_error("division by 0");
  return v[0] / below;
}

double variance(const std::vector<double>& v) {
  const double middle = mean(v);
  double squares = 0;
  for (const double x : v) squares += (x - middle) * (x - middle);
  return squares / static_cast<double>(v.size());
}

double median(std::vector<double> v) {
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  if (v.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(v.begin(), middle));
}

constexpr operation operations[] = {
    {"add", "sum of the counters", sum},
    {"subtract", "the first counter minus all others", [](const std::vector<double>& v) { return 2 * v[0] - sum(v); }},
    {"multiply", "product of the counters",
     [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); }},
    {"divide", "the first counter divided by all others", quotient},
    {"mean", "mean of the counters", mean},
    {"variance", "variance of the counters", variance},
    {"median", "median of the counters", [](const std::vector<double>& v) { return median(v); }},
    {"min", "smallest of the counters",
     [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }},
    {"max", "largest of the counters",
     [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }},
    {"count", "number of the counters", [](const std::vector<double>& v) { return static_cast<double>(v.size()); }},
};

// ------------------------------------------------------------------------------------------------------------- samples

void sample_series::keep_last(std::size_t n) {
  const std::lock_guard lock(mutex_);
  if (n <= last_.size()) return;
  std::vector<double> larger(n);
  // The samples still in the smaller ring; without one, the newest sample.
  const std::uint64_t known = n_ - std::max(ring_from_, n_ - std::min<std::uint64_t>(n_, last_.size()));
  for (std::uint64_t i = n_ - known; i < n_; ++i) larger[i % n] = last_[i % last_.size()];
  if (known == 0 && n_ > 0) larger[(n_ - 1) % n] = value_before_;
  ring_from_ = known == 0 && n_ > 0 ? n_ - 1 : n_ - known;
  last_ = std::move(larger);
}

void sample_series::sample() {
  const auto v = source_.read();
  if (v && std::isfinite(*v)) return add(*v, seconds(now_ticks()));
  const std::lock_guard lock(mutex_);
  problem_ = v ? fmt::format("'{}' is {}", source_.about().name, *v) : v.error().message;
}

void sample_series::add(double value, double time_s) {
  const std::lock_guard lock(mutex_);
  problem_.clear();
  if (n_ > 0 && time_s > time_before_) {
    const bool began_anew = source_ && source_.about().monotonic && value < value_before_;
    rate_ = (began_anew ? value : value - value_before_) / (time_s - time_before_);
  }
  value_before_ = value;
  time_before_ = time_s;
  least_ = n_ == 0 ? value : std::min(least_, value);
  greatest_ = n_ == 0 ? value : std::max(greatest_, value);
  if (!last_.empty()) last_[n_ % last_.size()] = value;
  ++n_;
  const double step = value - mean_;
  mean_ += step / static_cast<double>(n_);
  squares_ += step * (value - mean_);
  if (kept_.size() < most_kept) return kept_.push_back(value);
  random_ ^= random_ << 13, random_ ^= random_ >> 7, random_ ^= random_ << 17;
  if (const std::uint64_t at = random_ % n_; at < most_kept) kept_[at] = value;
}

void sample_series::reset() {
  const std::lock_guard lock(mutex_);
  n_ = ring_from_ = 0;
  mean_ = squares_ = rate_ = 0;
  kept_.clear();
}

double sample_series::value(std::string_view statistic, std::size_t window) const {
  constexpr std::string_view rolling = "rolling_";
  const std::lock_guard lock(mutex_);
  if (statistic == "count") return static_cast<double>(n_);
  if (n_ == 0) throw std::runtime_error(problem_.empty() ? "no sample has been taken yet" : problem_);
  return statistic.starts_with(rolling) ? over_last(statistic.substr(rolling.size()), window) : over_all(statistic);
}

double sample_series::over_all(std::string_view statistic) const {
  if (statistic == "average") return mean_;
  if (statistic == "stddev") return std::sqrt(std::max(0.0, squares_ / static_cast<double>(n_)));
  if (statistic == "median") return median(kept_);
  if (statistic == "min") return least_;
  if (statistic == "max") return greatest_;
  PLX_ASSERT(statistic == "rate", statistic);
  return rate_;
}

double sample_series::over_last(std::string_view statistic, std::size_t window) const {
  PLX_ASSERT(window > 0 && window <= last_.size());
  std::vector<double> v;
  const std::uint64_t first = std::max(ring_from_, n_ - std::min<std::uint64_t>(n_, window));
  for (std::uint64_t i = first; i < n_; ++i) v.push_back(last_[i % last_.size()]);
  if (statistic == "average") return mean(v);
  if (statistic == "stddev") return std::sqrt(variance(v));
  if (statistic == "median") return median(std::move(v));
  if (statistic == "min") return *std::min_element(v.begin(), v.end());
  PLX_ASSERT(statistic == "max", statistic);
  return *std::max_element(v.begin(), v.end());
}

// ------------------------------------------------------------------------------------------------------------- look-up

bool is_derived(const counter_name& n) {
  return (n.object == "statistics" && n.parameters.find('*') == std::string_view::npos &&
          counter_name::parse(n.instance).has_value()) ||
         (n.object == "arithmetics" && !n.parameters.empty() && n.parameters != "*");
}

namespace {

template <class Kinds>
error unknown(std::string_view text, std::string_view what, std::string_view name, const Kinds& kinds) {
  std::vector<std::string> names;
  for (const auto& k : kinds) names.emplace_back(k.name);
  return error{fmt::format("'{}': unknown {} '{}'{}; expected one of {}", text, what, name, did_you_mean(name, names),
                           fmt::join(names, ", "))};
}

/// The registered counter of that name, or a new one; an error if there are too many.
result<entry_ptr> found_or_made(registry_state& state, counter_info info, std::unique_ptr<pull_base> pull) {
  auto e = std::make_shared<counter_entry>(std::move(info), std::move(pull));
  const std::lock_guard lock(state.mutex);
  if (const auto it = state.by_name.find(e->about->name); it != state.by_name.end()) return it->second;
  if (state.n_derived == most_derived)
    return error{
        fmt::format("cannot create '{}': the limit of {} derived counters is reached", e->about->name, most_derived)};
  ++state.n_derived;
  state.insert(e);
  return e;
}

// ---------------------------------------------------------------------------------------------------------- statistics

struct sampled_how {
  std::uint64_t every_ms = 1000;
  std::uint64_t last = 10;
  bool last_given = false;
};

bool read_number(std::string_view text, std::uint64_t most, std::uint64_t& n) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failed == std::errc() && end == text.data() + text.size() && n >= 1 && n <= most;
}

result<sampled_how> sampled_how_of(std::string_view text, std::string_view parameters) {
  sampled_how how;
  if (parameters.empty()) return how;
  const std::size_t comma = parameters.find(',');
  how.last_given = comma != std::string_view::npos;
  if (read_number(parameters.substr(0, comma), 1'000'000'000, how.every_ms) &&
      (!how.last_given || read_number(parameters.substr(comma + 1), 100'000, how.last)))
    return how;
  return error{fmt::format("'{}': expected @milliseconds or @milliseconds,samples (1 to 100000), found '@{}'", text,
                           parameters)};
}

/// One series is shared by all statistics of the same counter and interval. Its first sample is taken immediately.
std::shared_ptr<sample_series> series_of(registry_state& state, const entry_ptr& source, std::uint64_t every_ms) {
  const std::string key = fmt::format("{} {}", every_ms, source->about->name);
  {
    const std::lock_guard lock(state.mutex);
    if (auto there = state.series[key].lock()) return there;
  }
  auto made = std::make_shared<sample_series>(registry_state::handle(source));
  made->sample();
  {
    const std::lock_guard lock(state.mutex);
    if (auto there = state.series[key].lock()) return there;
    state.series[key] = made;
  }
  auto again = [weak = std::weak_ptr(made)] {
    if (const auto s = weak.lock()) s->sample();
    return 0.0;
  };
  state.sampler.every(1e-3 * static_cast<double>(every_ms), std::make_shared<pull_of<decltype(again)>>(again));
  return made;
}

struct statistic_pull final : pull_base {
  statistic_pull(std::shared_ptr<sample_series> s, const char* n, std::size_t w)
      : series(std::move(s)), name(n), window(w) {}
  double pull() override { return series->value(name, window); }
  void reset() override { series->reset(); }
  const std::shared_ptr<sample_series> series;
  const char* const name;
  const std::size_t window;
};

std::string unit_of(const statistic_kind& kind, const counter_info& source) {
  if (kind.has_unit) return source.unit;
  return kind.name == std::string_view("count") ? "1" : fmt::format("{}/s", source.unit);
}

result<entry_ptr> statistic(registry_state& state, const statistic_kind& kind, const entry_ptr& source,
                            const sampled_how& how) {
  const std::string over = kind.rolling ? fmt::format(",{}", how.last) : "";
  counter_info info{
      .name = fmt::format("/statistics{{{}}}/{}@{}{}", source->about->name, kind.name, how.every_ms, over),
      .unit = unit_of(kind, *source->about),
      .help = fmt::format("{} of {}", kind.help, source->about->name)};
  if (auto there = state.find_exact(info.name)) return there;
  auto series = series_of(state, source, how.every_ms);
  if (kind.rolling) series->keep_last(how.last);
  return found_or_made(state, std::move(info),
                       std::make_unique<statistic_pull>(std::move(series), kind.name, how.last));
}

result<std::vector<entry_ptr>> statistics_of(registry_state& state, std::string_view text, const counter_name& wanted) {
  const auto how = sampled_how_of(text, wanted.parameters);
  if (!how) return how.error();
  const auto sources = state.resolve(wanted.instance);
  if (!sources) return sources.error();
  std::vector<entry_ptr> all;
  for (const statistic_kind& kind : statistics) {
    if (!wildcard_match(wanted.name, kind.name)) continue;
    if (wanted.name == kind.name && how->last_given && !kind.rolling)
      return error{fmt::format("'{}': a number of samples is for rolling_{} only", text, kind.name)};
    for (const entry_ptr& source : *sources) {
      auto made = statistic(state, kind, source, *how);
      if (!made) return made.error();
      all.push_back(std::move(*made));
    }
  }
  if (all.empty()) return unknown(text, "statistic", wanted.name, statistics);
  return all;
}

// ---------------------------------------------------------------------------------------------------------- arithmetic

struct arithmetic_pull final : pull_base {
  arithmetic_pull(const operation& o, std::vector<counter_handle> h) : op(o), operands(std::move(h)) {}
  double pull() override {
    std::vector<double> values;
    values.reserve(operands.size());
    for (const counter_handle& h : operands) {
      const auto v = h.read();
      if (!v) throw std::runtime_error(v.error().message);
      values.push_back(*v);
    }
    return op.of(values);
  }
  const operation& op;
  const std::vector<counter_handle> operands;
};

std::string unit_of(std::string_view op, const std::vector<entry_ptr>& operands) {
  if (op == "count") return "1";
  std::string unit = operands[0]->about->unit;
  const bool product = op == "multiply", quotient_ = op == "divide";
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const std::string& other = operands[i]->about->unit;
    if (quotient_ && unit == other)
      unit.assign(1, '1');
    else if (quotient_ && other != "1")
      unit = fmt::format("{}/{}", unit, other);
    else if (product && other != "1")
      unit = unit == "1" ? other : fmt::format("{}*{}", unit, other);
    else if (!product && !quotient_ && unit != other)
      return "mixed";
  }
  return op == "variance" && unit != "1" ? fmt::format("{}^2", unit) : unit;
}

result<std::vector<entry_ptr>> arithmetic_of(registry_state& state, std::string_view text, const counter_name& wanted) {
  const auto* op = std::find_if(std::begin(operations), std::end(operations),
                                [&](const operation& o) { return wanted.name == o.name; });
  if (op == std::end(operations)) return unknown(text, "operation", wanted.name, operations);
  const auto names = split_counters(wanted.parameters);
  if (!names) return error{fmt::format("'{}': its braces do not match", text)};
  std::vector<entry_ptr> operands;
  for (const std::string& name : *names) {
    auto found = state.resolve(name);
    if (!found) return found.error();
    operands.insert(operands.end(), found->begin(), found->end());
  }
  const bool pattern = wanted.parameters.find('*') != std::string_view::npos;
  if (operands.empty() || (operands.size() == 1 && !pattern))
    return error{
        fmt::format("'{}': expected two counters or more, separated by commas, found {} (in a list of counters, "
                    "braces around this one keep its commas)",
                    text, operands.size())};
  std::vector<counter_handle> handles;
  for (const entry_ptr& e : operands) handles.push_back(registry_state::handle(e));
  counter_info info{
      .name = std::string(text), .unit = unit_of(op->name, operands), .help = fmt::format("{}", op->help)};
  auto made = found_or_made(state, std::move(info), std::make_unique<arithmetic_pull>(*op, std::move(handles)));
  if (!made) return made.error();
  return std::vector<entry_ptr>{std::move(*made)};
}

}  // namespace

result<std::vector<entry_ptr>> derived(registry_state& state, std::string_view text, const counter_name& wanted) {
  if (wanted.object == "statistics") return statistics_of(state, text, wanted);
  if (!wanted.instance.empty())
    return error{fmt::format("'{}': expected /arithmetics/{}@COUNTER,COUNTER,..., found the instance '{}'", text,
                             wanted.name, wanted.instance)};
  return arithmetic_of(state, text, wanted);
}

std::vector<counter_info> derived_counter_kinds() {
  std::vector<counter_info> kinds;
  for (const auto& s : statistics)
    kinds.push_back({.name = fmt::format("/statistics{{COUNTER}}/{}@MS{}", s.name, s.rolling ? ",N" : ""),
                     .unit = s.has_unit                           ? "COUNTER's"
                             : s.name == std::string_view("rate") ? "COUNTER's/s"
                                                                  : "1",
                     .help = fmt::format("{} of COUNTER", s.help)});
  for (const auto& o : operations)
    kinds.push_back(
        {.name = fmt::format("/arithmetics/{}@COUNTER,COUNTER,...", o.name), .unit = "theirs", .help = o.help});
  return kinds;
}

}  // namespace plx::probe::detail
