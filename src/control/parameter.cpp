#include "control/parameter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/assert.hpp"
#include "base/text.hpp"

namespace plx::probe {

parameter parameter::integer(std::string name, std::int64_t least, std::int64_t most, std::int64_t start,
                             std::int64_t step) {
  PLX_ASSERT(least <= start && start <= most && step > 0, name, least, start, most, step);
  parameter p{.name = std::move(name),
              .what = kind::integer,
              .least = static_cast<double>(least),
              .most = static_cast<double>(most - (most - least) % step),
              .step = static_cast<double>(step)};
  p.start = p.value_at(p.place_of(static_cast<double>(start)));
  return p;
}

parameter parameter::real(std::string name, double least, double most, double start) {
  PLX_ASSERT(std::isfinite(least) && std::isfinite(most) && least < most, name, least, most);
  PLX_ASSERT(least <= start && start <= most, name, least, start, most);
  return {.name = std::move(name), .what = kind::real, .least = least, .most = most, .start = start};
}

parameter parameter::choice(std::string name, std::vector<std::string> words, std::size_t start) {
  PLX_ASSERT(start < words.size(), name, start);
  parameter p{.name = std::move(name), .what = kind::choice, .words = std::move(words)};
  p.most = static_cast<double>(p.words.size() - 1);
  p.start = static_cast<double>(start);
  return p;
}

std::uint64_t parameter::levels() const noexcept {
  return what == kind::real ? 0 : static_cast<std::uint64_t>((most - least) / step) + 1;
}

double parameter::value_at(double place) const noexcept {
  if (what == kind::real) return std::clamp(least + place * (most - least), least, most);
  return std::clamp(least + std::round(place) * step, least, most);
}

double parameter::place_of(double value) const noexcept {
  const double place = what == kind::real ? (value - least) / (most - least) : std::round((value - least) / step);
  return std::clamp(place, 0.0, what == kind::real ? 1.0 : static_cast<double>(levels() - 1));
}

std::string parameter::text_of(double value) const {
  if (what == kind::choice) return words[static_cast<std::size_t>(value)];
  if (what == kind::integer) return std::to_string(static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

result<double> parameter::parse(std::string_view text) const {
  if (what == kind::choice) {
    const auto it = std::find(words.begin(), words.end(), text);
    if (it != words.end()) return static_cast<double>(it - words.begin());
  } else {
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool read = failed == std::errc{} && end == text.data() + text.size();
    // Integers must also coincide with a step.
    if (read && value >= least && value <= most && (what == kind::real || value_at(place_of(value)) == value))
      return value;
  }
  return error{
      fmt::format("{}: expected a value of '{}', found '{}'{}", name, definition(), text, did_you_mean(text, words))};
}

std::string parameter::definition() const {
  if (what == kind::choice) return fmt::format("choice {} {}", name, fmt::join(words, "|"));
  if (what == kind::real) return fmt::format("real {} {}..{}", name, least, most);
  return fmt::format("integer {} {}..{} by {}", name, least, most, step);
}

tuning_point::tuning_point(std::shared_ptr<const parameters> space, const places& at) : space_(std::move(space)) {
  PLX_ASSERT_EQ(space_->size(), at.size());
  for (std::size_t i = 0; i < at.size(); ++i) values_.push_back((*space_)[i].value_at(at[i]));
}

std::size_t tuning_point::index_of(std::string_view name, parameter::kind what) const {
  for (std::size_t i = 0; i < values_.size(); ++i)
    if ((*space_)[i].name == name && (*space_)[i].what == what) return i;
  const bool found = false;
  PLX_ASSERT(found && "no parameter has this name and kind", std::string(name));
  return 0;
}

std::int64_t tuning_point::integer(std::string_view name) const {
  return static_cast<std::int64_t>(values_[index_of(name, parameter::kind::integer)]);
}

double tuning_point::real(std::string_view name) const { return values_[index_of(name, parameter::kind::real)]; }

const std::string& tuning_point::word(std::string_view name) const {
  const std::size_t i = index_of(name, parameter::kind::choice);
  return (*space_)[i].words[static_cast<std::size_t>(values_[i])];
}

std::string tuning_point::text() const {
  std::string all;
  for (std::size_t i = 0; i < values_.size(); ++i)
    all += fmt::format("{}{}={}", i == 0 ? "" : ", ", (*space_)[i].name, (*space_)[i].text_of(values_[i]));
  return all;
}

}  // namespace plx::probe
