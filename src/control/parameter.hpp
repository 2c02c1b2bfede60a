// The parameters that a search varies: named integers, real numbers and words, and points of the space that they span.
//
// Thread safety: values. Example: control/test/tuning_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace plx::probe {

struct parameter {
  enum class kind : std::uint8_t { integer, real, choice };

  std::string name;
  kind what = kind::integer;
  double least = 0;
  double most = 0;   // for choices: number of words - 1
  double step = 1;   // for integers
  double start = 0;  // where a search begins; for choices: index of the word
  std::vector<std::string> words{};

  /// Values least, least + step, ... Requires: least <= start <= most < 2^53, step > 0. `start` is rounded to a step.
  static parameter integer(std::string name, std::int64_t least, std::int64_t most, std::int64_t start,
                           std::int64_t step = 1);
  /// Requires: least < most, finite.
  static parameter real(std::string name, double least, double most, double start);
  /// Requires: at least one word.
  static parameter choice(std::string name, std::vector<std::string> words, std::size_t start = 0);

  /// Number of values; 0 for a real number.
  [[nodiscard]] std::uint64_t levels() const noexcept;
  /// The value at a place: for integers and choices the index of a value, for real numbers a position from 0 (least) to
  /// 1 (most).
  [[nodiscard]] double value_at(double place) const noexcept;
  /// The place of a value; inverse of value_at().
  [[nodiscard]] double place_of(double value) const noexcept;
  /// The text of a value: "8", "0.25", "fast".
  [[nodiscard]] std::string text_of(double value) const;
  /// Parses the text of a value.
  [[nodiscard]] result<double> parse(std::string_view text) const;
  /// Such as "integer grain 1..64 by 1". Equal texts mean equal parameters.
  [[nodiscard]] std::string definition() const;
};

/// The parameters of a search.
using parameters = std::vector<parameter>;

/// A position in the search space: one place per parameter.
using places = std::vector<double>;

/// A value for each parameter.
class tuning_point {
 public:
  tuning_point() = default;
  tuning_point(std::shared_ptr<const parameters> space, const places& at);

  /// The value of an integer parameter. Requires: a parameter of that name and kind.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  /// The value of a real parameter.
  [[nodiscard]] double real(std::string_view name) const;
  /// The word of a choice.
  [[nodiscard]] const std::string& word(std::string_view name) const;
  /// "grain=8, how=fast".
  [[nodiscard]] std::string text() const;
  /// One value per parameter, in order; for choices the index of the word.
  [[nodiscard]] const std::vector<double>& values() const noexcept { return values_; }

 private:
  [[nodiscard]] std::size_t index_of(std::string_view name, parameter::kind what) const;
  std::shared_ptr<const parameters> space_;
  std::vector<double> values_;
};

}  // namespace plx::probe
