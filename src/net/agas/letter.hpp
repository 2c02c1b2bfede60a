// Batches of reference updates between localities: collected per receiver, sent as one parcel.
//
// Thread safety: letters are values; outbox: everything. Cost: docs/net.md. Example:
// net/agas/test/component_test.cpp
#pragma once

#include <memory>
#include <vector>

#include "net/agas/gid.hpp"
#include "net/core/node.hpp"
#include "net/core/wire.hpp"
#include "rt/core/spinlock.hpp"

namespace plx::net::detail {

/// A locality's interest in an object: begins with a claim, ends with a release of the same stamp.
struct claim {
  gid id;
  std::uint64_t stamp = 0;
};
/// The directory's reply to a claim.
struct verdict {
  gid id;
  std::uint64_t stamp = 0;
  std::uint64_t known = 0;  ///< 1: registered; 0: the directory has no such object
};
/// Acknowledges handles sent by the receiver of this: they are registered.
struct thanks {
  gid id;
  std::uint64_t handles = 0;
};
/// The place of an object.
struct news {
  gid id;
  object_place place;
};

struct letter {
  std::uint64_t losses = 0;  ///< number of losses known to the sender
  std::vector<claim> claims, releases;
  std::vector<verdict> verdicts;
  std::vector<thanks> thanked;
  std::vector<news> places;
  std::vector<gid> destroys;

  [[nodiscard]] bool empty() const noexcept {
    return claims.empty() && releases.empty() && verdicts.empty() && thanked.empty() && places.empty() &&
           destroys.empty();
  }
};

/// Collects letters until a task sends them.
class outbox {
 public:
  /// `deliver(to, letter)` is called in a task, also for letters to this locality.
  outbox(node& n, void (*deliver)(agas&, locality_id, letter&&), agas& owner);
  ~outbox();

  /// Calls fill(letter) with the letter for that locality, under a lock. Nothing is sent to lost localities.
  template <class F>
  void put(locality_id to, F fill) {
    lock_.lock();
    fill(letters_[to]);
    filled();
  }

 private:
  void filled();
  void flush();

  node& node_;
  void (*const deliver_)(agas&, locality_id, letter&&);
  agas& owner_;
  plx::detail::spinlock lock_;
  bool scheduled_ = false;
  std::vector<letter> letters_;  // by receiver
};

}  // namespace plx::net::detail

namespace plx {
template <>
inline constexpr bool is_bitwise<net::detail::claim> = true;
template <>
inline constexpr bool is_bitwise<net::detail::verdict> = true;
template <>
inline constexpr bool is_bitwise<net::detail::thanks> = true;
template <>
inline constexpr bool is_bitwise<net::detail::news> = true;

namespace net {
template <>
struct wire_codec<detail::letter> {
  static void write(wire_writer& w, const detail::letter& l) {
    net::write(w, l.losses), net::write(w, l.claims), net::write(w, l.releases), net::write(w, l.verdicts);
    net::write(w, l.thanked), net::write(w, l.places), net::write(w, l.destroys);
  }
  static void read(wire_reader& r, detail::letter& l) {
    net::read(r, l.losses), net::read(r, l.claims), net::read(r, l.releases), net::read(r, l.verdicts);
    net::read(r, l.thanked), net::read(r, l.places), net::read(r, l.destroys);
  }
};
}  // namespace net
}  // namespace plx
