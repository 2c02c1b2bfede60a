#include "star/exact_sums.hpp"

#include <bit>
#include <cstdint>

#include "base/assert.hpp"

namespace plx::star {

void append(std::span<const exact_sum> sums, std::vector<double>& to) {
  std::vector<std::int64_t> numbers{static_cast<std::int64_t>(sums.size())};
  for (const exact_sum& s : sums) s.append_to(numbers);
  for (const std::int64_t n : numbers) to.push_back(std::bit_cast<double>(n));
}

std::size_t count_of_sums(std::span<const double> from) {
  PLX_ASSERT(!from.empty());
  return static_cast<std::size_t>(std::bit_cast<std::int64_t>(from[0]));
}

void add(std::span<const double> from, std::span<exact_sum> sums) {
  PLX_ASSERT_EQ(count_of_sums(from), sums.size());
  std::vector<std::int64_t> numbers;
  for (const double d : from.subspan(1)) numbers.push_back(std::bit_cast<std::int64_t>(d));
  std::span<const std::int64_t> rest = numbers;
  for (exact_sum& s : sums) {
    const bool there = s.add_from(rest);
    PLX_ASSERT(there, rest.size());
  }
}

void sum_over_localities(step::exchange& net, std::span<exact_sum> sums) {
  if (net.is_alone()) return;
  std::vector<double> mine;
  append(sums, mine);
  const std::vector<double> all = net.all_reduce(std::move(mine), [](const auto& a, const auto& b) {
    std::vector<exact_sum> both(count_of_sums(a));
    add(a, both);
    add(b, both);
    std::vector<double> out;
    append(both, out);
    return out;
  });
  for (exact_sum& s : sums) s = {};
  add(all, sums);
}

}  // namespace plx::star
