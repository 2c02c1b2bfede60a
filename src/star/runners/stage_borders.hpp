// The data that localities exchange in a step: ghost cells of a state, and fluxes at faces between levels. The lists of
// both are those of the gas.
//
// Thread safety, cost: step/border.hpp. Example: star/test/localities_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mesh/field/face_fluxes.hpp"
#include "star/state/gas.hpp"
#include "step/border.hpp"

namespace plx::star {

/// The messages of a halo: ghost cells, or fluxes of that many doubles per face.
std::vector<step::border_group> border_groups(std::span<const mesh::halo_group> groups);
std::vector<step::border_group> border_groups(std::span<const mesh::flux_group> groups, std::size_t face_doubles);

/// The cells of `values` that tiles of other localities' blocks are gathered from.
class ghost_border final : public step::border {
 public:
  /// Requires: both arguments outlive it.
  ghost_border(const gas& g, mesh::arena& values) : gas_(g), values_(values) {}
  void adopt(const step::node_graph& graph, const step::border_use& use) override;
  void pack(std::size_t group, std::size_t index, double* message) const override;
  void unpack(std::size_t group, const double* message) override;

 private:
  const gas& gas_;
  mesh::arena& values_;
};

/// The coarsened fluxes of fine blocks whose coarser neighbours belong to other localities.
class flux_border final : public step::border {
 public:
  /// Requires: both arguments outlive it.
  flux_border(const gas& g, mesh::flux_register& fluxes) : gas_(g), fluxes_(fluxes) {}
  void adopt(const step::node_graph& graph, const step::border_use& use) override;
  void pack(std::size_t group, std::size_t index, double* message) const override;
  void unpack(std::size_t group, const double* message) override;

 private:
  const gas& gas_;
  mesh::flux_register& fluxes_;
  std::vector<std::vector<std::uint32_t>> first_face_;  // by group of sends() and node, and one more
};

}  // namespace plx::star
