// The Bethe-Salpeter products of a locality on a device: slabs are in host memory and stream through it.
//
// A lane has a stream and memory for two channels of a slab. A task copies Gamma and Phi into pinned memory and submits
// to the stream of a free lane: copies to the device, the products (parquet/device/operations.hpp), the symmetries, and
// the copy of the new Phi; then it waits for the stream's future while its worker runs other tasks. Copies of one lane
// overlap with the products of others. Tensors may be larger than the memory of the device: it holds only the lanes.
// Thread safety: multiply() from any number of tasks. Errors: gpu::error, thrown. Cost per call: 16 flops rows^3, on
// the way to the device 64 rows^2 bytes, back 32 rows^2. Example: parquet/device/test/streamed_products_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <vector>

#include "parquet/vertex/vertex_grid.hpp"

namespace plx::gpu {
class device;
}

namespace plx::parquet {

class streamed_products {
 public:
  /// Takes memory for up to `lanes` lanes, fewer if the device has less; at least one. Requires: `on` outlives it.
  streamed_products(gpu::device& on, const vertex_grid& grid, unsigned lanes);
  ~streamed_products();
  streamed_products(const streamed_products&) = delete;
  streamed_products& operator=(const streamed_products&) = delete;

  /// Two channels of a slab: density and magnetic, or singlet and triplet.
  struct slab_pair {
    transfer q;
    bool particle_hole;
    const std::complex<double>* phi;  // [2][rows][rows]
    std::complex<double>* gamma;      // [2][rows][rows]; replaced by the new reducible vertices
    std::array<std::vector<std::complex<double>>, 2> weights;  // pair_weights()
    bool symmetrize;
  };
  /// Returns the largest deviation from the symmetries in each channel; 0 without s.symmetrize. Called by a task, which
  /// waits.
  std::array<double, 2> multiply(const slab_pair& s);

  unsigned lanes() const noexcept;

  /// Lanes that keep as many workers busy.
  static unsigned lanes_for(unsigned workers) noexcept { return std::clamp(2 * workers, 3u, 16u); }
  /// Bytes of a lane on the device, for slabs of that many rows; its pinned memory is two thirds of it.
  static double lane_bytes(int rows) noexcept { return 6.0 * rows * rows * sizeof(std::complex<double>); }

 private:
  struct lane;
  struct lanes_in_use;
  const vertex_grid& grid_;
  std::unique_ptr<lanes_in_use> pool_;
};

}  // namespace plx::parquet
