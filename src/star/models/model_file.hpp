// A model in a file: HDF5 in the format of checkpoints (mesh/files/checkpoint.hpp), with the potential and its gradient
// as variables, and everything else as lists of numbers.
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk. Errors: those of checkpoints, or a file that
// holds no model, in one line. Example: star/models/test/self_consistent_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"
#include "star/models/model.hpp"

namespace plx::star::models {

/// `build`: the program; `options`: the input, as TOML; both for people. `identity`: read_model() returns it.
struct model_origin {
  std::string build, options, identity;
};

/// The file appears complete or not at all.
result<void> write_model(const std::string& path, const model& m, const model_origin& origin);

/// A model that evaluates to the same bits. `identity`, if given, receives that of the file.
result<model> read_model(const std::string& path, std::string* identity = nullptr);

}  // namespace plx::star::models
