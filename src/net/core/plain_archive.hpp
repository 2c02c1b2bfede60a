// Archives without cereal, for types with serialize(), or with save() and load(), as members or free functions. Their
// members are types that net/core/wire.hpp knows, or such types themselves. See net/archive.hpp.
//
// Thread safety: one thread each. Cost: none beyond that of the members. Example: net/test/archive_test.cpp
#pragma once

#include "net/core/wire.hpp"

namespace plx::net {

// Which types net/core/wire.hpp handles completely, so that an archive passes them on to it.

/// True for bitwise types, for types with a wire_codec of their own, and for the containers of wire.hpp of such types.
template <class T>
inline constexpr bool is_wire_native = is_bitwise<T> || (can_travel<T> && !requires { wire_codec<T>::by_archive; });
template <class T, class A>
inline constexpr bool is_wire_native<std::vector<T, A>> = is_wire_native<T>;
template <class A, class B>
inline constexpr bool is_wire_native<std::pair<A, B>> = is_wire_native<A>&& is_wire_native<B>;
template <class... T>
inline constexpr bool is_wire_native<std::tuple<T...>> = (is_wire_native<T> && ...);
template <class T, std::size_t n>
inline constexpr bool is_wire_native<std::array<T, n>> = is_wire_native<T>;
template <class T>
inline constexpr bool is_wire_native<std::optional<T>> = is_wire_native<T>;

namespace detail {

template <class T, class A>
concept has_member_serialize = requires(T& t, A& a) {
  t.serialize(a);
};
template <class T, class A>
concept has_free_serialize = requires(T& t, A& a) {
  serialize(a, t);
};
template <class T, class A>
concept has_member_save = requires(const T& t, A& a) {
  t.save(a);
};
template <class T, class A>
concept has_free_save = requires(const T& t, A& a) {
  save(a, t);
};
template <class T, class A>
concept has_member_load = requires(T& t, A& a) {
  t.load(a);
};
template <class T, class A>
concept has_free_load = requires(T& t, A& a) {
  load(a, t);
};

}  // namespace detail

/// Writes. Passed to serialization functions as their Archive.
class plain_output_archive {
 public:
  explicit plain_output_archive(wire_writer& w) noexcept : wire_(w) {}

  template <class... T>
  plain_output_archive& operator()(const T&... values) {
    (put(values), ...);
    return *this;
  }
  template <class T>
  plain_output_archive& operator&(const T& value) {
    return put(value);
  }
  template <class T>
  plain_output_archive& operator<<(const T& value) {
    return put(value);
  }
  /// A value outside of any sequence, or an element of a sequence that net/core/wire.hpp knows.
  template <class T>
  void as_root(const T& value) {
    at_root(wire_, [&] { put(value); });
  }

 private:
  template <class T>
  plain_output_archive& put(const T& value) {
    if constexpr (is_wire_native<T>) {
      net::write(wire_, value);
    } else if constexpr (detail::has_member_serialize<T, plain_output_archive>) {
      const_cast<T&>(value).serialize(*this);  // one function reads and writes; when it writes, it changes nothing
    } else if constexpr (detail::has_free_serialize<T, plain_output_archive>) {
      serialize(*this, const_cast<T&>(value));
    } else if constexpr (detail::has_member_save<T, plain_output_archive>) {
      const wire_nesting whole(wire_, true);
      value.save(*this);
    } else if constexpr (detail::has_free_save<T, plain_output_archive>) {
      const wire_nesting whole(wire_, true);
      save(*this, value);
    } else {
      net::write(wire_, value);
    }
    return *this;
  }
  wire_writer& wire_;
};

/// Reads; gives zeros if the message is too short.
class plain_input_archive {
 public:
  explicit plain_input_archive(wire_reader& r) noexcept : wire_(r) {}

  template <class... T>
  plain_input_archive& operator()(T&... values) {
    (take(values), ...);
    return *this;
  }
  template <class T>
  plain_input_archive& operator&(T& value) {
    return take(value);
  }
  template <class T>
  plain_input_archive& operator>>(T& value) {
    return take(value);
  }
  template <class T>
  void as_root(T& value) {
    try {
      at_root(wire_, [&] { take(value); });
    } catch (...) {  // from the type's function: the bytes are invalid
      wire_.fail();
    }
  }

 private:
  template <class T>
  plain_input_archive& take(T& value) {
    if constexpr (is_wire_native<T>) {
      net::read(wire_, value);
    } else if (const wire_depth deeper(wire_); deeper.sound()) {
      take_by_functions(value);
    }
    return *this;
  }
  template <class T>
  void take_by_functions(T& value) {
    if constexpr (detail::has_member_serialize<T, plain_input_archive>) {
      value.serialize(*this);
    } else if constexpr (detail::has_free_serialize<T, plain_input_archive>) {
      serialize(*this, value);
    } else if constexpr (detail::has_member_load<T, plain_input_archive>) {
      const wire_nesting whole(wire_, true);
      value.load(*this);
    } else if constexpr (detail::has_free_load<T, plain_input_archive>) {
      const wire_nesting whole(wire_, true);
      load(*this, value);
    } else {
      net::read(wire_, value);
    }
  }
  wire_reader& wire_;
};

/// Whether a T has functions that write and read it.
template <class T>
inline constexpr bool is_plainly_archived =
    detail::has_member_serialize<T, plain_input_archive> || detail::has_free_serialize<T, plain_input_archive> ||
    ((detail::has_member_save<T, plain_output_archive> ||
      detail::has_free_save<T, plain_output_archive>)&&(detail::has_member_load<T, plain_input_archive> ||
                                                        detail::has_free_load<T, plain_input_archive>));

}  // namespace plx::net
