// The checkpoint of a run that appends to tables: its options, the sizes of the tables, and its state as a list of
// numbers. The file appears complete or not at all.
//
//   auto bytes = sizes_of_tables(folder, tables);                         // io/run_table.hpp
//   write_run_checkpoint(folder + "/checkpoint.h5", kind, {build, options, *bytes, numbers});
//   auto c = read_run_checkpoint(folder + "/checkpoint.h5", kind);        // later, by another process
//   shorten_tables(folder, tables, c->table_bytes);                       // removes rows written after the checkpoint
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk. Errors: one line each: a missing, truncated
// or damaged file, one of another program or version, a full disk. Example: io/test/run_checkpoint_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"
#include "io/hdf5_file.hpp"

namespace plx {

/// The program, such as "plx-dca", and a version that is incremented when the meaning of its files changes.
struct checkpoint_kind {
  std::string program;
  int version = 1;
};

struct run_checkpoint {
  std::string build;                       ///< the program that wrote it, for people
  std::string options;                     ///< all of them, as TOML
  std::vector<std::uint64_t> table_bytes;  ///< of the tables, when it was written
  std::vector<double> numbers;             ///< the state (num/saved_numbers.hpp)
};

result<void> write_run_checkpoint(const std::string& path, const checkpoint_kind& kind, const run_checkpoint& c);
result<run_checkpoint> read_run_checkpoint(const std::string& path, const checkpoint_kind& kind);

/// FNV-1a on words of 64 bits, to recognize damage.
class word_checksum {
 public:
  void add(std::uint64_t word) noexcept { sum_ = (sum_ ^ word) * 0x100000001b3; }
  void add(std::span<const double> numbers) noexcept;
  std::uint64_t value() const noexcept { return sum_; }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325;
};

/// Opens a file that begins with the attributes Format ("plx-dca checkpoint") and Version. Hold hdf5_lock().
result<hdf5_reader> open_checkpoint(const std::string& path, const checkpoint_kind& kind);
/// Writes these attributes.
void begin_checkpoint(hdf5_writer& file, const checkpoint_kind& kind);
/// "checkpoint '<path>' is damaged: <what>; start the run again in another folder".
error damaged_checkpoint(const std::string& path, const std::string& what);

/// Compares the values of two tables of the same keys. Error: a key outside of `may_change` differs; the message has
/// the key with both values, and `where` the new one is from ("" or e.g. "run/config.toml: ").
result<void> same_options(const config_table& before, const config_table& now, std::span<const char* const> may_change,
                          const std::string& where = "");

}  // namespace plx
