#include "qmc/dca/dca.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "qmc/dca/conclude.hpp"
#include "qmc/dca/function_results.hpp"
#include "qmc/solver/distributed_walkers.hpp"

namespace plx::qmc {
namespace {

class loop {
 public:
  loop(const dca_options& o, dca_observer& observer, const team& members)
      : options_(o),
        observer_(observer),
        cluster_(std::make_shared<const cluster>(o.make_cluster().value())),
        grain_(*cluster_, {1, o.t_prime}, o.lattice ? 128 : 1),
        four_points_(o.make_four_points(*cluster_).value()),
        bubble_(*cluster_, {1, o.t_prime}, o.lattice),
        walkers_(members, cluster_, observer.stop_flag()),
        functions_(members, four_points_, bubble_, o.expansion_k, [this] { return walkers_.poll_stop(); }) {
    state_.self_energy = matsubara_function(cluster_->n_sites(), o.frequencies);
    walkers_.report_to(observer.progress());
    walkers_.keep_functions_in(observer.functions());
    walkers_.hold_bins_with(
        [this](const impurity& p, std::vector<bin_functions> bins) { functions_.hold(p, std::move(bins)); });
  }

  result<dca_outcome> run(const dca_state* from) {
    if (!walkers_.is_root()) {
      walkers_.serve();
      return dca_outcome();
    }
    auto outcome = run_root(from);
    walkers_.end();
    return outcome;
  }

 private:
  result<dca_outcome> run_root(const dca_state* from) {
    if (from != nullptr) state_ = *from;
    observer_.reached(state_);
    while (state_.temperature < static_cast<int>(options_.temperatures.size()) && !outcome_.stopped)
      if (auto done = iterate(); !done) return done.error();
    auto all = outcome_of(state_);
    all.temperatures = std::move(outcome_.temperatures);
    all.stopped = outcome_.stopped;
    return all;
  }

  result<void> iterate() {
    const int index = state_.temperature, iteration = state_.iteration;
    const double beta = 1 / options_.temperatures[index];
    // A resume may ask for fewer than are complete: then this one is the last.
    const int iterations = std::max(index == 0 ? options_.first_iterations : options_.iterations, iteration + 1);
    const bool last = iteration + 1 >= iterations;
    const auto start = std::chrono::steady_clock::now();
    const auto seconds = [&, before = state_.seconds] {
      return before + std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    // Before the first iteration of a temperature, the state holds the self-energy of the one before.
    auto old = iteration == 0 && index > 0
                   ? at_temperature(state_.self_energy, 1 / options_.temperatures[index - 1], beta)
                   : state_.self_energy;
    const auto mu = options_.adjust_mu ? grain_.find_mu(old, options_.density, beta) : result<double>(options_.mu);
    if (!mu) return error{fmt::format("T {:.5g}: {}", 1 / beta, mu.error().message)};
    dca_iteration now;
    now.temperature = index, now.iteration = iteration, now.last = last, now.t = 1 / beta, now.mu = *mu;
    now.seconds = state_.seconds;
    observer_.began(now, iterations);
    const impurity p = problem_at(*mu, beta, old);
    auto settings = solver_options(last);
    const bool distributed = settings.functions_stay;
    const auto solved = walkers_.run(p, std::move(settings), state_.functions);
    if (!solved) return stop_with(solved.error());
    const auto& r = *solved;
    const auto pause = [&]() -> result<void> {
      if (distributed && !walkers_.keeps_functions()) return {};
      if (auto saved = save_functions(distributed); !saved) return saved;
      state_.walkers = r.saved();
      state_.seconds = seconds();
      observer_.reached(state_);
      return {};
    };
    if (!r.complete) {
      if (auto paused = pause(); !paused) return stop_with(paused.error());
      outcome_.stopped = stop_requested();  // by a signal, or because the observer could not write the checkpoint
      return {};
    }
    // The jackknife of functions of two particles may take longer than their measurement.
    const bool keeps_measurements = last && !four_points_.functions.empty() && options_.checkpoint_interval_s > 0;
    if (keeps_measurements) {
      if (auto paused = pause(); !paused) return stop_with(paused.error());
      state_.walkers = {};  // as large as the bins: not kept beside the jackknife
      outcome_.stopped = stop_requested();
      if (outcome_.stopped) return {};
    }
    const auto rows = rows_of(r, false);
    const auto means = detail::leave_one_out(rows, {}).back();
    const auto averages = averages_of(p, options_.expansion_k, means);
    const auto g = green_of(p, means);
    const auto sigma = self_energy_of(p.g0, g, p.u, averages.density, beta);
    now.order = averages.order, now.autocorrelation_time = r.order_autocorrelation_time();
    now.drift = r.moves.largest_drift;
    now.acceptance =
        r.moves.proposed > 0 ? static_cast<double>(r.moves.accepted) / static_cast<double>(r.moves.proposed) : 0;
    now.wait_s = walkers_.wait_s(), now.exchanged_mb = 1e-6 * walkers_.bytes();
    for (int k = 0; k < sigma.n_momenta(); ++k) {
      now.change = std::max(now.change, std::abs(sigma(k, 0) - old(k, 0)));
      for (int m = 0; m < sigma.n_frequencies(); ++m) old(k, m) += options_.mixing * (sigma(k, m) - old(k, m));
    }
    const auto estimates = jackknife(rows, [&](std::span<const double> row) {
      const auto a = averages_of(p, options_.expansion_k, row);
      return std::vector<double>{a.density, a.double_occupancy, a.sign};
    });
    now.density = estimates[0], now.double_occupancy = estimates[1], now.sign = estimates[2];
    now.seconds = seconds();
    if (!last) observer_.iterated(now);
    const auto reported = last ? end_temperature(now, p, rows) : result<bool>(true);
    if (!reported) return reported.error();
    if (*reported)
      advance_state(std::move(old), last);
    else if (auto paused = keeps_measurements ? result<void>() : pause(); !paused)
      return stop_with(paused.error());
    return {};
  }

  // A checkpoint that cannot be written or read.
  result<void> stop_with(const error& e) {
    observer_.checkpoint_failed(e);
    outcome_.stopped = true;
    return {};
  }

  bool stop_requested() { return observer_.stop_requested() || walkers_.stop_requested(); }

  // Functions of two particles of the walkers, if they are distributed: in parts of the next checkpoint.
  result<void> save_functions(bool distributed) {
    state_.functions.clear();
    if (!distributed) return {};
    const auto start = std::chrono::steady_clock::now();
    auto parts = walkers_.save_functions(state_.functions.mark + 1);
    if (!parts) return parts.error();
    state_.functions = *std::move(parts);
    save_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return {};
  }

  // Reports the last iteration of a temperature and its results; false: neither, because the run was stopped.
  result<bool> end_temperature(const dca_iteration& now, const impurity& p,
                               const std::vector<std::vector<double>>& rows) {
    const auto* flag = observer_.stop_flag();  // may be another one than that of the walkers
    dca_temperature t;
    t.t = now.t, t.mu = now.mu;
    t.density = now.density, t.double_occupancy = now.double_occupancy, t.sign = now.sign;
    const auto concluded = conclude(
        options_, grain_, {functions_, four_points_, walkers_.held_bins()}, p, rows,
        [this, flag] { return walkers_.poll_stop() || (flag != nullptr && *flag); }, t);
    outcome_.stopped = concluded && !*concluded;
    if (outcome_.stopped) return false;
    observer_.iterated(now);
    if (!concluded) return concluded.error();
    observer_.cooled(t);
    state_.t.push_back(t.t);
    if (t.d_wave) state_.d_wave.push_back(*t.d_wave);
    outcome_.temperatures.push_back(std::move(t));
    return true;
  }

  void advance_state(matsubara_function self_energy, bool last) {
    state_.temperature += last ? 1 : 0;
    state_.iteration = last ? 0 : state_.iteration + 1;
    state_.streams += static_cast<std::uint64_t>(options_.walkers);  // every iteration has streams of its own
    state_.seconds = 0;
    state_.self_energy = std::move(self_energy);
    state_.walkers.clear();
    state_.functions.clear();
    observer_.reached(state_);
    const bool finished = state_.temperature == static_cast<int>(options_.temperatures.size());
    outcome_.stopped = stop_requested() && !finished;
  }

  impurity problem_at(double mu, double beta, const matsubara_function& sigma) const {
    impurity p{cluster_, options_.u, beta, mu, exclude_cluster(grain_.green(sigma, mu, beta), sigma), {}};
    for (int k = 0; k < cluster_->n_sites(); ++k) p.moments.push_back(grain_.patch(k).mean() - mu);
    return p;
  }

  monte_carlo_options solver_options(bool last) {
    monte_carlo_options o;
    o.walkers = options_.walkers;
    o.bins = options_.bins;
    const std::int64_t bins = static_cast<std::int64_t>(o.walkers) * o.bins;
    o.measurements = static_cast<int>((options_.measurements + bins - 1) / bins);
    o.sweeps = options_.sweeps;
    o.warm_up = options_.warm_up;
    o.k = options_.expansion_k;
    o.method = options_.method == "rank_one" ? walker_method::rank_one : walker_method::submatrix;
    o.batch = options_.batch;
    o.pair_frequencies = last ? options_.pair_frequencies : 0;
    o.correlations = last && options_.correlations;
    if (last) o.four_points = four_points_;
    o.seed = static_cast<std::uint64_t>(options_.seed);
    o.first_stream = state_.streams;
    o.functions_stay = last && options_.distribute == "always" && walkers_.is_distributed();
    o.pause_after_s = options_.checkpoint_interval_s;
    if (o.functions_stay && o.pause_after_s > 0)
      o.pause_after_s = walkers_.keeps_functions() ? std::max(o.pause_after_s, least_interval * save_s_) : 0;
    o.saved = std::move(state_.walkers);
    return o;
  }

  dca_options options_;
  dca_observer& observer_;
  std::shared_ptr<const cluster> cluster_;
  coarse_graining grain_;
  four_point_set four_points_;
  transfer_bubble bubble_;
  distributed_walkers walkers_;
  function_results functions_;  // uses bins that the walkers hold
  dca_state state_;
  dca_outcome outcome_;
  // Distributed functions may be many gigabytes: writing them takes at most a tenth of the time.
  static constexpr double least_interval = 10;
  double save_s_ = 0;  // to write them last
};

}  // namespace

result<dca_outcome> run_dca(const dca_options& options, dca_observer& observer, const dca_state* from,
                            const team& members) {
  return loop(options, observer, members).run(from);
}

std::vector<std::string> warnings_of(const dca_options& o, const dca_iteration& i) {
  std::vector<std::string> all;
  if (!(i.drift <= largest_drift)) {
    const auto batch = o.method == "submatrix" && o.batch > 1 ? fmt::format("a smaller solver.batch ({}), or ", o.batch)
                                                              : std::string();
    all.push_back(fmt::format(
        "warning: T {:.5g}: rounding errors of the walkers' matrices reach {:.1e}: expected at most {:g}; use {}"
        "higher temperatures",
        i.t, i.drift, largest_drift, batch));
  }
  if (!i.last) return all;
  const double distance = std::abs(i.density.value - o.density);
  if (o.adjust_mu && !(distance <= 4 * i.density.error + 0.002)) {
    const auto advice = o.mixing > 0 ? fmt::format("more loop.iterations, or a smaller loop.mixing ({:g})", o.mixing)
                                     : std::string("a loop.mixing above 0, with which the self-energy changes");
    all.push_back(
        fmt::format("warning: T {:.5g}: the density was not reached: expected {:.5g}, found {:.4f} +- {:.4f}; use {}",
                    i.t, o.density, i.density.value, i.density.error, advice));
  }
  const double in_bin = static_cast<double>(o.measurements) / (static_cast<double>(o.walkers) * o.bins);
  if (in_bin < 10 * i.autocorrelation_time)
    all.push_back(fmt::format(
        "warning: T {:.5g}: errors may be too small: expected bins of at least {:.0f} measurements, ten "
        "autocorrelation times, found {:.0f}; use more solver.measurements, or a larger solver.sweeps ({:g})",
        i.t, std::ceil(10 * i.autocorrelation_time), in_bin, o.sweeps));
  const double warm_up = 3 * i.autocorrelation_time * std::max(1.0, o.sweeps * i.order);
  if (o.warm_up < warm_up)
    all.push_back(
        fmt::format("warning: T {:.5g}: the warm-up is short: expected at least {:.0f} moves, three autocorrelation "
                    "times, found {}; "
                    "use a larger solver.warm_up",
                    i.t, std::ceil(warm_up), o.warm_up));
  return all;
}

dca_outcome outcome_of(const dca_state& s) {
  dca_outcome out;
  out.complete = static_cast<int>(s.t.size());
  out.with_d_wave = static_cast<int>(s.d_wave.size());
  out.begins_ordered = !s.d_wave.empty() && s.d_wave.front().value >= 1;
  if (s.d_wave.size() == s.t.size()) out.transition = transition_temperature(s.t, s.d_wave);
  return out;
}

std::optional<estimate> transition_temperature(std::span<const double> t, std::span<const estimate> lambda) {
  for (std::size_t i = 1; i < t.size(); ++i) {
    const double high = lambda[i - 1].value, low = lambda[i].value;
    if (!(low >= 1 && high < 1)) continue;
    const double crossing = std::log(t[i - 1]) + (1 - high) / (low - high) * std::log(t[i] / t[i - 1]);
    std::vector<std::size_t> used;
    for (std::size_t j = 0; j < t.size(); ++j) used.push_back(j);
    const auto bracket_first = [&](std::size_t j) {
      return std::pair(j != i && j != i - 1, std::abs(std::log(t[j]) - crossing));
    };
    std::sort(used.begin(), used.end(),
              [&](std::size_t x, std::size_t y) { return bracket_first(x) < bracket_first(y); });
    used.resize(std::min<std::size_t>(used.size(), 4));
    // lambda = a + b x with x = ln T - crossing; the slope between the first two is negative.
    for (;; used.pop_back()) {
      double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
      for (std::size_t j : used) {
        const double x = std::log(t[j]) - crossing, weight = 1 / std::max(lambda[j].error * lambda[j].error, 1e-24);
        w += weight, wx += weight * x, wxx += weight * x * x;
        wy += weight * lambda[j].value, wxy += weight * x * lambda[j].value;
      }
      const double d = w * wxx - wx * wx, a = (wxx * wy - wx * wxy) / d, b = (w * wxy - wx * wy) / d;
      if (b >= 0 && used.size() > 2) continue;
      const double x = (1 - a) / b, tc = std::exp(crossing + x);
      return estimate{tc, tc * std::sqrt((wxx - 2 * x * wx + x * x * w) / d) / std::abs(b)};
    }
  }
  return std::nullopt;
}

matsubara_function at_temperature(const matsubara_function& sigma, double beta, double new_beta) {
  const int n = sigma.n_frequencies();
  matsubara_function out(sigma.n_momenta(), n);
  for (int k = 0; k < sigma.n_momenta(); ++k)
    for (int m = 0; m < n; ++m) {
      const double w = matsubara_frequency(m, new_beta),
                   x = 0.5 * (w * beta / M_PI - 1);  // the place among the old ones
      if (x >= n - 1) {
        const auto& last = sigma(k, n - 1);
        out(k, m) = {last.real(), last.imag() * matsubara_frequency(n - 1, beta) / w};
      } else {
        const int i = std::max(0, static_cast<int>(x));
        const double part = std::max(0.0, x - i);
        out(k, m) = (1 - part) * sigma(k, i) + part * sigma(k, i + 1);
      }
    }
  return out;
}

}  // namespace plx::qmc
