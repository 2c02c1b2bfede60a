// The image of what one member stores in a checkpoint: a table, and the data of its entries, one after the other. In
// memory and on disk, and how a type is written to it and read from it.
//
// Images are read as messages are: sizes are checked before use. Thread safety: values. Cost: serialization, once to
// count the bytes and once to write them. Example: net/agas/checkpoint/test/checkpoint_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/collectives.hpp"
#include "net/component.hpp"

namespace plx {

class checkpoint_set;
class restored_objects;

namespace net::checkpoint {

/// The name of a type, as this compiler writes it.
template <class T>
constexpr std::string_view name_of() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  const std::size_t more = text.rfind("; std::string_view");  // GCC explains it
  return text.substr(0, more != text.npos ? more : text.rfind(']'));
}

/// How values of a type are written and read.
struct stored_type {
  std::string_view name;
  const object_type* object;  ///< null: an element type of vectors
  /// Writes `n` values as far as they fit; returns the number of bytes they need. Throws what their functions throw.
  std::size_t (*write)(const void* values, std::size_t n, std::span<std::byte> to);
  /// Null if the bytes are not those of a value; of a vector, if `object` is null.
  std::shared_ptr<void> (*read)(std::span<const std::byte> from);
};

/// Throws checkpoint_error if handles were found in an object.
void refuse_handles(std::size_t found);

/// stored_type::write of an object.
template <class T>
std::size_t write_object(const void* value, std::size_t, std::span<std::byte> to) {
  net::detail::held_handles held;
  wire_writer w(to, nullptr, nullptr, &held);
  net::write(w, *static_cast<const T*>(value));
  refuse_handles(held.size());
  return w.used();
}
/// stored_type::write of elements: as the codec of a std::vector<T>.
template <class T>
std::size_t write_elements(const void* values, std::size_t n, std::span<std::byte> to) {
  net::detail::held_handles held;
  wire_writer w(to, nullptr, nullptr, &held);
  net::write(w, std::uint64_t{n});
  const T* first = static_cast<const T*>(values);
  if constexpr (collective::is_element<T>) {
    w.contiguous(first, n * sizeof(T));
  } else {
    const wire_nesting nesting(w, false);
    for (std::size_t i = 0; i < n; ++i) net::write(w, first[i]);
  }
  refuse_handles(held.size());
  return w.used();
}
/// stored_type::read with the type.
template <class T>
std::shared_ptr<T> read_value(std::span<const std::byte> from) {
  const net::detail::held_handles none;
  wire_reader r(from, {}, &none);
  auto value = std::make_shared<T>();
  net::read(r, *value);
  return r.complete() ? value : nullptr;
}

/// How objects of type T are stored.
template <class T>
const stored_type& object_stored() {
  net::detail::check_travels<T>();
  static const stored_type type{name_of<T>(), &net::detail::object_type_of<T>, write_object<T>,
                                [](std::span<const std::byte> b) -> std::shared_ptr<void> { return read_value<T>(b); }};
  return type;
}
/// How elements of a vector are stored.
template <class T>
const stored_type& elements_stored() {
  net::detail::check_travels<T>();
  static const stored_type type{
      name_of<T>(), nullptr, write_elements<T>,
      [](std::span<const std::byte> b) -> std::shared_ptr<void> { return read_value<std::vector<T>>(b); }};
  return type;
}

/// Value of entry::total of an object.
inline constexpr std::uint64_t not_a_part = ~std::uint64_t{0};

/// An object, or a part of a vector.
struct entry {
  std::string key, type;
  std::uint64_t first = 0, total = not_a_part;  ///< of a part: its first element, the elements of all parts
  std::uint64_t size_bytes = 0;
  std::uint64_t checksum = 0;  ///< of the data; only on disk

  [[nodiscard]] bool is_object() const noexcept { return total == not_a_part; }  ///< or a part
};

struct image {
  std::vector<entry> entries;
  buffer<std::byte> data;
  std::string origin;  ///< for messages; not stored
};

/// Serializes the objects, which are pinned meanwhile. Throws checkpoint_error.
image pack(const checkpoint_set& from);

/// Detects damage, not manipulation: every change of a single word of 8 bytes.
[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept;

/// Returns on all members if `problem` is empty on all; otherwise throws the first one on all. Collective.
void agree(const communicator& all, const std::string& problem);

/// Creates the objects of these images on this locality. Throws checkpoint_error on all members, before anything is
/// created, if there is a problem on any. Collective.
restored_objects restore(const communicator& all, std::vector<image> images, std::span<const stored_type* const> types,
                         std::string problem);

}  // namespace net::checkpoint

template <>
struct net::wire_codec<net::checkpoint::entry> {
  static void write(wire_writer& w, const checkpoint::entry& e) {
    net::write(w, e.key), net::write(w, e.type), net::write(w, e.first), net::write(w, e.total);
    net::write(w, e.size_bytes), net::write(w, e.checksum);
  }
  static void read(wire_reader& r, checkpoint::entry& e) {
    net::read(r, e.key), net::read(r, e.type), net::read(r, e.first), net::read(r, e.total);
    net::read(r, e.size_bytes), net::read(r, e.checksum);
  }
};

}  // namespace plx
