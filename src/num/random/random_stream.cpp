#include "num/random/random_stream.hpp"

#include <Random123/philox.h>

namespace plx {

std::array<std::uint32_t, 4> philox_block(std::array<std::uint32_t, 4> counter,
                                          std::array<std::uint32_t, 2> key) noexcept {
  const r123::Philox4x32::ctr_type c = {{counter[0], counter[1], counter[2], counter[3]}};
  const r123::Philox4x32::key_type k = {{key[0], key[1]}};
  const auto r = r123::Philox4x32()(c, k);
  return {r[0], r[1], r[2], r[3]};
}

void random_stream::fill() noexcept {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const std::uint64_t index = position_ / 2;
  const auto r = philox_block({low(index), high(index), low(stream_), high(stream_)}, {low(seed_), high(seed_)});
  block_ = {r[0] | std::uint64_t{r[1]} << 32, r[2] | std::uint64_t{r[3]} << 32};
}

}  // namespace plx
