// An exception in a form that can be sent. A failure that is passed on keeps its origin: a forwarded call fails as if
// it had been made directly.
//
// Thread safety: values. Cost: a string. Example: net/core/test/action_test.cpp
#pragma once

#include <exception>
#include <string>

#include "net/core/wire.hpp"
#include "net/locality.hpp"

namespace plx::net::detail {

struct failure {
  enum kind_of : std::uint8_t { thrown, remote, lost };
  kind_of kind = thrown;
  locality_id who = no_locality;  ///< where it was thrown (remote), or the lost locality (lost)
  std::string text;
};

failure failure_of(const std::exception_ptr& e);
/// The exception to throw on the locality that received the failure from `from`.
std::exception_ptr exception_of(const failure& f, locality_id from);

}  // namespace plx::net::detail

template <>
inline constexpr auto plx::last_enumerator<plx::net::detail::failure::kind_of> = plx::net::detail::failure::lost;
template <>
struct plx::net::wire_codec<plx::net::detail::failure> {
  static void write(wire_writer& w, const detail::failure& f) {
    net::write(w, f.kind), net::write(w, f.who), net::write(w, f.text);
  }
  static void read(wire_reader& r, detail::failure& f) {
    net::read(r, f.kind), net::read(r, f.who), net::read(r, f.text);
  }
};
