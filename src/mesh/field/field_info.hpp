// The registry of fields: the values that the nodes of a mesh hold. Boundary conditions, interpolation between levels,
// files, tables and the time step take what they need of a field from here; star/hydro/state.hpp lists those of a gas,
// modules of additional physics add theirs (star/step/gas_step.hpp).
//
// Thread safety: values. Cost: a shift or a load per query of the field_table, which kernels take.
// Example: mesh/field/test/field_info_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mesh/field/symmetric.hpp"

namespace plx::mesh {

/// The fields that are the density, the first component of the momentum and the total energy; -1: there are none.
struct gas_places {
  int density = 0, momentum = 1, energy = 4;
};

/// The properties of fields of cells that kernels on workers and devices need, by place in the list. Made by
/// table_of().
struct field_table {
  static constexpr int most = 32;

  std::int32_t count = 0;
  std::int32_t groups = 0;  ///< of fields that are interpolated together, in the order of their first members
  gas_places gas{-1, -1, -1};
  std::uint32_t mirrored[3] = {};  ///< by axis, bits by field: changes_sign_at()
  std::uint32_t normal[3] = {};    ///< is_normal_to()
  std::uint8_t members[most] = {};
  std::uint8_t begin[most + 1] = {};  ///< by group: of its members

  PLX_MESH_DEVICE bool has_gas() const { return gas.density >= 0; }
  /// Does a mirror across the axis change the sign of field v?
  PLX_MESH_DEVICE bool changes_sign_at(int v, int axis) const { return (mirrored[axis] >> v & 1) != 0; }
  /// Is field v the component along the axis of a polar vector, such as the momentum?
  PLX_MESH_DEVICE bool is_normal_to(int v, int axis) const { return (normal[axis] >> v & 1) != 0; }
  PLX_MESH_DEVICE int group_size(int group) const { return begin[group + 1] - begin[group]; }
  /// Member m of a group. A field that shares its limiter with no other is a group of one.
  PLX_MESH_DEVICE int member(int group, int m) const { return members[begin[group] + m]; }
};

/// Nodes of the tree, on which a field has memory, or a pass runs.
enum class node_set : std::uint8_t {
  blocks,        ///< the leaves of the tree
  beside_finer,  ///< blocks that have finer blocks across a face
  refined,       ///< nodes above the blocks
  blocks_and_refined
};

/// The change of a field under a mirror.
enum class field_kind : std::uint8_t {
  scalar,  ///< none
  polar,   ///< a component of a polar vector, such as a momentum: a mirror across its axis changes its sign
  axial,   ///< a component of an axial vector, such as an angular momentum: mirrors across the other axes change it
};

/// The fields of a gas that the mesh must know to keep its internal energy positive (mesh/between/family_limits.hpp).
enum class quantity : std::uint8_t {
  other,
  density,
  momentum,  ///< three fields in a row, the components along x, y, z of a polar vector
  energy,    ///< total, per volume
};

struct field_info {
  std::string name{};  ///< in checkpoints
  field_kind kind = field_kind::scalar;
  int axis = -1;  ///< of a component of a vector: 0..2
  /// Fields with the same number >= 0 get one common limiter in prolongation, which preserves linear relations between
  /// them (the partial densities of species sum to the density). -1: its own limiter.
  int limiter_group = -1;
  quantity role = quantity::other;
  std::string total{};  ///< the integral over the domain, as tables name it; "": it is not conserved
  node_set nodes = node_set::blocks;
  int doubles = 0;  ///< per node; 0: one per cell, [k][j][i]
};

/// Requires: at most field_table::most fields, one double per cell of blocks each; either no role or density, momentum
/// and energy, each once, the momentum as three fields in a row.
field_table table_of(std::span<const field_info> fields);

}  // namespace plx::mesh
