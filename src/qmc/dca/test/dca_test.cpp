#include "qmc/dca/dca.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test/timeout_test.hpp"
#include "qmc/dca/conclude.hpp"
#include "qmc/dca/evaluate_rows.hpp"
#include "qmc/dca/function_results.hpp"
#include "qmc/exact/exact_diagonalization.hpp"
#include "rt/runtime.hpp"

namespace plx::qmc {
namespace {

struct silent : dca_observer {
  std::vector<dca_iteration> iterations;
  int stop_after = 1000;
  void iterated(const dca_iteration& now) override { iterations.push_back(now); }
  void cooled(const dca_temperature&) override {}
  bool stop_requested() override { return static_cast<int>(iterations.size()) >= stop_after; }
};

dca_outcome run(const dca_options& o, unsigned workers = 2, silent observer = {}) {
  EXPECT_TRUE(o.check().has_value());
  runtime rt({.workers = workers, .bind = false});
  return rt.run([&] { return run_dca(o, observer).value(); });
}

// The exact function of a doped dimer: the self-energy is that of its definition, and at high frequencies, where it is
// not computed from G, its two leading terms: U (n - 1) / 2 and U^2 (1 - (n - 1)^2) / 4 iw.
TEST(Dca, SelfEnergyIsThatOfTheExactFunction) {
  const double u = 4, mu = -4, beta = 2;
  const auto c = cluster::named("2x1").value();
  const exact_diagonalization e({c.hopping({}), u, mu, beta});
  const double n = e.density(), limit = u * (n - 1) / 2, coefficient = u * u * (1 - (n - 1) * (n - 1)) / 4;
  matsubara_function g0(2, 256), g(2, 256);
  for (int k = 0; k < 2; ++k) {
    std::vector<std::complex<double>> wave(2);
    for (int r = 0; r < 2; ++r) wave[r] = std::conj(c.phase(k, r)) / std::sqrt(2.0);
    const auto poles =
        e.spectrum(fermion_operator::annihilate(wave, spin::up), fermion_operator::create(wave, spin::up));
    const auto q = c.momentum(k);
    for (int m = 0; m < 256; ++m) {
      const std::complex<double> iw(0, matsubara_frequency(m, beta));
      g(k, m) = poles(iw);
      g0(k, m) = 1.0 / (iw + mu - dispersion{}(q[0], q[1]));
    }
  }
  const auto sigma = self_energy_of(g0, g, u, n, beta);
  for (int k = 0; k < 2; ++k) {
    const auto q = c.momentum(k);
    const std::complex<double> iw(0, matsubara_frequency(0, beta));
    EXPECT_LT(std::abs(1.0 / (iw + mu - dispersion{}(q[0], q[1]) - sigma(k, 0)) - g(k, 0)), 1e-12);
    EXPECT_LT(sigma(k, 0).imag(), 0);
    for (int m : {100, 255}) {
      EXPECT_NEAR(sigma(k, m).real(), limit, 1e-9);
      EXPECT_NEAR(sigma(k, m).imag() * matsubara_frequency(m, beta), -coefficient, 0.1 * coefficient);
    }
  }
  EXPECT_LT(limit, -0.3);
}

TEST(Dca, FixedChemicalPotential) {
  dca_options o;
  o.u = 4;
  o.adjust_mu = false;
  o.mu = -1;
  o.lattice = false;
  o.temperatures = {0.5};
  o.first_iterations = 1;
  o.measurements = 2000;
  o.frequencies = 64;
  o.pair_frequencies = 0;
  const auto t = run(o).temperatures.at(0);
  const exact_diagonalization e({cluster::named("2x2").value().hopping({}), o.u, o.mu, 2});
  EXPECT_EQ(t.mu, -1);
  EXPECT_LT(std::abs(t.density.value - e.density()), 4 * t.density.error);
  EXPECT_LT(t.density.error, 0.02);
}

// The self-energy of a state may be one that no chemical potential compensates.
TEST(Dca, DensityThatCannotBeReached) {
  dca_options o;
  o.temperatures = {10000};
  EXPECT_NE(o.check().error().message.find("model.density: at T = 10000: density 0.95: expected one between 0.9"),
            std::string::npos)
      << o.check().error().message;
  EXPECT_NE(o.check().error().message.find("use lower loop.temperatures"), std::string::npos);
  o.adjust_mu = false;
  EXPECT_TRUE(o.check());
  o.adjust_mu = true;
  o.temperatures = {0.5};
  ASSERT_TRUE(o.check());
  dca_state from;
  from.iteration = 1;
  from.self_energy = matsubara_function(4, o.frequencies);
  for (int k = 0; k < 4; ++k)
    for (int m = 0; m < o.frequencies; ++m) from.self_energy(k, m) = 500;
  silent observer;
  runtime rt({.workers = 1, .bind = false});
  const auto r = rt.run([&] { return run_dca(o, observer, &from); });
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("T 0.5: density 0.95: expected one between"), std::string::npos)
      << r.error().message;
}

// The periodic cluster needs no self-consistency: every iteration has its exact solution.
TEST(Dca, PeriodicClusterHasTheExactSolution) {
  dca_options o;
  o.u = 4;
  o.density = 1;
  o.lattice = false;
  o.temperatures = {0.5};
  o.first_iterations = 1;
  o.measurements = 4000;
  o.sweeps = 2;
  o.pair_frequencies = 4;
  o.channels = {"magnetic", "charge", "particle_particle"};
  o.all_transfers = true;
  o.four_point_frequencies = 3;
  const auto r = run(o);
  ASSERT_EQ(r.temperatures.size(), 1u);
  const auto& t = r.temperatures[0];
  const auto c = cluster::named("2x2").value();
  const exact_diagonalization e({c.hopping({}), o.u, 0, 2});
  EXPECT_NEAR(t.mu, 0, 1e-6);
  EXPECT_LT(std::abs(t.energy.value - e.energy()), 4 * t.energy.error);
  EXPECT_LT(t.energy.error, 0.03);
  EXPECT_LT(std::abs(t.double_occupancy.value - e.double_occupancy()), 4 * t.double_occupancy.error);
  const int x = c.find_momentum(M_PI, 0);
  std::vector<std::complex<double>> wave(4);
  for (int s = 0; s < 4; ++s) wave[s] = std::conj(c.phase(x, s)) / 2.0;
  const auto g = e.green(fermion_operator::annihilate(wave, spin::up), fermion_operator::create(wave, spin::up), 0);
  const double exact = (std::complex<double>(0, matsubara_frequency(0, 2)) - 1.0 / g).imag();  // eps = mu = 0
  EXPECT_LT(std::abs(t.self_energy(x, 0).imag() - exact), 4 * t.self_energy_error(x, 0).imag());
  ASSERT_TRUE(t.correlations.has_value());
  EXPECT_LT(std::abs(t.correlations->double_occupancy.value - e.double_occupancy()),
            4 * t.correlations->double_occupancy.error);
  // The energy of the periodic cluster is that of its own bonds: U D - U n / 2 + U / 4, and the rest.
  const double potential = o.u * (e.double_occupancy() - 0.25);
  EXPECT_LT(std::abs(t.potential_energy.value - potential), 4 * t.potential_energy.error);
  EXPECT_LT(std::abs(t.kinetic_energy.value - (e.energy() - potential)), 4 * t.kinetic_energy.error);
  double particles = 0;
  for (const auto& n : t.occupation) particles += n.value / 4;
  EXPECT_NEAR(particles, 1, 0.01);
  EXPECT_GT(t.occupation[0].value, 1.5);
  // Antiferromagnetic.
  const auto& spin = t.correlations->spin_susceptibility.of_momentum;
  EXPECT_GT(spin[c.find_momentum(M_PI, M_PI)].value, 1.5 * spin[0].value);
  EXPECT_GT(t.d_wave->value, 0);
  EXPECT_LT(t.d_wave->error, 0.1);
  // The same from functions of two particles; the lattice is the cluster here.
  ASSERT_EQ(t.four_points.size(), 12u);
  for (const auto& f : t.four_points) {
    const int q = f.function.momentum;
    const estimate direct = f.function.channel == four_point_channel::magnetic ? spin[q]
                            : f.function.channel == four_point_channel::charge
                                ? t.correlations->charge_susceptibility.of_momentum[q]
                                : t.correlations->pairs[0];
    if (f.function.channel == four_point_channel::particle_particle && q != 0) continue;
    EXPECT_LT(std::abs(f.cluster.value - direct.value),
              4 * std::hypot(f.cluster.error, direct.error) + 0.01 * direct.value)
        << name_of(f.function.channel) << q << ": " << f.cluster.value << " " << direct.value;
    EXPECT_NEAR(f.lattice.value, f.cluster.value, 0.02 * f.cluster.value + 0.002);
  }
}

// Weak coupling on the lattice: the density is kept, and the self-energy is that of second order in U up to higher
// orders.
TEST(Dca, LoopKeepsTheDensityAndConverges) {
  dca_options o;
  o.u = 2;
  o.density = 0.9;
  o.temperatures = {1, 0.5};
  o.first_iterations = 3;
  o.iterations = 2;
  o.measurements = 2000;
  o.pair_frequencies = 2;
  o.frequencies = 64;
  silent observer;
  runtime rt({.workers = 2, .bind = false});
  const auto r = rt.run([&] { return run_dca(o, observer).value(); });
  ASSERT_EQ(observer.iterations.size(), 5u);
  EXPECT_LT(observer.iterations[2].change, 0.25 * observer.iterations[0].change);
  for (const auto& t : r.temperatures) {
    EXPECT_LT(std::abs(t.density.value - 0.9), 5 * t.density.error + 0.002);
    EXPECT_TRUE(t.d_wave.has_value());
    EXPECT_FALSE(r.transition.has_value());
  }
  EXPECT_GT(r.temperatures[1].d_wave->value, r.temperatures[0].d_wave->value);
}

TEST(Dca, SameBitsForAnyNumberOfWorkers) {
  dca_options o;
  o.u = 4;
  o.temperatures = {0.5};
  o.first_iterations = 2;
  o.measurements = 200;
  o.walkers = 4;
  o.bins = 2;
  o.frequencies = 32;
  o.pair_frequencies = 2;
  const auto one = run(o, 1);
  for (unsigned workers : {3u, 16u}) {
    const auto several = run(o, workers);
    EXPECT_EQ(one.temperatures[0].self_energy, several.temperatures[0].self_energy);
    EXPECT_EQ(one.temperatures[0].self_energy_error, several.temperatures[0].self_energy_error);
    EXPECT_EQ(one.temperatures[0].d_wave->value, several.temperatures[0].d_wave->value);
    EXPECT_EQ(one.temperatures[0].d_wave->error, several.temperatures[0].d_wave->error);
  }
}

// Stopped after some measurements, at a time that is not under control, and continued from the state each time.
TEST(Dca, StoppedAndContinuedRunsHaveTheSameBits) {
  struct stopping : silent {
    std::atomic<bool> stop = false, ended = false;
    unsigned least = 0;  // measurements
    dca_state last;
    std::shared_ptr<monte_carlo_progress> walkers = std::make_shared<monte_carlo_progress>();
    bool is_due() const { return walkers->samples >= least; }
    // The run pauses after each measurement: it does not end before the stop.
    void reached(const dca_state& s) override {
      last = s;
      EXPECT_TRUE(!is_due() || comes_true([this] { return stop.load(); }, std::this_thread::yield));
    }
    bool stop_requested() override { return stop; }
    const std::atomic<bool>* stop_flag() const override { return &stop; }
    std::shared_ptr<monte_carlo_progress> progress() override { return walkers; }
  };
  dca_options o;
  o.u = 4;
  o.temperatures = {1, 0.5};
  o.first_iterations = 2;
  o.iterations = 1;
  o.measurements = 400;
  o.walkers = 4;
  o.bins = 2;
  o.frequencies = 32;
  o.pair_frequencies = 2;
  const auto whole = run(o, 2);
  o.checkpoint_interval_s = 1e-6;
  std::vector<dca_temperature> parts;
  std::optional<dca_state> from;
  int stops = 0, within = 0;
  for (bool stopped = true; stopped; ++stops) {
    stopping observer;
    observer.least = 40 + 60 * static_cast<unsigned>(stops);
    runtime rt({.workers = 1 + static_cast<unsigned>(stops) % 3, .bind = false});
    std::thread signal([&] {
      EXPECT_TRUE(comes_true([&] { return observer.is_due() || observer.ended; }, std::this_thread::yield));
      observer.stop = true;
    });
    const auto r = rt.run([&] { return run_dca(o, observer, from ? &*from : nullptr).value(); });
    observer.ended = true;
    signal.join();
    stopped = r.stopped;
    parts.insert(parts.end(), r.temperatures.begin(), r.temperatures.end());
    from = observer.last;
    within += from->walkers.empty() ? 0 : 1;
  }
  // Paused for checkpoints after each measurement.
  o.measurements = 40;
  const auto paused = run(o, 2);
  o.checkpoint_interval_s = 0;
  EXPECT_EQ(paused.temperatures[1].self_energy, run(o, 2).temperatures[1].self_energy);
  EXPECT_GT(stops, 1);
  EXPECT_GT(within, 0);
  ASSERT_EQ(parts.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(parts[i].green, whole.temperatures[i].green);
    EXPECT_EQ(parts[i].self_energy, whole.temperatures[i].self_energy);
    EXPECT_EQ(parts[i].d_wave->value, whole.temperatures[i].d_wave->value);
    EXPECT_EQ(parts[i].energy.error, whole.temperatures[i].energy.error);
  }
}

// Stopped when the walkers are complete: their measurements are kept, and the iteration is reported once.
TEST(Dca, StoppedBeforeTheResultsOfATemperatureContinuesWithThem) {
  struct stopping : silent {
    mutable std::atomic<bool> stop = false;
    mutable int calls = 0;
    dca_state last;
    void reached(const dca_state& s) override { last = s; }
    const std::atomic<bool>* stop_flag() const override {
      stop = ++calls == 2;  // the solver's; that of the results
      return &stop;
    }
  };
  dca_options o;
  o.u = 4;
  o.temperatures = {0.5};
  o.first_iterations = 1;
  o.measurements = 200;
  o.walkers = 4;
  o.bins = 2;
  o.frequencies = 32;
  o.pair_frequencies = 2;
  const auto whole = run(o, 2);
  stopping first;
  runtime rt({.workers = 2, .bind = false});
  const auto part = rt.run([&] { return run_dca(o, first).value(); });
  EXPECT_TRUE(part.stopped && part.temperatures.empty() && first.iterations.empty());
  ASSERT_EQ(first.last.walkers.size(), 4u);
  silent second;
  const auto rest = rt.run([&] { return run_dca(o, second, &first.last).value(); });
  EXPECT_EQ(second.iterations.size(), 1u);
  ASSERT_EQ(rest.temperatures.size(), 1u);
  EXPECT_EQ(rest.temperatures[0].self_energy, whole.temperatures[0].self_energy);
  EXPECT_EQ(rest.temperatures[0].d_wave->error, whole.temperatures[0].d_wave->error);
}

TEST(Dca, WarningsOfTheLastIterationOfATemperature) {
  dca_options o;
  o.density = 0.9;
  o.measurements = 6400;  // 100 in a bin
  dca_iteration i;
  i.last = true;
  i.density = {0.93, 0.01};
  i.autocorrelation_time = 9;
  EXPECT_TRUE(warnings_of(o, i).empty());
  i.density.error = 0.001;
  i.autocorrelation_time = 11;
  EXPECT_EQ(warnings_of(o, i).size(), 2u);
  o.adjust_mu = false;
  EXPECT_EQ(warnings_of(o, i).size(), 1u);
  i.order = 160;
  ASSERT_EQ(warnings_of(o, i).size(), 2u);
  EXPECT_NE(warnings_of(o, i)[1].find("expected at least 5280 moves"), std::string::npos) << warnings_of(o, i)[1];
  i.order = 150;
  EXPECT_EQ(warnings_of(o, i).size(), 1u);
  i.last = false;
  EXPECT_TRUE(warnings_of(o, i).empty());
  i.drift = 1e-5;
  ASSERT_EQ(warnings_of(o, i).size(), 1u);
  EXPECT_NE(warnings_of(o, i)[0].find("rounding errors of the walkers' matrices reach 1.0e-05"), std::string::npos);
  EXPECT_NE(warnings_of(o, i)[0].find("use a smaller solver.batch (64), or higher"), std::string::npos);
  o.method = "rank_one";  // has no batches
  EXPECT_NE(warnings_of(o, i)[0].find("expected at most 1e-06; use higher temperatures"), std::string::npos);
  // A weight of 0 cannot be made smaller.
  i.drift = 0, i.last = true, i.autocorrelation_time = 1;
  o.adjust_mu = true, o.mixing = 0;
  ASSERT_EQ(warnings_of(o, i).size(), 1u);
  EXPECT_NE(warnings_of(o, i)[0].find("use a loop.mixing above 0"), std::string::npos);
}

// Rows 3 and 5 fail; the tasks may run in any order.
TEST(DcaRows, TheErrorIsThatOfTheLowestRowForAnyNumberOfWorkers) {
  for (const unsigned workers : {1u, 2u, 4u}) {
    runtime rt({.workers = workers, .bind = false});
    for (int repetition = 0; repetition < 20; ++repetition) {
      std::atomic<int> calls = 0;
      const auto r = rt.run([&] {
        return evaluate_rows(8, nullptr, [&](std::size_t i) -> result<void> {
          ++calls;
          if (i == 3 || i == 5) return error{"row " + std::to_string(i)};
          return {};
        });
      });
      ASSERT_FALSE(r);
      EXPECT_EQ(r.error().message, "row 3");
      EXPECT_EQ(calls, 8);
    }
  }
}

TEST(DcaRows, AnExceptionOfARowReachesTheCallerAfterAllRows) {
  runtime rt({.workers = 2, .bind = false});
  std::atomic<int> calls = 0;
  const auto evaluate = [&] {
    return evaluate_rows(8, nullptr, [&](std::size_t i) -> result<void> {
      ++calls;
      if (i == 2) throw std::bad_alloc();
      return {};
    });
  };
  EXPECT_THROW((void)rt.run(evaluate), std::bad_alloc);
  EXPECT_EQ(calls, 8);
}

TEST(DcaRows, AStopBetweenRowsEndsTheRestAndHidesErrors) {
  runtime rt({.workers = 1, .bind = false});
  std::atomic<bool> stop = false;
  int calls = 0;
  const auto r = rt.run([&] {
    return evaluate_rows(
        8, [&] { return stop.load(); },
        [&](std::size_t) -> result<void> {
          stop = ++calls == 3;
          return error{"incomplete"};
        });
  });
  ASSERT_TRUE(r);
  EXPECT_FALSE(*r);
  EXPECT_EQ(calls, 3);
}

// A resume may set fewer iterations than the checkpoint has: the next one is the last.
TEST(Dca, FewerIterationsThanAreCompleteMakeOneMore) {
  struct counting : dca_observer {
    std::vector<std::pair<int, int>> begun;  // iteration, iterations
    std::vector<bool> last;
    void began(const dca_iteration& now, int iterations) override {
      begun.emplace_back(now.iteration, iterations);
      last.push_back(now.last);
    }
    void iterated(const dca_iteration&) override {}
    void cooled(const dca_temperature&) override {}
  };
  dca_options o;
  o.u = 2;
  o.temperatures = {1};
  o.first_iterations = 2;
  o.measurements = 16;
  o.walkers = o.bins = 2;
  o.frequencies = 32;
  o.pair_frequencies = 0;
  o.warm_up = 50;
  dca_state from;
  from.iteration = 4;
  from.self_energy = matsubara_function(o.make_cluster().value().n_sites(), o.frequencies);
  counting watch;
  runtime rt({.workers = 2, .bind = false});
  ASSERT_TRUE(rt.run([&] { return run_dca(o, watch, &from); }));
  EXPECT_EQ(watch.begun, (std::vector<std::pair<int, int>>{{4, 5}}));
  EXPECT_EQ(watch.last, std::vector<bool>{true});
}

TEST(Transition, InterpolatesInTheLogarithmOfT) {
  const double t[] = {0.08, 0.07};
  const estimate lambda[] = {{0.9, 0.01}, {1.1, 0.03}};
  const auto tc = transition_temperature(t, lambda);
  ASSERT_TRUE(tc.has_value());
  EXPECT_NEAR(tc->value, std::sqrt(0.08 * 0.07), 1e-12);
  // d ln Tc = ln(0.07 / 0.08) / 0.04 (0.1 dlambda_1 + 0.1 dlambda_2)
  EXPECT_NEAR(tc->error, tc->value * std::log(0.08 / 0.07) / 0.04 * 0.1 * std::hypot(0.01, 0.03), 1e-9);
  EXPECT_FALSE(transition_temperature(std::span(t, 1), std::span(lambda, 1)).has_value());
}

TEST(Transition, FitsFourTemperatures) {
  const double t[] = {1, 0.1, 0.09, 0.08, 0.07};
  std::vector<estimate> lambda;
  for (double x : t) lambda.push_back({1 - 0.3 * std::log(x / 0.076), 0.01});
  const auto exact = transition_temperature(t, lambda);
  ASSERT_TRUE(exact.has_value());
  EXPECT_NEAR(exact->value, 0.076, 1e-12);
  lambda[0].value = 0;  // too far to be used
  EXPECT_EQ(transition_temperature(t, lambda)->value, exact->value);
  // T_c and its error from normal equations in ln T, computed independently.
  const double noise[] = {0, 0.012, -0.004, -0.009, 0.006}, errors[] = {0.01, 0.02, 0.01, 0.01, 0.005};
  for (int i = 0; i < 5; ++i) lambda[i] = {lambda[i].value + noise[i], errors[i]};
  const auto noisy = transition_temperature(t, lambda);
  EXPECT_NEAR(noisy->value, 0.07647722112541035, 1e-9);
  EXPECT_NEAR(noisy->error, 0.0009369496160079742, 1e-9);
}

TEST(Transition, SelfEnergyAtAnotherTemperature) {
  matsubara_function s(1, 64);
  for (int n = 0; n < 64; ++n) s(0, n) = {0.3, -2 / matsubara_frequency(n, 2)};
  const auto colder = at_temperature(s, 2, 2.5), hotter = at_temperature(s, 2, 0.5);
  for (int n = 10; n < 64; ++n) EXPECT_NEAR(colder(0, n).imag(), -2 / matsubara_frequency(n, 2.5), 2e-4);
  for (int n = 5; n < 64; ++n) EXPECT_NEAR(hotter(0, n).imag(), -2 / matsubara_frequency(n, 0.5), 1e-3);
  EXPECT_EQ(colder(0, 0), s(0, 0));
}

TEST(DcaOptions, WrongInputGetsOneLine) {
  dca_options o;
  const auto message = [&](auto change) {
    dca_options wrong = o;
    change(wrong);
    const auto r = wrong.check();
    return r ? std::string() : r.error().message;
  };
  EXPECT_NE(message([](auto& w) { w.vectors = {1, 2, 3}; }).find("expected four integers"), std::string::npos);
  EXPECT_NE(message([](auto& w) { w.vectors = {1, 2, 2, 4}; }).find("found 0"), std::string::npos);
  EXPECT_NE(message([](auto& w) { w.cluster = "3y3"; }).find("WIDTHxHEIGHT"), std::string::npos);
  EXPECT_NE(message([](auto& w) { w.temperatures.clear(); }).find("found none"), std::string::npos);
  EXPECT_NE(message([](auto& w) { w.measurements = 3; }).find("at least one per bin"), std::string::npos);
  EXPECT_NE(message([](auto& w) { w.frequencies = 65; }).find("even number, found 65"), std::string::npos);
  EXPECT_NE(message([](auto& w) { w.pair_frequencies = 3; }).find("even number"), std::string::npos);
  EXPECT_NE(message([](auto& w) { w.pair_frequencies = 300; }).find("at most"), std::string::npos);
  config_table t;
  o.describe(t);
  EXPECT_FALSE(t.set("model.density=2.5").has_value());
  EXPECT_FALSE(t.set("solver.methode=rank_one").has_value());
}

}  // namespace
}  // namespace plx::qmc
