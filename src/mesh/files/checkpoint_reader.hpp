// Reads the named data of an open checkpoint, or of a part of one. Private to mesh.
//
// Thread safety: under hdf5_lock(). Errors: one line that names the checkpoint, and the part if it is one.
// Example: mesh/files/test/checkpoint_test.cpp
#pragma once

#include <string>
#include <utility>

#include "base/result.hpp"
#include "io/hdf5_file.hpp"

namespace plx::mesh {

class checkpoint_reader : public hdf5_reader {
 public:
  static result<checkpoint_reader> open(const std::string& checkpoint);
  /// Opens the part of this name.
  static result<checkpoint_reader> open_part(const std::string& checkpoint, const std::string& part);

  /// An error that describes the damage.
  error damaged(const std::string& what) const;

 private:
  checkpoint_reader(std::string checkpoint, std::string part)
      : checkpoint_(std::move(checkpoint)), part_(std::move(part)) {}
  static result<checkpoint_reader> open(const std::string& checkpoint, const std::string& part, const char* format);
  std::string path() const;
  result<void> check_size();
  result<void> check_format(const char* format) const;
  std::string checkpoint_, part_;
};

}  // namespace plx::mesh
