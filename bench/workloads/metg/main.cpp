// metg/PATTERN/LIBRARY: METG(50 %), the smallest granularity of tasks at which half of the core time is the tasks' own
// work, in us of core time.
//
// A run executes a graph of `width` points by as many steps as take some ms. Its granularity is wall time x threads /
// tasks, its efficiency is the time of the kernels alone / (wall time x threads); time that other processes take from
// the threads is not counted. The grain of the kernels is halved from 64 us down to 62 ns; METG is the granularity
// where the efficiency, interpolated between the medians over all turns, last falls below 50 %. Checking inputs counts
// as overhead, equally for all libraries.
//
// metg/stencil/LIBRARY/KERNEL: the same with other kernels; metg/PATTERN/LIBRARY/empty: us of core time per empty task.
// --only selects patterns and kernels. LIBRARY-graph: the graph is built from the library's own nodes, futures (plx) or
// flow graph (tbb), instead of tasks with counters. Lines that begin with "# curve" contain the curves, which
// bench/harness/run_bench.py plots.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "metg/graph.hpp"

namespace {

using plx::bench::entry;
using run_entry = entry<void(metg::run&)>;

constexpr double largest_grain_s = 64e-6, smallest_grain_s = 0.0625e-6;

struct sample {
  double granularity_s;  // core time per task
  double stolen;         // share of the time taken by other processes
};
using samples = std::map<double, std::vector<sample>, std::greater<>>;  // by grain in seconds

struct curve_point {
  double grain_us, efficiency;
  [[nodiscard]] double granularity_us() const { return grain_us / efficiency; }
};
using curve = std::vector<curve_point>;

/// Steps for a run of about `target_s` when a task takes `per_task_s` of core time.
metg::step steps_for(const metg::graph& g, double target_s, double per_task_s, unsigned cores) {
  const double steps = target_s * cores / per_task_s / g.width();
  return static_cast<metg::step>(std::clamp(steps, 32.0, 1e6 / g.width()));
}

sample measure(plx::bench::contest& c, const run_entry& e, metg::run& r, unsigned cores) {
  const auto time = plx::bench::timed([&] { e.run(r); });
  c.disturbed(time, cores);
  if (const std::string wrong = r.verify(); !wrong.empty()) plx::bench::wrong_result(e.label, wrong);
  return {time.offered_s(cores) / static_cast<double>(r.tasks()), time.stolen_s / (time.wall_s * cores)};
}

/// From large grains to small ones; each run determines the number of steps of the next. True if other processes did
/// not disturb most runs.
bool sweep(plx::bench::contest& c, const run_entry& e, const metg::graph& g, metg::kernel k, samples& into) {
  const unsigned cores = e.is("serial") ? 1 : c.threads;
  const double target_s = c.quick ? 0.002 : 0.008;
  double per_task_s = largest_grain_s * 1.2;
  int calm = 0;
  for (double grain_s = largest_grain_s; grain_s >= smallest_grain_s; grain_s /= 2) {
    metg::run r(g, steps_for(g, target_s, per_task_s, cores), k, grain_s);
    const sample s = measure(c, e, r, cores);
    into[grain_s].push_back(s);
    calm += s.stolen < 0.05 ? 1 : -1;
    per_task_s = s.granularity_s;
    if (grain_s / per_task_s < 0.1) break;
  }
  return calm > 0;
}

/// At each grain the median of the `turns` least disturbed samples.
curve curve_of(const samples& all, std::size_t turns) {
  curve result;
  for (auto [grain_s, of_turns] : all) {
    if (of_turns.size() * 2 <= turns) break;  // most turns stopped at a larger grain
    std::stable_sort(of_turns.begin(), of_turns.end(),
                     [](const sample& a, const sample& b) { return a.stolen < b.stolen; });
    of_turns.resize(std::min(of_turns.size(), turns));
    std::vector<double> granularities;
    for (const sample& s : of_turns) granularities.push_back(s.granularity_s);
    result.push_back({grain_s * 1e6, grain_s / plx::bench::median(granularities)});
  }
  return result;
}

/// The granularity where the efficiency last falls below one half, interpolated in the logarithm of the grain. Infinity
/// if it never reached one half; the smallest granularity seen if it never fell below.
double metg_us(const curve& points) {
  const auto below = std::find_if(points.rbegin(), points.rend(), [](curve_point p) { return p.efficiency >= 0.5; });
  if (below == points.rend()) return INFINITY;
  const curve_point above = *below;
  if (below == points.rbegin()) return above.granularity_us();
  const curve_point next = *std::prev(below);
  const double share = (above.efficiency - 0.5) / (above.efficiency - next.efficiency);
  return 2 * above.grain_us * std::pow(next.grain_us / above.grain_us, share);
}

void print_curve(const std::string& name, const char* who, const curve& points) {
  std::printf("# curve %s %s", name.c_str(), who);
  for (const curve_point& p : points) std::printf(" %.4g:%.4g", p.grain_us, p.efficiency);
  std::printf("\n");
}

void compete(plx::bench::contest& c, const metg::graph& g, const std::string& name, metg::kernel k, int turns) {
  const auto entries = run_entry::all();
  std::vector<samples> all(entries.size());
  int calm = 0;
  for (int turn = 0; turn < 2 * turns && calm < turns; ++turn) {
    bool all_calm = true;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& library = plx::bench::library::of(entries[i]->label);
      plx::bench::settle();
      library.start(c.threads);
      metg::run warm(g, 100, metg::kernel::empty, 0);
      measure(c, *entries[i], warm, c.threads);
      all_calm = sweep(c, *entries[i], g, k, all[i]) && all_calm;
      library.stop();
    }
    calm += all_calm;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const curve points = curve_of(all[i], static_cast<std::size_t>(turns));
    const std::string suffix = k == metg::kernel::compute ? "" : std::string("/") + metg::name_of(k);
    print_curve(name + suffix, entries[i]->label, points);
    const double metg = metg_us(points);
    // JSON has no infinity: a library that stays below one half even at the largest grain gets twice that grain.
    c.numbers.add("metg/" + name + "/" + entries[i]->label + suffix, std::isfinite(metg) ? metg : 2e6 * largest_grain_s,
                  "us", plx::bench::lower);
  }
}

void compete_empty(plx::bench::contest& c, const metg::graph& g, const std::string& name, int turns) {
  const auto entries = run_entry::all();
  std::vector<std::vector<double>> us(entries.size());
  for (int turn = 0; turn < turns; ++turn)
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& library = plx::bench::library::of(entries[i]->label);
      plx::bench::settle();
      library.start(c.threads);
      metg::run warm(g, 100, metg::kernel::empty, 0), r(g, c.quick ? 300 : 2000, metg::kernel::empty, 0);
      const unsigned cores = entries[i]->is("serial") ? 1 : c.threads;
      measure(c, *entries[i], warm, cores);
      us[i].push_back(measure(c, *entries[i], r, cores).granularity_s * 1e6);
      library.stop();
    }
  for (std::size_t i = 0; i < entries.size(); ++i)
    c.numbers.add("metg/" + name + "/" + entries[i]->label + "/empty", plx::bench::median(us[i]), "us",
                  plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  metg::calibrate();
  const metg::point width = std::max(8u, 4 * c.threads);
  std::printf("# graphs of %u points\n", width);
  for (const metg::pattern p : metg::patterns)
    if (c.wants(metg::name_of(p)))
      compete(c, metg::graph(p, width), metg::name_of(p), metg::kernel::compute, c.turns(5));
  const metg::graph stencil(metg::pattern::stencil, width);
  for (const metg::kernel k : {metg::kernel::busy_wait, metg::kernel::memory, metg::kernel::imbalance})
    if (c.wants(metg::name_of(k))) compete(c, stencil, "stencil", k, c.turns(3));
  if (c.wants("empty")) compete_empty(c, stencil, "stencil", c.turns(5));
  return c.finish();
}
