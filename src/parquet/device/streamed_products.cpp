#include "parquet/device/streamed_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <mutex>
#include <span>

#include "gpu/buffer.hpp"
#include "gpu/error.hpp"
#include "gpu/stream.hpp"
#include "parquet/device/operations.hpp"
#include "parquet/equations/bethe_salpeter.hpp"
#include "rt/latch.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;
using gpu::memory_kind;

// Values of a slab besides its vertices: weights of two channels, partners, and the changes that come back.
struct small_layout {
  explicit small_layout(int rows) : n(static_cast<std::size_t>(rows)) {}
  std::size_t partners() const noexcept { return 2 * n * sizeof(complex); }
  std::size_t changes() const noexcept { return partners() + (n + 1) / 2 * 2 * sizeof(std::int32_t); }
  std::size_t bytes() const noexcept { return changes() + 2 * sizeof(std::uint64_t); }
  std::size_t n;
};

}  // namespace

// The host's copy of Gamma is also where the new vertices arrive.
struct streamed_products::lane {
  lane(gpu::device& on, int rows)
      : stream(on),
        gamma(stream, values(rows)),
        phi(stream, values(rows)),
        next(stream, values(rows)),
        small(stream, small_layout(rows).bytes()),
        host_gamma(stream, values(rows), memory_kind::pinned),
        host_phi(stream, values(rows), memory_kind::pinned),
        host_small(stream, small_layout(rows).bytes(), memory_kind::pinned) {}
  static std::size_t values(int rows) { return 2 * static_cast<std::size_t>(rows) * rows; }

  gpu::stream stream;
  gpu::buffer<complex> gamma, phi, next;
  gpu::buffer<std::byte> small;
  gpu::buffer<complex> host_gamma, host_phi;
  gpu::buffer<std::byte> host_small;
};

struct streamed_products::lanes_in_use {
  std::vector<std::unique_ptr<lane>> all;
  std::vector<lane*> free;  // guarded by lock
  std::mutex lock;
  counting_semaphore<> available{0};

  // A free lane, until the end of the scope; then its stream is idle.
  class use {
   public:
    explicit use(lanes_in_use& pool) : pool_(pool) {
      pool.available.acquire();
      const std::lock_guard guard(pool.lock);
      lane_ = pool.free.back();
      pool.free.pop_back();
    }
    ~use() {
      {
        const std::lock_guard guard(pool_.lock);
        pool_.free.push_back(lane_);
      }
      pool_.available.release();
    }
    use(const use&) = delete;
    use& operator=(const use&) = delete;
    lane* operator->() const noexcept { return lane_; }

   private:
    lanes_in_use& pool_;
    lane* lane_;
  };
};

streamed_products::streamed_products(gpu::device& on, const vertex_grid& grid, unsigned lanes)
    : grid_(grid), pool_(std::make_unique<lanes_in_use>()) {
  const int rows = grid.rows(0);
  while (pool_->all.size() < std::max(lanes, 1u)) {
    try {
      pool_->all.push_back(std::make_unique<lane>(on, rows));
    } catch (const gpu::error& e) {
      if (e.kind() != gpu::failure::out_of_memory) throw;
      if (!pool_->all.empty()) break;
      throw gpu::error(
          {e.kind(), e.code(), e.call(), e.kernel(),
           fmt::format("two channels of a slab of {} rows need {:.3g} GB on the device, which has {:.3g} GB, "
                       "and {:.3g} GB of pinned memory: {}",
                       rows, 1e-9 * lane_bytes(rows), 1e-9 * static_cast<double>(on.info().memory_bytes),
                       1e-9 * lane_bytes(rows) * 2 / 3, e.what())});
    }
  }
  for (const auto& one : pool_->all) pool_->free.push_back(one.get());
  pool_->available.release(static_cast<std::ptrdiff_t>(pool_->all.size()));
}

streamed_products::~streamed_products() = default;

unsigned streamed_products::lanes() const noexcept { return static_cast<unsigned>(pool_->all.size()); }

std::array<double, 2> streamed_products::multiply(const slab_pair& s) {
  const int n = grid_.rows(s.q.frequency);
  const std::size_t size = static_cast<std::size_t>(n) * n, bytes = 2 * size * sizeof(complex);
  const small_layout layout(n);
  const auto partners = slab_partners(grid_, s.particle_hole, s.q);

  const lanes_in_use::use own(*pool_);
  std::memcpy(static_cast<void*>(own->host_gamma.data()), s.gamma, bytes);
  std::memcpy(static_cast<void*>(own->host_phi.data()), s.phi, bytes);
  std::byte* small = own->host_small.data();
  for (int c = 0; c < 2; ++c) std::memcpy(small + c * n * sizeof(complex), s.weights[c].data(), n * sizeof(complex));
  std::memcpy(small + layout.partners(), partners.data(), n * sizeof(std::int32_t));
  std::memset(small + layout.changes(), 0, 2 * sizeof(std::uint64_t));

  gpu::stream& stream = own->stream;
  std::exception_ptr refused;
  try {
    stream.copy(own->gamma.data(), own->host_gamma.data(), bytes);
    stream.copy(own->phi.data(), own->host_phi.data(), bytes);
    stream.copy(own->small.data(), small, layout.bytes());
    device::weigh_item weigh[2];
    device::symmetrize_item mean[2];
    std::byte* on_device = own->small.data();
    auto* changes = reinterpret_cast<std::uint64_t*>(on_device + layout.changes());
    for (int c = 0; c < 2; ++c) {
      weigh[c] = {own->gamma.data() + c * size, own->phi.data() + c * size,
                  reinterpret_cast<const complex*>(on_device) + c * n, own->phi.data() + c * size, n};
      mean[c] = {own->next.data() + c * size, reinterpret_cast<const std::int32_t*>(on_device + layout.partners()),
                 changes + c, n, (s.particle_hole ? 0 : 2) + c};
    }
    stream.launch(device::weigh, std::span<const device::weigh_item>(weigh));
    stream.launch(device::multiply, device::multiply_item{own->gamma.data(), own->phi.data(), own->next.data(), n, 2});
    if (s.symmetrize) stream.launch(device::symmetrize_slab, std::span<const device::symmetrize_item>(mean));
    stream.copy(own->host_gamma.data(), own->next.data(), bytes);
    stream.copy(small + layout.changes(), changes, 2 * sizeof(std::uint64_t));
  } catch (...) {
    refused = std::current_exception();
  }
  // Work that was submitted before a refusal still uses the lane, also if it is the wait that was refused.
  for (int waits = 0; waits < 2; ++waits) try {
      stream.wait();
      break;
    } catch (...) {
      if (refused == nullptr) refused = std::current_exception();
    }
  if (refused != nullptr) std::rethrow_exception(refused);
  std::memcpy(static_cast<void*>(s.gamma), own->host_gamma.data(), bytes);
  std::uint64_t changed[2];
  std::memcpy(changed, small + layout.changes(), sizeof changed);
  return {std::bit_cast<double>(changed[0]), std::bit_cast<double>(changed[1])};
}

}  // namespace plx::parquet
