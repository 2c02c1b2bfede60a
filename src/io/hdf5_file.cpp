#include "io/hdf5_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "base/assert.hpp"

namespace plx {

namespace {

hdf5_id space_of(const extents& size) {
  return size.empty() ? hdf5_id(H5Screate(H5S_SCALAR), H5Sclose)
                      : hdf5_id(H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose);
}

hdf5_id text_type(std::size_t length) {
  hdf5_id type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, std::max<std::size_t>(length, 1));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  return type;
}

// Returns 0, or an error number.
int reserve(const std::string& path, std::uint64_t bytes) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  int status = posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  if (status == EINVAL || status == EOPNOTSUPP) status = 0;  // the file system cannot reserve
  close(descriptor);
  return status;
}

}  // namespace

std::unique_lock<std::mutex> hdf5_lock() {
  static std::mutex one_at_a_time;
  std::unique_lock lock(one_at_a_time);
  // At the end of the program HDF5 would complain on stderr about damaged files that it could not close. Files that are
  // written are closed by commit().
  [[maybe_unused]] static const herr_t leaves_the_end_to_us = H5dont_atexit();
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);  // per thread; our errors describe the failure
  return lock;
}

void require_memory_for_hdf5() {
  constexpr std::size_t enough = std::size_t{8} << 20;
  void* memory = mmap(nullptr, enough, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  munmap(memory, enough);
}

result<hdf5_writer> hdf5_writer::create(const std::string& path, std::uint64_t bytes) {
  auto file = atomic_file::create(path);
  if (!file) return file.error();
  hdf5_writer writer(path, std::move(file).value());
  const std::string temporary = writer.file_.temporary_path();
  if (const int status = reserve(temporary, bytes); status != 0) {
    auto failed = file_error("write", path, status);
    failed.message += fmt::format(" ({:.1f} MB needed)", static_cast<double>(bytes) * 1e-6);
    return failed;
  }
  require_memory_for_hdf5();
  // Creating the file again drops the reservation; the second one keeps other files from taking the space.
  writer.id_ = hdf5_id(H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  if (!writer.id_) return error{fmt::format("cannot write '{}': HDF5 cannot create the file", path)};
  if (const int status = reserve(temporary, bytes); status != 0) return file_error("write", path, status);
  return writer;
}

void hdf5_writer::check(bool good, const char* what) {
  if (!good && failure_.empty()) failure_ = what;
}

void hdf5_writer::attribute_of(const char* name, hid_t type, const extents& size, const void* data) {
  if (!failure_.empty()) return;
  const hdf5_id space = space_of(size);
  const hdf5_id a(H5Acreate2(id_, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  check(a && H5Awrite(a, type, data) >= 0, name);
}

void hdf5_writer::attribute(const char* name, const std::string& text) {
  attribute_of(name, text_type(text.size()), {}, text.empty() ? "" : text.data());
}

void hdf5_writer::attribute(const char* name, const std::vector<std::string>& texts) {
  std::size_t longest = 20;
  for (const std::string& t : texts) longest = std::max(longest, t.size());
  std::string all;
  for (const std::string& t : texts) all += t + std::string(longest + 1 - t.size(), '\0');
  attribute_of(name, text_type(longest + 1), {texts.size()}, all.data());
}

void hdf5_writer::attribute(const char* name, const std::vector<double>& values) {
  attribute_of(name, H5T_NATIVE_DOUBLE, {values.size()}, values.data());
}
void hdf5_writer::attribute(const char* name, const std::vector<int>& values) {
  attribute_of(name, H5T_NATIVE_INT, {values.size()}, values.data());
}
void hdf5_writer::attribute(const char* name, double value) { attribute_of(name, H5T_NATIVE_DOUBLE, {}, &value); }
void hdf5_writer::attribute(const char* name, std::int64_t value) { attribute_of(name, H5T_NATIVE_INT64, {}, &value); }
void hdf5_writer::attribute(const char* name, int value) { attribute_of(name, H5T_NATIVE_INT, {}, &value); }

hdf5_id hdf5_writer::open_dataset(const std::string& name, const extents& size, hid_t type) {
  if (!failure_.empty()) return {};
  const hdf5_id space = space_of(size);
  const hdf5_id how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_obj_track_times(how, false) >= 0, "dataset");  // equal content gives equal files
  hdf5_id d(H5Dcreate2(id_, name.c_str(), type, space, H5P_DEFAULT, how, H5P_DEFAULT), H5Dclose);
  check(static_cast<bool>(d), "dataset");
  return d;
}

void hdf5_writer::dataset(const std::string& name, const extents& size, hid_t type, hid_t memory, const void* data) {
  const hdf5_id d = open_dataset(name, size, type);
  const bool empty = std::find(size.begin(), size.end(), 0u) != size.end();
  if (failure_.empty() && !empty) check(H5Dwrite(d, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0, "dataset");
}

void hdf5_writer::text(const std::string& name, const std::string& content) {
  const hdf5_id type = text_type(content.size());
  dataset(name, {}, type, type, content.empty() ? "" : content.data());
}

void hdf5_writer::box(const hdf5_id& dataset, const extents& start, const extents& count, hid_t memory,
                      const void* data) {
  if (!failure_.empty()) return;
  const hdf5_id file(H5Dget_space(dataset), H5Sclose), here = space_of(count);
  const bool selected = H5Sselect_hyperslab(file, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0;
  check(selected && H5Dwrite(dataset, memory, here, file, H5P_DEFAULT, data) >= 0, "box of a dataset");
}

void hdf5_writer::dataset_of_parts(const std::string& name, const extents& size, hid_t type, std::size_t axis,
                                   std::span<const hdf5_part> parts, const void* empty) {
  if (!failure_.empty()) return;
  const hdf5_id space = space_of(size), how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  check(H5Pset_fill_value(how, type, empty) >= 0, "fill value of a missing part");
  extents start(size.size(), 0), count = size;
  for (const hdf5_part& part : parts) {
    if (part.count == 0) continue;
    count[axis] = part.count;
    const hdf5_id there = space_of(count);
    const bool selected = H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) >= 0;
    check(selected && H5Pset_virtual(how, space, part.file.c_str(), name.c_str(), there) >= 0, "part of a dataset");
    start[axis] += part.count;
  }
  PLX_ASSERT_EQ(start[axis], size[axis]);
  H5Sselect_all(space);
  const hdf5_id d(H5Dcreate2(id_, name.c_str(), type, space, H5P_DEFAULT, how, H5P_DEFAULT), H5Dclose);
  check(static_cast<bool>(d), "dataset of parts");
}

void hdf5_writer::group(const std::string& name) {
  if (!failure_.empty()) return;
  const hdf5_id g(H5Gcreate2(id_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  check(static_cast<bool>(g), name.c_str());
}

result<void> hdf5_writer::commit() {
  hsize_t bytes = 0;
  if (failure_.empty()) check(H5Fflush(id_, H5F_SCOPE_LOCAL) >= 0 && H5Fget_filesize(id_, &bytes) >= 0, "flush");
  check(id_.close(), "close");
  if (!failure_.empty())
    return error{fmt::format("cannot write '{}': HDF5 failed at {} (is the disk full?)", path_, failure_)};
  if (truncate(file_.temporary_path().c_str(), static_cast<off_t>(bytes)) != 0)  // reserved but not used
    return file_error("write", path_, errno);
  return file_.commit();
}

}  // namespace plx
