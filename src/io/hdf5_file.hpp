// HDF5 files: handles that close themselves, a writer, a reader, and errors as result<T>.
//
// HDF5 cannot recover from a full disk: an object whose data cannot be flushed cannot be closed either. So the space of
// a whole file is reserved before HDF5 opens it, and a full disk is an error before anything is written.
//
// Thread safety: hold hdf5_lock() around all calls; HDF5 may be built without its own lock. Cost: the disk.
// Example: io/test/hdf5_file_test.cpp
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "base/result.hpp"

namespace plx {

/// Serializes HDF5 in this process and disables its own messages.
std::unique_lock<std::mutex> hdf5_lock();
/// Throws std::bad_alloc if HDF5 would not have the memory to open a file: it would crash. Called by
/// hdf5_writer and hdf5_reader. Cost: an mmap and munmap.
void require_memory_for_hdf5();

/// An HDF5 identifier and the function that closes it.
class hdf5_id {
 public:
  hdf5_id() = default;
  hdf5_id(hid_t id, herr_t (*closer)(hid_t)) : id_(id), close_(closer) {}
  hdf5_id(hdf5_id&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)), close_(other.close_) {}
  hdf5_id& operator=(hdf5_id&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~hdf5_id() { close(); }

  explicit operator bool() const { return id_ >= 0; }
  operator hid_t() const { return id_; }  // NOLINT: the argument type of HDF5's functions
  bool close() { return id_ < 0 || close_(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
  herr_t (*close_)(hid_t) = nullptr;
};

using extents = std::vector<hsize_t>;

/// A part of a dataset that is stored in another file, as a whole dataset of the same name.
struct hdf5_part {
  std::string file;   ///< relative to the folder of the file that refers to it
  hsize_t count = 0;  ///< along the axis that is divided
};

/// A file being written under a temporary name. After a failure all calls do nothing; commit() returns the first
/// failure.
class hdf5_writer {
 public:
  /// Reserves `bytes`, an upper bound of the file's size.
  static result<hdf5_writer> create(const std::string& path, std::uint64_t bytes);
  hdf5_writer(hdf5_writer&&) = default;

  void attribute(const char* name, const std::string& text);
  void attribute(const char* name, const std::vector<std::string>& texts);
  void attribute(const char* name, const std::vector<double>& values);
  void attribute(const char* name, const std::vector<int>& values);
  void attribute(const char* name, double value);
  void attribute(const char* name, std::int64_t value);
  void attribute(const char* name, int value);

  /// Writes a whole dataset. `memory` is the type of `data`, `type` that in the file.
  void dataset(const std::string& name, const extents& size, hid_t type, hid_t memory, const void* data);
  void text(const std::string& name, const std::string& content);
  /// Creates a dataset to be written in boxes; each begins at `start` and has `count` elements along each dimension.
  hdf5_id open_dataset(const std::string& name, const extents& size, hid_t type);
  void box(const hdf5_id& dataset, const extents& start, const extents& count, hid_t memory, const void* data);
  /// A dataset that readers see as one, with each part in another file; parts follow each other along `axis`. For a
  /// missing part readers get `empty` (of the given type). Requires: the counts add up to size[axis].
  void dataset_of_parts(const std::string& name, const extents& size, hid_t type, std::size_t axis,
                        std::span<const hdf5_part> parts, const void* empty);
  void group(const std::string& name);

  /// Closes the file, waits until it is on disk, and renames it.
  result<void> commit();

 private:
  hdf5_writer(std::string path, atomic_file file) : path_(std::move(path)), file_(std::move(file)) {}
  void attribute_of(const char* name, hid_t type, const extents& size, const void* data);
  void check(bool good, const char* what);

  std::string path_;
  atomic_file file_;
  hdf5_id id_;
  std::string failure_;
};

/// A file being read. Sizes are checked against that of the file, so that a damaged file cannot exhaust the memory.
class hdf5_reader {
 public:
  /// Sizes of a file and whether it begins as HDF5 files do. The header holds the end of the file: one that is shorter
  /// is truncated. Error: it cannot be read, or is not a file.
  struct sizes {
    std::uint64_t found = 0, expected = 0;
    bool is_hdf5 = false;
  };
  static result<sizes> sizes_of(const std::string& path);
  /// Requires: the file is not truncated. Error: HDF5 cannot open it.
  static result<hdf5_reader> open(const std::string& path);

  bool has(const char* attribute) const { return H5Aexists(file_, attribute) > 0; }
  bool has_dataset(const char* name) const { return H5Lexists(file_, name, H5P_DEFAULT) > 0; }
  // The following return false if the data is missing or cannot be read.
  bool integer(const char* attribute, int& out) const;
  bool texts(const char* attribute, std::vector<std::string>& out) const;
  bool text(const char* dataset, std::string& out) const;
  bool whole(const std::string& dataset, std::vector<double>& out) const;
  bool whole(const std::string& dataset, std::vector<std::int32_t>& out) const;
  bool whole(const std::string& dataset, std::vector<std::uint64_t>& out) const;
  hdf5_id dataset(const std::string& name) const;
  /// Sizes of a dataset; empty if it cannot be read.
  static extents extents_of(const hdf5_id& dataset);
  /// A box of a dataset, as hdf5_writer::box. Requires: it lies within.
  static bool box(const hdf5_id& dataset, const extents& start, const extents& count, hid_t memory, void* out);

 private:
  template <class T>
  bool read_all(const std::string& name, hid_t memory, std::vector<T>& out) const;

  hdf5_id file_;
  std::uint64_t bytes_ = 0;  // of the file: an upper bound for the size of anything in it
};

}  // namespace plx
