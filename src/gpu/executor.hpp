// Kernels as tasks: a launch has a future, and may wait for others.
//
//   plx::gpu::executor on(gpu);                                        // a device: its streams share the work
//   plx::future<void> a = plx::async(on, add, add_item{x, y, z, n});
//   plx::future<void> b = plx::async(on, add, add_item{z, y, x, n}, std::move(a));  // begins when a is ready
//   plx::post(on, add, item);                                          // nobody waits
//
// An item may be a future of an item; further arguments are futures that must be ready before the launch. When one of
// them holds an exception, the launch does not happen and its future holds the same.
// What async() is given runs in some stream, in no order but that of the futures. The same calls take an
// aggregating_executor (gpu/aggregating_executor.hpp).
// Thread safety: everything; an executor is a handle. Requires: the device outlives it.
// Cost: that of stream::launch and future(), and an allocation from the worker's pool.
// Errors: in the future: a gpu::error, or what the cpu backend's item has thrown. Of post(): a warning in the log.
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

/// Launches each item by itself, in the stream of its device that has the least to do.
class executor {
 public:
  explicit executor(device& d) noexcept : core_(&d.core()) {}
  /// For the library's own headers.
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

/// Takes the results of those that are to be ready; the first of them may be the item.
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

/// Launches the operation on `item` (an Item, or a future of one) once all of `after` (futures) are ready. The future
/// is ready when the kernel is done.
template <gpu::detail::launches E, class Item, class A, class... D>
future<void> async(const E& on, const gpu::operation<Item>& op, A item, D... after) {
  static_assert((detail::is_future<D> && ...), "what follows the item are futures that the launch waits for");
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

/// Launches the operation on `item`; nobody waits.
template <gpu::detail::launches E, class Item>
void post(const E& on, const gpu::operation<Item>& op, const Item& item) {
  on.launch_unheard(op, &item);
}

}  // namespace plx
