// Quantum Monte Carlo of the Hubbard model. The standard problem (2x2 cluster, U = 6, n = 0.95) at T = 0.08, reached by
// a short cool-down: measurements per second and core with 16 frequencies of the pair function, the shares of the
// measurements in the time of a walker, and the efficiency of all cores. Moves per second of both walkers at given mean
// expansion orders, on the periodic 2x2 cluster at half filling, where the order is proportional to beta.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "num/saved_numbers.hpp"
#include "qmc/dca/dca.hpp"
#include "qmc/walker/submatrix_walker.hpp"
#include "qmc_threads.hpp"
#include "report.hpp"
#include "rt/runtime.hpp"
#include "timing.hpp"

namespace {

using namespace plx;
using namespace plx::qmc;

impurity periodic_cluster(double u, double beta) {
  impurity p;
  p.lattice = std::make_shared<const cluster>(cluster::named("2x2").value());
  p.u = u;
  p.beta = beta;
  const coarse_graining grain(*p.lattice, {}, 1);
  p.g0 = grain.green(matsubara_function(4, std::max(64, static_cast<int>(8 * beta))), 0, beta);
  for (int k = 0; k < 4; ++k) p.moments.push_back(grain.patch(k).mean());
  return p;
}

// The problem of the last temperature after a cool-down with few measurements.
impurity standard_problem() {
  dca_options o;
  o.temperatures = {1, 0.5, 0.25, 0.125, 0.1, 0.08};
  o.first_iterations = 3;
  o.iterations = 2;
  o.measurements = 1600;
  o.warm_up = 1000;
  o.pair_frequencies = 0;
  o.correlations = false;
  struct : dca_observer {
    void iterated(const dca_iteration&) override {}
    void cooled(const dca_temperature&) override {}
    void reached(const dca_state& s) override { last = s.self_energy; }
    matsubara_function last;
  } observer;
  runtime rt({.bind = false});
  rt.run([&] { return run_dca(o, observer).value(); });
  impurity p;
  p.lattice = std::make_shared<const cluster>(o.make_cluster().value());
  p.u = o.u;
  p.beta = 1 / o.temperatures.back();
  const coarse_graining grain(*p.lattice, {});
  p.mu = grain.find_mu(observer.last, o.density, p.beta).value();
  p.g0 = exclude_cluster(grain.green(observer.last, p.mu, p.beta), observer.last);
  for (int k = 0; k < p.lattice->n_sites(); ++k) p.moments.push_back(grain.patch(k).mean() - p.mu);
  return p;
}

// Core seconds of the process, without the pause of bench::core_time_of().
template <class F>
double core_time(F&& f) {
  const double begin = bench::core_seconds();
  f();
  return bench::core_seconds() - begin;
}

// Wall-clock or CPU time, without that of the warm-up.
double seconds_per_measurement(const impurity& p, unsigned workers, int walkers, bool of_cores) {
  runtime rt({.workers = workers, .bind = workers > 1});  // one alone runs on the core that is least busy
  const auto seconds = [&](int measurements) {
    const monte_carlo_options o = {.walkers = walkers,
                                   .bins = 1,
                                   .measurements = measurements,
                                   .warm_up = 2000,
                                   .pair_frequencies = 16,
                                   .correlations = true};
    const auto work = [&] { rt.run([&] { return async_monte_carlo(p, o).get(); }); };
    return of_cores ? core_time(work) : bench::wall_time_of(work);
  };
  const int few = 20, many = 320;
  const double short_run = seconds(few);
  return (seconds(many) - short_run) / (walkers * (many - few));
}

struct shares {
  double single_particle = 0, pairs = 0, correlations = 0;
};

shares shares_of_measurements(const impurity& p, int measurements) {
  const free_propagator g0(*p.lattice, p.g0, p.moments, p.beta);
  const nonuniform_fourier transform(p.g0.n_frequencies());
  submatrix_walker w(g0, expansion::of(p.u, p.beta, p.lattice->n_sites(), 1), random_stream(1, 0));
  single_particle_accumulator single(*p.lattice, transform, p.beta);
  vertex_transform vertices(*p.lattice, p.beta, 16);
  pair_accumulator pairs(*p.lattice, p.g0, p.beta, 16);
  correlation_accumulator correlations(*p.lattice, g0, random_stream(1, 1));
  snapshot s;
  w.advance(3000);
  double moves = 0, of_single = 0, of_pairs = 0, of_correlations = 0;
  for (int i = 0; i < measurements; ++i) {
    moves += core_time([&] {
      w.advance(w.order());
      s.take(w);
    });
    of_single += core_time([&] { single.add(s); });
    of_pairs += core_time([&] {
      vertices.take(s);
      pairs.add(vertices);
    });
    of_correlations += core_time([&] { correlations.add(s); });
  }
  const double all = moves + of_single + of_pairs + of_correlations;
  return {100 * of_single / (moves + of_single), 100 * of_pairs / all, 100 * of_correlations / all};
}

// Moves per second at the mean order; both walkers begin with the same configuration.
void measure_walkers(bench::report& report, int order, int turns) {
  const double u = 6, beta = order / (4 * u * 0.43);  // n / 2 - D is about 0.43
  const auto p = periodic_cluster(u, beta);
  const free_propagator g0(*p.lattice, p.g0, p.moments, p.beta, order > 500 ? 8192 : 2048);
  const auto e = expansion::of(u, beta, 4, 1);
  submatrix_walker fast(g0, e, random_stream(1, 0));
  fast.advance(12 * order);
  rank_one_walker reference(g0, e, random_stream(1, 0));
  std::vector<double> state;
  number_writer to(state);
  fast.save(to);
  number_reader from(state);
  reference.load(from);
  const int moves = std::max(64, 200000 / order);
  std::vector<double> of_fast, of_reference;
  for (int turn = 0; turn < turns; ++turn) {
    of_fast.push_back(1e-3 * moves / core_time([&] { fast.advance(moves); }));
    of_reference.push_back(1e-3 * moves / core_time([&] { reference.advance(moves); }));
  }
  const std::string name = "qmc/walker/k" + std::to_string(order);
  report.add(name + "/submatrix", bench::median(of_fast), "thousand moves/s", bench::higher);
  report.add(name + "/rank_one", bench::median(of_reference), "thousand moves/s", bench::higher);
  std::printf("# %s: %d vertices at the end\n", name.c_str(), fast.order());
}

struct usage {
  double wall_s = 0, voluntary = 0, involuntary = 0;  // context switches
};

template <class F>
usage usage_of(F&& f) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  usage u;
  u.wall_s = bench::wall_time_of(f);
  getrusage(RUSAGE_SELF, &after);
  u.voluntary = static_cast<double>(after.ru_nvcsw - before.ru_nvcsw);
  u.involuntary = static_cast<double>(after.ru_nivcsw - before.ru_nivcsw);
  return u;
}

// Threads that block: three walkers and five accumulators, on std::thread and on plx::thread, in turns; beside them the
// chains of tasks with as many walkers, whose warm-up is subtracted: the others keep their walkers from turn to turn.
void compare_threads(bench::report& report, const impurity& p, int turns) {
  constexpr int n_walkers = 3, n_accumulators = 5, measurements = 150;
  bench::walkers_and_accumulators<bench::std_threads> blocking(p, n_walkers, n_accumulators);
  bench::walkers_and_accumulators<bench::plx_threads> suspending(p, n_walkers, n_accumulators);
  std::vector<double> time[3], voluntary[3], involuntary[3];
  for (int turn = -1; turn < turns; ++turn) {
    usage u[3];
    u[0] = usage_of([&] { blocking.run(measurements); });
    {
      runtime rt({.bind = false});
      u[1] = usage_of([&] { rt.run([&] { suspending.run(measurements); }); });
      const auto usage_of_tasks = [&](int n) {
        const monte_carlo_options o = {
            .walkers = n_walkers, .bins = 1, .measurements = n, .warm_up = 4000, .pair_frequencies = 16};
        return usage_of([&] { rt.run([&] { return async_monte_carlo(p, o).get(); }); });
      };
      const double few_s = usage_of_tasks(1).wall_s;
      u[2] = usage_of_tasks(1 + measurements);
      u[2].wall_s -= few_s;  // context switches are too few for a difference
    }
    if (turn < 0) continue;  // warms up
    for (int i = 0; i < 3; ++i) {
      time[i].push_back(1e3 * u[i].wall_s / (n_walkers * measurements));
      voluntary[i].push_back(u[i].voluntary);
      involuntary[i].push_back(u[i].involuntary);
    }
  }
  for (const int i : {0, 1, 2}) {
    const std::string name = std::string("qmc/threads/") + (i == 0 ? "std" : i == 1 ? "plx" : "tasks");
    report.add(name, bench::median(time[i]), "ms/measurement", bench::lower);
    report.add(name + "/voluntary", bench::median(voluntary[i]), "context switches", bench::lower);
    report.add(name + "/involuntary", bench::median(involuntary[i]), "context switches", bench::lower);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::report report(argc, argv);
  const int turns = report.rest().empty() ? 5 : std::atoi(report.rest().front().c_str());
  const auto p = standard_problem();
  const unsigned cores = std::max(1u, usable_processors());
  std::vector<double> rates, efficiencies, single, pairs, correlations;
  for (int turn = 0; turn < turns; ++turn) {
    const double alone = seconds_per_measurement(p, 1, 1, true);
    rates.push_back(1 / alone);
    efficiencies.push_back(100 * seconds_per_measurement(p, 1, static_cast<int>(2 * cores), false) /
                           (cores * seconds_per_measurement(p, cores, static_cast<int>(2 * cores), false)));
    const auto s = shares_of_measurements(p, 200);
    single.push_back(s.single_particle);
    pairs.push_back(s.pairs);
    correlations.push_back(s.correlations);
  }
  report.add("qmc/tc/2x2", bench::median(rates), "measurements/s/core", bench::higher);
  report.add("qmc/measure/sp", bench::median(single), "% of the time", bench::lower);
  report.add("qmc/measure/g4", bench::median(pairs), "% of the time", bench::lower);
  report.add("qmc/measure/correlations", bench::median(correlations), "% of the time", bench::lower);
  report.add("qmc/scaling", bench::median(efficiencies), "% of all cores", bench::higher);
  compare_threads(report, p, turns);
  for (int order : {50, 120, 300, 1000}) measure_walkers(report, order, turns);
  return report.finish();
}
