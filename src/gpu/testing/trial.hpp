// A device of a backend with a stream, for the table of operations: memory and launches; errors are thrown.
//
// Thread safety: none. Cost: that of the backend. Example: gpu/testing/operation_check.cpp
#pragma once

#include <cstddef>
#include <vector>

#include "gpu/backend.hpp"

namespace plx::gpu::testing {

class trial {
 public:
  /// Opens the first device. Errors: throws gpu::error, as all functions here.
  explicit trial(const backend& b);
  ~trial();
  trial(const trial&) = delete;
  trial& operator=(const trial&) = delete;

  void* allocate(std::size_t bytes, memory_kind kind = memory_kind::device);
  void copy(void* to, const void* from, std::size_t bytes);
  void launch(const any_operation& op, const std::vector<std::byte>& items);
  void synchronize();
  /// Seconds between begin and end of the work that `put()` submits, on the device's clock.
  template <class F>
  double seconds_of(F&& put) {
    start();
    put();
    return stop();
  }
  /// Captures the work that `put()` submits as a graph.
  template <class F>
  native_graph capture(F&& put) {
    expect(b_.begin_capture(device_, stream_));
    put();
    return end_capture();
  }
  void launch(native_graph g) { expect(b_.launch_graph(device_, g, stream_)); }
  [[nodiscard]] const device_info& info() const noexcept { return info_; }

 private:
  struct memory {
    void* at;
    memory_kind kind;
  };
  void expect(const outcome& o) const;
  void start();
  double stop();
  native_graph end_capture();
  static const void* stage(const gpu::launch& where, const void* items, std::size_t bytes);

  const backend& b_;
  native_device device_ = nullptr;
  native_stream stream_ = nullptr;
  native_event begin_ = nullptr, end_ = nullptr;
  device_info info_;
  const char* kernel_ = "";
  std::vector<memory> memory_;
  std::vector<native_graph> graphs_;
};

}  // namespace plx::gpu::testing
