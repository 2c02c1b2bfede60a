// The dynamical cluster approximation: the self-consistent loop at each temperature of a cool-down, and the transition.
//
//   mu from the density; Gbar(K) = mean over the patch of 1 / (iw + mu - eps - Sigma(K)); G0 = 1 / (1 / Gbar + Sigma);
//   G by Monte Carlo; Sigma = 1 / G0 - 1 / G, mixed with the one before.
//
// Thread safety: run_dca is called by a task; observers are called by it. Results for a seed are the same bits for any
// number of workers and localities. Example: qmc/dca/test/dca_test.cpp
// Source: Maier, Jarrell, Pruschke, Hettler (2005), Rev. Mod. Phys. 77, 1027.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/team.hpp"
#include "num/statistics.hpp"
#include "qmc/cluster/cluster.hpp"
#include "qmc/dca/options.hpp"
#include "qmc/green/coarse_graining.hpp"
#include "qmc/solver/function_store.hpp"
#include "qmc/solver/monte_carlo.hpp"

namespace plx::qmc {

/// One iteration, as reported to observers.
struct dca_iteration {
  int temperature = 0, iteration = 0;  // indices from 0
  bool last = false;                   // of this temperature
  double t = 0, mu = 0;
  estimate density, double_occupancy, sign;
  double order = 0, autocorrelation_time = 0;  // of the expansion order; in measurements
  double acceptance = 0;                       // accepted moves over proposed ones
  double drift = 0;                            // the largest rounding error of an element of the walkers' matrices
  double change = 0;                           // the largest change of the self-energy at the lowest frequency
  double seconds = 0;
  // With several localities: the time from the end of the root's walkers to the last bin of the others, and what the
  // root sent and received.
  double wait_s = 0, exchanged_mb = 0;
};

/// A correlation of the cluster: [site], the vector between two sites, and its sum with exp(i K r), [momentum].
struct correlation_estimate {
  std::vector<estimate> of_site, of_momentum;
};

/// Correlations of the cluster as in cluster_correlations.
struct correlation_estimates {
  estimate double_occupancy;  // from densities at equal times
  correlation_estimate spin, charge, spin_susceptibility, charge_susceptibility;
  std::array<estimate, n_form_factors> pairs;
};

/// A function of two particles, with susceptibilities and the eigenvalue as in transfer_susceptibility.
struct four_point_estimate {
  four_point function;
  complex_matrix mean;  // in the order of pair_index(n_sites, four_point.frequencies)
  estimate cluster, lattice, bubble, leading;
};

/// The result at one temperature.
struct dca_temperature {
  double t = 0, mu = 0;
  estimate density, double_occupancy, sign;           // double occupancy from the expansion order
  estimate energy, kinetic_energy, potential_energy;  // <H + mu N> per site of the lattice, and its parts
  matsubara_function green, self_energy;              // G of the cluster
  matsubara_function green_error, self_energy_error;  // of real and imaginary parts
  std::vector<estimate> occupation;                   // of both spins, [momentum]
  std::optional<correlation_estimates> correlations;  // if they are measured
  real_matrix pairs;                                  // the pair function, in the order of pair_index; or empty
  std::optional<estimate> d_wave, leading;            // eigenvalues of pairing; no d_wave if no vector has its form
  double d_wave_overlap = 0;
  std::vector<four_point_estimate> four_points;
};

struct dca_outcome {
  std::vector<dca_temperature> temperatures;  // those completed by this call
  std::optional<estimate> transition;         // T_c
  bool begins_ordered = false;                // lambda_d is 1 or more at the first temperature
  int complete = 0, with_d_wave = 0;          // temperatures, those of earlier calls included; those that have lambda_d
  bool stopped = false;                       // by the observer, before the end
};

/// The state of the loop between two iterations, or within one that was stopped: the loop continues from it with the
/// same bits.
struct dca_state {
  int temperature = 0, iteration = 0;  // of the next iteration, or of the one that was stopped
  std::uint64_t streams = 0;           // random streams used by earlier iterations
  double seconds = 0;                  // spent in an iteration that was stopped
  matsubara_function self_energy;
  std::vector<double> t;                     // temperatures that are complete
  std::vector<estimate> d_wave;              // their eigenvalues, if pairs are measured
  std::vector<std::vector<double>> walkers;  // monte_carlo_result::saved of an iteration that was stopped
  checkpoint_parts functions;                // of these walkers, if they are distributed: in dca_observer::functions()
};

/// An iteration whose drift is larger gets a warning.
inline constexpr double largest_drift = 1e-6;

/// One line for each: rounding errors of the walkers' matrices above largest_drift; of the last iteration of a
/// temperature, a density that is further from the requested one than errors explain, bins that are too short for their
/// errors, and a warm-up below three autocorrelation times.
std::vector<std::string> warnings_of(const dca_options& options, const dca_iteration& i);

/// Thread safety: functions are called one at a time.
class dca_observer {
 public:
  virtual ~dca_observer() = default;
  /// At the start of an iteration, and when one that was stopped or paused continues: `now` has its indices, its
  /// temperature, mu, and the seconds spent before; `iterations` is the number of this temperature.
  virtual void began(const dca_iteration& /*now*/, int /*iterations*/) {}
  virtual void iterated(const dca_iteration& now) = 0;
  virtual void cooled(const dca_temperature& result) = 0;
  /// At the start, after each iteration, within one at the interval of checkpoints and when it is stopped, and before
  /// the jackknife of functions of two particles. An iteration whose functions stay on the localities of their walkers
  /// is repeated instead if functions() is null.
  virtual void reached(const dca_state&) {}
  /// A part of a checkpoint with functions could not be written or read: the loop stops.
  virtual void checkpoint_failed(const error&) {}
  /// The place for functions of two particles of this locality, on all or on none; or null. Called once.
  virtual std::shared_ptr<function_store> functions() { return nullptr; }
  /// Called after each reached() but the first.
  virtual bool stop_requested() { return false; }
  /// A flag that stops the loop within an iteration.
  virtual const std::atomic<bool>* stop_flag() const { return nullptr; }
  /// To which the walkers of this process report, or null. Called once.
  virtual std::shared_ptr<monte_carlo_progress> progress() { return nullptr; }
};

/// `from`: a state to continue from, of the same options; temperatures and iterations that it has not reached may
/// differ. With several members, all call it with the same options; the root has the state, calls its observer, and
/// returns the outcome, while the others run walkers for it and return an empty one. Requires: options.check()
/// succeeds. Error: one line, if the density cannot be reached or a matrix cannot be inverted. Throws locality_lost.
result<dca_outcome> run_dca(const dca_options& options, dca_observer& observer, const dca_state* from = nullptr,
                            const team& members = {});

/// The outcome of a state, without results of temperatures.
dca_outcome outcome_of(const dca_state& state);

/// Where lambda(T) = 1 first, from high temperatures on: by the straight line in ln T that fits the eigenvalues on both
/// sides and those of the two nearest temperatures best, with their errors as weights. Empty if lambda stays below 1.
/// Shapes: t and lambda [n], t descending.
std::optional<estimate> transition_temperature(std::span<const double> t, std::span<const estimate> lambda);

/// Values of a self-energy at the frequencies of another temperature: linear in the frequency, constant beyond the
/// first and as 1/w beyond the last.
matsubara_function at_temperature(const matsubara_function& sigma, double beta, double new_beta);

}  // namespace plx::qmc
