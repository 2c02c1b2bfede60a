// A handle of an object on some locality of the job: its global id, with its type. The object lives while handles of it
// exist, on any locality or in transit; when the last one is destroyed, the object is destroyed on its locality.
//
//   plx::global<counter> c = plx::new_<counter>(locality, 5).get();   // net/component.hpp
//   plx::async<&counter::add>(c, 3).get();
//
// Handles can be arguments and results of actions, of collective calls and channels, and members of serialized types;
// they can be kept for any time.
// Thread safety: as std::shared_ptr: one thread per handle, copies are independent. A handle belongs to the locality on
// which it is. Cost: a copy is an atomic increment; docs/net.md gives the cost of sending one. Example:
// net/agas/test/component_test.cpp
#pragma once

#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "net/agas/gid.hpp"
#include "net/core/wire.hpp"

namespace plx {
namespace net {

/// A handle without the type.
class handle {
 public:
  handle() noexcept = default;
  handle(const handle& o) noexcept : ref_(detail::keep(o.ref_)) {}
  handle(handle&& o) noexcept : ref_(std::exchange(o.ref_, nullptr)) {}
  handle& operator=(const handle& o) noexcept { return *this = handle(o); }
  handle& operator=(handle&& o) noexcept {
    handle taken(std::move(o));
    std::swap(ref_, taken.ref_);
    return *this;
  }
  ~handle() {
    if (ref_ != nullptr) detail::drop(ref_);
  }

  /// The object's id; an empty id if the handle is empty.
  [[nodiscard]] gid id() const noexcept { return ref_ == nullptr ? gid{} : ref_->id; }
  /// False if the handle is empty.
  explicit operator bool() const noexcept { return ref_ != nullptr; }
  /// Handles of the same object are equal; empty handles are equal.
  friend bool operator==(const handle& a, const handle& b) noexcept { return a.id() == b.id(); }

 protected:
  explicit handle(detail::reference* adopted) noexcept : ref_(adopted) {}
  detail::reference* ref_ = nullptr;

  friend struct handle_access;
};

/// Access for the parts of net that create handles.
struct handle_access {
  /// The reference that the handle counts in.
  static detail::reference* reference_of(const handle& h) noexcept { return h.ref_; }
  /// A handle that takes over one count of the reference.
  template <class H>
  static H adopt(detail::reference* r) noexcept {
    return H(r);
  }
};

namespace detail {
template <class T>
constexpr std::string_view object_type_text() {
  return __PRETTY_FUNCTION__;
}
/// The value of gid::type for a T.
template <class T>
inline constexpr std::uint32_t object_type_tag = [] {
  const std::uint64_t h = fnv1a(object_type_text<T>());
  return static_cast<std::uint32_t>(h ^ (h >> 32));
}();

void write_handle(wire_writer& w, reference* r);
/// Null, or a reference with one count for the caller. With a type, fails for objects of other types.
reference* read_handle(wire_reader& r, const std::uint32_t* type);
}  // namespace detail

}  // namespace net

/// A typed handle. T may be incomplete.
template <class T>
class global : public net::handle {
 public:
  using object_type = T;

  global() noexcept = default;

 private:
  explicit global(net::detail::reference* adopted) noexcept : handle(adopted) {}
  friend struct net::handle_access;
};

namespace net {
template <>
struct wire_codec<handle> {
  static void write(wire_writer& w, const handle& h) { detail::write_handle(w, handle_access::reference_of(h)); }
  static void read(wire_reader& r, handle& h) { h = handle_access::adopt<handle>(detail::read_handle(r, nullptr)); }
};
template <class T>
struct wire_codec<global<T>> {
  static void write(wire_writer& w, const global<T>& g) { detail::write_handle(w, handle_access::reference_of(g)); }
  static void read(wire_reader& r, global<T>& g) {
    g = handle_access::adopt<global<T>>(detail::read_handle(r, &detail::object_type_tag<T>));
  }
};
}  // namespace net

}  // namespace plx
