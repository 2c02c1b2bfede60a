// Whole iterations on a device, whose memory holds the vertices and the history of the mixing: the host gets limits,
// residuals and eigenvalues, and sends propagators.
//
// An iteration handles the slabs in groups of one transfer frequency, on three streams in turn: rotations, the right
// factors, one batch of products, symmetries and residuals (parquet/device/operations.hpp). Gamma at w = 0 is copied to
// the host, where tasks compute eigenvalues meanwhile.
// Thread safety: one task at a time; each function waits for the device before it returns. Errors: gpu::error, thrown.
// Cost: 32 (2 N F)^3 bytes of the device per vector, and six work arrays of at most 256 MiB, or of the four channels of
// a slab if those are larger. Example: parquet/device/test/solver_device_test.cpp
#pragma once

#include <atomic>
#include <complex>
#include <memory>
#include <span>
#include <vector>

#include "parquet/equations/bethe_salpeter.hpp"
#include "parquet/green/propagator.hpp"
#include "parquet/solver/mixing.hpp"
#include "parquet/vertex/vertex_grid.hpp"

namespace plx::gpu {
class device;
}

namespace plx::parquet {

class resident_vertices final : public mixing_memory {
 public:
  /// Memory for that many inputs and residuals. Requires: `on` and `grid` outlive it. Errors: out_of_memory if they do
  /// not fit.
  resident_vertices(gpu::device& on, const vertex_grid& grid, int slots);
  ~resident_vertices() override;

  /// r = g(x) - x in a slot. Fills a report per slab, and returns the limits of all slabs
  /// (vertex_limits::of_slabs). If *stop becomes true the rest of the work is omitted.
  std::vector<std::complex<double>> iterate(const propagator& g, int slot, bool symmetrize,
                                            std::span<slab_report> reports, const std::atomic<bool>* stop);

  /// Bytes of its memory on the device, and of its pinned memory, as requested: the device's pools round each array up,
  /// by at most a quarter.
  static double device_bytes(const vertex_grid& grid, int slots);
  static double pinned_bytes(const vertex_grid& grid);

  std::vector<double> dots(int a, int b) override;
  void combine(std::span<const double> c, double damping, int next) override;
  void fetch(int slot, std::complex<double>* x, std::complex<double>* r) override;
  void put(int slot, const std::complex<double>* x, const std::complex<double>* r) override;

 private:
  struct parts;
  struct group;
  void submit(const group& g, const propagator& green, int slot, bool symmetrize);
  void make_weights(const propagator& g);
  void find_eigenvalues(std::span<slab_report> reports);

  const vertex_grid& grid_;
  std::unique_ptr<parts> on_;
};

}  // namespace plx::parquet
