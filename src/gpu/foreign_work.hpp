// Work that another library submits to a stream: linear algebra, Kokkos, hand-written launches.
//
//   static const plx::gpu::any_operation& gemm = plx::gpu::named_operation("gemm");
//   plx::future<void> f = plx::gpu::async_put(s, gemm, [&] { cublasDgemm(handle_of(s.native()), ...); });
//
// Thread safety: all functions. Cost: that of future().
// Errors: the future holds the exception of put(), an error that the device reports later, or the error that made the
// device unusable; all of them name the operation. Work that put() submitted before it threw stays in the stream.
// Example: gpu/core/test/foreign_work_test.cpp
#pragma once

#include <string_view>
#include <type_traits>

#include "gpu/stream.hpp"

namespace plx::gpu {

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
