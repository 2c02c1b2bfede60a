#include "star/runners/step_account.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "star/driver/agreement.hpp"

namespace plx::star {

namespace {

constexpr std::size_t account_size = sizeof(step_account) / sizeof(double);

void join(const step_account& other, step_account& to) {
  to.signal_rate = std::max(to.signal_rate, other.signal_rate);
  for (int i = 0; i < 3; ++i) to.floors[i] += other.floors[i];
  to.wishes = static_cast<std::uint32_t>(to.wishes) | static_cast<std::uint32_t>(other.wishes);
  if (other.is_bad() && (!to.is_bad() || other.bad < to.bad)) to.bad = other.bad;
  if (other.failed > 0.0 && (to.failed == 0.0 || other.failed < to.failed)) to.failed = other.failed;
}

// The account as numbers, followed by the outflow as exact sums.
std::vector<double> written(const step_account& a, std::span<const exact_sum> left) {
  std::vector<double> all(account_size);
  std::memcpy(all.data(), &a, sizeof a);
  append(left, all);
  return all;
}

step_account read(std::span<const double> from, std::span<exact_sum> left) {
  PLX_ASSERT(from.size() >= account_size, from.size());
  step_account a;
  std::memcpy(static_cast<void*>(&a), from.data(), sizeof a);
  add(from.subspan(account_size), left);
  return a;
}

std::vector<double> combined(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<exact_sum> left(count_of_sums(std::span(a).subspan(account_size)));
  step_account sum = read(a, left);
  join(read(b, left), sum);
  return written(sum, left);
}

}  // namespace

std::optional<bad_cell> step_account::bad_found(const gas& g) const {
  if (!is_bad()) return std::nullopt;
  return bad_cell{g.mesh.blocks()[static_cast<std::size_t>(bad[1])], static_cast<int>(bad[0]), static_cast<int>(bad[2]),
                  bad[3], bad[4]};
}

step_account agree_on_step(step::exchange& net, const step_account& mine, std::span<exact_sum> left) {
  if (net.is_alone()) return mine;
  const std::vector<double> result = net.all_reduce(written(mine, left), combined);
  std::fill(left.begin(), left.end(), exact_sum());
  return read(result, left);
}

}  // namespace plx::star
