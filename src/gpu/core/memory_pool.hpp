// Recycled memory of one device and kind, by size class and in the order of streams.
//
// A block that was given back in a stream may be taken in the same stream at once: what uses it next is behind what
// used it last. In another stream it is taken behind an event. So neither side waits.
// Each worker has a magazine per class, which it uses under a lock that nobody else wants; the depot behind them is
// shared. Cost: get and put from the magazine some 20 ns together (bench/gpu). Thread safety: everything.
// Invariants: a block is in exactly one of: a magazine, the depot, somebody's hands. `last` is the stream in which it
// was given back; null when the host knows that nothing uses it.
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

/// What the pools of a device have done so far.
struct memory_counts {
  std::uint64_t hits = 0;                            // served by recycled memory, and of these
  std::uint64_t magazine_hits = 0;                   // by the worker's own
  std::uint64_t crossings = 0;                       // taken in another stream, behind an event
  std::uint64_t misses = 0;                          // the device had to be asked
  std::uint64_t trims = 0;                           // times that all free memory was given back because there was none
  std::uint64_t reserved_bytes = 0, used_bytes = 0;  // got from the device; of these in somebody's hands
};

class memory_pool {
 public:
  static constexpr unsigned classes = 4 * 40;     // four per factor of two
  static constexpr unsigned magazine_rounds = 8;  // blocks per worker and class
  /// The class of the smallest block with so many bytes, and how many it has.
  static unsigned class_of(std::size_t bytes) noexcept;
  static std::size_t bytes_of(unsigned size_class) noexcept;

  memory_pool(device_core& d, memory_kind kind);
  /// Gives everything back. Requires: nobody holds a block, and the device is done.
  ~memory_pool();

  /// A block that may be used by what is put in `s` from now on. Errors: throws gpu::error; when there is no memory,
  /// after everything free was given back and it was tried once more.
  memory_block* get(stream_core& s, std::size_t bytes);
  /// What was put in `s` so far may still use it.
  void put(stream_core& s, memory_block* b) noexcept;
  /// Gives all free memory back to the device, but what a stream used last that captures now. Waits for the streams
  /// that may still use it.
  /// `held`: the caller has the put_lock of that stream.
  void trim(const stream_core* held = nullptr);

  [[nodiscard]] memory_counts counts() const noexcept;

 private:
  struct magazine {
    std::array<memory_block*, magazine_rounds> rounds;
    unsigned n = 0;
  };
  // Of one worker.
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
  mutable plx::detail::spinlock lock_;           // guards what follows
  std::array<std::vector<memory_block*>, classes> depot_;
  std::uint64_t hits_ = 0, crossings_ = 0, misses_ = 0, trims_ = 0, reserved_ = 0, taken_bytes_ = 0, given_bytes_ = 0;
};

}  // namespace plx::gpu::detail
