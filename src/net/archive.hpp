// Serialization of types with cereal's functions: serialize(), save() and load(), member or free. Where cereal is
// installed, it is used: with its types (std::map, std::variant, std::shared_ptr, ... of <cereal/types/...>), versions,
// polymorphic pointers and friends (cereal::access). Without it, types whose functions list their members:
//
//   struct particle {
//     std::string name;
//     std::vector<double> orbit;
//     template <class Archive>
//     void serialize(Archive& archive) { archive(name, orbit); }
//   };
//
// Types that net/core/wire.hpp supports directly are written as described there, also within such types; their large
// contiguous arrays are sent separately and may arrive after serialize() has returned. A type that inspects what it
// reads, or writes from temporary memory, defines save() and load() instead, in which all data are inline.
//
// Received data are not trusted: absurd sizes, and any exception of cereal, make the reader fail. Thread safety:
// values. Cost: with cereal 0.5 s of compile time; at run time, docs/net.md. Example: net/test/archive_test.cpp
#pragma once

#include "net/core/wire.hpp"

#if __has_include(<cereal/cereal.hpp>)
#include "net/core/cereal_archive.hpp"
#else
#include "net/core/plain_archive.hpp"
namespace plx::net {
/// The archive passed to serialize() and save().
using output_archive = plain_output_archive;
/// The archive passed to serialize() and load().
using input_archive = plain_input_archive;
/// Whether T has cereal's serialization functions.
template <class T>
inline constexpr bool is_archived = is_plainly_archived<T>;
}  // namespace plx::net
#endif

namespace plx::net {

/// Serializes all other types with their own functions.
template <class T, class>
struct wire_codec {
  static constexpr bool by_archive = true;

  /// Writes `value` by its own functions.
  static void write(wire_writer& w, const T& value) requires is_archived<T> {
    output_archive archive(w);
    archive.as_root(value);
  }
  /// Reads `value` by its own functions.
  static void read(wire_reader& r, T& value) requires is_archived<T> {
    input_archive archive(r);
    archive.as_root(value);
  }
};

}  // namespace plx::net
