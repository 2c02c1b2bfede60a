// Kernels as tasks: a launch returns a future and may depend on other futures.
//
//   plx::gpu::executor on(gpu);                                        // distributes launches over the streams
//   plx::future<void> a = plx::async(on, add, add_item{x, y, z, n});
//   plx::future<void> b = plx::async(on, add, add_item{z, y, x, n}, std::move(a));  // begins when a is ready
//   plx::post(on, add, item);                                          // without a future
//
// The item may also be passed as a future; further arguments are futures that must be ready before the launch. If one
// of them holds an exception, the launch does not happen and its future holds the same exception. Launches may run in
// any stream and are ordered only by their futures. An aggregating_executor (gpu/aggregating_executor.hpp) takes the
// same calls.
// Thread safety: all functions; an executor is a handle. Requires: the device outlives it.
// Cost: that of stream::launch and future(), and an allocation from the worker's pool.
// Errors: the future holds a gpu::error, or the exception of the item on the cpu backend. post() logs a warning.
// Example: gpu/core/test/executor_test.cpp
#pragma once

#include <concepts>
#include <tuple>
#include <utility>

#include "gpu/device.hpp"
#include "gpu/operation.hpp"
#include "rt/future.hpp"
#include "rt/when.hpp"

namespace plx::gpu {

/// Launches each item separately, in the stream of its device with the least pending work.
class executor {
 public:
  explicit executor(device& d) noexcept : core_(&d.core()) {}
  /// For internal use.
  [[nodiscard]] plx::future<void> launch(const any_operation& op, const void* item) const;
  void launch_unheard(const any_operation& op, const void* item) const noexcept;

 private:
  detail::device_core* core_;
};

namespace detail {

template <class E>
concept launches = requires(const E& e, const any_operation& op, const void* item) {
  { e.launch(op, item) } -> std::same_as<plx::future<void>>;
  e.launch_unheard(op, item);
};

template <class A>
decltype(auto) ready_value(A& a) {
  if constexpr (plx::detail::is_future<A>)
    return a.get();
  else
    return (a);
}

template <class A>
bool is_ready(const A& a) {
  if constexpr (plx::detail::is_future<A>)
    return a.is_ready();
  else
    return true;
}

/// Consumes the results of the dependencies; the first argument is the item or a future of it.
template <class Item, class A, class... D>
Item item_after(A& item, D&... after) {
  (static_cast<void>(ready_value(after)), ...);
  return Item(ready_value(item));
}

template <class T>
auto as_future(T&& t) {
  if constexpr (plx::detail::is_future<std::decay_t<T>>)
    return std::decay_t<T>(std::forward<T>(t));
  else
    return plx::make_ready_future(std::forward<T>(t));
}

}  // namespace detail
}  // namespace plx::gpu

namespace plx {

/// Launches the operation on `item` (an Item, or a future of one) once all of `after` (futures) are ready. The returned
/// future is ready when the kernel is done.
template <gpu::detail::launches E, class Item, class A, class... D>
future<void> async(const E& on, const gpu::operation<Item>& op, A item, D... after) {
  static_assert((detail::is_future<D> && ...), "arguments after the item must be futures");
  if ((gpu::detail::is_ready(item) && ... && gpu::detail::is_ready(after))) {
    try {
      const Item i = gpu::detail::item_after<Item>(item, after...);
      return on.launch(op, &i);
    } catch (...) {
      return make_exceptional_future<void>(std::current_exception());
    }
  }
  return future<void>(
      when_all(gpu::detail::as_future(std::move(item)), std::move(after)...).then([on, &op](auto all) -> future<void> {
        auto inputs = all.get();
        const Item i = std::apply([](auto&... f) { return gpu::detail::item_after<Item>(f...); }, inputs);
        return on.launch(op, &i);
      }));
}

/// Launches the operation on `item` without a future.
template <gpu::detail::launches E, class Item>
void post(const E& on, const gpu::operation<Item>& op, const Item& item) {
  on.launch_unheard(op, &item);
}

}  // namespace plx
