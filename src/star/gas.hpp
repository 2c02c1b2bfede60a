// The gas on its mesh at one moment: topology, values of blocks, what lies beyond the sides.
//
// Each locality knows the whole mesh and has the values of its own part of the curve, of blocks that touch those
// (mirrors, mesh/halo.hpp) their cells that it reads. Between steps the mirrors of `now` are up to date.
//
// Thread safety: as its parts: blocks of different slots may be used at the same time; what changes the topology needs
// it alone. Cost: three field sets of all blocks. Example: star/stepper_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "mesh/arena.hpp"
#include "mesh/block_mesh.hpp"
#include "mesh/curve_parts.hpp"
#include "mesh/flux_halo.hpp"
#include "mesh/halo.hpp"
#include "mesh/tile.hpp"
#include "star/exchange.hpp"
#include "star/hydro/stage.hpp"
#include "star/options.hpp"
#include "star/problems/problem.hpp"

namespace plx::star {

/// How often floors were applied, counted in cells.
struct floor_counts {
  std::int64_t density = 0;   ///< of new states
  std::int64_t pressure = 0;  ///< of new states
  std::int64_t input = 0;     ///< of states before reconstruction, ghosts included

  void add(const stage_output& out) {
    density += out.density_floors;
    pressure += out.pressure_floors;
    input += out.input_floors;
  }
  void add(const floor_counts& other) {
    density += other.density;
    pressure += other.pressure;
    input += other.input;
  }
};

struct gas {
  /// The root grid, cut into equal parts. Requires: `net` outlives the gas.
  explicit gas(const setup& s, exchange& net = exchange::alone());

  exchange& net;
  mesh::block_mesh mesh;
  mesh::curve_parts parts;  ///< who has which blocks
  mesh::halo ghosts;        ///< what of them is exchanged
  mesh::flux_halo between;  ///< and of fluxes
  /// now: the state. The others are the stages' own; after a step the old state is in one of them.
  mesh::arena now, stage_a, stage_b;
  bool elsewhere = false;  ///< a device has the values: adopt() makes no room
  mesh::boundary_values sides;
  mesh::reach reach = mesh::reach::faces;  ///< which ghosts the scheme reads
  std::vector<double> signal_rate;         ///< by slot: largest (|v| + c) / dx of the block; of own blocks

  /// The blocks that this locality advances, in the order of the curve.
  std::span<const mesh::slot_id> own() const { return parts.blocks(mesh, net.here()); }
  bool owns(mesh::slot_id slot) const { return parts.part_of(mesh, slot) == net.here(); }

  /// Takes a new mesh: room in all field sets, values of kept slots stay. Requires: the values of own blocks that are
  /// not new are here.
  void adopt(mesh::block_mesh next, mesh::curve_parts next_parts);
  /// The same, cut into equal parts.
  void adopt(mesh::block_mesh next);
  /// Room for these blocks, too, in `now`, until the next adopt(). Shapes: slots: of the mesh that they belong to.
  void make_room(std::size_t slots, std::span<const mesh::slot_id> wanted);
  /// Of own blocks.
  double largest_signal_rate() const;
  /// Of all localities' blocks.
  std::int64_t cell_count() const { return static_cast<std::int64_t>(mesh.block_count()) * now.cells(); }
};

/// Parts of equal numbers of blocks.
mesh::curve_parts equal_parts(const mesh::block_mesh& mesh, int count);

/// Brings the mirrors of `now` up to date. All localities call it, each in a task.
void refresh_mirrors(gas& g);

/// Averages of the problem's solution at time t over the cells of a block.
void fill_from_problem(const problem& p, const mesh::block_mesh& mesh, mesh::slot_id slot, double t, double* values);

/// What each worker keeps for itself: a tile, the kernel's scratch, room for six faces. Indexed by plx::worker_index(),
/// by tasks that do not wait while they use it.
class worker_scratch {
 public:
  worker_scratch(unsigned workers, const hydro_parameters& parameters, int block_size);

  struct one {
    mesh::tile_scratch tile;
    std::unique_ptr<std::byte[]> memory;
    void* kernel = nullptr;
    std::array<double*, mesh::face_count> face{};
    std::vector<double> criteria;  ///< of refinement.cpp
  };
  /// Requires: called by a worker.
  one& mine();

 private:
  std::vector<one> all_;
};

}  // namespace plx::star
