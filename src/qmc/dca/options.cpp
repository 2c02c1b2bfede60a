#include "qmc/dca/options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "qmc/green/coarse_graining.hpp"

namespace plx::qmc {

void dca_options::describe(config_table& t) {
  t.section("model", "Model");
  t.add("model.u", u, {.unit = "t", .help = "repulsion U", .min = 0, .max = 1000});
  t.add("model.t_prime", t_prime,
        {.unit = "t",
         .help = "next-nearest-neighbour hopping t' in eps_k = -2t(cos kx + cos ky) - 4t' cos kx cos ky",
         .min = -10,
         .max = 10});
  t.add("model.density", density,
        {.unit = "1", .help = "particles per site of both spins; mu is adjusted to it", .min = 0.001, .max = 1.999});
  t.add("model.adjust_mu", adjust_mu, {.help = "adjust mu to model.density; false: mu is model.mu"});
  t.add("model.mu", mu,
        {.unit = "t",
         .help = "chemical potential, if it is not adjusted; 0: half filling if t' = 0",
         .min = -1000,
         .max = 1000});
  t.section("cluster", "Cluster");
  t.add("cluster.name", cluster, {.help = "WIDTHxHEIGHT, 4A (2x2), 8A, 16A or 16B (4x4)"});
  t.add("cluster.vectors", vectors, {.help = "a1x, a1y, a2x, a2y: a cluster by its vectors, instead of a name"});
  t.add("cluster.lattice", lattice,
        {.help = "embed the cluster in the lattice; false: the periodic cluster by itself"});
  t.section("loop", "Cool-down");
  t.add("loop.temperatures", temperatures,
        {.unit = "t",
         .help = "temperatures, each begins with the self-energy of the one before",
         .min = 1e-4,
         .max = 1e4});
  t.add("loop.first_iterations", first_iterations,
        {.unit = "1", .help = "iterations at the first temperature", .min = 1, .max = 100000});
  t.add("loop.iterations", iterations, {.unit = "1", .help = "iterations at the others", .min = 1, .max = 100000});
  t.add(
      "loop.mixing", mixing,
      {.unit = "1", .help = "weight of the new self-energy; 0: all iterations have the same one", .min = 0, .max = 1});
  t.add("loop.frequencies", frequencies,
        {.unit = "1", .help = "positive Matsubara frequencies", .min = 32, .max = 65536});
  t.section("solver", "Monte Carlo");
  t.add("solver.method", method, {.help = "how moves are computed", .choices = {"submatrix", "rank_one"}});
  t.add(
      "solver.walkers", walkers,
      {.unit = "1", .help = "Markov chains; part of the result, unlike the number of workers", .min = 1, .max = 65536});
  t.add("solver.bins", bins, {.unit = "1", .help = "bins per walker, for the errors", .min = 1, .max = 65536});
  t.add("solver.measurements", measurements,
        {.unit = "1", .help = "measurements per iteration, of all walkers", .min = 1, .max = 1000000000});
  t.add("solver.sweeps", sweeps,
        {.unit = "1", .help = "moves between measurements over the mean expansion order", .min = 0.001, .max = 10000});
  t.add("solver.expansion_k", expansion_k,
        {.unit = "1", .help = "the free parameter K of the expansion", .min = 0.001, .max = 10000});
  t.add("solver.warm_up", warm_up,
        {.unit = "1", .help = "moves before the first measurement of an iteration", .min = 0, .max = 1000000000});
  t.add("solver.batch", batch,
        {.unit = "1", .help = "proposals per batch of the submatrix walker", .min = 1, .max = 4096});
  t.add("solver.seed", seed, {.unit = "1", .help = "the same seed gives the same bits", .min = 0});
  t.add(
      "solver.correlations", correlations,
      {.help = "measure spin, charge and pair correlations between the sites, at the last iteration of a temperature"});
  t.section("pairing", "Pairing");
  t.add(
      "pairing.frequencies", pair_frequencies,
      {.unit = "1", .help = "positive frequencies of the pair function; 0: it is not measured", .min = 0, .max = 512});
  t.section("four_point", "Functions of two particles");
  t.add("four_point.channels", channels,
        {.help = "which are measured, at the last iteration of a temperature",
         .choices = {four_point_names, std::end(four_point_names)}});
  t.add("four_point.momentum", transfer, {.unit = "pi", .help = "the momentum transfer q: two components"});
  t.add("four_point.frequency", transfer_frequency,
        {.unit = "1", .help = "m of the frequency transfer 2 pi m T", .min = 0, .max = 512});
  t.add("four_point.all_transfers", all_transfers,
        {.help = "all momenta of the cluster, and all frequency transfers from 0 to four_point.frequency"});
  t.add("four_point.distribute", distribute,
        {.help = "several processes: each keeps the functions of its walkers; auto: if they do not fit into one; each "
                 "writes its part of checkpoints within the iteration that measures them",
         .choices = {"auto", "always", "never"}});
  t.add("four_point.frequencies", four_point_frequencies,
        {.unit = "1", .help = "positive fermionic frequencies", .min = 1, .max = 512});
  t.section("output", "Output");
  t.add("output.checkpoint_interval_s", checkpoint_interval_s,
        {.unit = "s", .help = "wall time between checkpoints within an iteration; 0: none within it", .min = 0});
}

result<qmc::cluster> dca_options::make_cluster() const {
  if (vectors.empty()) return qmc::cluster::named(cluster);
  if (vectors.size() != 4)
    return error{fmt::format("cluster.vectors: expected four integers a1x, a1y, a2x, a2y, found {}", vectors.size())};
  return qmc::cluster::spanned_by({vectors[0], vectors[1]}, {vectors[2], vectors[3]});
}

result<four_point_set> dca_options::make_four_points(const qmc::cluster& c) const {
  four_point_set set;
  set.n_frequencies = four_point_frequencies;
  if (channels.empty()) return set;
  if (transfer.size() != 2)
    return error{fmt::format("four_point.momentum: expected two components, found {}", transfer.size())};
  const int q = c.find_momentum(M_PI * transfer[0], M_PI * transfer[1]);
  if (q < 0 && !all_transfers) {
    std::string momenta;
    for (int k = 0; k < c.n_sites(); ++k)
      momenta +=
          fmt::format("{}({:.4g}, {:.4g})", k == 0 ? "" : ", ", c.momentum(k)[0] / M_PI, c.momentum(k)[1] / M_PI);
    return error{
        fmt::format("four_point.momentum: expected a momentum of the cluster, in units of pi: {}; found ({:g}, {:g})",
                    momenta, transfer[0], transfer[1])};
  }
  for (const auto& name : channels) {
    const auto at = std::find(std::begin(four_point_names), std::end(four_point_names), name);
    const auto channel = static_cast<four_point_channel>(at - std::begin(four_point_names));
    if (!all_transfers) set.functions.push_back({channel, q, transfer_frequency});
    for (int k = 0; k < c.n_sites() && all_transfers; ++k)
      for (int m = 0; m <= transfer_frequency; ++m) set.functions.push_back({channel, k, m});
  }
  return set;
}

result<void> dca_options::check() const {
  const auto c = make_cluster();
  if (!c) return c.error();
  const auto four_points = make_four_points(*c);
  if (!four_points) return four_points.error();
  if (!channels.empty() && four_points->n_transformed() + transfer_frequency > frequencies)
    return error{
        fmt::format("loop.frequencies: expected at least four_point.frequencies + 2 four_point.frequency, {}, found {}",
                    four_point_frequencies + 2 * transfer_frequency, frequencies)};
  if (temperatures.empty()) return error{"loop.temperatures: expected at least one temperature, found none"};
  if (adjust_mu) {
    // At high temperatures the density is near 1 whatever mu is. Single levels without self-energy need few
    // frequencies.
    const double hottest = *std::max_element(temperatures.begin(), temperatures.end());
    const auto reached =
        coarse_graining(*c, {1, t_prime}, 1).find_mu(matsubara_function(c->n_sites(), 8), density, 1 / hottest);
    if (!reached)
      return error{
          fmt::format("model.density: at T = {:g}: {}; use lower loop.temperatures", hottest, reached.error().message)};
  }
  std::set<std::string> names;  // of the files of temperatures
  for (const double x : temperatures)
    if (!names.insert(fmt::format("{:g}", x)).second)
      return error{
          fmt::format("loop.temperatures: expected numbers that differ in their first six digits, found {} more "
                      "than once",
                      x)};
  if (static_cast<std::int64_t>(walkers) * bins < 2)
    return error{"solver.bins: expected at least two bins of all walkers together, for errors; found one"};
  if (measurements < static_cast<std::int64_t>(walkers) * bins)
    return error{fmt::format("solver.measurements: expected at least one per bin, {} (walkers x bins), found {}",
                             static_cast<std::int64_t>(walkers) * bins, measurements)};
  for (const auto& [key, n] :
       {std::pair("loop.frequencies", frequencies), std::pair("pairing.frequencies", pair_frequencies)})
    if (n % 2 != 0) return error{fmt::format("{}: expected an even number, found {}", key, n)};
  if (pair_frequencies > frequencies)
    return error{fmt::format("pairing.frequencies: expected at most loop.frequencies, {}, found {}", frequencies,
                             pair_frequencies)};
  return {};
}

}  // namespace plx::qmc
