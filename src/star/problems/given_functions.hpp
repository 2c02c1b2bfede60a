// Functions of place that an input gives: arithmetic expressions, compiled by the library muParser
// (docs/decisions/0025-expressions.md), and tables of values over radius from text files.
//
// Thread safety: an expression: one thread at a time per object; a table: const, any thread. Cost: an expression 100 us
// to compile, about 20 ns per operation to evaluate; a table a binary search per evaluation.
// Example: star/problems/test/expression_test.cpp, star/problems/test/profile_test.cpp
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"

namespace plx::star {

// ---- expressions: operators + - * / ^, comparisons, && || and a ? b : c; functions such as sin, exp, sqrt, min, max

class expression {
 public:
  /// Does this build include the library?
  static bool available();

  /// Compiles `text` with these variables and constants, besides pi and e. Errors: one line with the place in the text,
  /// what was found, and the known names.
  static result<expression> compile(const std::string& text, std::span<const std::string> variables,
                                    std::span<const named_number> constants);
  expression(expression&&) noexcept;
  expression& operator=(expression&&) noexcept;
  ~expression();

  /// The value for these values of the variables, in the order of compile(). Not finite where it is not defined.
  double at(std::span<const double> values) const;

 private:
  struct compiled;
  explicit expression(std::unique_ptr<compiled> c);
  std::unique_ptr<compiled> compiled_;
};

// ---- tables: the input of spherically symmetric initial states. Errors: one line with file and line.
//
//   # any comment
//   r, density, pressure, velocity        names first; columns in any order, separated by commas or blanks
//   0.0, 1.0, 0.6, 0.0
//   0.1, 0.9, 0.5, 0.0

struct radial_row {
  double r = 0.0, density = 0.0;
  double pressure = 0.0;         ///< or 0, if the table has the internal energy
  double internal_energy = 0.0;  ///< per mass, or 0
  double velocity = 0.0;         ///< outward
};

struct radial_table {
  std::vector<radial_row> rows;  ///< r ascends from 0 or above; at least two
  bool has_pressure = false;     ///< otherwise internal energy

  /// Linear between rows; the first row inside of it. Requires: r <= rows.back().r.
  radial_row at(double r) const;
};

result<radial_table> read_radial_table(const std::string& path);
/// The same for text; messages refer to it as `name`.
result<radial_table> parse_radial_table(std::string_view text, const std::string& name);

}  // namespace plx::star
