#include "mesh/athdf.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "mesh/athdf_xdmf.hpp"
#include "mesh/hdf5_file.hpp"

namespace plx::mesh {

namespace {

std::uint64_t upper_bound_bytes(const block_mesh& mesh, const athdf_info& info) {
  const std::uint64_t n = mesh.block_size(), blocks = mesh.block_count();
  std::uint64_t per_block = 64 + 3 * (2 * n + 1) * sizeof(double), datasets = 16;
  for (const athdf_dataset& d : info.datasets) {
    per_block += d.variables.size() * n * n * n * (info.single_precision ? sizeof(float) : sizeof(double));
    ++datasets;
  }
  return blocks * per_block + datasets * 4096 + 65536;
}

void write_attributes(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info) {
  const domain& d = mesh.box();
  const int n = d.block_size;
  std::vector<int> root, counts;
  for (int a = 0; a < 3; ++a) root.push_back(d.root_blocks[a] * n);
  std::vector<std::string> datasets, variables;
  for (const athdf_dataset& set : info.datasets) {
    datasets.push_back(set.name);
    counts.push_back(static_cast<int>(set.variables.size()));
    variables.insert(variables.end(), set.variables.begin(), set.variables.end());
  }
  file.attribute("NumCycles", static_cast<int>(info.cycle));
  file.attribute("Time", info.time);
  file.attribute("Coordinates", std::string("cartesian"));
  file.attribute("RootGridSize", root);
  const char* names[3] = {"RootGridX1", "RootGridX2", "RootGridX3"};
  for (int a = 0; a < 3; ++a) file.attribute(names[a], std::vector<double>{d.lower[a], d.upper[a], 1.0});
  file.attribute("NumMeshBlocks", static_cast<int>(mesh.block_count()));
  file.attribute("MeshBlockSize", std::vector<int>{n, n, n});
  file.attribute("MaxLevel", mesh.deepest());
  file.attribute("NumVariables", counts);
  file.attribute("DatasetNames", datasets);
  file.attribute("VariableNames", variables);
}

void write_coordinates(hdf5_writer& file, const block_mesh& mesh) {
  const int n = mesh.block_size();
  const hsize_t blocks = mesh.block_count();
  const char* face_names[3] = {"x1f", "x2f", "x3f"};
  const char* centre_names[3] = {"x1v", "x2v", "x3v"};
  for (int a = 0; a < 3; ++a) {
    std::vector<double> edges, centres;
    for (const slot_id s : mesh.blocks()) {
      const location& l = mesh.where(s);
      const std::int64_t first = 2 * std::int64_t{l.x[a]} * n;
      for (int i = 0; i <= n; ++i) edges.push_back(mesh.box().coordinate(a, l.level, first + 2 * i));
      for (int i = 0; i < n; ++i) centres.push_back(mesh.centre(s, a, i));
    }
    file.dataset(face_names[a], {blocks, hsize_t(n) + 1}, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, edges.data());
    file.dataset(centre_names[a], {blocks, hsize_t(n)}, H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, centres.data());
  }
}

template <class T>
void write_per_block(hdf5_writer& file, const char* name, std::size_t blocks, std::span<const T> values, hid_t type) {
  PLX_ASSERT(values.empty() || values.size() == blocks, values.size(), blocks);
  const std::vector<T> zeros(values.empty() ? blocks : 0);
  file.dataset(name, {blocks}, type, type, values.empty() ? zeros.data() : values.data());
}

void write_tables(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info) {
  std::vector<std::int32_t> levels, slots;
  std::vector<std::int64_t> locations;
  for (const slot_id s : mesh.blocks()) {
    levels.push_back(mesh.level(s));
    slots.push_back(s);
    for (const std::int32_t x : mesh.where(s).x) locations.push_back(x);
  }
  const std::size_t blocks = mesh.block_count();
  file.dataset("Levels", {blocks}, H5T_NATIVE_INT32, H5T_NATIVE_INT32, levels.data());
  file.dataset("LogicalLocations", {blocks, 3}, H5T_NATIVE_INT64, H5T_NATIVE_INT64, locations.data());
  write_per_block<std::int32_t>(file, "Slot", blocks, slots, H5T_NATIVE_INT32);
  write_per_block(file, "Owner", blocks, info.owner, H5T_NATIVE_INT32);
  write_per_block(file, "Cost", blocks, info.cost_s, H5T_NATIVE_DOUBLE);
  if (!info.updates.empty()) write_per_block(file, "Updates", blocks, info.updates, H5T_NATIVE_DOUBLE);
  write_per_block(file, "IdleRate", blocks, info.idle_rate, H5T_NATIVE_DOUBLE);
}

// In batches of blocks: the file has a variable's cells of all blocks one after the other.
void write_values(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info, int index, block_filler fill) {
  const athdf_dataset& set = info.datasets[index];
  const hsize_t n = mesh.block_size(), blocks = mesh.block_count(), variables = set.variables.size();
  const std::size_t cells = n * n * n;
  const hid_t type = info.single_precision ? H5T_IEEE_F32LE : H5T_IEEE_F64LE;
  const hdf5_id data = file.open_dataset(set.name, {variables, blocks, n, n, n}, type);
  const std::size_t batch = std::max<std::size_t>(1, (std::size_t{1} << 19) / (cells * variables));
  std::vector<double> block(cells * variables), sorted(cells * variables * batch);
  for (std::size_t first = 0; first < blocks; first += batch) {
    const std::size_t count = std::min<std::size_t>(batch, blocks - first);
    for (std::size_t b = 0; b < count; ++b) {
      fill(mesh.blocks()[first + b], index, block.data());
      for (std::size_t v = 0; v < variables; ++v)
        std::copy_n(&block[v * cells], cells, &sorted[(v * count + b) * cells]);
    }
    file.box(data, {0, first, 0, 0, 0}, {variables, count, n, n, n}, H5T_NATIVE_DOUBLE, sorted.data());
  }
}

}  // namespace

result<void> write_athdf(const std::string& path, const block_mesh& mesh, const athdf_info& info, block_filler fill) {
  {
    const auto lock = hdf5_lock();
    auto file = hdf5_writer::create(path, upper_bound_bytes(mesh, info));
    if (!file) return file.error();
    write_attributes(*file, mesh, info);
    write_tables(*file, mesh, info);
    write_coordinates(*file, mesh);
    for (std::size_t i = 0; i < info.datasets.size(); ++i) write_values(*file, mesh, info, static_cast<int>(i), fill);
    if (auto done = file->commit(); !done) return done;
  }
  return write_file(xdmf_path(path), xdmf_text(path, mesh, info));
}

}  // namespace plx::mesh
