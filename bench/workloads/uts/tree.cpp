#include "uts/tree.hpp"

#include <bit>
#include <cmath>

namespace uts {
namespace {

using words = std::array<std::uint32_t, 16>;

/// SHA-1 (FIPS 180-4) of a message of one block, whose padding is already in it.
std::array<std::uint32_t, 5> sha1_block(const words& message) {
  std::array<std::uint32_t, 80> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = message[i];
  for (std::size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  const std::array<std::uint32_t, 5> h{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  auto [a, b, c, d, e] = h;
  const auto round = [&](std::uint32_t f, std::uint32_t k, std::uint32_t word) {
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  for (std::size_t i = 0; i < 20; ++i) round((b & c) | (~b & d), 0x5a827999, w[i]);
  for (std::size_t i = 20; i < 40; ++i) round(b ^ c ^ d, 0x6ed9eba1, w[i]);
  for (std::size_t i = 40; i < 60; ++i) round((b & c) | (b & d) | (c & d), 0x8f1bbcdc, w[i]);
  for (std::size_t i = 60; i < 80; ++i) round(b ^ c ^ d, 0xca62c1d6, w[i]);
  return {h[0] + a, h[1] + b, h[2] + c, h[3] + d, h[4] + e};
}

/// Uniform in [0, 1).
double uniform(const node& n) { return static_cast<double>(n.state[4] & 0x7fffffff) / 2147483648.0; }

}  // namespace

node root(const shape& s) {
  words m{};
  m[4] = s.seed;
  m[5] = 0x80000000;
  m[15] = 20 * 8;
  return {sha1_block(m), 0};
}

node child(const node& parent, int i) {
  words m{};
  for (std::size_t k = 0; k < 5; ++k) m[k] = parent.state[k];
  m[5] = static_cast<std::uint32_t>(i);
  m[6] = 0x80000000;
  m[15] = 24 * 8;
  return {sha1_block(m), parent.depth + 1};
}

int count_children(const shape& s, const node& n) {
  if (s.binomial) {
    if (n.depth == 0) return static_cast<int>(s.children);
    return uniform(n) < 0.124875 ? 8 : 0;
  }
  if (n.depth >= s.levels) return 0;
  const double p = 1 / (1 + s.children);
  return static_cast<int>(std::floor(std::log(1 - uniform(n)) / std::log(1 - p)));
}

}  // namespace uts
