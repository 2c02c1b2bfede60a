#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/assert.hpp"
#include "mesh/checkpoint.hpp"
#include "mesh/checkpoint_format.hpp"
#include "mesh/hdf5_file.hpp"

namespace plx::mesh {

namespace {

error damaged(const std::string& path, const std::string& what) {
  return error{fmt::format("checkpoint '{}' is damaged: {}; remove it to go on from the one before", path, what)};
}

// HDF5's first bytes hold its signature and, at byte 40 of the format that we write, where the file ends.
result<void> check_size(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return file_error("read checkpoint", path, errno);
  const auto found = static_cast<std::uint64_t>(file.tellg());
  char head[48] = {};
  file.seekg(0);
  file.read(head, sizeof head);
  if (found > 0 && (found < 8 || std::memcmp(head, "\x89HDF\r\n\x1a\n", 8) != 0))
    return error{fmt::format("'{}' is no checkpoint: expected an HDF5 file written by plx", path)};
  std::uint64_t expected = sizeof head;
  if (found >= sizeof head && head[8] == 0) std::memcpy(&expected, head + 40, 8);
  if (found < expected)
    return error{
        fmt::format("checkpoint '{}' is truncated: expected {} bytes, found {}; remove it to go on from the one before",
                    path, expected, found)};
  return {};
}

class reader {
 public:
  static result<reader> open(const std::string& path) {
    if (auto size = check_size(path); !size) return size.error();
    reader r;
    r.path_ = path;
    r.file_ = hdf5_id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    if (!r.file_) return damaged(path, "HDF5 cannot open it");
    if (auto format = r.check_format(); !format) return format.error();
    return r;
  }

  result<void> check_format() {
    std::vector<std::string> format;
    if (!has("Format") || !texts("Format", format) || format.size() != 1 || format[0] != checkpoint_format)
      return error{fmt::format("'{}' is no checkpoint: an HDF5 file, but not written as one", path_)};
    int version = 0, complete = 0;
    if (!integer("Version", version)) return damaged(path_, "it has no version");
    if (version != checkpoint_version) {
      std::string build;
      if (!text("Build", build)) build = "an unknown program";
      return error{
          fmt::format("checkpoint '{}' has version {}, expected {}: resume it with the program that wrote it ({})",
                      path_, version, checkpoint_version, build)};
    }
    if (!has("Complete") || !integer("Complete", complete) || complete != 1)
      return damaged(path_, "its writer did not finish");
    return {};
  }

  bool has(const char* attribute) const { return H5Aexists(file_, attribute) > 0; }

  bool integer(const char* name, int& out) const {
    const hdf5_id a(H5Aopen(file_, name, H5P_DEFAULT), H5Aclose);
    return a && H5Aread(a, H5T_NATIVE_INT, &out) >= 0;
  }

  bool texts(const char* name, std::vector<std::string>& out) const {
    const hdf5_id a(H5Aopen(file_, name, H5P_DEFAULT), H5Aclose);
    if (!a) return false;
    const hdf5_id type(H5Aget_type(a), H5Tclose), space(H5Aget_space(a), H5Sclose);
    const std::size_t length = H5Tget_size(type);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count < 0 || length == 0 || count * length > 1 << 20) return false;
    std::string all(count * length, '\0');
    if (H5Aread(a, type, all.data()) < 0) return false;
    for (hssize_t i = 0; i < count; ++i) out.emplace_back(all.substr(i * length, length).c_str());
    return true;
  }

  bool text(const char* name, std::string& out) const {
    const hdf5_id d(H5Dopen2(file_, name, H5P_DEFAULT), H5Dclose);
    if (!d) return false;
    const hdf5_id type(H5Dget_type(d), H5Tclose);
    std::string all(H5Tget_size(type), '\0');
    if (H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0) return false;
    out = all.c_str();  // up to the padding
    return true;
  }

  hdf5_id dataset(const std::string& name) const {
    return hdf5_id(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
  }

  template <class T>
  bool whole(const std::string& name, hid_t memory, std::vector<T>& out) const {
    const hdf5_id d = dataset(name);
    if (!d) return false;
    const hdf5_id space(H5Dget_space(d), H5Sclose);
    const hssize_t count = H5Sget_simple_extent_npoints(space);
    if (count < 0) return false;
    out.resize(count);
    return count == 0 || H5Dread(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) >= 0;
  }

 private:
  std::string path_;
  hdf5_id file_;
};

bool read_header(const reader& r, checkpoint& c) {
  std::vector<std::string> names;
  std::vector<std::int32_t> rows;
  bool good = r.integer("BlockSize", c.block_size) && r.texts("Variables", c.variables) &&
              r.text("Build", c.state.build) && r.text("Options", c.state.options) &&
              r.text("Identity", c.state.identity) && r.texts("NumberNames", names) &&
              r.whole("Leaves", H5T_NATIVE_INT32, rows) && rows.size() % 5 == 0;
  for (const std::string& name : names) {
    if (!good || name.empty()) continue;
    auto& [key, list] = c.state.numbers.emplace_back(name, std::vector<double>{});
    good = r.whole("Numbers/" + key, H5T_NATIVE_DOUBLE, list);
  }
  for (std::size_t i = 0; good && i < rows.size(); i += 5)
    c.leaves.push_back({{rows[i], {rows[i + 1], rows[i + 2], rows[i + 3]}}, no_slot, rows[i + 4]});
  return good;
}

}  // namespace

result<checkpoint> read_checkpoint(const std::string& path) {
  const auto lock = hdf5_lock();
  auto r = reader::open(path);
  if (!r) return r.error();
  checkpoint c;
  std::vector<std::uint64_t> sums;
  if (!read_header(*r, c) || !r->whole("Checksums", H5T_NATIVE_UINT64, sums) || sums.size() != c.leaves.size() + 1)
    return damaged(path, "a part is missing or cannot be read");
  if (sums[0] != header_checksum(c)) return damaged(path, "the checksum of its header does not match");
  return c;
}

result<void> same_input(const checkpoint& c, const std::string& path, std::string_view identity) {
  std::string_view there = c.state.identity;
  const auto take_line = [](std::string_view& rest) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return line;
  };
  while (!there.empty() || !identity.empty()) {
    const std::string_view found = take_line(there), expected = take_line(identity);
    if (found == expected) continue;
    return error{
        fmt::format("checkpoint '{}' is of another input: expected \"{}\", found \"{}\"; resume with the input "
                    "it was written by",
                    path, expected, found)};
  }
  return {};
}

result<void> read_values(const std::string& path, const block_mesh& mesh, arena& values) {
  const auto lock = hdf5_lock();
  auto r = reader::open(path);
  if (!r) return r.error();
  const hdf5_id data = r->dataset("Values");
  std::vector<std::uint64_t> sums;
  if (!data || !r->whole("Checksums", H5T_NATIVE_UINT64, sums)) return damaged(path, "its values cannot be read");
  const hsize_t n = mesh.block_size();
  const hsize_t expected[5] = {mesh.block_count(), hsize_t(values.variable_count()), n, n, n};
  hsize_t found[5] = {};
  const hdf5_id space(H5Dget_space(data), H5Sclose);
  if (H5Sget_simple_extent_ndims(space) != 5 || H5Sget_simple_extent_dims(space, found, nullptr) != 5 ||
      !std::equal(found, found + 5, expected) || sums.size() != mesh.block_count() + 1)
    return error{fmt::format("checkpoint '{}' holds {} blocks of {} variables and {}^3 cells: expected {}, {} and {}^3",
                             path, found[0], found[1], found[2], expected[0], expected[1], expected[2])};
  const std::size_t bytes = static_cast<std::size_t>(values.variable_count()) * values.cells() * sizeof(double);
  for (std::size_t p = 0; p < mesh.block_count(); ++p) {
    double* block = values.block(mesh.blocks()[p]);
    const hsize_t start[5] = {p, 0, 0, 0, 0}, count[5] = {1, expected[1], n, n, n};
    const hdf5_id memory(H5Screate_simple(5, count, nullptr), H5Sclose);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
    if (H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, block) < 0)
      return damaged(path, fmt::format("block {} cannot be read", p));
    if (checksum(block, bytes) != sums[p + 1])
      return damaged(path, fmt::format("the checksum of block {} does not match", p));
  }
  return {};
}

}  // namespace plx::mesh
