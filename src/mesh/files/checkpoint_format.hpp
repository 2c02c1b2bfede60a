// Definitions that the writer and the reader of a checkpoint share. Private to mesh.
//
// Thread safety: pure. Cost: checksum about 1 byte per cycle and lane. Example: mesh/files/test/checkpoint_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "mesh/files/checkpoint.hpp"

namespace plx::mesh {

inline constexpr const char* checkpoint_format = "parallax checkpoint";
inline constexpr const char* checkpoint_part_format = "parallax checkpoint part";

/// A checksum of 64 bits; a change of the data goes unnoticed with probability 2^-64.
std::uint64_t checksum(const void* data, std::size_t bytes);
/// The checksum of everything except the cells.
std::uint64_t header_checksum(const checkpoint& c);
/// The checksum that identifies a part of a checkpoint, the first of the part's checksums.
std::uint64_t part_checksum(const checkpoint_parts& parts, std::size_t index);

}  // namespace plx::mesh
