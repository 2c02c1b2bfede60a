// Recycled memory of one device and kind, by size class and in stream order.
//
// A block released in a stream can be reused there at once, since the next use is ordered after the last one; in
// another stream it is reused after an event. Neither case blocks the host. Each worker has a magazine per class,
// protected by an uncontended lock; the depot behind the magazines is shared.
// Cost: get and put from the magazine together some 20 ns (bench/gpu). Thread safety: all functions.
// Invariants: a block is in exactly one of: a magazine, the depot, a buffer. `last` is the stream in which it was
// released; null if the host knows that it is unused.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/backend.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::gpu::detail {

class device_core;
class stream_core;

struct memory_block {
  void* at = nullptr;
  stream_core* last = nullptr;
  std::uint32_t size_class = 0;
};

/// Totals of a pool.
struct memory_counts {
  std::uint64_t hits = 0;                            // allocations from recycled memory; of these:
  std::uint64_t magazine_hits = 0;                   // from the worker's own magazine
  std::uint64_t crossings = 0;                       // last used in another stream, ordered by an event
  std::uint64_t misses = 0;                          // allocations from the device
  std::uint64_t trims = 0;                           // releases of all free memory after an allocation failed
  std::uint64_t reserved_bytes = 0, used_bytes = 0;  // allocated from the device; of these, in buffers
};

class memory_pool {
 public:
  static constexpr unsigned classes = 4 * 40;     // four per factor of two
  static constexpr unsigned magazine_rounds = 8;  // blocks per worker and class
  /// The smallest class whose blocks hold that many bytes, and the size of its blocks.
  static unsigned class_of(std::size_t bytes) noexcept;
  static std::size_t bytes_of(unsigned size_class) noexcept;

  memory_pool(device_core& d, memory_kind kind);
  /// Releases everything. Requires: no block is in use, and the device is idle.
  ~memory_pool();

  /// A block for work submitted to `s` from now on. Errors: throws gpu::error if memory runs out even after all free
  /// memory was released.
  memory_block* get(stream_core& s, std::size_t bytes);
  /// Releases a block that work already submitted to `s` may still use.
  void put(stream_core& s, memory_block* b) noexcept;
  /// Returns free memory to the device, except blocks last used in a stream that is capturing. Waits for the streams
  /// that may still use it. `held`: the caller has the put_lock of that stream.
  void trim(const stream_core* held = nullptr);

  [[nodiscard]] memory_counts counts() const noexcept;

 private:
  struct magazine {
    std::array<memory_block*, magazine_rounds> rounds;
    unsigned n = 0;
  };
  // One per worker.
  struct alignas(plx::detail::cache_line_bytes) shelf {
    plx::detail::spinlock lock;
    std::uint64_t hits = 0;
    std::uint64_t taken_bytes = 0, given_bytes = 0;
    std::array<std::unique_ptr<magazine>, classes> of;
  };

  shelf* my_shelf() noexcept;
  memory_block* from_magazine(shelf& mine, stream_core& s, unsigned size_class) noexcept;
  memory_block* from_depot(stream_core& s, unsigned size_class) noexcept;
  memory_block* from_device(stream_core& s, unsigned size_class, std::size_t wanted);
  bool order(stream_core& s, memory_block& b);
  std::vector<memory_block*> take_all();
  void release(memory_block* b) noexcept;

  device_core& home_;
  const memory_kind kind_;
  std::vector<std::unique_ptr<shelf>> shelves_;  // per worker
  mutable plx::detail::spinlock lock_;           // guards the members below
  std::array<std::vector<memory_block*>, classes> depot_;
  std::uint64_t hits_ = 0, crossings_ = 0, misses_ = 0, trims_ = 0, reserved_ = 0, taken_bytes_ = 0, given_bytes_ = 0;
};

}  // namespace plx::gpu::detail
