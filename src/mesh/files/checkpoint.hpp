// A checkpoint: all values, all leaves and the application's own data; a run that reads it continues bitwise.
//
//   write_checkpoint(path, mesh, u, state);                                   // appears complete or not at all
//   auto c = read_checkpoint(path);              if (!c) return c.error();    // everything except the cells
//   if (auto r = same_input(*c, path, identity); !r) return r.error();        // does it belong to this input?
//   auto mesh = block_mesh::from_leaves(domain, c->leaves);  arena u(variables, n);  u.resize(mesh->slot_count());
//   if (auto r = read_values(path, *mesh, u); !r) return r.error();
//
// With several localities each writes a part (write_checkpoint_part); when all parts are on disk, one of them writes
// the checkpoint itself (write_checkpoint_of_parts): everything except the cells, and the names of the parts. It is
// read in the same way, on any number of localities; read_values() opens the parts that it needs.
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk; some MB of memory. Errors: one line each,
// distinct for a missing file, a file that is not a checkpoint, another version, a truncated or damaged checkpoint, one
// of another input, a full disk. Example: mesh/files/test/checkpoint_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "mesh/field/arena.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace plx::mesh {

/// Incremented when the meaning of the file changes.
inline constexpr int checkpoint_version = 2;

struct checkpoint_state {
  std::string build;     ///< the program that wrote it, for people: version, commit, compiler
  std::string options;   ///< the effective configuration as TOML
  std::string identity;  ///< "key = value" lines that a run must share to continue from it
  /// Named lists of numbers: time, step, dt, outflow, ... Integers are exact up to 2^53.
  std::vector<std::pair<std::string, std::vector<double>>> numbers;

  /// The list of that name, or nullptr.
  const std::vector<double>* find(std::string_view name) const;
};

struct checkpoint_part {
  std::string file;        ///< relative to the folder of the checkpoint
  std::size_t blocks = 0;  ///< those of part 0 are the first on the curve; a part without blocks needs no file
};

/// The parts of a checkpoint, and the number that they share, by which parts of another checkpoint are refused.
struct checkpoint_parts {
  std::uint64_t mark = 0;
  std::vector<checkpoint_part> all;
};

struct checkpoint {
  checkpoint_state state;
  std::vector<leaf> leaves;            ///< in the order of the curve, without slots
  std::vector<std::string> variables;  ///< names of the arena's variables
  int block_size = 0;
  checkpoint_parts parts;  ///< empty if it is in one file
};

result<void> write_checkpoint(const std::string& path, const block_mesh& mesh, const arena& values,
                              const checkpoint_state& state);

/// Writes part `index` of `parts`: the values of its blocks go to `path`, the file that `parts` names.
result<void> write_checkpoint_part(const std::string& path, const block_mesh& mesh, const arena& values,
                                   const checkpoint_parts& parts, std::size_t index);
/// Writes the checkpoint itself, for existing parts; uses only the variables of `values`.
result<void> write_checkpoint_of_parts(const std::string& path, const block_mesh& mesh, const arena& values,
                                       const checkpoint_state& state, const checkpoint_parts& parts);

result<checkpoint> read_checkpoint(const std::string& path);

/// Differences that same_input() accepts.
struct identity_rules {
  std::string_view defaults;            ///< lines: a key that the checkpoint does not contain had its default
  std::vector<std::string> may_change;  ///< keys
};

/// Compares the lines of `identity` with those of the checkpoint by key; the error names the first that differs.
result<void> same_input(const checkpoint& c, const std::string& path, std::string_view identity,
                        const identity_rules& rules = {});

/// Fills the blocks that the arena holds from the file. Requires: a mesh made of the checkpoint's leaves.
result<void> read_values(const std::string& path, const block_mesh& mesh, arena& values);

}  // namespace plx::mesh
