#include "mesh/files/athdf.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <limits>
#include <vector>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "io/hdf5_file.hpp"

namespace plx::mesh {

namespace {

// ---- the structure of the whole mesh: attributes, the locations of the blocks, and their slots

// Upper bound of its size in a file.
std::uint64_t structure_bytes(const block_mesh& mesh) {
  return mesh.block_count() * (32 + 3 * (2 * std::uint64_t(mesh.block_size()) + 1) * sizeof(double)) + 24 * 4096 +
         65536;
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

// ---- the values of some of its blocks, and their rows of the tables. A single file has both; with several localities
// each writes the values of its blocks.

// Upper bound of their size in a file.
std::uint64_t content_bytes(std::size_t blocks, int block_size, const athdf_info& info) {
  const std::uint64_t n = block_size;
  std::uint64_t per_block = 40;
  for (const athdf_dataset& d : info.datasets)
    per_block += d.variables.size() * n * n * n * (info.single_precision ? sizeof(float) : sizeof(double));
  return blocks * per_block + (6 + info.datasets.size()) * 4096 + 32768;
}

// One number per block.
struct block_table {
  const char* name;
  hid_t type;
  const void* values;
  std::size_t count;  // 0: not given
};

// The tables of a file. Parts have all of them, so that they fit together; a single file has no table of localities,
// and Updates only if given.
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

// The type of the cells in the file.
hid_t value_type(const athdf_info& info) { return info.single_precision ? H5T_IEEE_F32LE : H5T_IEEE_F64LE; }

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

void refer_to_parts(hdf5_writer& file, const block_mesh& mesh, const athdf_info& info,
                    std::span<const athdf_part> parts) {
  std::vector<hdf5_part> there;
  for (const athdf_part& p : parts) there.push_back({p.file, p.blocks});
  const hsize_t blocks = mesh.block_count(), n = mesh.block_size();
  const double unknown = std::numeric_limits<double>::quiet_NaN();
  const float unknown_single = std::numeric_limits<float>::quiet_NaN();
  const std::int32_t no_locality = -1;
  for (const block_table& t : tables_of(info, true))
    file.dataset_of_parts(t.name, {blocks}, t.type, 0, there,
                          t.type == H5T_NATIVE_INT32 ? static_cast<const void*>(&no_locality) : &unknown);
  for (const athdf_dataset& d : info.datasets)
    file.dataset_of_parts(d.name, {d.variables.size(), blocks, n, n, n}, value_type(info), 1, there,
                          info.single_precision ? static_cast<const void*>(&unknown_single) : &unknown);
}

// ---- the .xdmf file beside an .athdf: it describes the layout of the numbers to ParaView and VisIt. Some KB of text
// per block.

class text {
 public:
  text(const std::string& file, const block_mesh& mesh, const athdf_info& info, bool of_parts)
      : file_(file), info_(info), of_parts_(of_parts), n_(mesh.block_size()), blocks_(mesh.block_count()) {}

  std::string all() {
    add("<?xml version=\"1.0\" ?>\n<Xdmf Version=\"3.0\">\n<Domain>\n");
    add("<Grid Name=\"mesh\" GridType=\"Collection\" CollectionType=\"Spatial\">\n<Time Value=\"{}\"/>\n", info_.time);
    for (std::size_t p = 0; p < blocks_; ++p) block(p);
    add("</Grid>\n</Domain>\n</Xdmf>\n");
    return std::move(out_);
  }

 private:
  template <class... T>
  void add(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }

  void block(std::size_t p) {
    add("<Grid Name=\"block{}\" GridType=\"Uniform\">\n", p);
    add("<Topology TopologyType=\"3DRectMesh\" Dimensions=\"{0} {0} {0}\"/>\n<Geometry GeometryType=\"VXVYVZ\">\n",
        n_ + 1);
    for (const char* axis : {"x1f", "x2f", "x3f"}) {
      add("<DataItem ItemType=\"HyperSlab\" Dimensions=\"{0}\"><DataItem Dimensions=\"3 2\" NumberType=\"Int\">{1} 0 1 "
          "1 "
          "1 {0}</DataItem>",
          n_ + 1, p);
      item(axis, fmt::format("{} {}", blocks_, n_ + 1), "Float", 8);
      add("</DataItem>\n");
    }
    add("</Geometry>\n");
    for (const athdf_dataset& set : info_.datasets)
      for (std::size_t v = 0; v < set.variables.size(); ++v) variable(p, set, v);
    per_block(p, "Level", "Levels", "Int", 4);
    per_block(p, "Cost", "Cost", "Float", 8);
    per_block(p, "Owner", "Owner", "Int", 4);
    per_block(p, "IdleRate", "IdleRate", "Float", 8);
    if (of_parts_) {
      per_block(p, "Locality", "Locality", "Int", 4);
      per_block(p, "LocalityIdleRate", "LocalityIdleRate", "Float", 8);
    }
    add("</Grid>\n");
  }

  void variable(std::size_t p, const athdf_dataset& set, std::size_t v) {
    add("<Attribute Name=\"{0}\" Center=\"Cell\"><DataItem ItemType=\"HyperSlab\" Dimensions=\"{1} {1} {1}\"><DataItem "
        "Dimensions=\"3 5\" NumberType=\"Int\">{2} {3} 0 0 0 1 1 1 1 1 1 1 {1} {1} {1}</DataItem>",
        set.variables[v], n_, v, p);
    item(set.name, fmt::format("{0} {1} {2} {2} {2}", set.variables.size(), blocks_, n_), "Float",
         info_.single_precision ? 4 : 8);
    add("</DataItem></Attribute>\n");
  }

  void per_block(std::size_t p, const char* name, const char* dataset, const char* type, int precision) {
    add("<Attribute Name=\"{}\" Center=\"Grid\"><DataItem ItemType=\"HyperSlab\" Dimensions=\"1\"><DataItem "
        "Dimensions=\"3 1\" NumberType=\"Int\">{} 1 1</DataItem>",
        name, p);
    item(dataset, fmt::format("{}", blocks_), type, precision);
    add("</DataItem></Attribute>\n");
  }

  void item(const std::string& dataset, const std::string& size, const char* type, int precision) {
    add("<DataItem Dimensions=\"{}\" NumberType=\"{}\" Precision=\"{}\" Format=\"HDF\">{}:/{}</DataItem>", size, type,
        precision, file_, dataset);
  }

  std::string file_;
  const athdf_info& info_;
  bool of_parts_;
  int n_;
  std::size_t blocks_;
  std::string out_;
};

// `path` with its ending .athdf replaced by .xdmf.
std::string xdmf_path(const std::string& path) {
  const std::string ending = ".athdf";
  const bool ends = path.size() > ending.size() && path.ends_with(ending);
  return (ends ? path.substr(0, path.size() - ending.size()) : path) + ".xdmf";
}

// `of_parts`: with the tables that exist only in files of several localities.
std::string xdmf_text(const std::string& path, const block_mesh& mesh, const athdf_info& info, bool of_parts) {
  return text(path.substr(path.rfind('/') + 1), mesh, info, of_parts).all();  // both files are in one folder
}

}  // namespace

result<void> write_athdf(const std::string& path, const block_mesh& mesh, const athdf_info& info, block_filler fill) {
  {
    const auto lock = hdf5_lock();
    auto file =
        hdf5_writer::create(path, structure_bytes(mesh) + content_bytes(mesh.block_count(), mesh.block_size(), info));
    if (!file) return file.error();
    write_structure(*file, mesh, info);
    write_content(*file, mesh.blocks(), mesh.block_size(), info, false, fill);
    if (auto done = file->commit(); !done) return done;
  }
  return write_file(xdmf_path(path), xdmf_text(path, mesh, info, false));
}

result<void> write_athdf_part(const std::string& path, std::span<const slot_id> blocks, int block_size,
                              const athdf_info& info, block_filler fill) {
  const auto lock = hdf5_lock();
  auto file = hdf5_writer::create(path, content_bytes(blocks.size(), block_size, info));
  if (!file) return file.error();
  write_content(*file, blocks, block_size, info, true, fill);
  return file->commit();
}

result<void> write_athdf_of_parts(const std::string& path, const block_mesh& mesh, const athdf_info& info,
                                  std::span<const athdf_part> parts) {
  {
    const auto lock = hdf5_lock();
    auto file = hdf5_writer::create(path, structure_bytes(mesh) + 512 * parts.size() * (8 + info.datasets.size()));
    if (!file) return file.error();
    write_structure(*file, mesh, info);
    refer_to_parts(*file, mesh, info, parts);
    if (auto done = file->commit(); !done) return done;
  }
  auto done = write_file(xdmf_path(path), xdmf_text(path, mesh, info, true));
  if (!done) std::remove(path.c_str());  // the writer of the parts removes them
  return done;
}

std::optional<std::int64_t> athdf_step(const std::string& path) {
  if (access(xdmf_path(path).c_str(), R_OK) != 0 || access(path.c_str(), R_OK) != 0) return std::nullopt;
  const auto lock = hdf5_lock();
  const hdf5_id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file) return std::nullopt;
  const hdf5_id step(H5Aopen(file, "NumCycles", H5P_DEFAULT), H5Aclose);
  std::int64_t found = 0;
  if (!step || H5Aread(step, H5T_NATIVE_INT64, &found) < 0) return std::nullopt;
  return found;
}

}  // namespace plx::mesh
