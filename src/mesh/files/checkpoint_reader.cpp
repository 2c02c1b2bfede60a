#include "mesh/files/checkpoint_reader.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "mesh/files/checkpoint_format.hpp"

namespace plx::mesh {

namespace {

constexpr const char* advice = "remove it to continue from the previous one";

}  // namespace

result<checkpoint_reader> checkpoint_reader::open(const std::string& checkpoint) {
  return open(checkpoint, "", checkpoint_format);
}

result<checkpoint_reader> checkpoint_reader::open_part(const std::string& checkpoint, const std::string& part) {
  return open(checkpoint, part, checkpoint_part_format);
}

result<checkpoint_reader> checkpoint_reader::open(const std::string& checkpoint, const std::string& part,
                                                  const char* format) {
  checkpoint_reader r(checkpoint, part);
  if (auto size = r.check_size(); !size) return size.error();
  r.file_ = hdf5_id(H5Fopen(r.path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!r.file_) return r.damaged("HDF5 cannot open it");
  if (auto checked = r.check_format(format); !checked) return checked.error();
  return r;
}

std::string checkpoint_reader::path() const {
  return part_.empty() ? checkpoint_ : checkpoint_.substr(0, checkpoint_.rfind('/') + 1) + part_;
}

error checkpoint_reader::damaged(const std::string& what) const {
  const std::string where = part_.empty() ? "" : fmt::format("its part '{}': ", part_);
  return error{fmt::format("checkpoint '{}' is damaged: {}{}; {}", checkpoint_, where, what, advice)};
}

// HDF5's header holds its signature and, at byte 40 in the format that is written here, the end of the file.
result<void> checkpoint_reader::check_size() {
  struct stat there {};
  if (stat(path().c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {  // reading a pipe would never end
    if (!part_.empty()) return damaged("expected a file");
    return error{fmt::format("'{}' is not a checkpoint: expected a file", path())};
  }
  std::ifstream file(path(), std::ios::binary | std::ios::ate);
  if (!file) return part_.empty() ? file_error("read checkpoint", path(), errno) : damaged(std::strerror(errno));
  const auto found = static_cast<std::uint64_t>(file.tellg());
  bytes_ = found;
  char head[48] = {};
  file.seekg(0);
  file.read(head, sizeof head);
  if (found > 0 && (found < 8 || std::memcmp(head, "\x89HDF\r\n\x1a\n", 8) != 0)) {
    if (!part_.empty()) return damaged("expected an HDF5 file");
    return error{fmt::format("'{}' is not a checkpoint: expected an HDF5 file written by plx", path())};
  }
  std::uint64_t expected = sizeof head;
  if (found >= sizeof head && head[8] == 0) std::memcpy(&expected, head + 40, 8);
  if (found >= expected) return {};
  if (!part_.empty()) return damaged(fmt::format("it is truncated: expected {} bytes, found {}", expected, found));
  return error{fmt::format("checkpoint '{}' is truncated: expected {} bytes, found {}; {}", checkpoint_, expected,
                           found, advice)};
}

result<void> checkpoint_reader::check_format(const char* expected) const {
  std::vector<std::string> format;
  if (!has("Format") || !texts("Format", format) || format.size() != 1 || format[0] != expected) {
    if (!part_.empty()) return damaged("it is not a part of a checkpoint");
    return error{fmt::format("'{}' is not a checkpoint: an HDF5 file, but not written as one", path())};
  }
  int version = 0, complete = 0;
  if (!integer("Version", version)) return damaged("it has no version");
  if (version != checkpoint_version) {
    std::string build;
    if (!text("Build", build)) build = "an unknown program";
    return error{
        fmt::format("checkpoint '{}' has version {}, expected {}: resume it with the program that wrote it ({})",
                    path(), version, checkpoint_version, build)};
  }
  if (!has("Complete") || !integer("Complete", complete) || complete != 1) return damaged("its writer did not finish");
  return {};
}

bool checkpoint_reader::integer(const char* name, int& out) const {
  const hdf5_id a(H5Aopen(file_, name, H5P_DEFAULT), H5Aclose);
  return a && H5Aread(a, H5T_NATIVE_INT, &out) >= 0;
}

bool checkpoint_reader::texts(const char* name, std::vector<std::string>& out) const {
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

bool checkpoint_reader::text(const char* name, std::string& out) const {
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

hdf5_id checkpoint_reader::dataset(const std::string& name) const {
  return hdf5_id(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
}

template <class T>
bool checkpoint_reader::read_all(const std::string& name, hid_t memory, std::vector<T>& out) const {
  const hdf5_id d = dataset(name);
  if (!d) return false;
  const hdf5_id space(H5Dget_space(d), H5Sclose);
  const hssize_t count = H5Sget_simple_extent_npoints(space);
  if (count < 0 || static_cast<std::uint64_t>(count) > bytes_ / sizeof(T)) return false;  // a damaged size
  out.resize(count);
  return count == 0 || H5Dread(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) >= 0;
}

bool checkpoint_reader::whole(const std::string& name, std::vector<double>& out) const {
  return read_all(name, H5T_NATIVE_DOUBLE, out);
}
bool checkpoint_reader::whole(const std::string& name, std::vector<std::int32_t>& out) const {
  return read_all(name, H5T_NATIVE_INT32, out);
}
bool checkpoint_reader::whole(const std::string& name, std::vector<std::uint64_t>& out) const {
  return read_all(name, H5T_NATIVE_UINT64, out);
}

}  // namespace plx::mesh
