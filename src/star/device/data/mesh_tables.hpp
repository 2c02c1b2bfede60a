// The tables of a mesh for the kernels: built on the host after each regrid, and uploaded.
//
// Thread safety: values. Cost: about 1 us per block. Example: star/device/test/device_gas_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/tree/block_mesh.hpp"
#include "star/device/data/step_data.hpp"

namespace plx::star::device {

struct mesh_tables {
  /// Includes the tables of gather_tiles, if there are tiles. Requires: a block has `stride` doubles in the arenas, at
  /// the position of its slot.
  mesh_tables(const mesh::block_mesh& mesh, int n_var, std::size_t stride, tile_reach of_tiles)
      : mesh_tables(mesh, n_var, stride, of_tiles, {0, static_cast<int>(mesh.block_count())}) {}

  /// Blocks of the curve, [begin, end).
  struct range {
    int begin = 0, end = 0;
    bool contains(int position) const { return position >= begin && position < end; }
  };
  /// The same for a part of the blocks: the arenas also hold the blocks around it, and fluxes of finer blocks among
  /// those have their own position, `foreign`. Positions count from the part's first block. Shapes: row_of: by slot:
  /// the row of a block in the arenas; empty: that of its slot.
  mesh_tables(const mesh::block_mesh& mesh, int n_var, std::size_t stride, tile_reach of_tiles, range part,
              std::span<const std::int32_t> row_of = {});

  std::vector<block_item> blocks;  ///< in the order of the curve
  std::vector<level_item> levels;
  std::vector<coarse_fill> fills;  ///< of `levels` and `tiles`
  std::vector<tile_item> tiles;    ///< in the order of the curve
  std::vector<correction_item> corrections;
  std::vector<side_item> sides;
  std::vector<std::uint8_t> side_face;  ///< of each of `sides`
  /// A face of a block that is not in the part, and the position of its fluxes.
  struct foreign_flux {
    mesh::slot_id slot = mesh::no_slot;
    int face = 0;
    std::int64_t flux = 0;
  };
  std::vector<foreign_flux> foreign;
  std::vector<given_face> given;
  std::size_t slab_doubles = 0, coarse_doubles = 0, flux_doubles = 0, given_doubles = 0;

 private:
  void place_faces(const mesh::block_mesh& mesh, mesh::slot_id slot, block_item& b);
  void add_level_item(const mesh::block_mesh& mesh, mesh::slot_id slot);
  void add_tile(const mesh::block_mesh& mesh, mesh::slot_id slot, bool faces_only);
  /// Fills [fills_begin, fills_end) and the coarse tile of an item.
  template <class Item>
  void add_coarse_tile(const mesh::block_mesh& mesh, mesh::slot_id slot, bool faces_only, Item& item);
  void add_correction(const mesh::block_mesh& mesh, mesh::slot_id slot);
  std::int64_t flux_of(const mesh::block_mesh& mesh, mesh::slot_id slot, int face);
  std::int64_t first_double(mesh::slot_id slot) const;

  int n_var_;
  std::size_t stride_;
  range part_;
  std::span<const std::int32_t> row_of_;
};

/// The kernels' name for a boundary that is not periodic.
ghosts_from beyond(mesh::boundary side);

/// The ghost cells of given faces at a time, in their places.
std::vector<double> given_values(const mesh::block_mesh& mesh, std::span<const given_face> faces, std::size_t doubles,
                                 int n_var, const mesh::outside_state& outside, double time);

}  // namespace plx::star::device
