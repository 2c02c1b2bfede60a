#include "probe/trace_budget.hpp"

#include <fmt/format.h>

#include <string>

#include "probe/monitor/monitors.hpp"
#include "probe/recorder.hpp"

namespace plx::probe {

trace_budget::trace_budget(recorder& r, double allowed, std::size_t ring_records)
    : recorder_(r), allowed_(allowed), ring_records_(ring_records), before_(used()) {}

trace_budget::use trace_budget::used() const {
  use now;
  for (unsigned i = 0; i < recorder_.worker_count(); ++i) {
    const worker_times t = recorder_.times(i);
    now.all_s += t.exec_s + t.idle_s + t.overhead_s + t.background_s;
  }
  now.cost_s = recorder_.measurement_cost() * now.all_s;
  return now;
}

void trace_budget::look() {
  const bool traced = recorder_.worker_count() > 0 && (recorder_.worker(0).mode() & worker_log::tracing) != 0;
  if (step() == shares.size() || !traced) return;  // a recording that others ended stays ended
  const use now = used();
  const double span_s = now.all_s - before_.all_s;
  if (!(span_s >= least_span_s)) return;
  const double share = (now.cost_s - before_.cost_s) / span_s;
  before_ = now;
  if (share > allowed_) step_down(share);
}

void trace_budget::step_down(double share) {
  const unsigned next = step() + 1;
  const bool ends = next == shares.size();
  const std::string line = fmt::format(
      "measuring took {:.2g} % of the workers' time, trace-budget allows {:.2g} %: from here on {}", 100 * share,
      100 * allowed_,
      ends        ? std::string("no task is traced any more")
      : next == 1 ? fmt::format("one piece of a task in {:.0f} is traced, without what it waited for", 1 / shares[next])
                  : fmt::format("one piece of a task in {:.0f} is traced", 1 / shares[next]));
  recorder_.mark("measurement", line);
  if (ends)
    recorder_.trace(false);
  else
    recorder_.trace(true, ring_records_, shares[next]);
  step_.store(next, std::memory_order_relaxed);
  report({line});
}

}  // namespace plx::probe
