#include "parquet/run/options.hpp"

#include <fmt/format.h>

namespace plx::parquet {

void parquet_options::describe(config_table& table) {
  table.section("model", "Model");
  table.add("model.u", u,
            {.unit = "t", .help = "repulsion U, from 1e-6 on, or 0: free electrons", .min = 0, .max = 1000});
  table.add("model.t", t,
            {.unit = "1", .help = "hopping t, the unit of energy unless it is changed", .min = -1000, .max = 1000});
  table.add("model.t_prime", t_prime,
            {.unit = "t",
             .help = "next-nearest-neighbour hopping t' in eps_k = -2t(cos kx + cos ky) - 4t' cos kx cos ky",
             .min = -1000,
             .max = 1000});
  table.add("model.mu", mu,
            {.unit = "t", .help = "chemical potential; 0 is half filling if t' = 0", .min = -10000, .max = 10000});
  table.add("model.temperature", temperature, {.unit = "t", .help = "temperature T", .min = 1e-4, .max = 1e4});
  table.section("cluster", "Cluster");
  table.add("cluster.name", cluster, {.help = "atom, dimer, WIDTHxHEIGHT, 4A or 8A, with periodic boundaries"});
  table.add("cluster.vectors", vectors, {.help = "a1x, a1y, a2x, a2y: a cluster by its vectors, instead of a name"});
  table.section("grid", "Frequencies");
  table.add(
      "grid.frequencies", frequencies,
      {.unit = "1",
       .help = "fermionic frequencies of the vertices on each side of the center, ascending; one run for each, and "
               "results are extrapolated",
       .min = 1,
       .max = 1024});
  table.add(
      "grid.bosons", bosons,
      {.unit = "1", .help = "transfers w = 0, 2 pi T, ...; 0: as many as grid.frequencies", .min = 0, .max = 2048});
  table.add("grid.sigma_frequencies", sigma_frequencies,
            {.unit = "1", .help = "positive frequencies of the self-energy", .min = 32, .max = 65536});
  table.section("loop", "Iteration");
  table.add("loop.tolerance", tolerance,
            {.unit = "U", .help = "the largest change of a vertex in the last iteration", .max = 0.1, .above = 0});
  table.add("loop.iterations", iterations, {.unit = "1", .help = "at most", .min = 1, .max = 1000000});
  table.add("loop.damping", damping, {.unit = "1", .help = "weight of the new vertices", .max = 1, .above = 0});
  table.add("loop.history", history,
            {.unit = "1", .help = "earlier iterations in Anderson's mixing; 0: damping alone", .min = 0, .max = 64});
  table.add("loop.symmetrize", symmetrize, {.help = "impose crossing symmetry in each iteration"});
  table.section("network", "Several processes");
  table.add(
      "network.rotation", rotation,
      {.help =
           "how rows of the rotated vertices travel: packed in large messages; as parcels that share messages "
           "(128, or as a policy chooses); or one message each; PLX_COALESCE replaces the setting of these parcels; "
           "the bits are the same",
       .choices = {"packed", "coalesced", "adaptive", "rows"}});
  table.section("run", "Device");
  table.add("run.device", device,
            {.help = "hardware that runs whole iterations, if there is one process and its device has the memory, or "
                     "else the products of matrices: the CPU's workers, or one device per process, with the same "
                     "results within rounding; emulated: the device's operations on the CPU, with the same bits, for "
                     "tests",
             .choices = {"cpu", "cuda", "emulated"}});
  table.section("memory", "Memory");
  table.add("memory.limit_gb", memory_gb,
            {.unit = "GB", .help = "a process that needs more is refused; 0: the memory available", .min = 0});
  table.section("output", "Output");
  table.add("output.vertex", vertex, {.help = "write vertex.csv: F of all channels at w = 0"});
  table.add("output.hdf5", hdf5,
            {.help = "write the vertices of all channels and transfers, and the self-energy, to vertices/F8.h5 for 8 "
                     "frequencies: 64 (2 N F)^3 bytes, 1 / (loop.history + 1) of the memory of all processes"});
  table.add("output.checkpoint_interval_s", checkpoint_interval_s,
            {.unit = "s",
             .help = "wall time between checkpoints within the run of one number of frequencies; 0: none within it",
             .min = 0});
}

result<hubbard_model> parquet_options::make_model() const {
  const bool small = vectors.empty() && (cluster == "atom" || cluster == "dimer");
  if (!vectors.empty() && vectors.size() != 4)
    return error{fmt::format("cluster.vectors: expected four integers a1x, a1y, a2x, a2y, found {}", vectors.size())};
  auto lattice = small             ? qmc::cluster::named(cluster == "atom" ? "1x1" : "2x1")
                 : vectors.empty() ? qmc::cluster::named(cluster)
                                   : qmc::cluster::spanned_by({vectors[0], vectors[1]}, {vectors[2], vectors[3]});
  if (!lattice) {
    auto message = lattice.error().message;
    if (const auto at = message.find("expected WIDTHxHEIGHT"); at != std::string::npos)
      message.insert(at + 9, "atom, dimer, ");
    return error{message};
  }
  hubbard_model model{std::make_shared<const qmc::cluster>(*std::move(lattice)), {}, u, mu, 1 / temperature};
  for (int k = 0; k < model.n_momenta(); ++k) {
    const auto q = model.lattice->momentum(k);
    // An atom has no hopping, a dimer one bond: not those of a periodic cluster to itself.
    model.energies.push_back(!small              ? qmc::dispersion{t, t_prime}(q[0], q[1])
                             : cluster == "atom" ? 0
                             : k == 0            ? -t
                                                 : t);
  }
  return model;
}

solver_settings parquet_options::settings() const {
  return {.tolerance = tolerance,
          .iterations = iterations,
          .damping = damping,
          .history = history,
          .symmetrize = symmetrize,
          .sigma_frequencies = sigma_frequencies,
          .rotation = rotation == "packed"      ? rotation_form::packed
                      : rotation == "coalesced" ? rotation_form::coalesced
                      : rotation == "adaptive"  ? rotation_form::adaptive
                                                : rotation_form::rows,
          .gather = vertex,
          .full = hdf5};
}

result<void> parquet_options::check() const {
  if (const auto m = make_model(); !m) return m.error();
  // Susceptibilities are vertices over U^2.
  if (u > 0 && u < 1e-6) return error{fmt::format("model.u: expected 0 or at least 1e-6, found {}", u)};
  if (frequencies.empty()) return error{"grid.frequencies: expected at least one number, found none"};
  for (std::size_t i = 1; i < frequencies.size(); ++i)
    if (frequencies[i] <= frequencies[i - 1])
      return error{fmt::format("grid.frequencies: expected ascending numbers, found {} after {}", frequencies[i],
                               frequencies[i - 1])};
  if (bosons > 2 * frequencies.front())
    return error{fmt::format("grid.bosons: expected at most {}, twice the smallest of grid.frequencies, found {}",
                             2 * frequencies.front(), bosons)};
  const int needed = 2 * frequencies.back() + bosons_of(frequencies.back());
  if (sigma_frequencies < needed)
    return error{fmt::format("grid.sigma_frequencies: expected at least {} (2 * frequencies + bosons), found {}",
                             needed, sigma_frequencies)};
  return {};
}

}  // namespace plx::parquet
