// Components: objects that live on one locality and can be called from every locality.
//
//   class counter {
//    public:
//     int add(int n) { return value_ += n; }
//     ...
//   };
//   plx::global<counter> c = plx::new_<counter>(locality).get();  // constructed there; any constructor
//   plx::async<&counter::add>(c, 3).get();                        // runs where the object is
//   plx::post<&counter::add>(c, 3);                               // no answer
//   plx::migrate(c, other).get();                                 // the object moves, c stays valid
//
// Calls of one object may run concurrently; the object synchronizes its own state. Each call runs exactly once, also
// while the object moves. Calls from the locality of the object are ordinary tasks, and nothing is serialized.
// An object moves when no call runs in it; a member function that returns a future runs until that is ready. While a
// move waits for running calls, new ones are held back, for at most a second at a time: a running call may call its
// object, which then moves when no such calls overlap any more. A call that waits for the migration of its own object
// deadlocks. Errors, by the future: what the call threw (remote_error from another locality); locality_lost when the
// object was on a lost locality, or the call on its way to one.
//
// Thread safety: everything. Cost: docs/net.md. Example: net/agas/test/component_test.cpp, examples/18_components.cpp
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "net/agas/object_call.hpp"
#include "net/global.hpp"

namespace plx {

/// Constructs a T(args...) on a locality; it lives while handles of it exist. Errors: what its constructor threw;
/// locality_lost.
template <class T, class... A>
future<global<T>> new_(locality_id where, A&&... args) {
  net::agas& a = net::node_here().get<net::agas>();
  const std::uint64_t stamp = a.next_stamp();
  return async<&net::detail::create_object<T, net::detail::as_argument<A>...>>(where, net::sender{a.home().here()},
                                                                               stamp, std::forward<A>(args)...)
      .then(launch::sync, [&a, stamp, where](future<gid> made) {
        return net::handle_access::adopt<global<T>>(a.adopt(made.get(), stamp, where));
      });
}

/// Calls a member function where the object is. Requires: `target` is not empty; this holds for all calls below.
template <auto M, class T, class... A>
requires std::is_member_function_pointer_v<decltype(M)>
auto async(const global<T>& target, A&&... args) -> future<typename net::detail::member_call<M, T>::result> {
  using call = net::detail::member_call<M, T>;
  return net::detail::call_object<call>(target, typename call::arguments(std::forward<A>(args)...));
}

/// The same without a result. An exception that leaves it ends the process that the object is on. The object lives
/// until the call has run, even if its last handle is destroyed now. Nothing is sent to a lost object.
template <auto M, class T, class... A>
requires std::is_member_function_pointer_v<decltype(M)>
void post(const global<T>& target, A&&... args) {
  using call = net::detail::member_call<M, T>;
  net::detail::post_object<call>(target, typename call::arguments(std::forward<A>(args)...));
}

/// Moves the object to another locality by serializing it. Ready when it lives there. Migrations of one object run one
/// after the other. Errors: locality_lost when that locality is lost (the object then stays where it is, unless it was
/// lost on the way); std::invalid_argument when there is no such locality.
template <class T>
future<void> migrate(const global<T>& object, locality_id to) {
  net::detail::check_travels<T>();
  return net::detail::call_object<net::detail::relocation<T>>(object, std::tuple(to));
}

/// The locality of the object; it may have moved since.
template <class T>
future<locality_id> locate(const global<T>& object) {
  return net::detail::call_object<net::detail::whereabouts<T>>(object, std::tuple<>());
}

/// An object of this locality, pinned while this handle lives: it neither moves nor is destroyed. Empty if the object
/// is on another locality. Requires: it does not outlive the job.
template <class T>
class local_ptr {
 public:
  local_ptr() noexcept = default;
  /// The object; null if it is on another locality.
  [[nodiscard]] T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }  ///< whether the object is on this locality

 private:
  template <class U>
  friend local_ptr<U> get_ptr(const global<U>&);
  local_ptr(net::detail::pinned p, void* object) noexcept : pinned_(std::move(p)), object_(static_cast<T*>(object)) {}
  net::detail::pinned pinned_;
  T* object_ = nullptr;
};

/// The object itself, if it is on this locality and not about to move.
template <class T>
local_ptr<T> get_ptr(const global<T>& target) {
  net::detail::reference& r = net::detail::reference_of(target);
  net::agas& a = *r.home.load(std::memory_order_acquire);
  const auto got = a.pin(r.id, net::detail::object_type_of<T>, nullptr, false, {a.home().here(), 0});
  if (got.what != net::detail::access::here) return {};
  return {net::detail::pinned(a, *got.record), got.object};
}

}  // namespace plx
