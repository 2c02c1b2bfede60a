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
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#include "metg/graph.hpp"
#include "rt/dataflow.hpp"
#include "rt/latch.hpp"
#include "rt/task_group.hpp"
#include "rt/when.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/flow_graph.h>
#include <tbb/task_group.h>
#endif

namespace {

using plx::bench::entry;

// ---- plx: posted tasks with counters of inputs, and a latch that counts the ends of the graph.
namespace with_plx {

std::ptrdiff_t count_ends(const metg::run& r) {
  std::ptrdiff_t n = 0;
  for (metg::step t = 0; t < r.steps(); ++t)
    for (metg::point p = 0; p < r.shape().active(t); ++p) n += metg::is_end(r, t, p);
  return n;
}

struct execution {
  metg::run& r;
  metg::counters counters;
  plx::latch ends;

  void execute(metg::step t, metg::point p) {
    const auto spawn = [this](metg::step u, metg::point q) { plx::post([this, u, q] { execute(u, q); }); };
    if (metg::execute_from(r, counters, t, p, spawn)) ends.count_down();
  }
};

const entry<void(metg::run&)> me("plx", [](metg::run& r) {
  plx::bench::plx_runtime().run([&r] {
    execution e{r, metg::counters(r), plx::latch(count_ends(r))};
    plx::task_group roots;
    metg::spawn_roots(r, [&](metg::step t, metg::point p) { roots.run([&e, t, p] { e.execute(t, p); }); });
    roots.wait();
    e.ends.wait();
  });
});

}  // namespace with_plx

// ---- plx with futures: each task is a dataflow of the futures of its inputs.
namespace with_plx_futures {

using done = plx::shared_future<void>;

done start(metg::run& r, metg::step t, metg::point p, const std::vector<done>& before) {
  const auto in = r.shape().inputs(t, p);
  switch (in.size()) {
    case 0:
      return plx::async([&r, t, p] { r.execute(t, p); });
    case 1:
      return plx::dataflow([&r, t, p](const done&) { r.execute(t, p); }, before[in[0]]);
    case 2:
      return plx::dataflow([&r, t, p](const done&, const done&) { r.execute(t, p); }, before[in[0]], before[in[1]]);
    case 3:
      return plx::dataflow([&r, t, p](const done&, const done&, const done&) { r.execute(t, p); }, before[in[0]],
                           before[in[1]], before[in[2]]);
    default: {
      std::vector<done> inputs;
      for (const metg::point q : in) inputs.push_back(before[q]);
      return plx::dataflow([&r, t, p](const std::vector<done>&) { r.execute(t, p); }, std::move(inputs));
    }
  }
}

const entry<void(metg::run&)> me("plx-graph", [](metg::run& r) {
  plx::bench::plx_runtime().run([&r] {
    std::vector<done> before, now, unread;
    for (metg::step t = 0; t < r.steps(); ++t) {
      now.clear();
      for (metg::point p = 0; p < r.shape().active(t); ++p) {
        now.push_back(start(r, t, p, before));
        if (t + 1 == r.steps() || r.shape().readers(t, p).empty()) unread.push_back(now.back());
      }
      std::swap(before, now);
    }
    for (const done& d : unread) d.get();
  });
});

}  // namespace with_plx_futures

#ifdef PLX_HAVE_TBB
// ---- oneTBB: tasks of one task_group with reference counts, as its documentation advises for graphs known by their
// inputs.
namespace with_tbb {

struct execution {
  metg::run& r;
  metg::counters counters;
  tbb::task_group group;

  void spawn(metg::step t, metg::point p) {
    group.run(
        [this, t, p] { metg::execute_from(r, counters, t, p, [this](metg::step u, metg::point q) { spawn(u, q); }); });
  }
};

const entry<void(metg::run&)> me("tbb", [](metg::run& r) {
  plx::bench::tbb_arena().execute([&r] {
    execution e{r, metg::counters(r), {}};
    metg::spawn_roots(r, [&e](metg::step t, metg::point p) { e.spawn(t, p); });
    e.group.wait();
  });
});

}  // namespace with_tbb
#endif

#ifdef PLX_HAVE_TBB
// ---- oneTBB's flow graph: a continue_node per task and an edge per input, rebuilt for each run.
namespace with_tbb_flow_graph {

using tbb::flow::continue_msg;
using node = tbb::flow::continue_node<continue_msg>;

const entry<void(metg::run&)> me("tbb-graph", [](metg::run& r) {
  plx::bench::tbb_arena().execute([&r] {
    tbb::flow::graph g;
    std::deque<node> nodes;
    std::vector<node*> at(r.index(r.steps(), 0)), roots;
    for (metg::step t = 0; t < r.steps(); ++t)
      for (metg::point p = 0; p < r.shape().active(t); ++p) {
        node& made = nodes.emplace_back(g, [&r, t, p](const continue_msg&) { r.execute(t, p); });
        at[r.index(t, p)] = &made;
        const auto in = r.shape().inputs(t, p);
        for (const metg::point q : in) tbb::flow::make_edge(*at[r.index(t - 1, q)], made);
        if (in.empty()) roots.push_back(&made);
      }
    for (node* n : roots) n->try_put(continue_msg());
    g.wait_for_all();
  });
});

}  // namespace with_tbb_flow_graph
#endif

#ifdef _OPENMP
namespace with_openmp {

void spawn(metg::run& r, metg::step t, metg::point p) {
  const auto in = r.shape().inputs(t, p);
  [[maybe_unused]] metg::output* const out = r.at(t, p);
  metg::run* const all = &r;
  if (in.empty()) {
#pragma omp task firstprivate(all, t, p) depend(out : out[0])
    all->execute(t, p);
  } else {
    [[maybe_unused]] const metg::point* const points = in.data();
    [[maybe_unused]] const metg::output* const before = r.at(t - 1, 0);
    [[maybe_unused]] const std::size_t n = in.size();
#pragma omp task firstprivate(all, t, p) depend(iterator(std::size_t i = 0      \
                                                         : n),                  \
                                                in                              \
                                                : before[points[i]]) depend(out \
                                                                            : out[0])
    all->execute(t, p);
  }
}

const entry<void(metg::run&)> me("omp", [](metg::run& r) {
#pragma omp parallel
#pragma omp single
  for (metg::step t = 0; t < r.steps(); ++t)
    for (metg::point p = 0; p < r.shape().active(t); ++p) spawn(r, t, p);
});

}  // namespace with_openmp
#endif

const entry<void(metg::run&)> serial("serial", [](metg::run& r) {
  for (metg::step t = 0; t < r.steps(); ++t)
    for (metg::point p = 0; p < r.shape().active(t); ++p) r.execute(t, p);
});

// ---- measurement
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
