#include "num/random/random_stream.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace plx {
namespace {

using words4 = std::array<std::uint32_t, 4>;

// The known-answer vectors published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesThePublishedVectors) {
  EXPECT_EQ(philox_block({0, 0, 0, 0}, {0, 0}), (words4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox_block({ones, ones, ones, ones}, {ones, ones}),
            (words4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (words4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, AnyPositionIsReachedDirectly) {
  random_stream whole(7, 3);
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < 9; ++i) numbers.push_back(whole.bits());
  EXPECT_EQ(whole.position(), 9u);
  for (std::uint64_t start = 0; start < 9; ++start) {
    random_stream resumed(7, 3, start);
    for (std::uint64_t i = start; i < 9; ++i) EXPECT_EQ(resumed.bits(), numbers[i]) << start << " " << i;
  }
}

TEST(RandomStream, SeedsAndStreamsDiffer) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed : {0ull, 1ull, 1ull << 32})
    for (std::uint64_t stream : {0ull, 1ull, 1ull << 32}) {
      random_stream r(seed, stream);
      for (int i = 0; i < 10; ++i) seen.insert(r.bits());
    }
  EXPECT_EQ(seen.size(), 90u);
}

TEST(RandomStream, MomentsAreThoseOfTheUniformDistribution) {
  const int n = 200000;
  random_stream r(1, 2);
  double mean = 0, square = 0, product = 0, previous = 0.5;
  std::array<int, 7> counts{};
  for (int i = 0; i < n; ++i) {
    const double x = r.uniform();
    ASSERT_TRUE(x >= 0 && x < 1);
    mean += x / n;
    square += x * x / n;
    product += (x - 0.5) * (previous - 0.5) / n;
    previous = x;
    ++counts[r.below(7)];
  }
  // Five standard deviations.
  EXPECT_NEAR(mean, 0.5, 5 * std::sqrt(1.0 / 12 / n));
  EXPECT_NEAR(square, 1.0 / 3, 5 * std::sqrt(4.0 / 45 / n));
  EXPECT_NEAR(product, 0, 5 * (1.0 / 12) / std::sqrt(n));
  for (int c : counts) EXPECT_NEAR(c, n / 7.0, 5 * std::sqrt(n / 7.0));
}

}  // namespace
}  // namespace plx
