// probe/app/*: percent that measurement adds to a blast wave (Sedov) on all workers, alternating with the same run
// without measurement. stats: the statistics of every run, and all counters read once per second. trace: every task,
// its causes, and the reader that empties the rings. task: the mean length of a task in us; the goals hold for tasks of
// 100 us. Blocks of 8^3 cells; probe/app/16/*: blocks of 16^3, whose tasks are longer.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/clock.hpp"
#include "parts.hpp"
#include "probe/counters/beat.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "rt/runtime.hpp"
#include "star/regrid.hpp"
#include "star/stepper.hpp"

namespace {

using namespace plx;

std::unique_ptr<star::input> blast(int blocks, int cells) {
  const std::string n = std::to_string(blocks);
  auto in = star::input::from_text(
      "[problem]\nname = \"sedov\"\n[sedov]\nradius = 0.1\n[mesh]\nblock_size = " + std::to_string(cells) +
          "\nroot_blocks = [" + n + "," + n + "," + n + "]\nmax_level = 0\n",
      "benchmark", {});
  if (!in) {
    std::fprintf(stderr, "%s\n", in.error().message.c_str());
    std::exit(1);
  }
  return *std::move(in);
}

class application {
 public:
  application(int blocks, int cells)
      : input_(blast(blocks, cells)),
        setup_(input_->prepare().value()),
        gas_(setup_),
        stepper_(gas_, setup_, runtime_.worker_count()) {
    runtime_.run(
        [this] { star::build_initial(gas_, setup_, input_->refinement, *input_->problem, stepper_.scratch()); });
  }
  probe::recorder& recorder() { return runtime_.recorder(); }
  probe::counter_registry& counters() { return runtime_.counters(); }

  /// Mean length of all tasks so far, in us.
  double mean_task_us() {
    double time_s = 0, calls = 0;
    for (const auto& t : recorder().tasks()) {
      time_s += t.total_s;
      calls += static_cast<double>(t.calls);
    }
    return 1e6 * time_s / calls;
  }

  /// Seconds of one step.
  double step() {
    const double begin = monotonic_seconds();
    runtime_.run([&] { stepper_.advance(setup_.cfl / gas_.largest_signal_rate()); });
    return monotonic_seconds() - begin;
  }

 private:
  runtime runtime_;
  std::unique_ptr<star::input> input_;
  star::setup setup_;
  star::gas gas_;
  star::stepper stepper_;
};

enum mode : int { off, stats, trace, n_modes };

void switch_to(application& app, mode m) {
  probe::recorder& r = app.recorder();
  r.statistics(m != off);
  r.costs(m != off);
  r.flight(m == off ? 0 : probe::default_flight_records);
  r.trace(m == trace);
}

}  // namespace

void measure_app(bench::report& report, const std::string& name, int blocks, int cells) {
  constexpr int turns = 60;
  application app(blocks, cells);
  probe::beat beat;
  for (int i = 0; i < 3; ++i) app.step();
  std::vector<double> share[n_modes];
  for (int turn = 0; turn < turns; ++turn) {
    double seconds[n_modes] = {};
    for (int k = 0; k < n_modes; ++k) {
      const auto m = static_cast<mode>((turn + k) % n_modes);  // no mode is always the first
      switch_to(app, m);
      std::uint64_t reader = 0;
      if (m == stats) reader = beat.every(1, [&] { (void)app.counters().query("/*{*}/*@*"); });
      if (m == trace) reader = beat.every(0.02, [&] { app.recorder().drain(); });
      app.step();
      seconds[m] = app.step() + app.step() + app.step();
      if (reader != 0) beat.remove(reader);
    }
    for (int m = 0; m < n_modes; ++m) share[m].push_back(100 * (seconds[m] / seconds[off] - 1));
  }
  report.add(name + "/task", app.mean_task_us(), "us", bench::lower);
  report.add(name + "/stats", bench::median(share[stats]), "%", bench::lower);
  report.add(name + "/trace", bench::median(share[trace]), "%", bench::lower);
}
