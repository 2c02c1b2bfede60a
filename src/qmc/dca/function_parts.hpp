// Functions of two particles in the parts of a checkpoint of plx-dca: HDF5, a row for the bin of each walker that has
// begun and for each of its complete ones, with a checksum for each row.
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk, and the memory of the functions that are
// read; the lock of HDF5 is held meanwhile, and read() checks the list of all rows of the part. Errors: one line each:
// a missing, truncated or damaged part, one of another checkpoint, a full disk. Example:
// qmc/dca/test/function_parts_test.cpp
#pragma once

#include <string>
#include <utility>

#include "qmc/solver/function_store.hpp"

namespace plx::qmc {

class function_parts final : public function_store {
 public:
  /// In the folder of a run, which the hosts share.
  explicit function_parts(std::string folder) : folder_(std::move(folder)) {}
  result<std::uint64_t> write(std::uint64_t mark, unsigned rank, std::span<const walker_functions> all) override;
  result<walker_functions> read(const checkpoint_parts& parts, std::size_t walker) override;

 private:
  std::string folder_;
};

}  // namespace plx::qmc
