// An exception in a form that can be sent. A failure that is passed on keeps its origin: a forwarded call fails as if
// it had been made directly.
//
// Thread safety: values. Cost: a string. Example: net/core/test/action_test.cpp
#pragma once

#include <exception>
#include <span>
#include <string>

#include "net/core/wire.hpp"
#include "net/locality.hpp"

namespace plx::net {

/// Why a locality is lost.
struct loss_cause {
  /// The locality that was lost first: the lost one itself, unless it failed because of another loss.
  locality_id first = no_locality;
  bool has_failed = false;  ///< `first` lives, and has left the job by an exception of its own
  std::string why;          ///< how the first loss was detected
};
std::exception_ptr exception_of_loss(locality_id which, const loss_cause& c);
/// The text of that exception without the name of the lost locality.
std::string text_of_loss(locality_id which, const loss_cause& c);

/// The locality that reports a failure of which these are the causes: of this locality and of those that it knows to be
/// lost; others have no_locality as the first. The first locality that has failed by an exception of its own; without
/// any, the first one that is not the first loss of a cause; no_locality if there is none. All localities choose the
/// same one, whichever notices the loss first, because one that fails passes on the first loss. Requires: `causes` has
/// one element per locality. Cost: O(n).
[[nodiscard]] locality_id reporter_of(std::span<const loss_cause> causes);

}  // namespace plx::net

namespace plx::net::detail {

struct failure {
  enum kind_of : std::uint8_t { thrown, remote, lost };
  kind_of kind = thrown;
  locality_id who = no_locality;    ///< where it was thrown (remote), or the lost locality (lost)
  locality_id first = no_locality;  ///< the locality that was lost first (lost)
  std::string text;                 ///< of the first loss (lost)
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
    net::write(w, f.kind), net::write(w, f.who), net::write(w, f.first), net::write(w, f.text);
  }
  static void read(wire_reader& r, detail::failure& f) {
    net::read(r, f.kind), net::read(r, f.who), net::read(r, f.first), net::read(r, f.text);
  }
};
template <>
struct plx::net::wire_codec<plx::net::loss_cause> {
  static void write(wire_writer& w, const loss_cause& c) {
    net::write(w, c.first), net::write(w, c.has_failed), net::write(w, c.why);
  }
  static void read(wire_reader& r, loss_cause& c) {
    net::read(r, c.first), net::read(r, c.has_failed), net::read(r, c.why);
  }
};
