// A checkpoint: every value, every leaf, and whatever else the application names; reading it back continues bitwise.
//
//   write_checkpoint(path, mesh, u, state);                                   // appears whole or not at all
//   auto c = read_checkpoint(path);              if (!c) return c.error();    // all but the cells
//   if (auto r = same_input(*c, path, identity); !r) return r.error();        // is it this input's?
//   auto mesh = block_mesh::from_leaves(domain, c->leaves);  arena u(variables, n);  u.resize(mesh->slot_count());
//   if (auto r = read_values(path, *mesh, u); !r) return r.error();
//
// Thread safety: any task; HDF5 is used by one at a time. Cost: the disk; memory for some MB.
// Errors: one line each, different ones for a missing file, no checkpoint at all, another version, a truncated or
// damaged one, one of another input, a full disk. Example: mesh/checkpoint_test.cpp
#pragma once

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

struct checkpoint {
  checkpoint_state state;
  std::vector<leaf> leaves;            ///< in the order of the curve, without slots
  std::vector<std::string> variables;  ///< names of the arena's
  int block_size = 0;
};

result<void> write_checkpoint(const std::string& path, const block_mesh& mesh, const arena& values,
                              const checkpoint_state& state);

result<checkpoint> read_checkpoint(const std::string& path);

/// Compares the lines of `identity` with those of the checkpoint; the error names the first that differs.
result<void> same_input(const checkpoint& c, const std::string& path, std::string_view identity);

/// Fills the arena from the file. Requires: a mesh made of the checkpoint's leaves, values.slots() enough.
result<void> read_values(const std::string& path, const block_mesh& mesh, arena& values);

}  // namespace plx::mesh
