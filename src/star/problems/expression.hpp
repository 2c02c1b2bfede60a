// Arithmetic expressions in inputs, compiled by the library muParser (docs/decisions/0025-expressions.md).
//
// Operators + - * / ^, comparisons, && || and a ? b : c; functions such as sin, exp, sqrt, min, max.
// Thread safety: one thread at a time per object. Cost: 100 us to compile, about 20 ns per operation to evaluate.
// Example: star/problems/test/expression_test.cpp
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"

namespace plx::star {

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

}  // namespace plx::star
