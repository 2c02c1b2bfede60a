// Passes of additional physics, written once for workers and devices: a struct with an operator() that computes one
// node of the mesh with a number of threads.
//
//   struct uniform_gravity {
//     static constexpr const char* name = "gravity";
//     static constexpr int threads = 64;
//     double g;
//     PLX_DEVICE void operator()(const pass_view& v, std::int32_t node, int thread) const {
//       const double* u = v.block(v.now, node);
//       double* next = v.block(v.next, node);
//       const int cells = v.cells(), z = (i_momentum + 2) * cells, energy = i_energy * cells;
//       for (int c = thread; c < cells; c += threads) {
//         next[z + c] += v.stage_dt() * u[c] * g;
//         next[energy + c] += v.stage_dt() * u[z + c] * g;
//       }
//     }
//   };
//
// star/device/portable_operation.hpp makes a kernel of it. The threads of a node are independent: no thread reads what
// another one writes. On a worker they are a loop; or the struct also has
//
//     void on_worker(const pass_view& v, std::int32_t node) const;
//
// which a worker calls once per node instead, for code with vectors that gives the same bits.
//
// Thread safety: values. Cost: none. Example: star/test/step_module_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "star/hydro/parameters.hpp"

namespace plx::mesh {
class arena;
}
namespace plx::step {
class node_graph;
struct node_rows;
class node_values;
}  // namespace plx::step

namespace plx::star {

namespace device {
class machine;
struct step_control;
}  // namespace device

/// The nodes of the mesh, in the memory of the processor that runs the pass. Blocks are 0..first_refined-1, by slot;
/// the nodes above them follow, up to one at the top, which covers the domain and more (mesh/tree/tree.hpp).
struct node_tables {
  const std::int64_t* values[3] = {};  ///< by place and block: its first double in that place
  const double* lower = nullptr;       ///< [node][3]: lower corner, code units
  const double* width = nullptr;       ///< by node: of a cell, if the node had block_size^3 of them
  // Null if the recipe does not use the tree:
  const std::int32_t* children = nullptr;  ///< [refined node][8], -1: no block is there
  const std::int32_t* parent = nullptr;    ///< by node, -1: the top
  const std::int32_t* around = nullptr;    ///< [node][27]: nodes of its level by mesh::direction_index(), -1: none
  std::int32_t first_refined = 0;
};

/// The data that a pass of a stage may use. Pointers are those of the processor.
struct pass_view {
  static constexpr int most_fields = 16, most_tables = 8;
  /// A field's memory: the doubles of a node begin at values + rows[node] * doubles.
  struct field_memory {
    double* values = nullptr;
    const std::int32_t* rows = nullptr;
    std::int32_t doubles = 0;
  };

  node_tables nodes;
  int n = 8;      ///< cells along the edge of a block
  int n_var = 0;  ///< variables of the state
  double* places[3] = {};
  field_memory fields[most_fields];        ///< read by field()
  const double* tables[most_tables] = {};  ///< read by table()
  int start = 0, now = 0, next = 0;  ///< places of the state at the start of the step, of the stage's, of the new one
  const double* time = nullptr;      ///< at the start of the step
  const double* dt = nullptr;        ///< of the step
  double time_share = 0.0;           ///< the state of the stage is that at time + time_share * dt
  double weight = 1.0;               ///< integrator::weight
  /// Not 0: fields still have the values that the passes of the step before wrote for its final state, and the mesh is
  /// the same.
  const std::int32_t* carried = nullptr;

  /// The doubles of a node in a field of gas_passes::add_node_field(). Requires: the field has memory on the node,
  /// which the pass runs on, or reads at a stencil at which the field is read.
  PLX_DEVICE double* field(int index, std::int32_t node) const {
    const field_memory& f = fields[index];
    return f.values + static_cast<std::int64_t>(f.rows[node]) * f.doubles;
  }
  /// The values of a table of gas_passes::add_table().
  PLX_DEVICE const double* table(int index) const { return tables[index]; }
  /// A state of a block, [variable][k][j][i].
  PLX_DEVICE double* block(int place, std::int32_t node) const { return places[place] + nodes.values[place][node]; }
  PLX_DEVICE int cells() const { return n * n * n; }
  /// A source S adds stage_dt() * S(state of the stage) to the new state.
  PLX_DEVICE double stage_dt() const { return weight * *dt; }
  PLX_DEVICE double stage_time() const { return *time + time_share * *dt; }
  /// Centre of cell i of a node along an axis.
  PLX_DEVICE double centre(std::int32_t node, int axis, int i) const {
    return nodes.lower[3 * node + axis] + (i + 0.5) * nodes.width[node];
  }
  PLX_DEVICE bool is_block(std::int32_t node) const { return node < nodes.first_refined; }
  /// -1: the child does not exist, since no block is there. Requires: a refined node, and a recipe that uses the tree.
  PLX_DEVICE std::int32_t child(std::int32_t node, int i) const {
    return nodes.children[8 * (node - nodes.first_refined) + i];
  }
  /// -1: the top. Requires: a recipe that uses the tree.
  PLX_DEVICE std::int32_t parent(std::int32_t node) const { return nodes.parent[node]; }
  /// The node of the same level in a direction, mesh::direction_index() (13: the node itself), through periodic
  /// boundaries too; -1: none, because blocks there are coarser, or because it is outside of the domain (mesh::tree::
  /// around()). Requires: a recipe that uses the tree.
  PLX_DEVICE std::int32_t around(std::int32_t node, int direction) const {
    return nodes.around[static_cast<std::int64_t>(27) * node + direction];
  }
};

/// The code of a portable pass. See device::portable().
class portable_code {
 public:
  virtual ~portable_code() = default;
  virtual void run(const pass_view& view, std::int32_t node) const = 0;
  /// Submits the pass on `count` nodes, a list in the memory of the device; it does nothing if control->stopped.
  virtual void launch(device::machine& on, const pass_view& view, const std::int32_t* nodes, int count,
                      const device::step_control* control) const = 0;
};

/// The tables of all nodes in host memory: node_tables without the values. The width of a cell of level -k is 2^k times
/// that of the root grid.
struct node_arrays {
  std::vector<double> lower, width;
  std::vector<std::int32_t> children, parent, around;  ///< without the tree: empty
  std::int32_t first_refined = 0;

  explicit node_arrays(const step::node_graph& nodes);
};

/// The data of portable passes on workers: tables of the nodes, places of the state, and fields of additional physics;
/// empty without any. Thread safety: none while it changes; view() from any thread. Cost: adopt()
/// some 0.2 us per node.
class host_pass_data {
 public:
  host_pass_data();
  ~host_pass_data();
  /// The values of a field; the first call adds it.
  step::node_values& field(int index, int doubles);
  /// Takes another mesh. `rows`: of each field.
  void adopt(const step::node_graph& nodes, std::vector<step::node_rows> rows,
             const std::vector<std::vector<double>>& tables);
  /// Takes the places of the state: the start of the step, and the two of the stages. Call it before each step.
  void set_places(mesh::arena& start, mesh::arena& a, mesh::arena& b);
  /// Nodes, places and fields.
  const pass_view& view() const { return view_; }

 private:
  std::vector<std::unique_ptr<step::node_values>> fields_;
  std::optional<node_arrays> arrays_;
  std::vector<std::int64_t> values_[3];  // by place and slot
  pass_view view_;
};

}  // namespace plx::star
