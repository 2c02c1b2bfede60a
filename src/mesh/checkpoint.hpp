// A checkpoint: every value, every leaf, and whatever else the application names; reading it back continues bitwise.
//
//   write_checkpoint(path, mesh, u, state);                                   // appears whole or not at all
//   auto c = read_checkpoint(path);              if (!c) return c.error();    // all but the cells
//   if (auto r = same_input(*c, path, identity); !r) return r.error();        // is it this input's?
//   auto mesh = block_mesh::from_leaves(domain, c->leaves);  arena u(variables, n);  u.resize(mesh->slot_count());
//   if (auto r = read_values(path, *mesh, u); !r) return r.error();
//
// Where many localities have the blocks, each writes a part (write_checkpoint_part), and when all parts are safe one of
// them writes the file that is the checkpoint (write_checkpoint_of_parts): all but the cells, and where the parts are.
// It is read in the same way, on any number of localities; read_values() opens the parts that it needs.
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk; memory for some MB.
// Errors: one line each, different ones for a missing file, no checkpoint at all, another version, a truncated or
// damaged one, one of another input, a full disk. Example: mesh/checkpoint_test.cpp
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "mesh/arena.hpp"
#include "mesh/block_mesh.hpp"

namespace plx::mesh {

/// Raised when the meaning of the file changes.
inline constexpr int checkpoint_version = 1;

struct checkpoint_state {
  std::string build;     ///< who wrote it, for people: version, commit, compiler
  std::string options;   ///< the effective configuration as TOML
  std::string identity;  ///< "key = value" lines that a run must share to go on from here
  /// Named lists of numbers: time, step, dt, totals through sides, ... Whole numbers are exact up to 2^53.
  std::vector<std::pair<std::string, std::vector<double>>> numbers;

  /// The list of that name, or null.
  const std::vector<double>* find(std::string_view name) const;
};

struct checkpoint_part {
  std::string file;        ///< relative to the folder of the checkpoint
  std::size_t blocks = 0;  ///< those of part 0 are the first on the curve; a part without blocks needs no file
};

/// Which parts a checkpoint has, and the number that they share, so that no part of another checkpoint is taken.
struct checkpoint_parts {
  std::uint64_t mark = 0;
  std::vector<checkpoint_part> all;
};

struct checkpoint {
  checkpoint_state state;
  std::vector<leaf> leaves;            ///< in the order of the curve, without slots
  std::vector<std::string> variables;  ///< names of the arena's
  int block_size = 0;
  checkpoint_parts parts;  ///< none: it is in one file
};

result<void> write_checkpoint(const std::string& path, const block_mesh& mesh, const arena& values,
                              const checkpoint_state& state);

/// Part `index` of those: its blocks' values go to `path`, from where `parts` refers to it.
result<void> write_checkpoint_part(const std::string& path, const block_mesh& mesh, const arena& values,
                                   const checkpoint_parts& parts, std::size_t index);
/// The checkpoint itself, of parts that are there. Of `values` only the variables matter.
result<void> write_checkpoint_of_parts(const std::string& path, const block_mesh& mesh, const arena& values,
                                       const checkpoint_state& state, const checkpoint_parts& parts);

result<checkpoint> read_checkpoint(const std::string& path);

/// What same_input() accepts beside equal lines.
struct identity_rules {
  std::string_view defaults;            ///< lines: a key that the checkpoint does not know yet had its default
  std::vector<std::string> may_change;  ///< keys
};

/// Compares the lines of `identity` with those of the checkpoint by key; the error names the first that differs.
result<void> same_input(const checkpoint& c, const std::string& path, std::string_view identity,
                        const identity_rules& rules = {});

/// Fills the blocks that the arena holds from the file. Requires: a mesh made of the checkpoint's leaves.
result<void> read_values(const std::string& path, const block_mesh& mesh, arena& values);

}  // namespace plx::mesh
