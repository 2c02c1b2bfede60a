#include "qmc/dca/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "io/available_memory.hpp"
#include "num/nonuniform_fourier.hpp"
#include "qmc/dca/options.hpp"
#include "qmc/measure/correlations.hpp"
#include "qmc/measure/pair_function.hpp"

namespace plx::qmc {
namespace {

constexpr double number_bytes = sizeof(double);
constexpr double program_bytes = 64e6;  // code, stacks, records of tasks

// The parts that grow; bytes.
struct parts {
  double walkers = 0;  // with their measurements
  double bins = 0;     // of an iteration that measures everything, with what is made of them
};

parts parts_of(const dca_options& o) {
  const double n = o.make_cluster()->n_sites(), f = o.frequencies;
  const double pairs = pair_index{static_cast<int>(n), o.pair_frequencies}.size();
  const double n_bins = static_cast<double>(o.walkers) * o.bins;
  const double correlations =
      o.correlations ? static_cast<double>(cluster_correlations::count(static_cast<int>(n))) : 0;
  // Fluctuations of the order, and the spare room of matrices that grow.
  const double mean = largest_order(o), order = mean + 4 * std::sqrt(mean),
               batch = std::min<double>(o.batch, order + 1);
  // N of both spins and its next value, M in two buffers; what a batch of the submatrix walker needs besides.
  const double walker = 8 * order * order + 16 * order * batch + 8 * batch * batch;
  // One grid per difference of sites, points of a measurement; transforms of pairs; g between sites at two times.
  const double single = n * (2 * nonuniform_fourier::width + 4 * f) + 4 * n * f + 3 * order * order;
  // Functions of two particles: their sums, complex; g of both spins and the transforms at all frequencies.
  const auto four_points = o.make_four_points(*o.make_cluster()).value();
  const double window = pair_index{static_cast<int>(n), four_points.n_frequencies}.size(),
               transformed = pair_index{static_cast<int>(n), four_points.n_transformed()}.size(),
               functions = 2 * static_cast<double>(four_points.functions.size()) * window * window;
  const double most = std::max(pairs, transformed);
  const double two = 3 * most * most + 2 * order * most + 4 * transformed * transformed + functions;
  const double sites = o.correlations ? 6 * n * order + 40 * n * n : 0;
  const double bin = 2 * n * f + pairs * pairs + functions + correlations;
  const double row = 2 * n * f + 0.5 * pairs * (pairs + 1) + functions + correlations;
  // Bins; rows of numbers, and the means without each of them; the results of the jackknife. Or bins, and a checkpoint
  // that is written: three copies.
  const double concluded = bin + 2 * row + 4 * n * f + 8 * n, saved = 4 * bin;
  return {number_bytes * o.walkers * (walker + single + two + sites) + number_bytes * 4096 * 4 * n,
          number_bytes * (n_bins * std::max(concluded, saved) + 8 * pairs * pairs)};
}

}  // namespace

double largest_order(const dca_options& o) {
  const double coldest = *std::min_element(o.temperatures.begin(), o.temperatures.end());
  const double singly = 0.5 * o.density - std::max(0.0, o.density - 1);
  return o.expansion_k + o.u / coldest * o.make_cluster()->n_sites() * singly;
}

double memory_bytes(const dca_options& o) {
  const parts p = parts_of(o);
  return program_bytes + p.walkers + p.bins;
}

result<void> check_memory(const dca_options& o, unsigned workers) {
  const double needed = memory_bytes(o), available = available_memory_bytes();
  if (needed > available) {
    const parts p = parts_of(o);
    return error{fmt::format(
        "the run needs {:.3g} GB of memory: expected at most the {:.3g} GB that are available; {}", 1e-9 * needed,
        1e-9 * available,
        p.walkers > p.bins
            ? fmt::format("the matrices of {} take {:.3g} GB at expansion orders up to {:.0f}: use fewer "
                          "walkers, a smaller cluster, or higher temperatures",
                          plural(o.walkers, "walker"), 1e-9 * p.walkers, largest_order(o))
            : fmt::format(
                  "{} bins take {:.3g} GB: use fewer walkers or bins, a smaller pairing.frequencies ({}), fewer "
                  "functions of two particles ({}), or a smaller cluster",
                  o.walkers * o.bins, 1e-9 * p.bins, o.pair_frequencies,
                  o.make_four_points(*o.make_cluster()).value().functions.size()))};
  }
  return check_address_space(needed, workers);
}

}  // namespace plx::qmc
