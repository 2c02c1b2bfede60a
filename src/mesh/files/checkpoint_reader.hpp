// Reads the named data of an open checkpoint, or of a part of one. Private to mesh.
//
// Thread safety: under hdf5_lock(). Errors: one line that names the checkpoint, and the part if it is one.
// Example: mesh/files/test/checkpoint_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/files/hdf5_file.hpp"

namespace plx::mesh {

class checkpoint_reader {
 public:
  static result<checkpoint_reader> open(const std::string& checkpoint);
  /// Opens the part of this name.
  static result<checkpoint_reader> open_part(const std::string& checkpoint, const std::string& part);

  /// An error that describes the damage.
  error damaged(const std::string& what) const;
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

 private:
  checkpoint_reader(std::string checkpoint, std::string part)
      : checkpoint_(std::move(checkpoint)), part_(std::move(part)) {}
  static result<checkpoint_reader> open(const std::string& checkpoint, const std::string& part, const char* format);
  std::string path() const;
  result<void> check_size();
  result<void> check_format(const char* format) const;
  template <class T>
  bool read_all(const std::string& name, hid_t memory, std::vector<T>& out) const;

  std::string checkpoint_, part_;
  hdf5_id file_;
  std::uint64_t bytes_ = 0;  // of the file: an upper bound for the size of anything in it
};

}  // namespace plx::mesh
