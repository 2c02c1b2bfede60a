#include "parquet/run/vertices_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <vector>

#include "io/hdf5_file.hpp"
#include "net/team.hpp"
#include "parquet/distribution/rotation_map.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

struct writing {
  const parquet_solution& s;
  const std::string run_folder;
  const team& members;
  const vertex_grid& grid = *s.grid;
  const std::string folder = run_folder + "/vertices";

  std::string name(std::size_t rank) const { return fmt::format("F{}-{}.h5", grid.frequencies(), rank); }
  int first(std::size_t rank) const { return grid.first_slab(static_cast<unsigned>(rank), members.size()); }
  extents shape(int m, int transfers) const {
    const auto n = static_cast<hsize_t>(grid.rows(m));
    return {static_cast<hsize_t>(transfers), all_channels.size(), n, n, 2};
  }
  // F_wM and Phi_wM of the slabs of a rank.
  void add_slabs(hdf5_writer& file, std::size_t rank) const {
    const std::size_t own = grid.slab_offset(first(rank)), skipped = grid.slab_offset(s.first_slab);
    for (const slab_run& run : runs_of(grid, first(rank), first(rank + 1))) {
      const std::size_t at = grid.slab_offset(grid.slab({run.momenta.first, run.frequency}));
      const auto size = shape(run.frequency, run.momenta.count());
      file.dataset(fmt::format("F_w{}", run.frequency), size, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                   s.full.data() + (at - own));
      file.dataset(fmt::format("Phi_w{}", run.frequency), size, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE,
                   s.phi.data() + (at - skipped));
    }
  }
  // The same of all ranks, in their files.
  void add_parts(hdf5_writer& file) const {
    for (int m = 0; m < grid.bosons(); ++m) {
      std::vector<hdf5_part> parts;
      for (unsigned rank = 0; rank < members.size(); ++rank)
        for (const slab_run& run : runs_of(grid, first(rank), first(rank + 1)))
          if (run.frequency == m) parts.push_back({name(rank), static_cast<hsize_t>(run.momenta.count())});
      const double missing = NAN;
      for (const char* what : {"F", "Phi"})
        file.dataset_of_parts(fmt::format("{}_w{}", what, m), shape(m, grid.n_momenta()), H5T_IEEE_F64LE, 0, parts,
                              &missing);
    }
  }
  void add_numbers(hdf5_writer& file) const;
  std::uint64_t bytes(int from, int to) const {
    return 65536 + static_cast<std::uint64_t>(grid.bosons()) * 4096 +
           2 * sizeof(complex) * (grid.slab_offset(to) - grid.slab_offset(from));
  }
  result<void> write_own() const {
    const std::size_t rank = members.rank();
    if (first(rank) == first(rank + 1)) return {};
    const auto lock = hdf5_lock();
    auto file = hdf5_writer::create(folder + "/" + name(rank), bytes(first(rank), first(rank + 1)));
    if (!file) return file.error();
    add_slabs(*file, rank);
    return file->commit();
  }
  result<void> write_whole() const {
    const auto lock = hdf5_lock();
    const std::size_t n_k = grid.n_momenta(), n_w = s.sigma.n_frequencies();
    auto file = hdf5_writer::create(vertices_file(run_folder, grid.frequencies()),
                                    bytes(0, members.is_alone() ? grid.n_slabs() : 0) +
                                        sizeof(double) * (4 * n_k * n_w + n_w + 3 * n_k) +
                                        static_cast<std::uint64_t>(members.size()) * 2048);
    if (!file) return file.error();
    add_numbers(*file);
    if (members.is_alone())
      add_slabs(*file, 0);
    else
      add_parts(*file);
    return file->commit();
  }
};

void writing::add_numbers(hdf5_writer& file) const {
  const auto& model = s.green->model();
  file.attribute("Program", std::string("plx-parquet"));
  file.attribute("Temperature", 1 / model.beta);
  file.attribute("U", model.u);
  file.attribute("ChemicalPotential", model.mu);
  file.attribute("Density", s.green->density());
  file.attribute("Frequencies", grid.frequencies());
  file.attribute("Bosons", grid.bosons());
  file.attribute("Iterations", s.last.iteration + 1);
  file.attribute("Residual", s.last.residual);
  file.attribute("LargestEigenvalue", leading_of(s.last).eigenvalue);
  std::vector<std::string> channels;
  for (const channel c : all_channels) channels.emplace_back(name_of(c));
  file.attribute("Channels", channels);
  std::vector<int> hole, particle;
  for (int m = 0; m < grid.bosons(); ++m) {
    hole.push_back(grid.first(true, m));
    particle.push_back(grid.first(false, m));
  }
  file.attribute("FirstParticleHole", hole);
  file.attribute("FirstParticleParticle", particle);
  std::vector<double> momenta, frequencies, green, sigma;
  for (int k = 0; k < grid.n_momenta(); ++k)
    for (const double x : grid.lattice().momentum(k)) momenta.push_back(x);
  for (int n = 0; n < s.sigma.n_frequencies(); ++n) frequencies.push_back(qmc::matsubara_frequency(n, model.beta));
  for (int k = 0; k < grid.n_momenta(); ++k)
    for (int n = 0; n < s.sigma.n_frequencies(); ++n) {
      const complex g = s.green->green(k, n), value = s.sigma(k, n) + s.hartree();
      green.insert(green.end(), {g.real(), g.imag()});
      sigma.insert(sigma.end(), {value.real(), value.imag()});
    }
  const auto add = [&file](const char* what, const extents& size, const std::vector<double>& values) {
    file.dataset(what, size, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data());
  };
  const hsize_t n_k = static_cast<hsize_t>(grid.n_momenta()), n_w = frequencies.size();
  add("Momenta", {n_k, 2}, momenta);
  add("Energies", {n_k}, model.energies);
  add("FermionicFrequencies", {n_w}, frequencies);
  add("G", {n_k, n_w, 2}, green);
  add("Sigma", {n_k, n_w, 2}, sigma);
}

// Parts of a run with another number of processes that did not end. Those of a process without slabs may be missing.
void remove_other_parts(const writing& w) {
  std::vector<std::string> kept;
  for (unsigned rank = 0; rank < w.members.size() && !w.members.is_alone(); ++rank)
    if (w.first(rank) != w.first(rank + 1)) kept.push_back(w.name(rank));
  const std::string begin = fmt::format("F{}-", w.grid.frequencies());
  std::error_code failed;
  std::vector<std::filesystem::path> others;
  for (const auto& entry : std::filesystem::directory_iterator(w.folder, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".h5") && std::find(kept.begin(), kept.end(), name) == kept.end())
      others.push_back(entry.path());
  }
  for (const auto& path : others) std::filesystem::remove(path, failed);
}

}  // namespace

std::string vertices_file(const std::string& folder, int frequencies) {
  return fmt::format("{}/vertices/F{}.h5", folder, frequencies);
}

result<void> write_vertices(const std::string& folder, const parquet_solution& s, const team& members) {
  const writing w{s, folder, members};
  std::error_code failed;
  std::filesystem::create_directories(w.folder, failed);
  result<void> own;
  if (failed) own = error{fmt::format("cannot create the folder '{}': {}", w.folder, failed.message())};
  if (own && !members.is_alone()) own = w.write_own();
  if (auto r = members.agree(own); !r) return r;
  if (members.rank() != 0) return members.agree(result<void>());
  own = w.write_whole();
  if (own) remove_other_parts(w);
  return members.agree(own);
}

}  // namespace plx::parquet
