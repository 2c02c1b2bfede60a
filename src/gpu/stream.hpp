// Streams: what is put in one runs on its device in that order.
//
// Thread safety: everything; what several threads put in at a time gets some order. While one of them is in a call of
//   the device's library the others spin, also while a copy from or to ordinary memory waits for the device.
// Cost: of a launch on CUDA 3.5 us, of future() 0.2 us (docs/gpu.md). Streams are recycled: making one costs a lock,
// unless there is none to be had. Errors: a call that the device refuses throws gpu::error, and nothing is put in the
// stream. What fails later is held
//   by the next future of the stream; after a device is lost, by all of them.
// Example: gpu/core/test/stream_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "gpu/device.hpp"
#include "gpu/operation.hpp"
#include "rt/future.hpp"

namespace plx::gpu {

namespace detail {
class stream_core;
struct completion;
struct graph_core;
}  // namespace detail

class graph;

class stream {
 public:
  /// Takes a stream that nobody uses, or makes one.
  explicit stream(device& d);
  /// What is in it still runs.
  ~stream() { give_back(); }
  stream(stream&& o) noexcept : core_(std::exchange(o.core_, nullptr)) {}
  stream& operator=(stream&& o) noexcept {
    std::swap(core_, o.core_);
    return *this;
  }

  /// Launches the operation on one item, or on several as one launch. The items are copied.
  /// Requires: at least one item. Errors: throws also when the operation has no kernel for this backend.
  template <class Item>
  void launch(const operation<Item>& op, const Item& item) {
    launch_items(op, &item, 1, nullptr);
  }
  template <class Item>
  void launch(const operation<Item>& op, std::span<const Item> items) {
    launch_items(op, items.data(), static_cast<unsigned>(items.size()), nullptr);
  }
  /// Copies between any two of host, pinned and device memory. Ordinary host memory makes the caller wait on CUDA;
  /// pinned memory (gpu/buffer.hpp) does not. Both must stay until it is done.
  void copy(void* to, const void* from, std::size_t bytes);
  /// Sets every byte.
  void fill(void* to, std::uint8_t byte, std::size_t bytes);
  /// What follows here begins after all that is in `other` now. Of the same device. Neither may capture.
  void wait_for(stream& other);

  /// Ready when all work so far in this stream is done. Errors: see above. Its continuations run in tasks, never in the
  /// poll. Two tasks may complete what the poller has seen at two times, so of two futures of a stream the later one
  /// may be ready first; its work was done last. What must come after both: of the later one, `.then`.
  [[nodiscard]] plx::future<void> future();
  [[nodiscard]] plx::future<void> future(completion_way way);
  /// future().get()
  void wait() { future().get(); }

  /// What `f()` puts in this stream becomes a graph instead, which can be launched any number of times for the price
  /// of about a third of a launch. Requires: f() puts in launches, copies and fills, and asks for no future. Items are
  /// those of now; memory that they name must stay as long as the graph.
  template <class F>
  [[nodiscard]] graph capture(F&& f);
  void launch(const graph& g);

  [[nodiscard]] native_stream native() const noexcept;
  /// For the library's own headers.
  [[nodiscard]] detail::stream_core& core() const noexcept { return *core_; }
  /// For the library's own headers: `errors` has a place per item until the next completion, or is null.
  void launch_items(const any_operation& op, const void* items, unsigned count, item_errors errors);

 private:
  void give_back() noexcept;
  void begin_capture();
  graph end_capture(bool failed);
  detail::stream_core* core_;
};

/// A chain of operations that was captured; see stream::capture(). May be destroyed while it runs. Thread safety: one
/// launch at a time.
class graph {
 public:
  graph() noexcept = default;
  ~graph() { free(); }
  graph(graph&& o) noexcept
      : home_(std::exchange(o.home_, nullptr)),
        native_(std::exchange(o.native_, nullptr)),
        core_(std::exchange(o.core_, nullptr)),
        made_of_(o.made_of_) {}
  graph& operator=(graph&& o) noexcept {
    std::swap(home_, o.home_);
    std::swap(native_, o.native_);
    std::swap(core_, o.core_);
    std::swap(made_of_, o.made_of_);
    return *this;
  }
  explicit operator bool() const noexcept { return native_ != nullptr; }

  /// For the library's own sources: what timelines tell of it.
  struct contents {
    std::uint64_t bytes = 0;       // of copies and fills
    std::uint32_t operations = 0;  // that were captured
    std::uint32_t name = 0;        // as the recorder calls it
  };

 private:
  friend class stream;
  graph(detail::device_core& home, native_graph g, contents c) noexcept : home_(&home), native_(g), made_of_(c) {}
  void free() noexcept;
  detail::device_core* home_ = nullptr;
  native_graph native_ = nullptr;
  detail::graph_core* core_ = nullptr;  // of who has captured it
  contents made_of_;
};

template <class F>
graph stream::capture(F&& f) {
  begin_capture();
  try {
    std::forward<F>(f)();
  } catch (...) {
    static_cast<void>(end_capture(true));
    throw;
  }
  return end_capture(false);
}

}  // namespace plx::gpu
