#include "qmc/dca/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/available_memory.hpp"
#include "base/text.hpp"
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
  double walkers = 0;    // with their measurements
  double bins = 0;       // of an iteration that measures everything, with what is made of them
  double functions = 0;  // of two particles, of these bins
  double sum() const { return program_bytes + walkers + bins + functions; }
};

parts parts_of(const dca_options& o, const memory_share& share, bool distributed) {
  const auto lattice = o.make_cluster().value();
  const double n = lattice.n_sites(), f = o.frequencies;
  const double pairs = pair_index{static_cast<int>(n), o.pair_frequencies}.size();
  const double own_walkers = std::ceil(static_cast<double>(o.walkers) / share.localities);
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
  const auto four_points = o.make_four_points(lattice).value();
  const double window = pair_index{static_cast<int>(n), four_points.n_frequencies}.size(),
               transformed = pair_index{static_cast<int>(n), four_points.n_transformed()}.size(),
               function = 2 * window * window, functions = static_cast<double>(four_points.functions.size()) * function;
  const double most = std::max(pairs, transformed);
  const double two =
      3 * most * most + order * (most + 2 * most / n + order) + 8 * transformed * transformed + functions;
  const double sites = o.correlations ? 6 * n * order + 40 * n * n : 0;
  const double bin = 2 * n * f + pairs * pairs + correlations;
  const double row = 2 * n * f + 0.5 * pairs * (pairs + 1) + correlations;
  // Bins; rows of numbers, and the means without each of them; the results of the jackknife. Or bins, and a checkpoint
  // that is written, also before the jackknife: three copies, which are then released. Each worker evaluates one of the
  // means at a time.
  const double concluded = bin + 2 * row + 4 * n * f + 8 * n, saved = 4 * bin;
  parts p;
  p.walkers = number_bytes * own_walkers * (walker + single + two + sites) + number_bytes * 4096 * 4 * n;
  p.bins = number_bytes * (n_bins * std::max(concluded, saved) +
                           std::min<double>(share.workers, n_bins) * std::max(8 * pairs * pairs, 12 * window * window));
  // Functions that stay are written one walker after the other. The means of all; sums on their way.
  p.functions = number_bytes * ((distributed ? own_walkers * o.bins : 4 * n_bins) * functions +
                                (functions > 0 ? functions + 4 * function : 0));
  return p;
}

double limit_of(const memory_share& share) {
  return (share.available_bytes > 0 ? share.available_bytes : available_memory_bytes()) / share.on_host;
}

// The least number of processes, more than there are, each with `limit`, that hold the run; 0: none does. More of them
// never need more memory each.
unsigned processes_that_fit(const dca_options& o, memory_share share, double limit) {
  const auto fits = [&](unsigned n) {
    share.localities = n;
    return parts_of(o, share, o.distribute != "never").sum() <= limit;
  };
  unsigned least = share.localities + 1, most = static_cast<unsigned>(o.walkers);
  if (least > most || !fits(most)) return 0;
  while (least < most) {
    const unsigned middle = least + (most - least) / 2;
    if (fits(middle))
      most = middle;
    else
      least = middle + 1;
  }
  return least;
}

}  // namespace

double largest_order(const dca_options& o) {
  const double coldest = *std::min_element(o.temperatures.begin(), o.temperatures.end());
  const double density = o.adjust_mu ? o.density : 1;  // the most sites with one particle
  const double singly = 0.5 * density - std::max(0.0, density - 1);
  return o.expansion_k + o.u / coldest * o.make_cluster()->n_sites() * singly;
}

bool distributes(const dca_options& o, const memory_share& share) {
  if (share.localities == 1 || o.channels.empty() || o.distribute == "never") return false;
  return o.distribute == "always" || parts_of(o, share, false).sum() > limit_of(share);
}

double memory_bytes(const dca_options& o, const memory_share& share) {
  return parts_of(o, share, distributes(o, share)).sum();
}

double function_checkpoint_bytes(const dca_options& o) {
  const auto lattice = o.make_cluster().value();
  const auto set = o.make_four_points(lattice).value();
  const double window = pair_index{lattice.n_sites(), set.n_frequencies}.size();
  return number_bytes * o.walkers * (o.bins + 1.0) * static_cast<double>(set.functions.size()) * 2 * window * window;
}

std::string text_of_memory(const dca_options& o, const memory_share& share) {
  return fmt::format("the run needs {:.3g} GB of memory{}{}", 1e-9 * memory_bytes(o, share),
                     share.localities > 1 ? fmt::format(" on each of {} processes", share.localities) : std::string(),
                     distributes(o, share) ? fmt::format(", functions of two particles distributed: {:.3g} GB on the "
                                                         "disk for a checkpoint while they are measured",
                                                         1e-9 * function_checkpoint_bytes(o))
                                           : "");
}

result<void> check_memory(const dca_options& o, const memory_share& share) {
  const double needed = memory_bytes(o, share), limit = limit_of(share);
  if (needed > limit) {
    const parts p = parts_of(o, share, distributes(o, share));
    const unsigned more = processes_that_fit(o, share, limit);
    return error{fmt::format(
        "the run needs {:.3g} GB of memory{}: expected at most the {:.3g} GB that are available; {}{}", 1e-9 * needed,
        share.localities > 1 ? " per process" : "", 1e-9 * limit,
        more > 0 ? fmt::format("use {} processes with that memory each, or: ", more) : std::string(),
        p.walkers > p.bins + p.functions
            ? fmt::format("the matrices of {} take {:.3g} GB at expansion orders up to {:.0f}: use fewer "
                          "walkers, a smaller cluster, or higher temperatures",
                          plural(o.walkers, "walker"), 1e-9 * p.walkers, largest_order(o))
            : fmt::format(
                  "{} bins take {:.3g} GB{}: use fewer walkers or bins, a smaller pairing.frequencies ({}), fewer "
                  "functions of two particles ({}), or a smaller cluster",
                  o.walkers * o.bins, 1e-9 * (p.bins + p.functions),
                  // The pair function of all walkers is on the root.
                  more == 0 && p.bins > p.functions ? ", on process 0 with any number of processes" : "",
                  o.pair_frequencies, o.make_four_points(*o.make_cluster()).value().functions.size()))};
  }
  return check_address_space(needed, share.workers);
}

}  // namespace plx::qmc
