#include "probe/record/trace_budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/monitor/monitors.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {
namespace {

constexpr std::size_t most_names_listed = 3;

/// "'a', 'b', 'c' and 4 others"
std::string list_of(const std::vector<name_id>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_names_listed); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", name_of(names[i]));
  if (names.size() > most_names_listed)
    text += fmt::format(" and {}", plural(names.size() - most_names_listed, "other"));
  return text;
}

}  // namespace

trace_budget::trace_budget(recorder& r, double allowed) : recorder_(r), allowed_(allowed), before_(used()) {}

trace_budget::use trace_budget::used() const {
  use now;
  const worker_times t = times_of(recorder_);
  now.all_s = t.exec_s + t.idle_s + t.overhead_s + t.background_s;
  now.cost_s = recorder_.measurement_cost() * now.all_s;
  now.pieces.resize(name_count());
  for (const task_statistics& s : recorder_.tasks())
    if (s.id < now.pieces.size()) now.pieces[s.id] = s.slices;
  return now;
}

std::uint8_t& trace_budget::step_of(name_id name) {
  if (name >= steps_.size()) steps_.resize(name + std::size_t{1});
  return steps_[name];
}

void trace_budget::look() {
  const bool traced = recorder_.worker_count() > 0 && (recorder_.worker(0).mode() & worker_log::tracing) != 0;
  if (ended_ || !traced) return;  // tracing ended by another call is not resumed
  use now = used();
  const double span_s = now.all_s - before_.all_s;
  if (!(span_s >= least_span_s)) return;
  const double share = (now.cost_s - before_.cost_s) / span_s;
  const std::vector<kind> kinds = traced_kinds(now);
  before_ = std::move(now);
  if (share > allowed_ && !kinds.empty()) step_down(share, kinds);
}

/// The task types traced since the last check, in order of decreasing cost; their weights add up to 1.
std::vector<trace_budget::kind> trace_budget::traced_kinds(const use& now) const {
  std::vector<kind> kinds;
  double sum = 0;
  for (name_id n = 0; n < now.pieces.size(); ++n) {
    const std::uint64_t then = n < before_.pieces.size() ? before_.pieces[n] : 0;
    const double records =
        static_cast<double>(now.pieces[n] - std::min(then, now.pieces[n])) * shares[n < steps_.size() ? steps_[n] : 0];
    if (records > 0) kinds.push_back({n, records});
    sum += records;
  }
  for (kind& k : kinds) k.weight /= sum;
  std::stable_sort(kinds.begin(), kinds.end(), [](const kind& a, const kind& b) { return a.weight > b.weight; });
  return kinds;
}

/// Assumes that the cost of measurement is due to records; the next check finds any remainder.
void trace_budget::step_down(double share, const std::vector<kind>& kinds) {
  std::array<std::vector<name_id>, shares.size()> stepped;
  double left = share;
  bool any_traced = false;
  for (const kind& k : kinds) {
    std::uint8_t& step = step_of(k.name);
    if (left > allowed_) {
      left -= share * k.weight * (1 - shares[step + 1u] / shares[step]);
      stepped[++step].push_back(k.name);
      step_.store(std::max<unsigned>(step, step_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
    }
    any_traced = any_traced || shares[step] > 0;
  }
  if (!any_traced) {
    ended_ = true;
    step_.store(shares.size() - 1, std::memory_order_relaxed);
    warn(share, "no task is traced any more");
    return recorder_.trace(false);
  }
  for (std::size_t step = 1; step < stepped.size(); ++step) {
    if (stepped[step].empty()) continue;
    const std::string kinds_of = list_of(stepped[step]);
    warn(share, shares[step] == 0 ? fmt::format("no slice of {} is traced", kinds_of)
                                  : fmt::format("one slice of {} in {:.0f} is traced{}", kinds_of, 1 / shares[step],
                                                step == 1 ? ", without its dependencies" : ""));
    for (const name_id n : stepped[step]) recorder_.trace_kind(n, shares[step]);
  }
}

void trace_budget::warn(double share, const std::string& what) {
  const std::string line =
      fmt::format("measurement took {:.2g} % of the workers' time, trace-budget allows {:.2g} %: from now on {}",
                  100 * share, 100 * allowed_, what);
  recorder_.mark("measurement", line);
  report({line});
}

}  // namespace plx::probe
