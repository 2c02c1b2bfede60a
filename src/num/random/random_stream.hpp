// Counter-based random streams: Philox4x32-10 of the library Random123.
//
// The n-th number of a stream is a function of (seed, stream, n) alone: streams are independent without any
// communication, a stream can be saved as three integers, and any position can be reached in constant time.
// Thread safety: one thread at a time per stream. Cost: about 5 ns per number. Period: 2^65 numbers per stream.
// Example: num/random/test/random_stream_test.cpp
#pragma once

#include <array>
#include <cstdint>

namespace plx {

/// Philox4x32-10: ten rounds on a counter of four words with a key of two.
/// Source: Salmon, Moraes, Dror, Shaw (2011), "Parallel random numbers: as easy as 1, 2, 3".
std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter,
                                          std::array<std::uint32_t, 2> key) noexcept;

/// A sequence of numbers. Streams with different (seed, stream) do not overlap.
class random_stream {
 public:
  random_stream(std::uint64_t seed, std::uint64_t stream, std::uint64_t position = 0) noexcept
      : seed_(seed), stream_(stream) {
    seek(position);
  }

  /// Uniform 64 bits.
  std::uint64_t bits() noexcept {
    if (position_ % 2 == 0) fill();
    return block_[position_++ % 2];
  }
  /// Uniform in [0, 1): multiples of 2^-53.
  double uniform() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// Uniform in {0, ..., n - 1}; the probabilities differ by less than n 2^-53. Requires: 0 < n < 2^32.
  int below(int n) noexcept { return static_cast<int>(uniform() * n); }

  /// The seed of all streams.
  std::uint64_t seed() const noexcept { return seed_; }
  /// The number of this stream.
  std::uint64_t stream() const noexcept { return stream_; }
  /// How many numbers have been drawn.
  std::uint64_t position() const noexcept { return position_; }
  /// The next number is the one with this index.
  void seek(std::uint64_t position) noexcept {
    position_ = position;
    if (position % 2 != 0) fill();
  }

 private:
  void fill() noexcept;  // the block of two numbers that contains position_

  std::uint64_t seed_, stream_, position_ = 0;
  std::array<std::uint64_t, 2> block_{};
};

}  // namespace plx
