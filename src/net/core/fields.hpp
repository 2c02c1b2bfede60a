// A sequence of byte strings with their lengths, the format in which localities exchange data at start-up.
//
// Thread safety: as its arguments. Errors: take_field() returns nullopt if `from` holds no complete field. Example:
// net/transport/test/find_transport_test.cpp
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace plx::net::detail {

inline void append_field(std::string& to, std::string_view field) {
  const auto size = static_cast<std::uint32_t>(field.size());
  char bytes[sizeof size];
  std::memcpy(bytes, &size, sizeof size);
  to.append(bytes, sizeof size).append(field);
}

/// Removes the first field from `from` and returns it.
inline std::optional<std::string_view> take_field(std::string_view& from) noexcept {
  std::uint32_t size = 0;
  if (from.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, from.data(), sizeof size);
  if (from.size() - sizeof size < size) return std::nullopt;
  const std::string_view field = from.substr(sizeof size, size);
  from.remove_prefix(sizeof size + size);
  return field;
}

}  // namespace plx::net::detail
