// The messages of a step: ghost cells and fluxes of each stage. A message fills up as blocks finish, and is sent with
// the last of them. Private to star: stepper.hpp is the interface.
//
// Thread safety: put_block and put_flux concurrently for different blocks; adopt_mesh exclusively. Cost: a copy of the
// cells that other localities read, one allocation per message. Example: star/localities_test.cpp
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mesh/flux_register.hpp"
#include "star/exchange.hpp"
#include "star/gas.hpp"

namespace plx::star {

enum class stage_message : std::uint16_t { ghosts, fluxes };

class stage_messages {
 public:
  static constexpr int most_stages = 3;

  /// Requires: both arguments outlive it.
  stage_messages(gas& g, const mesh::flux_register& fluxes) : gas_(g), fluxes_(fluxes) {}

  /// Call it after the mesh of the gas has changed.
  void adopt_mesh();

  /// A block has finished a stage: packs its cells in `values` for the localities that read them. May suspend the task.
  void put_block(mesh::slot_id slot, int stage, const mesh::arena& values);

  struct outgoing;
  /// Messages that one block's fluxes have completed: at most one per coarser face.
  struct full {
    std::array<outgoing*, 3> all{};
    int count = 0;
  };
  /// Coarsens a face's flux into a message. False, without effect, if the block across the face is local.
  bool put_flux(mesh::slot_id slot, int face, int stage, const double* flux, full& filled);
  /// Sends completed messages. May suspend the task; the worker's flux buffers may then hold another block's values.
  void send(const full& filled);

 private:
  struct release {
    void operator()(outgoing* all) const;
  };
  outgoing& ghosts(int stage, int group);
  outgoing& fluxes(int stage, int group);
  void send(outgoing& o);

  gas& gas_;
  const mesh::flux_register& fluxes_;
  std::unique_ptr<outgoing[], release> all_;  // ghost cells by stage and group, then fluxes by stage and group
};

}  // namespace plx::star
