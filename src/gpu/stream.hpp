// Streams: work submitted to a stream runs on its device in submission order.
//
// Thread safety: all functions; concurrent submissions are ordered arbitrarily. While one thread is in a call of the
//   device library the others spin, even while a copy from or to pageable memory waits for the device.
// Cost: on CUDA a launch takes 3.5 us, future() 0.2 us (docs/gpu.md). Streams are recycled: creating one costs a lock,
//   unless no free one is available.
// Errors: a call that the device refuses throws gpu::error and submits nothing. A later failure is held by the next
//   future of the stream; after a device is lost, by all of its futures.
// Example: gpu/core/test/stream_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
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
  /// Takes an unused stream of the device, or creates one.
  explicit stream(device& d);
  /// Submitted work still runs.
  ~stream() { give_back(); }
  stream(stream&& o) noexcept : core_(std::exchange(o.core_, nullptr)) {}
  stream& operator=(stream&& o) noexcept {
    std::swap(core_, o.core_);
    return *this;
  }

  /// Launches the operation on one item, or on several items as one launch. The items are copied.
  /// Requires: at least one item. Errors: also throws if the operation has no kernel for this backend.
  template <class Item>
  void launch(const operation<Item>& op, const Item& item) {
    launch_items(op, &item, 1, nullptr);
  }
  template <class Item>
  void launch(const operation<Item>& op, std::span<const Item> items) {
    launch_items(op, items.data(), static_cast<unsigned>(items.size()), nullptr);
  }
  /// Copies between any two of pageable, pinned and device memory. On CUDA, pageable memory blocks the caller; pinned
  /// memory (gpu/buffer.hpp) does not. Both ranges must stay valid until the copy is done.
  void copy(void* to, const void* from, std::size_t bytes);
  /// Sets every byte.
  void fill(void* to, std::uint8_t byte, std::size_t bytes);
  /// Work submitted here from now on begins after all work now in `other`, a stream of the same device. Neither may be
  /// capturing.
  void wait_for(stream& other);

  /// Ready when all work submitted to this stream so far is done. Errors: see above. Continuations run in tasks, never
  /// inside the poll. Two tasks may complete futures concurrently, so a later future of a stream may become ready
  /// before an earlier one, although the work finished in stream order. Work that depends on both should wait for both.
  [[nodiscard]] plx::future<void> future();
  [[nodiscard]] plx::future<void> future(completion_way way);
  /// future().get()
  void wait() { future().get(); }

  /// Captures the work that `f()` submits to this stream as a graph, which can be launched repeatedly at about a third
  /// of the cost of a launch. Requires: f() submits launches, copies and fills only and requests no future. Items are
  /// copied at capture; memory that they refer to must live as long as the graph.
  template <class F>
  [[nodiscard]] graph capture(F&& f);
  void launch(const graph& g);

  [[nodiscard]] native_stream native() const noexcept;
  /// For internal use.
  [[nodiscard]] detail::stream_core& core() const noexcept { return *core_; }
  /// For internal use. `errors` has one element per item, valid until the next completion, or is null.
  void launch_items(const any_operation& op, const void* items, unsigned count, item_errors errors);

 private:
  void give_back() noexcept;
  void begin_capture();
  graph end_capture(bool failed);
  detail::stream_core* core_;
};

/// A captured sequence of operations; see stream::capture(). May be destroyed while it runs. Thread safety: one launch
/// at a time.
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

  /// For internal use: the description of the graph in timelines.
  struct contents {
    std::uint64_t bytes = 0;       // of copies and fills
    std::uint32_t operations = 0;  // number of captured operations
    std::uint32_t name = 0;        // the recorder's name id
  };

 private:
  friend class stream;
  graph(detail::device_core& home, native_graph g, contents c) noexcept : home_(&home), native_(g), made_of_(c) {}
  void free() noexcept;
  detail::device_core* home_ = nullptr;
  native_graph native_ = nullptr;
  detail::graph_core* core_ = nullptr;  // of the stream that captured it
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

// ------------------------------------------------------------------------ work that another library submits to a
// stream
//
// Linear algebra, Kokkos, hand-written launches:
//   static const plx::gpu::any_operation& gemm = plx::gpu::named_operation("gemm");
//   plx::future<void> f = plx::gpu::async_put(s, gemm, [&] { cublasDgemm(handle_of(s.native()), ...); });
//
// Cost: that of future(). Errors: the future holds the exception of put(), an error that the device reports later, or
// the error that made the device unusable; all of them name the operation. Work that put() submitted before it threw
// stays in the stream. Example: gpu/core/test/external_work_test.cpp

/// An operation without a kernel, for messages. The same name always gives the same operation, which lives as long as
/// the process. Cost: a lock and a lookup; call sites should keep the reference.
const any_operation& named_operation(std::string_view name);

namespace detail {
plx::future<void> async_put(stream& s, const any_operation& as, void (*put)(void*), void* arg);
}

/// Calls `put()` in the calling thread while the stream is locked. The work it submits to s.native() is recorded as one
/// launch of `as`. The future is ready when all work in the stream up to that point is done. Requires: put() does not
/// wait and does not use `s` itself. put() is not called if `s` is capturing, since a capture gives no futures.
template <class F>
[[nodiscard]] plx::future<void> async_put(stream& s, const any_operation& as, F&& put) {
  using f = std::remove_reference_t<F>;
  return detail::async_put(
      s, as, [](void* arg) { (*static_cast<f*>(arg))(); }, const_cast<std::remove_const_t<f>*>(&put));
}

}  // namespace plx::gpu
