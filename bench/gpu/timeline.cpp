// Cost and correctness of device timelines.
//
//   bench_gpu_timeline [--backend NAME] [--source events|activity|both] [--quick] [--json FILE]
//
// Without --backend the first device of the best backend; if only the cpu is available, one line says so, and there are
// no rows. Rows: gpu/timeline_overhead, percent of the Sedov step (512 blocks of 8^3, PPM, HLLC, RK3, a step as one
// graph), and gpu/timeline_overhead/kernels of 100 us, launched one by one; ..._activity: with the activity records of
// the vendor's library. Each is the median over pairs of turns, one with a trace and one without, alternating.
// Lines that begin with # give details. The program fails if a lane is wrong: an operation is missing, or begins before
// it was submitted or before the previous one has ended, or ends before it begins or outside the run.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gpu/testing/operations.hpp"
#include "gpu_program.hpp"
#include "probe/record/device_lanes.hpp"
#include "probe/record/recorder.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"
#include "star/device/device_gas.hpp"
#include "star/device/test/gas_cases_test.hpp"

namespace {

using namespace plx;
using namespace plx::star::device;
using source = probe::device_lanes::source;

constexpr std::size_t ring_records = std::size_t{1} << 16;
const char* text_of(source s) { return s == source::activity ? "activity" : "events"; }

/// The number of errors in the lanes of a run that began at `from`; prints each.
int wrong_lanes(const probe::trace_data& d, ticks from, std::uint64_t expected, const char* what) {
  const ticks now = now_ticks();
  int wrong = 0;
  std::uint64_t n = 0;
  for (std::size_t w = 0; w < d.workers.size(); ++w) {
    if (!d.is_device(w)) continue;
    ticks last = from;
    for (const probe::trace_slice& s : d.workers[w]) {
      ++n;
      const bool right = s.begin >= last && s.ready >= from && s.begin >= s.ready && s.end >= s.begin && s.end <= now;
      if (!right && ++wrong <= 5)
        std::printf("# WRONG %s: '%s' submitted %.3f, begun %.3f, ended %.3f, the one before ended %.3f us\n", what,
                    std::string(probe::name_of(s.name)).c_str(), 1e6 * seconds(s.ready - from),
                    1e6 * seconds(s.begin - from), 1e6 * seconds(s.end - from), 1e6 * seconds(last - from));
      last = s.end;
    }
  }
  if (n != expected || d.lost != 0) {
    ++wrong;
    std::printf("# WRONG %s: %llu operations, expected %llu; %llu lost\n", what, static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(expected), static_cast<unsigned long long>(d.lost));
  }
  if (wrong == 0) std::printf("# lanes of %s: %llu operations, all right\n", what, static_cast<unsigned long long>(n));
  return wrong;
}

/// The median over pairs of the relative increase of a turn's time with a trace, in percent. turn() returns its
/// seconds.
template <class Turn>
double overhead_percent(probe::recorder& r, source s, int pairs, const char* what, Turn turn) {
  r.devices().set_source(s);
  std::vector<double> more, without, with;
  for (int i = -1; i < pairs; ++i) {
    double took[2];
    for (const int on : {i & 1, (i & 1) ^ 1}) {  // neither is always first
      r.trace(on != 0, ring_records);
      took[on] = turn();
      r.trace(false);
      r.forget_trace();
    }
    if (i < 0) continue;
    without.push_back(took[0]), with.push_back(took[1]);
    more.push_back(100 * (took[1] / took[0] - 1));
  }
  const auto [least, most] = std::minmax_element(more.begin(), more.end());
  std::printf("# %s, %s: %.4g us without, %.4g us with; of %d pairs the least %.2f %%, the most %.2f %%\n", what,
              text_of(s), 1e6 * bench::median(without), 1e6 * bench::median(with), pairs, *least, *most);
  return bench::median(more);
}

struct counts {
  int steps, kernels, pairs;
};

/// Measures with one source of times.
int measure(machine& on, bench::report& out, source s, const counts& n) {
  probe::recorder& r = on.device().get_runtime().recorder();
  const std::string suffix = s == source::activity ? "_activity" : "";
  int wrong = 0;
  {
    gas_options o;
    o.hydro.reconstruct = star::reconstruction::ppm;
    o.hydro.riemann = star::riemann_solver::hllc;
    o.scheme = star::ssp_rk3;
    const mesh::block_mesh m(cube_of(8, 8, mesh::boundary::outflow));
    reference_stepper start(m, o);
    fill_blast(m, o, start.now, 0.0);
    device_gas gas(on, o);
    gas.adopt(m);
    gas.upload(start.now);
    step_control c;
    c.rule.cfl = o.cfl, c.rule.t_end = 1e9, c.dt = 1e-5;
    gas.begin(c);
    for (int i = 0; i < 4; ++i) gas.step();
    c = gas.wait();
    const auto turn = [&] {
      const double begin = monotonic_seconds();
      for (int i = 0; i < n.steps; ++i) {
        if (i > 0 && i % device_gas::steps_kept == 0) c = gas.wait();
        gas.step();
      }
      c = gas.wait();
      return (monotonic_seconds() - begin) / n.steps;
    };
    out.add("gpu/timeline_overhead" + suffix, overhead_percent(r, s, n.pairs, "a Sedov step", turn), "%", bench::lower);
    if (s == source::events) {  // activity records list the operations of a graph individually
      const ticks from = now_ticks();
      r.trace(true, ring_records);
      const std::uint64_t before = on.device().get_runtime().recorder().devices().kept();
      turn();
      r.trace(false);
      const probe::trace_data d = r.collect_trace();
      std::uint64_t graphs = 0;
      for (std::size_t w = 0; w < d.workers.size(); ++w)
        if (d.is_device(w))
          for (const probe::trace_slice& slice : d.workers[w])
            graphs += probe::name_of(slice.name).substr(0, 8) == "graph of" ? 1 : 0;
      if (before != 0 || graphs != static_cast<std::uint64_t>(n.steps)) {
        ++wrong;
        std::printf("# WRONG: %llu graphs in the trace, expected %d\n", static_cast<unsigned long long>(graphs),
                    n.steps);
      }
      wrong += wrong_lanes(d, from, r.devices().kept(), "Sedov steps");
      r.forget_trace();
    }
  }
  const gpu::testing::spin_item item{100'000, nullptr, 0};
  const auto kernels = [&] {
    const double begin = monotonic_seconds();
    for (int i = 0; i < n.kernels; ++i) on.launch(gpu::testing::spin, item);
    on.synchronize();
    return (monotonic_seconds() - begin) / n.kernels;
  };
  out.add("gpu/timeline_overhead/kernels" + suffix, overhead_percent(r, s, n.pairs, "a kernel of 100 us", kernels), "%",
          bench::lower);
  const ticks from = now_ticks();
  r.trace(true, ring_records);
  kernels();
  for (int i = 0; i < 10; ++i) {  // into an empty stream
    on.launch(gpu::testing::spin, item);
    on.synchronize();
  }
  r.trace(false);
  const probe::trace_data d = r.collect_trace();
  const std::string what = std::string("kernels of 100 us, by ") + text_of(s);
  wrong += wrong_lanes(d, from, static_cast<std::uint64_t>(n.kernels) + 10, what.c_str());
  std::vector<double> chained, alone, waited;
  for (std::size_t w = 0; w < d.workers.size(); ++w)
    if (d.is_device(w))
      for (std::size_t i = 0; i < d.workers[w].size(); ++i) {
        const probe::trace_slice& k = d.workers[w][i];
        (i < static_cast<std::size_t>(n.kernels) ? chained : alone).push_back(1e6 * seconds(k.end - k.begin));
        if (i >= static_cast<std::size_t>(n.kernels)) waited.push_back(1e6 * seconds(k.begin - k.ready));
      }
  if (!chained.empty() && !alone.empty())
    std::printf(
        "# by %s a kernel of 100 us takes %.2f us in a chain, %.2f us alone, where it begins %.2f us after it "
        "was submitted\n",
        text_of(s), bench::median(chained), bench::median(alone), bench::median(waited));
  r.forget_trace();
  return wrong;
}

int run(bench::report& out) {
  std::string which, by = "both";
  bool quick = false;
  const auto& rest = out.rest();
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == "--quick") {
      quick = true;
    } else if (rest[i] == "--backend" && i + 1 < rest.size()) {
      which = rest[++i];
    } else if (rest[i] == "--source" && i + 1 < rest.size()) {
      by = rest[++i];
    } else {
      throw std::runtime_error("'" + rest[i] + "': expected --backend NAME, --source, --quick or --json FILE");
    }
  }
  if (by != "events" && by != "activity" && by != "both")
    throw std::runtime_error("--source '" + by + "': expected events, activity or both");
  const gpu::backend* b = bench::chosen_backend(which, "gpu/timeline_overhead*");
  if (b == nullptr) return 0;
  const std::unique_ptr<machine> on = make_machine(*b);
  std::printf("# device: %s\n", std::string(on->device().label()).c_str());
  const counts n = quick ? counts{2, 20, 1} : counts{160, 500, 21};
  int wrong = 0;
  if (by != "activity") wrong += measure(*on, out, source::events, n);
  if (by != "events") wrong += measure(*on, out, source::activity, n);
  return wrong;
}

}  // namespace

int main(int argc, char** argv) { return plx::bench::main_of("bench_gpu_timeline", argc, argv, run); }
