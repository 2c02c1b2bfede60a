// What a search may vary: named whole numbers, real numbers and words, and points of the space that they span.
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
  double most = 0;   // of a choice: number of words - 1
  double step = 1;   // of whole numbers
  double start = 0;  // where a search begins; of a choice: the number of the word
  std::vector<std::string> words{};

  /// least, least + step, ...; Requires: least <= start <= most < 2^53, step > 0. `start` becomes the nearest step.
  static parameter integer(std::string name, std::int64_t least, std::int64_t most, std::int64_t start,
                           std::int64_t step = 1);
  /// Requires: least < most, finite.
  static parameter real(std::string name, double least, double most, double start);
  /// Requires: at least one word.
  static parameter choice(std::string name, std::vector<std::string> words, std::size_t start = 0);

  /// How many values there are; 0: a real number.
  [[nodiscard]] std::uint64_t levels() const noexcept;
  /// A place is the number of the value, of a real number where it lies between least (0) and most (1).
  [[nodiscard]] double value_at(double place) const noexcept;
  /// Where a value lies among those allowed.
  [[nodiscard]] double place_of(double value) const noexcept;
  /// "8", "0.25", "fast"; and back.
  [[nodiscard]] std::string text_of(double value) const;
  /// A value from its text.
  [[nodiscard]] result<double> parse(std::string_view text) const;
  /// "integer grain 1..64 by 1": the same text means the same parameter.
  [[nodiscard]] std::string definition() const;
};

/// What a search varies.
using parameters = std::vector<parameter>;

/// Where a search is: one place per parameter.
using places = std::vector<double>;

/// Values for all parameters.
class tuning_point {
 public:
  tuning_point() = default;
  tuning_point(std::shared_ptr<const parameters> space, const places& at);

  /// Requires: there is such a parameter, of this kind.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  /// The value of a parameter that is a number.
  [[nodiscard]] double real(std::string_view name) const;
  /// The value of an enumerated parameter.
  [[nodiscard]] const std::string& word(std::string_view name) const;
  /// "grain=8, how=fast".
  [[nodiscard]] std::string text() const;
  /// One value per parameter, in their order; of a choice: the number of the word.
  [[nodiscard]] const std::vector<double>& values() const noexcept { return values_; }

 private:
  [[nodiscard]] std::size_t index_of(std::string_view name, parameter::kind what) const;
  std::shared_ptr<const parameters> space_;
  std::vector<double> values_;
};

}  // namespace plx::probe
