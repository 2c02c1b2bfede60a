// The solver: walkers and their measurements as tasks.
//
// Each walker is a chain of tasks: advance, take a snapshot, advance. Measurements of its snapshots are tasks of their
// own, in order, and two buffers let the walker continue meanwhile. No task waits. Each walker makes a given number of
// measurements, and sums are formed per walker in the order of its chain, so that a seed gives the same bits for any
// number of workers. Walkers that are stopped stop within about a thousand moves. Thread safety: any task. Cost: two
// tasks per measurement. Example: qmc/solver/test/monte_carlo_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "num/statistics.hpp"
#include "qmc/measure/correlations.hpp"
#include "qmc/measure/four_point.hpp"
#include "qmc/measure/pair_function.hpp"
#include "qmc/measure/single_particle.hpp"
#include "qmc/walker/free_propagator.hpp"

namespace plx {
template <class T>
class future;
}

namespace plx::qmc {

enum class walker_method { rank_one, submatrix };

/// Sums over the walkers of a process, for readers on any thread. Relaxed everywhere: they order nothing.
struct monte_carlo_progress {
  // In the present call of async_monte_carlo(), with those of the states that it continues.
  std::atomic<std::uint64_t> expected{0}, measurements{0};
  // In all calls, without warm-ups: moves, measurements, and the sums over these of the order and of the sign.
  std::atomic<std::uint64_t> proposed{0}, accepted{0}, samples{0};
  std::atomic<double> order{0}, sign{0};
};

/// Functions of two particles of a walker, apart from its other state.
struct walker_functions {
  std::vector<double> sums;               // four_point_accumulator::all_sums() of the bin that has begun
  std::vector<std::vector<double>> bins;  // measurement_bin::four_points of those that are complete
};

/// Functions of two particles of a complete bin.
struct bin_functions {
  int count = 0;                 // measurement_bin::count
  std::span<const double> sums;  // measurement_bin::four_points
};

struct monte_carlo_options {
  int walkers = 8;
  int bins = 8;               // per walker
  int measurements = 100;     // per bin
  double sweeps = 1;          // moves between measurements, in units of the order that the warm-up found
  int warm_up = 2000;         // moves before the first measurement
  int rebuild_interval = 50;  // measurements between computations of the matrices from the start
  double k = 1;               // the expansion's free parameter
  walker_method method = walker_method::submatrix;
  int pair_frequencies = 0;         // positive frequencies of the pair function; 0: it is not measured
  bool correlations = false;        // measure correlations between sites
  four_point_set four_points = {};  // functions of two particles to measure
  int batch = 64;                   // proposals per batch of the submatrix walker
  std::uint64_t seed = 1;
  // Functions of two particles are apart from bins and states: those of the result, and of the saved states.
  bool functions_stay = false;
  std::uint64_t first_stream = 0;  // walkers use the streams first_stream, first_stream + 1, ...

  double pause_after_s = 0;                             // walkers end at this time; 0: never
  const std::atomic<bool>* stop = nullptr;              // walkers end once it is true
  std::vector<std::vector<double>> saved = {};          // states of stopped walkers to continue from, or empty
  std::vector<walker_functions> functions = {};         // of these states, if they are apart; else empty
  std::shared_ptr<monte_carlo_progress> progress = {};  // or null
};

/// The impurity problem of a cluster.
struct impurity {
  std::shared_ptr<const cluster> lattice;
  double u = 0, beta = 1, mu = 0;
  matsubara_function g0;        // of the cluster without interaction; its number of frequencies is that of the result
  std::vector<double> moments;  // of G0: the mean of eps over the patch, minus mu
};

struct monte_carlo_result {
  std::vector<measurement_bin> bins;  // [walker][bin], flat
  std::vector<binning> orders;        // [walker]: series of the expansion order
  walker_statistics moves;            // of all walkers
  bool complete = true;               // false: stopped before the end; bins are those that were complete
  /// States of all walkers to continue from: monte_carlo_options::saved. Requires: bins are not changed.
  std::vector<std::vector<double>> saved() const;
  std::vector<std::vector<double>> walkers;   // [walker]: their states without their complete bins
  std::vector<std::size_t> bin_counts;        // [walker]: complete ones
  std::vector<walker_functions> functions;    // [walker], if they stay
  double order_autocorrelation_time() const;  // of the order, in measurements
};

/// Runs the walkers. A run that was stopped and continued gives the bits of an uninterrupted one. Requires: positive
/// counts in the options; u >= 0; saved states are of the same problem and options.
future<monte_carlo_result> async_monte_carlo(impurity problem, monte_carlo_options options);

/// Quantities per site, from the means of bins.
struct cluster_averages {
  double sign = 1, order = 0, density = 0, double_occupancy = 0;
};

/// Bins as rows of numbers for jackknife(): functions of the means are made from the following functions.
/// with_four_points = false: without functions of two particles.
std::vector<std::vector<double>> rows_of(const monte_carlo_result& r, bool with_four_points = true);
/// How many numbers of a row green_of() and averages_of() read.
std::size_t one_particle_numbers(const impurity& problem);
/// G(K, iw) from a row of means.
matsubara_function green_of(const impurity& problem, std::span<const double> means);
/// The pair function from a row of means. Shape: that of pair_index.
real_matrix pairs_of(const impurity& problem, int pair_frequencies, std::span<const double> means);
/// The function f of a set, from a row of means. Shape: that of pair_index(n_sites, set.n_frequencies).
complex_matrix four_point_of(const impurity& problem, int pair_frequencies, const four_point_set& set, std::size_t f,
                             std::span<const double> means);
/// Correlations from a row of means. Requires: they were measured.
cluster_correlations correlations_of(const impurity& problem, std::span<const double> means);
/// Averages from a row of means, with D from the mean order: <k> = K + beta U Nc (n / 2 - D), or D = n^2 / 4 if U = 0.
cluster_averages averages_of(const impurity& problem, double k, std::span<const double> means);

}  // namespace plx::qmc
