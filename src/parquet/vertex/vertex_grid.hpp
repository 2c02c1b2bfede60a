// Which values of a two-particle vertex are stored, and where.
//
// A vertex of one channel depends on k = (K, nu), k' and the transfer q = (Q, w), nu = (2n + 1) pi T, w = 2 m pi T. It
// is stored as one matrix over k and k' per q, a slab, for w >= 0; the values at -w are the complex conjugates of those
// with all frequencies reversed. The frequencies of a slab are centered: in the particle-hole channels (density,
// magnetic) the pair (nu, nu + w), in the particle-particle channels (singlet, triplet) the pair (nu, w - nu) is mapped
// to itself when its members are exchanged. An odd m has one frequency less than an even one. The last row and column
// of a slab belong to all frequencies outside: the limits of the vertex at large nu, nu' or both, which depend on no
// momentum of theirs because the interaction is local (Wentzell et al. 2020, PRB 102, 085106).
//
// Thread safety: immutable. Cost: O(bosons) memory. Example: parquet/vertex/test/vertex_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "qmc/cluster/cluster.hpp"

namespace plx::parquet {

enum class channel { density, magnetic, singlet, triplet };
inline constexpr std::array all_channels = {channel::density, channel::magnetic, channel::singlet, channel::triplet};

/// "density", "magnetic", "singlet", "triplet".
const char* name_of(channel c) noexcept;
inline bool is_particle_hole(channel c) noexcept { return c == channel::density || c == channel::magnetic; }

/// The fully irreducible vertex of the parquet approximation: U, -U, 2U, 0.
double bare_vertex(channel c, double u) noexcept;

/// A transfer: its momentum and the number m >= 0 of its frequency.
struct transfer {
  int momentum, frequency;
};

class vertex_grid {
 public:
  /// `frequencies`: fermionic ones on each side of the center; `bosons`: transfers w = 0, 2 pi T, ...
  /// Requires: both positive; bosons at most 2 * frequencies.
  vertex_grid(std::shared_ptr<const qmc::cluster> lattice, int frequencies, int bosons);

  const qmc::cluster& lattice() const noexcept { return *lattice_; }
  int n_momenta() const noexcept { return n_momenta_; }
  int frequencies() const noexcept { return frequencies_; }
  int bosons() const noexcept { return bosons_; }

  int n_slabs() const noexcept { return n_momenta_ * bosons_; }
  int slab(transfer q) const noexcept { return q.frequency * n_momenta_ + q.momentum; }
  transfer transfer_of(int slab) const noexcept { return {slab % n_momenta_, slab / n_momenta_}; }

  /// The number of fermionic frequencies of the slabs at m, and the first one.
  int columns(int m) const noexcept { return 2 * frequencies_ - (m & 1); }
  int first(bool particle_hole, int m) const noexcept {
    return particle_hole ? -(m + columns(m)) / 2 : (m - columns(m)) / 2;
  }
  /// Rows and columns of a slab's matrices; row (K, n) is (n - first) * n_momenta + K, and the last is the outside.
  int rows(int m) const noexcept { return columns(m) * n_momenta_ + 1; }

  /// Where the matrix of a channel begins, column-major, in the values of all channels and slabs.
  std::size_t offset(int slab, channel c) const noexcept {
    const transfer q = transfer_of(slab);
    return slab_offset(slab) + static_cast<std::size_t>(c) * rows(q.frequency) * rows(q.frequency);
  }
  /// Where the four matrices of a slab begin; of n_slabs(), the end.
  std::size_t slab_offset(int slab) const noexcept { return offsets_[slab]; }
  std::size_t size() const noexcept { return offsets_.back(); }
  /// Where the rows of a slab begin, if those of all slabs follow each other; of n_slabs(), the end.
  std::size_t row_offset(int slab) const noexcept { return row_offsets_[slab]; }
  /// Slabs are divided in contiguous ranges of about equal size: the first one of a rank; of `ranks`, the end.
  int first_slab(unsigned rank, unsigned ranks) const noexcept;

 private:
  std::shared_ptr<const qmc::cluster> lattice_;
  int n_momenta_, frequencies_, bosons_;
  std::vector<std::size_t> offsets_, row_offsets_;
};

}  // namespace plx::parquet
