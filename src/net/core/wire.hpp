// Converts values to the bytes of a message and back. The bytes are those of this machine: all localities of a job run
// the same binary.
//
// This header handles bitwise types (net/bitwise.hpp), strings, vectors, pairs, tuples, optionals, arrays and
// plx::buffer. Types with a serialize() function, and the rest of the standard library, need net/archive.hpp.
// Contiguous bitwise data of least_piece_bytes and more become pieces (net/transport/transport.hpp) if the writer
// allows them.
//
// Input is not trusted: every length is checked against the bytes that remain; reading past the end makes the reader
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

/// Contiguous data of at least this size are sent as a piece of their own.
inline constexpr std::size_t least_piece_bytes = 4096;

/// An operation to perform once before a value is sent, however often the value is written.
struct departure {
  void (*leaves)(void* what, locality_id to) noexcept = nullptr;
  void* what = nullptr;
};

namespace detail {
class held_handles;  // net/agas/gid.hpp
}

/// Writes into memory of a fixed size; when it is full, the writer only counts bytes.
class wire_writer {
 public:
  /// With `pieces`, large contiguous data are listed there and not copied; they must stay valid until the message was
  /// sent. With `departures`, operations to perform before sending are listed there. With `held`, the bytes stay on
  /// this locality for now: handles are added to it, and the bytes name them by their index.
  explicit wire_writer(std::span<std::byte> to, std::vector<piece>* pieces = nullptr,
                       std::vector<departure>* departures = nullptr, detail::held_handles* held = nullptr) noexcept
      : begin_(to.data()), size_(to.size()), pieces_(pieces), departures_(departures), held_(held) {}

  void bytes(const void* data, std::size_t n) noexcept {
    if (n <= size_ - std::min(size_, used_) && n != 0) std::memcpy(begin_ + used_, data, n);
    used_ += n;
  }
  /// Contiguous data: as a piece if they are large enough.
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
  /// The number of bytes needed, whether they fitted or not.
  [[nodiscard]] std::size_t used() const noexcept { return used_; }
  [[nodiscard]] bool overflowed() const noexcept { return used_ > size_; }
  /// Whether something was large enough for a piece.
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
  /// With `places`, data that were sent as pieces get memory there, in their order. With `held`, handles are those that
  /// the writer added to it.
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
    if (n == 0 || at_ == nullptr) return;  // the second follows from the first, but compilers do not see that
    std::memcpy(data, at_, n);
    at_ += n, left_ -= n;
  }
  /// Reads what contiguous() wrote: now or, for a piece, when it arrives. Requires: `data` stays valid until then.
  void contiguous(void* data, std::size_t n) noexcept {
    if (n < least_piece_bytes || !with_pieces()) return bytes(data, n);
    if (next_place_ == places_.size() || places_[next_place_].size_bytes != n) return fail();
    places_[next_place_++].data = data;
  }
  /// Whether the message has that many bytes of contiguous data: checked before memory is allocated for them.
  [[nodiscard]] bool has_contiguous(std::size_t n) const noexcept {
    if (n < least_piece_bytes || !with_pieces()) return n <= left_;
    return next_place_ < places_.size() && places_[next_place_].size_bytes == n;
  }
  /// A number of elements of at least `each` bytes in the head; 0 and failed() if the head is too short for them.
  std::size_t count(std::size_t each) noexcept {
    std::uint64_t n = 0;
    bytes(&n, sizeof n);
    if (each != 0 && n > left_ / each) return fail(), 0;
    return static_cast<std::size_t>(n);
  }
  void fail() noexcept { failed_ = true, left_ = 0; }
  [[nodiscard]] bool failed() const noexcept { return failed_; }
  /// Whether everything was read and every piece has memory.
  [[nodiscard]] bool complete() const noexcept { return !failed_ && left_ == 0 && next_place_ == places_.size(); }
  [[nodiscard]] std::size_t left() const noexcept { return left_; }
  [[nodiscard]] const detail::held_handles* held() const noexcept { return held_; }
  /// left(), and the sizes of the pieces that have no memory yet.
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

/// The depth to which types with functions of their own may be nested, such as the nodes of a tree: the message
/// determines the depth, and each level uses stack. With cereal, a node with a vector of nodes counts as three levels,
/// a node with a pointer as five or six.
inline constexpr unsigned most_wire_depth = 160;
/// Lifetime: a reader is inside such a type. The reader fails if the nesting is too deep.
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

/// Lifetime: a writer or reader is inside a nested value. Within a `whole` everything goes into the head, because its
/// writer may write from temporary memory and its reader may use the values at once. The elements of a sequence are
/// moved after they were read, so a type with serialization functions of its own is a whole there.
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
/// Calls f, which reads or writes a value: as a whole if it is an element of a sequence.
template <class Wire, class F>
void at_root(Wire& w, F f) {
  if (w.nesting(false) == 0) return f();
  const wire_nesting whole(w, true);
  f();
}

/// How a T is sent: static void write(wire_writer&, const T&) and static void read(wire_reader&, T&). Specialised here
/// for the types above, in net/archive.hpp for types with a serialize() function.
template <class T, class = void>
struct wire_codec;

template <class T>
constexpr void check_bitwise() {
  static_assert(std::is_trivially_copyable_v<T>, "is_bitwise is true for a type that is not trivially copyable");
  static_assert(!detail::has_bool_member<T>(),
                "is_bitwise is true for a type with a bool member, whose byte from another locality could have any "
                "value: make it a std::uint8_t, or give the type a serialize() function");
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
  } else if constexpr (is_checked_enum<T>) {
    static_assert(std::is_same_v<std::remove_const_t<decltype(last_enumerator<T>)>, T>);
    std::make_unsigned_t<std::underlying_type_t<T>> number = 0;
    r.bytes(&number, sizeof number);
    if (number > static_cast<decltype(number)>(last_enumerator<T>)) r.fail(), number = 0;
    value = static_cast<T>(number);
  } else if constexpr (is_bitwise<T>) {
    check_bitwise<T>();
    r.bytes(&value, sizeof value);
  } else {
    wire_codec<T>::read(r, value);
  }
}

/// The least number of bytes in a head that a T needs; 0 if unknown.
template <class T>
inline constexpr std::size_t least_bytes = is_bitwise<T> ? sizeof(T) : 0;

/// For std::vector and std::string: the size, then the elements.
template <class C>
struct wire_sequence {
  using element = typename C::value_type;
  static constexpr bool contiguous = is_bitwise<element> && !is_boolean<element> && !is_checked_enum<element>;

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
      // An element of unknown size may be empty, but a count above the number of remaining bytes is still invalid.
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
  static_assert(!is_boolean<T>, "bools in a buffer cannot be validated on arrival: use a buffer of std::uint8_t");
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

/// Whether a T can be sent, given the headers that are included here.
template <class T>
concept can_travel = is_bitwise<T> || requires(wire_writer& w, const T& value) {
  wire_codec<T>::write(w, value);
};

}  // namespace plx::net
