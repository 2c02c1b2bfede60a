// Work that another library puts in a stream: one of linear algebra, Kokkos, a launch written by hand.
//
//   static const plx::gpu::any_operation& gemm = plx::gpu::named_operation("gemm");
//   plx::future<void> f = plx::gpu::async_put(s, gemm, [&] { cublasDgemm(handle_of(s.native()), ...); });
//
// Thread safety: everything. Cost: future()'s. Errors: in the future: what put() throws, what the device says later,
// and
//   why it takes nothing any more; they name the operation. What put() had put in before it threw stays there.
// Example: gpu/core/test/foreign_work_test.cpp
#pragma once

#include <string_view>
#include <type_traits>

#include "gpu/stream.hpp"

namespace plx::gpu {

/// An operation without a kernel, for messages: the same name gives the same one, for the life of the process. Cost: a
/// lock and a look-up; a call site keeps it.
const any_operation& named_operation(std::string_view name);

namespace detail {
plx::future<void> async_put(stream& s, const any_operation& as, void (*put)(void*), void* arg);
}

/// Calls `put()` here and now, while nobody else puts anything in the stream; what it puts in s.native() is one launch
/// of `as`. Ready when all in the stream up to there is done.
/// Requires: put() does not wait and does not use `s` itself, which is locked. While `s` captures, which gives no
/// futures, put() is not called.
template <class F>
[[nodiscard]] plx::future<void> async_put(stream& s, const any_operation& as, F&& put) {
  using f = std::remove_reference_t<F>;
  return detail::async_put(
      s, as, [](void* arg) { (*static_cast<f*>(arg))(); }, const_cast<std::remove_const_t<f>*>(&put));
}

}  // namespace plx::gpu
