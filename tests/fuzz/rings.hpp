// The target of the fuzzer of the rings between localities of a host (net/transport/near_rings.hpp), and of the test
// that replays its corpus: neighbours write arbitrary data into the memory that they share with a locality.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fuzz {

/// The effects of an input.
struct rings_outcome {
  unsigned received = 0;  ///< messages passed to the receiver
  unsigned raw = 0;       ///< raw ones among them
  unsigned awaited = 0;   ///< raw ones that a call waited for
  unsigned invalid = 0;   ///< neighbours found to have written an invalid message
  unsigned sent = 0;      ///< messages put into rings
  unsigned wake_ups = 0;  ///< messages or wake-ups that the library had to send to a neighbour that sleeps
};

/// Plays an input: steps of a locality (it sends, receives, falls asleep, loses a neighbour) and of its two neighbours,
/// which write messages, stamps of any size, and bytes anywhere in all memory that the three share, also while the
/// locality receives. The first byte of a step is its type (rings.cpp). Returns for any input, and checks that each
/// call of the locality takes a bounded number of messages, of valid sizes and of the kinds in their stamps, and none
/// of a neighbour that has ended.
rings_outcome play_rings(const std::uint8_t* data, std::size_t size);

/// Writes well-formed initial inputs into a folder.
void write_rings_seeds(const char* folder);

}  // namespace fuzz
