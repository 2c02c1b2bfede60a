// The messages of a step: ghosts and fluxes of each stage. Each fills up as blocks finish, and leaves with the last of
// them. Inside star only: stepper.hpp is the way in.
//
// Thread safety: put_block and put_flux of different blocks at the same time; adopt_mesh alone. Cost: a copy of the
// cells that others read, one allocation per message. Example: star/localities_test.cpp
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

  /// Requires: both outlive it.
  stage_messages(gas& g, const mesh::flux_register& fluxes) : gas_(g), fluxes_(fluxes) {}

  /// After the gas has taken another mesh.
  void adopt_mesh();

  /// A block has finished a stage: its cells, from `values`, go to those who read them. May wait.
  void put_block(mesh::slot_id slot, int stage, const mesh::arena& values);

  struct outgoing;
  /// Messages that one block's fluxes have filled: at most one per coarser face.
  struct full {
    std::array<outgoing*, 3> all{};
    int count = 0;
  };
  /// Coarsens a face's flux into a message. False, and nothing done, when the other side of the face is here.
  bool put_flux(mesh::slot_id slot, int face, int stage, const double* flux, full& filled);
  /// Sends what was filled. May wait, so the fluxes of the worker may be another block's afterwards.
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
  std::unique_ptr<outgoing[], release> all_;  // ghosts by stage and group, then fluxes likewise
};

}  // namespace plx::star
