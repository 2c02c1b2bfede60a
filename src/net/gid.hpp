// The number of an object that other localities can name. It stays the same wherever the object moves.
//
// Thread safety: values. Cost: 16 bytes. Programs hold a plx::global (net/global.hpp), which also keeps the object
// alive; a gid alone is for keys, tables and messages to people. Example: net/component_test.cpp
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "net/bitwise.hpp"
#include "net/locality_id.hpp"

namespace plx {

struct gid {
  locality_id origin = no_locality;  ///< where it was made
  std::uint32_t type = 0;            ///< of its type's name
  std::uint64_t number = 0;          ///< counts what was made there; 0: no object

  /// False: no object.
  explicit operator bool() const noexcept { return number != 0; }
  friend auto operator<=>(const gid&, const gid&) = default;
};
template <>
inline constexpr bool is_bitwise<gid> = true;

/// Spreads ids evenly.
[[nodiscard]] constexpr std::uint64_t hash_of(const gid& id) noexcept {
  std::uint64_t h = id.number + (std::uint64_t{id.origin} << 40) + 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  return h ^ (h >> 31);
}
/// "2:17": the 17th object that was made on locality 2.
[[nodiscard]] std::string to_string(const gid& id);

}  // namespace plx
