// Types with cereal's functions travel: serialize(), save() and load(), member or free. Where cereal is installed, it
// does the work: with its types (std::map, std::variant, std::shared_ptr, ... of <cereal/types/...>), versions,
// polymorphic pointers and friends (cereal::access). Without it, types whose functions list their members:
//
//   struct particle {
//     std::string name;
//     std::vector<double> orbit;
//     template <class Archive>
//     void serialize(Archive& archive) { archive(name, orbit); }
//   };
//
// What net/core/wire.hpp knows by itself is written as it says there, in such types too; their large contiguous data
// become pieces. A piece comes after serialize() has returned: who looks at what was read, or writes from memory that
// does not stay, has save() and load() instead, in which everything is there at once and nothing is a piece.
//
// What comes in is not trusted: absurd sizes, and whatever cereal throws, make the reader fail. Thread safety: values.
// Cost: with cereal 0.5 s to compile; to run, docs/net.md. Example: net/test/archive_test.cpp
#pragma once

#include "net/core/wire.hpp"

#if __has_include(<cereal/cereal.hpp>)
#include "net/core/cereal_archive.hpp"
#else
#include "net/core/plain_archive.hpp"
namespace plx::net {
/// What serialize() and save() write to.
using output_archive = plain_output_archive;
/// What serialize() and load() read from.
using input_archive = plain_input_archive;
/// Whether a T has functions of cereal's kind.
template <class T>
inline constexpr bool is_archived = is_plainly_archived<T>;
}  // namespace plx::net
#endif

namespace plx::net {

/// How all other types travel.
template <class T, class>
struct wire_codec {
  static constexpr bool by_archive = true;

  /// By its own functions.
  static void write(wire_writer& w, const T& value) requires is_archived<T> {
    output_archive archive(w);
    archive.as_root(value);
  }
  /// Likewise.
  static void read(wire_reader& r, T& value) requires is_archived<T> {
    input_archive archive(r);
    archive.as_root(value);
  }
};

}  // namespace plx::net
