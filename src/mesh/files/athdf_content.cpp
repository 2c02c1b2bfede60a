#include "mesh/files/athdf_content.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace plx::mesh {

std::uint64_t structure_bytes(const block_mesh& mesh) {
  return mesh.block_count() * (32 + 3 * (2 * std::uint64_t(mesh.block_size()) + 1) * sizeof(double)) + 24 * 4096 +
         65536;
}

std::uint64_t content_bytes(std::size_t blocks, int block_size, const athdf_info& info) {
  const std::uint64_t n = block_size;
  std::uint64_t per_block = 40;
  for (const athdf_dataset& d : info.datasets)
    per_block += d.variables.size() * n * n * n * (info.single_precision ? sizeof(float) : sizeof(double));
  return blocks * per_block + (6 + info.datasets.size()) * 4096 + 32768;
}

namespace {

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
  for (const auto& [name, value] : info.numbers) file.attribute(name.c_str(), value);
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

}  // namespace

void write_structure(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info) {
  write_attributes(file, mesh, info);
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
  file.dataset("Slot", {blocks}, H5T_NATIVE_INT32, H5T_NATIVE_INT32, slots.data());
  write_coordinates(file, mesh);
}

std::vector<block_table> tables_of(const athdf_info& info, bool of_parts) {
  const auto table = [](const char* name, hid_t type, auto values) {
    return block_table{name, type, values.data(), values.size()};
  };
  std::vector<block_table> all{table("Owner", H5T_NATIVE_INT32, info.owner),
                               table("Cost", H5T_NATIVE_DOUBLE, info.cost_s),
                               table("IdleRate", H5T_NATIVE_DOUBLE, info.idle_rate)};
  if (of_parts || !info.updates.empty()) all.push_back(table("Updates", H5T_NATIVE_DOUBLE, info.updates));
  if (!of_parts) return all;
  all.push_back(table("Locality", H5T_NATIVE_INT32, info.locality));
  all.push_back(table("LocalityIdleRate", H5T_NATIVE_DOUBLE, info.locality_idle_rate));
  return all;
}

hid_t value_type(const athdf_info& info) { return info.single_precision ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }

namespace {

// In batches of blocks: the file stores a variable's cells of all blocks one after the other.
void write_values(hdf5_writer& file, std::span<const slot_id> slots, hsize_t n, const athdf_info& info, int index,
                  block_filler fill) {
  const athdf_dataset& set = info.datasets[index];
  const hsize_t blocks = slots.size(), variables = set.variables.size();
  const std::size_t cells = n * n * n;
  const hdf5_id data = file.open_dataset(set.name, {variables, blocks, n, n, n}, value_type(info));
  const std::size_t batch = std::max<std::size_t>(1, (std::size_t{1} << 19) / (cells * variables));
  std::vector<double> block(cells * variables), sorted(cells * variables * batch);
  for (std::size_t first = 0; first < blocks; first += batch) {
    const std::size_t count = std::min<std::size_t>(batch, blocks - first);
    for (std::size_t b = 0; b < count; ++b) {
      fill(slots[first + b], index, block.data());
      for (std::size_t v = 0; v < variables; ++v)
        std::copy_n(&block[v * cells], cells, &sorted[(v * count + b) * cells]);
    }
    file.box(data, {0, first, 0, 0, 0}, {variables, count, n, n, n}, H5T_NATIVE_DOUBLE, sorted.data());
  }
}

}  // namespace

void write_content(hdf5_writer& file, std::span<const slot_id> slots, int block_size, const athdf_info& info,
                   bool of_parts, block_filler fill) {
  for (const block_table& t : tables_of(info, of_parts)) {
    PLX_ASSERT(t.count == 0 || t.count == slots.size(), t.count, slots.size());
    const std::vector<double> zeros(t.count == 0 ? slots.size() : 0);
    file.dataset(t.name, {slots.size()}, t.type, t.type, t.count == 0 ? zeros.data() : t.values);
  }
  for (std::size_t i = 0; i < info.datasets.size(); ++i)
    write_values(file, slots, block_size, info, static_cast<int>(i), fill);
}

}  // namespace plx::mesh
