#include "star/driver/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "rt/runtime.hpp"

namespace plx::star {

namespace {

std::vector<std::vector<double>> all_gather(step::exchange& net, runtime& rt, std::vector<double> mine) {
  const task_info info{probe::register_name("star.agree"), probe::no_key};
  return rt.run(info, [&] { return net.all_gather(std::move(mine)); });
}

// An exchange carries numbers; texts are short and rare.
std::vector<double> letters_of(std::string_view text) {
  std::vector<double> all;
  for (const char c : text) all.push_back(static_cast<unsigned char>(c));
  return all;
}

std::string text_of(const std::vector<double>& letters) {
  std::string text;
  for (const double letter : letters) text += static_cast<char>(letter);
  return text;
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return line;
}

}  // namespace

std::string first_complaint(step::exchange& net, const std::string& mine) {
  if (net.is_alone()) return mine;
  const auto all = net.all_gather(letters_of(mine));
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i].empty()) return (i == 0 ? "" : fmt::format("locality {}: ", i)) + text_of(all[i]);
  return "";
}

result<void> agree(step::exchange& net, runtime& rt, const result<void>& mine) {
  if (net.is_alone()) return mine;
  const task_info info{probe::register_name("star.agree"), probe::no_key};
  const std::string first = rt.run(info, [&] { return first_complaint(net, mine ? "" : mine.error().message); });
  if (!first.empty()) return error{first};
  return {};
}

std::vector<double> from_root(step::exchange& net, runtime& rt, std::vector<double> mine) {
  if (net.is_alone()) return mine;
  if (!is_root(net)) mine.clear();
  return std::move(all_gather(net, rt, std::move(mine)).front());
}

result<void> same_as_root(step::exchange& net, runtime& rt, std::string_view text) {
  if (net.is_alone()) return {};
  const std::string root = text_of(from_root(net, rt, letters_of(text)));
  for (std::string_view there = root, here = text; !there.empty() || !here.empty();)
    if (const auto expected = take_line(there), found = take_line(here); expected != found)
      return error{fmt::format(
          "its input is not the root's: expected \"{}\", found \"{}\"; start all with the same files and options",
          expected, found)};
  return {};
}

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
