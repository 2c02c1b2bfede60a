// Which values a rotation moves from the slabs of one transfer to those of another, and in which order.
//
// A step is all that a rotation moves for one frequency of k, between some momenta of the source transfer and some of
// the target: source x target x N elements of two channels. For fixed frequencies the N^3 elements of the slabs at all
// momenta are N^2 runs of N numbers on both sides, so a step reads and writes whole cache lines. The moved values are
// the contributions of the rotation to Gamma (equations/rotation.hpp), which are added to the target.
//
// Thread safety: const functions from any thread; add() to one target at a time. Cost: 32 bytes read and 32 added per
// element; 8 N^3 integers. Example: parquet/distribution/test/rotation_map_test.cpp
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

#include "num/dense/matrix.hpp"
#include "parquet/equations/rotation.hpp"

namespace plx::parquet {

/// Momenta [first, last) of the transfers at one frequency.
struct momentum_range {
  int first = 0, last = 0;
  int count() const noexcept { return last - first; }
};
/// Neighbouring slabs of one frequency.
struct slab_run {
  int frequency = 0;
  momentum_range momenta;
};
std::vector<slab_run> runs_of(const vertex_grid& grid, int first, int last);

class rotation_map {
 public:
  explicit rotation_map(const vertex_grid& grid);

  /// Frequencies of k in the target slab at m, by their number in the slab, for which k' is in the slab, too.
  struct column_range {
    int first = 0, count = 0;
  };
  /// source_m: the signed frequency of the source transfer.
  column_range columns_of(rotation r, int m, int source_m) const noexcept;

  struct step {
    rotation r;
    int source_m;
    slab_run target;
    int column;  // of k in the target slab
  };
  std::size_t size_of(const step& s, const momentum_range& source) const noexcept {
    return 2 * static_cast<std::size_t>(s.target.momenta.count()) * source.count() * grid_.n_momenta();
  }
  /// Contributions to Gamma from the source transfers. Shape: out [target][source][k][channel].
  void gather(const vertex_reader& from, const step& s, const momentum_range& source, std::complex<double>* out) const;
  /// Adds them to the slabs from first_slab on, which begin at `slabs`.
  void add(const std::complex<double>* in, const step& s, const momentum_range& source, std::complex<double>* slabs,
           int first_slab) const;
  /// Gamma of two channels of a slab, without the contributions of transfers of the grid: of those beyond the largest
  /// frequency, which follow from the propagator of `beyond`, and Lambda in the row and column of the outside.
  void start(const vertex_reader& beyond, bool particle_hole, transfer q, matrix_view<std::complex<double>> a,
             matrix_view<std::complex<double>> b) const;

 private:
  template <rotation r>
  void gather_as(const vertex_window& from, double u, const step& s, const momentum_range& source,
                 std::complex<double>* out) const;
  std::size_t index(rotation r, int target, int source) const noexcept {
    return ((static_cast<std::size_t>(r) * grid_.n_momenta() + target) * grid_.n_momenta() + source) *
           grid_.n_momenta();
  }

  const vertex_grid& grid_;
  std::vector<int> second_, column_;  // [rotation][target][source][k]: momenta of k' in the source and in the target
};

}  // namespace plx::parquet
