// What writer and reader of a checkpoint share. Inside mesh only.
//
// Thread safety: pure. Cost: checksum about 1 byte per cycle and lane. Example: mesh/checkpoint_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

#include "mesh/checkpoint.hpp"

namespace plx::mesh {

inline constexpr const char* checkpoint_format = "parallax checkpoint";
inline constexpr const char* checkpoint_part_format = "parallax checkpoint part";

/// 64 bits that change when any bit of the data does (but for one in 2^64).
std::uint64_t checksum(const void* data, std::size_t bytes);
/// Of everything but the cells.
std::uint64_t header_checksum(const checkpoint& c);
/// Of what makes a part this part of this checkpoint. It is the first of the part's checksums.
std::uint64_t part_checksum(const checkpoint_parts& parts, std::size_t index);

}  // namespace plx::mesh
