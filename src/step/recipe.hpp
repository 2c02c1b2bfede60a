// A recipe: one time step, or any other computation on the nodes of a mesh, as a list of passes. A pass is a kernel
// that runs on each node of a set; it states which fields it reads, at which nodes around its own, and which it writes
// at its own. Runners derive everything else from these statements: the order of tasks, the messages between
// localities, and checks.
//
//   recipe r;
//   const field_id old = r.add_field({.name = "u", .given = true}), rate = r.add_field({.name = "du/dt"}),
//                  next = r.add_field({.name = "new u"});
//   r.add({.name = "heat.rate", .reads = {{old, stencil::neighbours}}, .writes = {rate}, .kernel = kernel(f)});
//   r.add({.name = "heat.update", .reads = {{old}, {rate}}, .writes = {next}, .kernel = kernel(g)});
//   r.publish({next, stencil::neighbours});
//
// Rules:
//  - On one node, passes run in the order of the recipe.
//  - A field is written before it is read, on all nodes at which it is read, unless it is given. Several passes may
//    write it; once a pass has read it at other nodes, no later pass writes it.
//  - A field is read at other nodes only at the stencils at which it is shared.
//  - A pass may read a field that it writes itself at its children (results go up the tree, from the blocks to the
//    top) or at its parent (down), not both.
//  - Fields with the same storage share memory, one after the other: the later one may be written at a node only when
//    no other node reads the earlier one any more. check() proves this from the statements.
//  - At most 64 passes.
//
// Thread safety: none while it is changed; const functions from any thread. Cost: none at run time.
// Example: step/test/task_runner_test.cpp
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "mesh/field/field_info.hpp"
#include "mesh/tree/tree.hpp"
#include "step/border.hpp"

namespace plx::step {

using mesh::node_id;
using mesh::node_set;

/// Nodes at which a pass reads a field, seen from its own.
enum class stencil : std::uint8_t {
  own,
  neighbours,   ///< the blocks that touch it (block_mesh::touching)
  finer_faces,  ///< finer blocks across its faces
  children,     ///< the nodes under it: eight, fewer above the root grid (mesh/tree/tree.hpp)
  parent,       ///< the node above it
  /// The nodes of its level that touch it, blocks and refined, also across periodic boundaries, without itself.
  level_neighbours
};

/// Index of a field in its recipe.
enum class field_id : std::int16_t {};

struct access {
  field_id field{};
  stencil at = stencil::own;

  friend bool operator==(const access&, const access&) = default;
};

/// How the values of a field reach other localities, for one stencil. Stencils of a field whose transfers write to the
/// same memory have one border in common: a value arrives once.
struct transfer {
  stencil at{};
  border* by = nullptr;  ///< outlives the recipe
};

/// A field as the passes of one recipe see it; a field that changes from stage to stage has a version for each.
struct recipe_field {
  std::string name;
  bool given = false;  ///< has its values when the recipe starts, at the stencils below on other localities too
  std::vector<stencil> shared_at{};  ///< other nodes may read it at these stencils
  /// Nodes on which it has memory. A pass may run on more nodes and read it on these alone.
  node_set nodes = node_set::blocks_and_refined;
  int storage = -1;  ///< fields with the same number, if it is not negative, share memory
  int tag = -1;      ///< for the maker of the recipe
  std::vector<transfer> transfers{};
};

/// The nodes of one launch on a device. Passes that read their own results at children or parents are launched once per
/// level, in the order of the tree; others once for all nodes.
struct launch_range {
  static constexpr int all_levels = std::numeric_limits<int>::min();
  node_set where{};  ///< of the pass
  int level = all_levels;
};

/// The levels of the nodes of a mesh; negative ones are above the root grid.
struct level_range {
  int coarsest = 0, deepest = 0;
};

/// The code of a pass, for workers or for a device.
class pass_kernel {
 public:
  virtual ~pass_kernel() = default;
  /// On workers: called in a task, for different nodes concurrently. An exception ends the run and is thrown by the
  /// runner.
  virtual void run(node_id node);
  /// On a device: submits the pass on these nodes, and does not wait.
  virtual void launch(launch_range nodes);
};

/// A kernel for workers that calls f(node).
template <class F>
std::unique_ptr<pass_kernel> kernel(F f) {
  struct calls final : pass_kernel {
    explicit calls(F&& g) : f(std::move(g)) {}
    void run(node_id node) override { f(node); }
    F f;
  };
  return std::make_unique<calls>(std::move(f));
}

/// A kernel for a device that calls f(launch_range).
template <class F>
std::unique_ptr<pass_kernel> launcher(F f) {
  struct calls final : pass_kernel {
    explicit calls(F&& g) : f(std::move(g)) {}
    void launch(launch_range nodes) override { f(nodes); }
    F f;
  };
  return std::make_unique<calls>(std::move(f));
}

struct pass {
  const char* name = "";  ///< of its tasks in profiles and traces; a string literal
  node_set where = node_set::blocks;
  std::vector<access> reads;
  std::vector<field_id> writes;
  std::unique_ptr<pass_kernel> kernel;
};

class recipe {
 public:
  static constexpr std::size_t most_passes = 64;

  field_id add_field(recipe_field f);
  void add(pass p);
  /// When the recipe ends, the values of this field at the stencil of every local node are up to date, as those of
  /// given fields must be when it starts.
  void publish(access a) { published_.push_back(a); }

  const std::vector<pass>& passes() const { return passes_; }
  const std::vector<access>& published() const { return published_; }
  const recipe_field& field(field_id f) const { return fields_[static_cast<std::size_t>(f)]; }
  std::size_t field_count() const { return fields_.size(); }
  /// Passes that write a field, in order.
  std::vector<int> writers(field_id f) const;
  /// Does a pass run on refined nodes, or read at children, parents or level_neighbours?
  bool uses_tree() const;
  /// Submits all passes to a device, in order. `levels`: of the mesh (node_graph::levels()).
  void launch(level_range levels) const;
  /// The launches of one pass, in order.
  std::vector<launch_range> launches(const pass& p, level_range levels) const;
  /// Values that nodes other than those of a pass read of what is final after it: other localities need them then.
  std::vector<access> read_elsewhere_after(int pass) const;

  /// Makes check() fail with this error, for callers that cannot add what was asked of them.
  void refuse(error why);
  /// Verifies the rules. Requires nothing. Errors: one line that names the pass and the field.
  result<void> check() const;

 private:
  std::string name_of(field_id f) const { return field(f).name; }
  result<void> check_read(int pass, const access& a) const;
  result<void> check_direction(const pass& p) const;
  result<void> check_storage(field_id earlier, field_id later) const;
  result<void> check_overwriting(int writer, field_id earlier, field_id later) const;
  int first_use(field_id f) const;
  int last_use(field_id f) const;
  bool is_published(field_id f) const;
  bool waits_for_all_nodes(int up, int down) const;
  bool waits_for_readers(int pass, int reader, stencil at) const;

  std::vector<recipe_field> fields_;
  std::vector<pass> passes_;
  std::vector<access> published_;
  std::string refused_;
};

const char* to_string(stencil s);
const char* to_string(node_set s);
/// Is every node of `b` a node of `a`?
bool includes(node_set a, node_set b);

}  // namespace plx::step
