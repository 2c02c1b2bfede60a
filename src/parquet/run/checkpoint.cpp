#include "parquet/run/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.hpp"
#include "base/text.hpp"
#include "io/run_checkpoint.hpp"
#include "num/saved_numbers.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

const checkpoint_kind kind = {"plx-parquet", 3};
constexpr const char* may_change[] = {"loop.iterations", "network.rotation", "run.device",
                                      "memory.limit_gb", "output.hdf5",      "output.checkpoint_interval_s"};

std::vector<double> numbers_of(const parquet_checkpoint& c) {
  std::vector<double> numbers;
  number_writer to(numbers);
  to.add(static_cast<double>(c.finished.size()));
  for (const auto& run : c.finished) {
    for (const double x : {static_cast<double>(run.frequencies), static_cast<double>(run.iterations),
                           run.converged ? 1.0 : 0.0, run.residual, run.density, static_cast<double>(run.largest.of),
                           static_cast<double>(run.largest.momentum), run.largest.eigenvalue})
      to.add(x);
    to.add(run.values);
  }
  to.add(c.present);
  save_parts(to, c.parts);
  return numbers;
}

bool read_numbers(const std::vector<double>& numbers, parquet_checkpoint& c) {
  number_reader from(numbers);
  c.finished.resize(std::min(from.integer<std::size_t>(), numbers.size()));
  for (auto& run : c.finished) {
    run.frequencies = from.integer<int>();
    run.iterations = from.integer<int>();
    run.converged = from.number() != 0;
    run.residual = from.number();
    run.density = from.number();
    run.largest.of = all_channels[from.integer<std::size_t>() % all_channels.size()];
    run.largest.momentum = from.integer<int>();
    run.largest.eigenvalue = from.number();
    run.values = from.numbers();
  }
  c.present = from.numbers();
  c.parts = load_parts(from, numbers.size());
  return from.is_complete() && c.present.empty() == c.parts.empty();
}

std::span<const double> doubles(const complex* values, std::size_t n) {
  return {reinterpret_cast<const double*>(values), 2 * n};
}

std::uint64_t checksum_of(const complex* values, std::size_t n) {
  word_checksum sum;
  sum.add(doubles(values, n));
  return sum.value();
}

// The checksum of a part, from those of its slabs.
std::uint64_t checksum_of(const std::vector<std::uint64_t>& sums) {
  word_checksum sum;
  for (const std::uint64_t s : sums) sum.add(s);
  return sum.value();
}

}  // namespace

finished_run run_of(const parquet_solution& s) {
  return {s.grid->frequencies(), s.last.iteration + 1, s.converged, s.last.residual,
          s.green->density(),    leading_of(s.last),   {}};
}

std::string warning_of(const finished_run& run, const qmc::cluster& lattice) {
  if (!run.converged || !(run.largest.eigenvalue > 1)) return {};
  const auto q = lattice.momentum(run.largest.momentum % lattice.n_sites());
  return fmt::format(
      "warning: grid.frequencies {}: expected eigenvalues below 1, found {:.4g}, {}, at ({:.3g}, {:.3g}): that "
      "susceptibility diverges on the way from weak coupling to this solution, which is not the physical one; use a "
      "smaller model.u, or a higher model.temperature",
      run.frequencies, run.largest.eigenvalue, name_of(run.largest.of), q[0], q[1]);
}

std::string checkpoint_file(const std::string& folder) { return folder + "/checkpoint.h5"; }

result<void> write_parquet_checkpoint(const std::string& folder, const parquet_checkpoint& c) {
  return write_run_checkpoint(checkpoint_file(folder), kind, {c.build, c.options, c.table_bytes, numbers_of(c)});
}

result<parquet_checkpoint> read_parquet_checkpoint(const std::string& folder) {
  auto file = read_run_checkpoint(checkpoint_file(folder), kind);
  if (!file) return file.error();
  parquet_checkpoint c;
  c.build = std::move(file->build);
  c.options = std::move(file->options);
  c.table_bytes = std::move(file->table_bytes);
  if (!read_numbers(file->numbers, c)) return damaged_checkpoint(checkpoint_file(folder), "its state is incomplete");
  return c;
}

result<std::uint64_t> write_checkpoint_part(const std::string& folder, std::uint64_t mark, std::size_t index,
                                            const vertex_grid& grid, const solver_state& s) {
  std::vector<std::uint64_t> sums;  // [vector][slab]
  const std::size_t begin = grid.slab_offset(s.first_slab), size = grid.slab_offset(s.last_slab) - begin;
  for (const auto& v : s.vectors)
    for (int slab = s.first_slab; slab < s.last_slab; ++slab)
      sums.push_back(checksum_of(v.data() + (grid.slab_offset(slab) - begin),
                                 grid.slab_offset(slab + 1) - grid.slab_offset(slab)));
  if (size == 0) return checksum_of(sums);
  const hsize_t n_vectors = s.vectors.size();
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(checkpoint_part_file(folder, mark, index),
                                  65536 + n_vectors * size * sizeof(complex) + sums.size() * sizeof(std::uint64_t));
  if (!file) return file.error();
  begin_checkpoint(*file, kind);
  const hdf5_id vectors = file->open_dataset("Vectors", {n_vectors, 2 * size}, H5T_IEEE_F64LE);
  for (hsize_t v = 0; v < n_vectors; ++v)
    file->box(vectors, {v, 0}, {1, 2 * size}, H5T_NATIVE_DOUBLE, s.vectors[v].data());
  file->dataset("Checksums", {sums.size()}, H5T_STD_U64LE, H5T_NATIVE_UINT64, sums.data());
  if (auto r = file->commit(); !r) return r.error();
  return checksum_of(sums);
}

result<void> checkpoint_reader::read(int first_slab, int last_slab,
                                     const std::vector<std::span<complex>>& vectors) const {
  const checkpoint_parts& parts = checkpoint_.parts;
  const auto all_slabs = static_cast<std::uint64_t>(grid_.n_slabs());
  if (const std::uint64_t found = parts.empty() ? 0 : parts.firsts.back(); found != all_slabs)
    return damaged_checkpoint(checkpoint_file(folder_),
                              fmt::format("its parts have {}, expected {}", plural(found, "slab"), all_slabs));
  if (!parts.have(all_slabs)) return damaged_checkpoint(checkpoint_file(folder_), "its parts overlap");
  const std::size_t own = grid_.slab_offset(first_slab);
  const auto lock = hdf5_lock();
  for (std::size_t p = 0; p < parts.checksums.size(); ++p) {
    const int begin = static_cast<int>(parts.firsts[p]), end = static_cast<int>(parts.firsts[p + 1]);
    const int from = std::max(first_slab, begin), to = std::min(last_slab, end);
    if (from >= to) continue;
    const std::string path = checkpoint_part_file(folder_, parts.mark, p);
    const auto file = open_checkpoint(path, kind);
    if (!file) return file.error();
    std::vector<std::uint64_t> sums;
    if (!file->whole("Checksums", sums)) return damaged_checkpoint(path, "its checksums cannot be read");
    const std::size_t there = grid_.slab_offset(begin), n_slabs = static_cast<std::size_t>(end - begin);
    const hdf5_id data = file->dataset("Vectors");
    if (checksum_of(sums) != parts.checksums[p] || sums.size() != vectors.size() * n_slabs || !data ||
        hdf5_reader::extents_of(data) != extents{vectors.size(), 2 * (grid_.slab_offset(end) - there)})
      return damaged_checkpoint(path, "it belongs to another checkpoint");
    for (std::size_t v = 0; v < vectors.size(); ++v) {
      complex* out = vectors[v].data() + (grid_.slab_offset(from) - own);
      if (!hdf5_reader::box(data, {v, 2 * (grid_.slab_offset(from) - there)},
                            {1, 2 * (grid_.slab_offset(to) - grid_.slab_offset(from))}, H5T_NATIVE_DOUBLE, out))
        return damaged_checkpoint(path, "its vectors cannot be read");
      for (int s = from; s < to; ++s, out += grid_.slab_offset(s) - grid_.slab_offset(s - 1))
        if (checksum_of(out, grid_.slab_offset(s + 1) - grid_.slab_offset(s)) != sums[v * n_slabs + (s - begin)])
          return damaged_checkpoint(path, fmt::format("the checksum of slab {} does not match", s));
    }
  }
  return {};
}

result<parquet_options> options_of_resumed(const std::string& folder, const parquet_checkpoint& c,
                                           const std::vector<std::string>& sets) {
  parquet_options before, there, now;
  config_table old_table, folder_table, table;
  before.describe(old_table);
  there.describe(folder_table);
  now.describe(table);
  for (config_table* t : {&old_table, &table})
    if (auto r = t->load_text(c.options, checkpoint_file(folder)); !r) return r.error();
  const std::string config = folder + "/config.toml";
  if (read_file(config)) {  // a folder without it has the options of the checkpoint
    if (auto r = folder_table.load_file(config); !r) return r.error();
    if (auto r = same_options(old_table, folder_table, may_change, config + ": "); !r) return r.error();
  }
  for (const auto& s : sets)
    if (auto r = table.set(s); !r) return r.error();
  if (auto r = same_options(old_table, table, may_change); !r) return r.error();
  return now;
}

}  // namespace plx::parquet
