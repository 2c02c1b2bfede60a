// Reading of HDF5 files.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "io/hdf5_file.hpp"

namespace plx {

result<hdf5_reader::sizes> hdf5_reader::sizes_of(const std::string& path) {
  struct stat there {};
  if (stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))  // reading a pipe would never end
    return error{"expected a file"};
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return error{std::strerror(errno)};
  sizes s;
  s.found = static_cast<std::uint64_t>(file.tellg());
  // The header holds the signature and, at byte 40 in the format that is written here, the end of the file.
  char head[48] = {};
  file.seekg(0);
  file.read(head, sizeof head);
  s.is_hdf5 = s.found >= 8 && std::memcmp(head, "\x89HDF\r\n\x1a\n", 8) == 0;
  s.expected = sizeof head;
  if (s.found >= sizeof head && head[8] == 0) std::memcpy(&s.expected, head + 40, 8);
  return s;
}

result<hdf5_reader> hdf5_reader::open(const std::string& path) {
  const auto size = sizes_of(path);
  if (!size) return size.error();
  hdf5_reader r;
  r.bytes_ = size->found;
  require_memory_for_hdf5();
  r.file_ = hdf5_id(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!r.file_) return error{"HDF5 cannot open it"};
  return r;
}

bool hdf5_reader::integer(const char* name, int& out) const {
  const hdf5_id a(H5Aopen(file_, name, H5P_DEFAULT), H5Aclose);
  return a && H5Aread(a, H5T_NATIVE_INT, &out) >= 0;
}

bool hdf5_reader::texts(const char* name, std::vector<std::string>& out) const {
  const hdf5_id a(H5Aopen(file_, name, H5P_DEFAULT), H5Aclose);
  if (!a) return false;
  const hdf5_id type(H5Aget_type(a), H5Tclose), space(H5Aget_space(a), H5Sclose);
  const std::size_t length = H5Tget_size(type);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  constexpr std::size_t most = 1 << 20;
  if (count < 0 || length == 0 || length > most || static_cast<std::size_t>(count) > most / length) return false;
  std::string all(count * length, '\0');
  if (H5Aread(a, type, all.data()) < 0) return false;
  for (hssize_t i = 0; i < count; ++i) out.emplace_back(all.substr(i * length, length).c_str());
  return true;
}

bool hdf5_reader::text(const char* name, std::string& out) const {
  const hdf5_id d = dataset(name);
  if (!d) return false;
  const hdf5_id type(H5Dget_type(d), H5Tclose);
  const std::size_t length = H5Tget_size(type);
  if (length > bytes_) return false;  // a damaged size
  std::string all(length, '\0');
  if (H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0) return false;
  out = all.c_str();  // without the padding
  return true;
}

hdf5_id hdf5_reader::dataset(const std::string& name) const {
  return hdf5_id(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
}

extents hdf5_reader::extents_of(const hdf5_id& dataset) {
  const hdf5_id space(H5Dget_space(dataset), H5Sclose);
  const int dimensions = H5Sget_simple_extent_ndims(space);
  extents size(static_cast<std::size_t>(std::max(dimensions, 0)));
  if (!size.empty() && H5Sget_simple_extent_dims(space, size.data(), nullptr) < 0) size.clear();
  return size;
}

bool hdf5_reader::box(const hdf5_id& dataset, const extents& start, const extents& count, hid_t memory, void* out) {
  const hdf5_id file(H5Dget_space(dataset), H5Sclose);
  const hdf5_id here(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
  return H5Sselect_hyperslab(file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0 &&
         H5Dread(dataset, memory, here, file, H5P_DEFAULT, out) >= 0;
}

template <class T>
bool hdf5_reader::read_all(const std::string& name, hid_t memory, std::vector<T>& out) const {
  const hdf5_id d = dataset(name);
  if (!d) return false;
  const hdf5_id space(H5Dget_space(d), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (count < 0 || static_cast<std::uint64_t>(count) > bytes_ / sizeof(T)) return false;  // a damaged size
  out.resize(count);
  return count == 0 || H5Dread(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) >= 0;
}

bool hdf5_reader::whole(const std::string& name, std::vector<double>& out) const {
  return read_all(name, H5T_NATIVE_DOUBLE, out);
}
bool hdf5_reader::whole(const std::string& name, std::vector<std::int32_t>& out) const {
  return read_all(name, H5T_NATIVE_INT32, out);
}
bool hdf5_reader::whole(const std::string& name, std::vector<std::uint64_t>& out) const {
  return read_all(name, H5T_NATIVE_UINT64, out);
}

}  // namespace plx
