// Archives for cereal that write into messages and read from them. See net/archive.hpp.
//
// Thread safety: one thread each. Cost: as cereal's binary archives. Example: net/test/archive_test.cpp
#pragma once

#include <cereal/cereal.hpp>

#include "net/core/plain_archive.hpp"

namespace plx::net {

template <class T>
inline constexpr bool is_wire_native<cereal::NameValuePair<T>> = false;
template <class T>
inline constexpr bool is_wire_native<cereal::SizeTag<T>> = false;
template <class T>
inline constexpr bool is_wire_native<cereal::BinaryData<T>> = false;

namespace detail {

/// True for types that only pass on their members, in place: see net/archive.hpp about pieces.
template <class T, class Archive>
inline constexpr bool lists_members = cereal::traits::has_member_serialize<T, Archive>::value ||
                                      cereal::traits::has_non_member_serialize<T, Archive>::value ||
                                      cereal::traits::has_member_versioned_serialize<T, Archive>::value ||
                                      cereal::traits::has_non_member_versioned_serialize<T, Archive>::value ||
                                      std::is_base_of_v<cereal::traits::detail::BaseCastBase, T>;
template <class T, class Archive>
inline constexpr bool lists_members<cereal::BinaryData<T>, Archive> = true;
template <class T, class Archive>
inline constexpr bool lists_members<cereal::SizeTag<T>, Archive> = true;

/// Calls `f()`, within a `whole` if a T may not contain pieces.
template <class T, class Archive, class Wire, class F>
void nested(Wire& wire, F f) {
  if constexpr (lists_members<T, Archive>) {
    f();
  } else {
    const wire_nesting whole(wire, true);
    f();
  }
}

}  // namespace detail

/// Writes. Passed to serialization functions as their Archive.
class output_archive : public cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision> {
  using base = cereal::OutputArchive<output_archive, cereal::AllowEmptyClassElision>;

 public:
  explicit output_archive(wire_writer& w) : base(this), wire_(w) {}

  template <class... T>
  output_archive& operator()(T&&... values) {
    (put(std::forward<T>(values)), ...);
    return *this;
  }
  template <class T>
  output_archive& operator&(T&& value) {
    return put(std::forward<T>(value));
  }
  template <class T>
  output_archive& operator<<(T&& value) {
    return put(std::forward<T>(value));
  }
  /// A value outside of any sequence, or an element of a sequence that net/core/wire.hpp knows.
  template <class T>
  void as_root(const T& value) {
    at_root(wire_, [&] { put(value); });
  }
  void saveBinary(const void* data, std::size_t n) { wire_.contiguous(data, n); }  // NOLINT: cereal's name

 private:
  template <class T>
  output_archive& put(T&& value) {
    using type = std::remove_cvref_t<T>;
    if constexpr (is_wire_native<type>)
      net::write(wire_, value);
    else
      detail::nested<type, output_archive>(wire_, [&] { base::operator()(std::forward<T>(value)); });
    return *this;
  }
  wire_writer& wire_;
};

/// Reads. Throws cereal::Exception if the message is too short.
class input_archive : public cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision> {
  using base = cereal::InputArchive<input_archive, cereal::AllowEmptyClassElision>;

 public:
  explicit input_archive(wire_reader& r) : base(this), wire_(r) {}

  template <class... T>
  input_archive& operator()(T&&... values) {
    (take(std::forward<T>(values)), ...);
    return *this;
  }
  template <class T>
  input_archive& operator&(T&& value) {
    return take(std::forward<T>(value));
  }
  template <class T>
  input_archive& operator>>(T&& value) {
    return take(std::forward<T>(value));
  }
  template <class T>
  void as_root(T& value) {
    try {
      at_root(wire_, [&] { take(value); });
    } catch (...) {  // from cereal or from the type: the bytes are invalid
      wire_.fail();
    }
  }
  void loadBinary(void* data, std::size_t n) {  // NOLINT: cereal's name
    wire_.contiguous(data, n);
    check();
  }
  /// Checks a number of elements: each needs at least one byte, or comes in a piece.
  void check_size(std::uint64_t n) {
    if (n > wire_.left_with_pieces()) wire_.fail();
    check();
  }

 private:
  template <class T>
  input_archive& take(T&& value) {
    using type = std::remove_cvref_t<T>;
    if constexpr (is_wire_native<type>) {
      net::read(wire_, value);
      check();
    } else {
      const wire_depth deeper(wire_);
      check();
      detail::nested<type, input_archive>(wire_, [&] { base::operator()(std::forward<T>(value)); });
    }
    return *this;
  }
  void check() const {
    if (wire_.failed()) throw cereal::Exception("the message is too short for the type, or has an invalid size");
  }
  wire_reader& wire_;
};

template <class T>
void CEREAL_SAVE_FUNCTION_NAME(output_archive& archive, const cereal::BinaryData<T>& d) {
  archive.saveBinary(d.data, static_cast<std::size_t>(d.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(input_archive& archive, cereal::BinaryData<T>& d) {
  archive.loadBinary(d.data, static_cast<std::size_t>(d.size));
}
template <class Archive, class T>
requires std::is_same_v<Archive, output_archive> || std::is_same_v<Archive, input_archive>
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, cereal::NameValuePair<T>& pair) { archive(pair.value); }
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(output_archive& archive, const cereal::SizeTag<T>& tag) {
  archive(static_cast<std::uint64_t>(tag.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(input_archive& archive, cereal::SizeTag<T>& tag) {
  std::uint64_t n = 0;
  archive(n);
  archive.check_size(n);
  tag.size = static_cast<std::remove_reference_t<T>>(n);
}

/// Whether cereal knows how to write and read a T.
template <class T>
inline constexpr bool is_archived = cereal::traits::is_output_serializable<T, output_archive>::value&&
    cereal::traits::is_input_serializable<T, input_archive>::value;

}  // namespace plx::net

CEREAL_REGISTER_ARCHIVE(plx::net::output_archive)
CEREAL_REGISTER_ARCHIVE(plx::net::input_archive)
CEREAL_SETUP_ARCHIVE_TRAITS(plx::net::input_archive, plx::net::output_archive)
