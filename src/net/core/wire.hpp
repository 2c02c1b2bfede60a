// How values become bytes of a message and values again. The bytes are those of this machine: all localities of a job
// run the same binary.
//
// Bitwise types (net/bitwise.hpp), strings, vectors, pairs, tuples, optionals, arrays and plx::buffer are known here.
// Types with a serialize() function, and the rest of the standard library, need net/archive.hpp.
// Contiguous bitwise data of least_piece_bytes and more become pieces (net/transport/transport.hpp) where the writer
// may make some.
//
// What comes in is not trusted: every length is checked against what is there; reading past the end makes the reader
// fail and gives zeros. Thread safety: one thread each. Cost: a copy of the bytes. Example: net/core/test/wire_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "net/bitwise.hpp"
#include "net/buffer.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

/// From here on contiguous data travel as a piece of their own.
inline constexpr std::size_t least_piece_bytes = 4096;

/// What has to be done, once, before a value leaves, however often it is written.
struct departure {
  void (*leaves)(void* what, locality_id to) noexcept = nullptr;
  void* what = nullptr;
};

namespace detail {
class held_handles;  // net/agas/gid.hpp
}

/// Writes into memory of a fixed size, and goes on counting when that is full.
class wire_writer {
 public:
  /// With `pieces`, large contiguous data are named there and not copied; they must stay until the message was sent.
  /// With `departures`, what is to be done before it is sent is named there. With `held`, the bytes stay here for now:
  /// handles are added there, and the bytes name them by their index.
  explicit wire_writer(std::span<std::byte> to, std::vector<piece>* pieces = nullptr,
                       std::vector<departure>* departures = nullptr, detail::held_handles* held = nullptr) noexcept
      : begin_(to.data()), size_(to.size()), pieces_(pieces), departures_(departures), held_(held) {}

  void bytes(const void* data, std::size_t n) noexcept {
    if (n <= size_ - std::min(size_, used_) && n != 0) std::memcpy(begin_ + used_, data, n);
    used_ += n;
  }
  /// Contiguous data: as a piece, if they are large enough for one.
  void contiguous(const void* data, std::size_t n) {
    if (n < least_piece_bytes || whole_ != 0) return bytes(data, n);
    large_ = true;
    if (pieces_ == nullptr) return bytes(data, n);
    pieces_->push_back({data, n});
  }
  void departs(departure d) {
    if (departures_ != nullptr) departures_->push_back(d);
  }
  [[nodiscard]] detail::held_handles* held() const noexcept { return held_; }
  /// How many bytes all of it needs, whether they fitted or not.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  [[nodiscard]] bool overflowed() const noexcept { return used_ > size_; }
  /// Something was large enough for a piece.
  [[nodiscard]] bool met_large() const noexcept { return large_; }
  /// See wire_nesting.
  unsigned& nesting(bool whole) noexcept { return whole ? whole_ : elements_; }

 private:
  std::byte* begin_;
  std::size_t size_;
  unsigned whole_ = 0, elements_ = 0;
  std::size_t used_ = 0;
  std::vector<piece>* pieces_;
  std::vector<departure>* departures_;
  detail::held_handles* held_;
  bool large_ = false;
};

/// Reads what a writer wrote.
class wire_reader {
 public:
  /// With `places`, data that came as pieces get memory there, in their order. With `held`, handles are those that a
  /// writer has added to it.
  explicit wire_reader(std::span<const std::byte> from, std::span<place> places = {},
                       const detail::held_handles* held = nullptr) noexcept
      : at_(from.data()), left_(from.size()), places_(places), held_(held) {}

  void bytes(void* data, std::size_t n) noexcept {
    if (n > left_) {
      failed_ = true;
      left_ = 0;
      if (n != 0) std::memset(data, 0, n);
      return;
    }
    if (n == 0 || at_ == nullptr) return;  // the second follows from the first, which compilers do not see
    std::memcpy(data, at_, n);
    at_ += n, left_ -= n;
  }
  /// What contiguous() wrote: now, or, where it is a piece, when that has come. Requires: `data` stays until then.
  void contiguous(void* data, std::size_t n) noexcept {
    if (n < least_piece_bytes || !with_pieces()) return bytes(data, n);
    if (next_place_ == places_.size() || places_[next_place_].size_bytes != n) return fail();
    places_[next_place_++].data = data;
  }
  /// Whether so many bytes of contiguous data are there: asked before memory is made for them.
  [[nodiscard]] bool has_contiguous(std::size_t n) const noexcept {
    if (n < least_piece_bytes || !with_pieces()) return n <= left_;
    return next_place_ < places_.size() && places_[next_place_].size_bytes == n;
  }
  /// A number of things of which each needs `each` bytes in the head at least; 0 and failed() if they cannot be there.
  std::size_t count(std::size_t each) noexcept {
    std::uint64_t n = 0;
    bytes(&n, sizeof n);
    if (each != 0 && n > left_ / each) return fail(), 0;
    return static_cast<std::size_t>(n);
  }
  void fail() noexcept { failed_ = true, left_ = 0; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Everything was read, and every piece has its place.
  [[nodiscard]] bool complete() const noexcept { return !failed_ && left_ == 0 && next_place_ == places_.size(); }
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  [[nodiscard]] const detail::held_handles* held() const noexcept { return held_; }
  /// The same, with the pieces that have no place yet.
  [[nodiscard]] std::size_t left_with_pieces() const noexcept {
    std::size_t n = left_;
    for (const place& p : places_.subspan(next_place_)) n += p.size_bytes;
    return n;
  }
  /// See wire_nesting.
  unsigned& nesting(bool whole) noexcept { return whole ? whole_ : elements_; }
  /// See wire_depth.
  unsigned& depth() noexcept { return depth_; }

 private:
  [[nodiscard]] bool with_pieces() const noexcept { return !places_.empty() && whole_ == 0; }

  const std::byte* at_;
  std::size_t left_;
  std::span<place> places_;
  const detail::held_handles* held_;
  std::size_t next_place_ = 0;
  unsigned whole_ = 0, elements_ = 0, depth_ = 0;
  bool failed_ = false;
};

/// So many types with functions of their own may lie within each other, as the nodes of a tree do: how deep is what a
/// message says, and each level takes some of the stack. A node with a vector of nodes counts as three with cereal, one
/// with a pointer as five or six.
inline constexpr unsigned most_wire_depth = 160;
/// While one lives, a reader is inside such a type; it has failed where that is too deep.
class wire_depth {
 public:
  explicit wire_depth(wire_reader& r) noexcept : depth_(r.depth()) {
    if (++depth_ > most_wire_depth) r.fail();
  }
  ~wire_depth() { --depth_; }
  wire_depth(const wire_depth&) = delete;
  wire_depth& operator=(const wire_depth&) = delete;
  [[nodiscard]] bool sound() const noexcept { return depth_ <= most_wire_depth; }

 private:
  unsigned& depth_;
};

/// While one lives, a writer or reader is inside something. In a `whole` everything goes into the head, because who
/// writes it may write from memory that does not stay, and who reads it may look at it at once. The elements of a
/// sequence are moved after they were read: what knows no more of its memory than that is a whole there.
template <class Wire>
class wire_nesting {
 public:
  wire_nesting(Wire& w, bool whole) noexcept : depth_(w.nesting(whole)) { ++depth_; }
  ~wire_nesting() { --depth_; }
  wire_nesting(const wire_nesting&) = delete;
  wire_nesting& operator=(const wire_nesting&) = delete;

 private:
  unsigned& depth_;
};

/// How a T travels: static void write(wire_writer&, const T&) and static void read(wire_reader&, T&). Specialised here
/// for the types above, in net/archive.hpp for those with a serialize() function.
template <class T, class = void>
struct wire_codec;

template <class T>
constexpr void check_bitwise() {
  static_assert(std::is_trivially_copyable_v<T>, "is_bitwise was said of a type that is not trivially copyable");
  static_assert(!detail::has_bool_member<T>(),
                "is_bitwise was said of a type with a bool in it, whose byte could be anything when it comes from "
                "another locality: make it a std::uint8_t, or give the type a serialize() function");
}

template <class T>
void write(wire_writer& w, const T& value) {
  if constexpr (is_bitwise<T>) {
    check_bitwise<T>();
    w.bytes(&value, sizeof value);
  } else {
    wire_codec<T>::write(w, value);
  }
}
template <class T>
void read(wire_reader& r, T& value) {
  if constexpr (is_boolean<T>) {
    static_assert(sizeof(T) == 1);
    std::uint8_t byte = 0;
    r.bytes(&byte, 1);
    if (byte > 1) r.fail();
    value = static_cast<T>(byte == 1);
  } else if constexpr (is_bitwise<T>) {
    check_bitwise<T>();
    r.bytes(&value, sizeof value);
  } else {
    wire_codec<T>::read(r, value);
  }
}

/// The least bytes of a head that a T needs; 0 when that is not known.
template <class T>
inline constexpr std::size_t least_bytes = is_bitwise<T> ? sizeof(T) : 0;

/// Of a std::vector or std::string: its size, then its elements.
template <class C>
struct wire_sequence {
  using element = typename C::value_type;
  static constexpr bool contiguous = is_bitwise<element> && !is_boolean<element>;

  static void write(wire_writer& w, const C& c) {
    const std::uint64_t n = c.size();
    w.bytes(&n, sizeof n);
    if constexpr (contiguous) {
      check_bitwise<element>();
      w.contiguous(c.data(), c.size() * sizeof(element));
    } else {
      const wire_nesting nesting(w, false);
      for (const element& e : c) net::write(w, e);
    }
  }
  static void read(wire_reader& r, C& c) {
    if constexpr (contiguous) {
      const std::size_t n = r.count(0);
      if (n > SIZE_MAX / sizeof(element) || !r.has_contiguous(n * sizeof(element))) return r.fail();
      c.resize(n);
      r.contiguous(c.data(), n * sizeof(element));
    } else {
      // An element of unknown size may be empty, but a number of them beyond all bytes is no number of ours.
      const std::size_t n = r.count(std::max<std::size_t>(least_bytes<element>, 1));
      c.clear();
      const wire_nesting nesting(r, false);
      for (std::size_t i = 0; i < n && !r.failed(); ++i) {
        element e{};
        net::read(r, e);
        c.push_back(std::move(e));
      }
    }
  }
};
template <class T, class A>
struct wire_codec<std::vector<T, A>> : wire_sequence<std::vector<T, A>> {};
template <class T, class A>
struct wire_codec<std::basic_string<T, std::char_traits<T>, A>>
    : wire_sequence<std::basic_string<T, std::char_traits<T>, A>> {};

template <class T>
struct wire_codec<buffer<T>> {
  static_assert(!is_boolean<T>, "bools in a buffer cannot be looked at when they come: have a buffer of std::uint8_t");
  static void write(wire_writer& w, const buffer<T>& b) {
    const std::uint64_t n = b.size();
    w.bytes(&n, sizeof n);
    w.contiguous(b.data(), b.size() * sizeof(T));
  }
  static void read(wire_reader& r, buffer<T>& b) {
    const std::size_t n = r.count(0);
    if (n > SIZE_MAX / sizeof(T) || !r.has_contiguous(n * sizeof(T))) return r.fail();
    b = buffer<T>(n);
    r.contiguous(b.data(), n * sizeof(T));
  }
};

template <class... T>
struct wire_codec<std::tuple<T...>> {
  static void write(wire_writer& w, const std::tuple<T...>& t) {
    std::apply([&](const T&... e) { (net::write(w, e), ...); }, t);
  }
  static void read(wire_reader& r, std::tuple<T...>& t) {
    std::apply([&](T&... e) { (net::read(r, e), ...); }, t);
  }
};
template <class A, class B>
struct wire_codec<std::pair<A, B>> {
  static void write(wire_writer& w, const std::pair<A, B>& p) { net::write(w, p.first), net::write(w, p.second); }
  static void read(wire_reader& r, std::pair<A, B>& p) { net::read(r, p.first), net::read(r, p.second); }
};
template <class T, std::size_t n>
struct wire_codec<std::array<T, n>> {
  static void write(wire_writer& w, const std::array<T, n>& a) {
    for (const T& e : a) net::write(w, e);
  }
  static void read(wire_reader& r, std::array<T, n>& a) {
    for (T& e : a) net::read(r, e);
  }
};
template <class T>
struct wire_codec<std::optional<T>> {
  static void write(wire_writer& w, const std::optional<T>& o) {
    net::write(w, o.has_value());
    if (o) net::write(w, *o);
  }
  static void read(wire_reader& r, std::optional<T>& o) {
    std::uint8_t there = 0;
    r.bytes(&there, 1);
    o.reset();
    if (there > 1) return r.fail();
    if (there == 1) net::read(r, o.emplace());
  }
};

/// Whether a T can travel, with the headers that are included here.
template <class T>
concept can_travel = is_bitwise<T> || requires(wire_writer& w, const T& value) {
  wire_codec<T>::write(w, value);
};

}  // namespace plx::net
