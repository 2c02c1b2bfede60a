#include "star/problems/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <utility>

#include "base/assert.hpp"
#include "base/text.hpp"

#if PLX_HAVE_MUPARSER
#include <muParser.h>
#endif

namespace plx::star {

#if PLX_HAVE_MUPARSER

struct expression::compiled {
  mu::Parser parser;
  std::vector<double> values;  // of the variables; the parser has their addresses
};

namespace {

std::vector<std::string> functions_of(const mu::Parser& p) {
  std::vector<std::string> names;
  for (const auto& [name, callback] : p.GetFunDef()) names.push_back(name);
  return names;
}

error wrong(const std::string& text, int at, const std::string& what) {
  return error{fmt::format("\"{}\", character {}: {}", text, at + 1, what)};
}

std::string list_of(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

error describe(const mu::Parser& p, const mu::ParserError& e, const std::string& text,
               const std::vector<std::string>& names) {
  const int at = std::clamp<int>(static_cast<int>(e.GetPos()), 0, static_cast<int>(text.size()));
  const std::string token = e.GetToken();
  switch (e.GetCode()) {
    case mu::ecUNASSIGNABLE_TOKEN: {
      const std::vector<std::string> functions = functions_of(p);
      std::vector<std::string> all = names;
      all.insert(all.end(), functions.begin(), functions.end());
      return wrong(text, at,
                   fmt::format("unknown name '{}'{}; known are {}, and the functions {}", token,
                               did_you_mean(token, all), list_of(names), list_of(functions)));
    }
    case mu::ecUNEXPECTED_EOF:
      return wrong(text, static_cast<int>(text.size()), "expected a number, a name or a bracket, found the end");
    case mu::ecEMPTY_EXPRESSION:
      return wrong(text, 0, "expected an expression, found nothing");
    case mu::ecMISSING_PARENS:
      return wrong(text, static_cast<int>(text.size()), "expected a closing bracket, found the end");
    case mu::ecUNEXPECTED_PARENS:
      return wrong(text, at, fmt::format("unexpected bracket '{}'", token));
    case mu::ecUNEXPECTED_OPERATOR:
      return wrong(text, at, fmt::format("unexpected operator '{}'", token));
    case mu::ecTOO_MANY_PARAMS:
    case mu::ecTOO_FEW_PARAMS:
      return wrong(text, at,
                   fmt::format("too {} arguments of the function '{}'",
                               e.GetCode() == mu::ecTOO_MANY_PARAMS ? "many" : "few", token));
    default:
      return wrong(text, at, token.empty() ? e.GetMsg() : fmt::format("unexpected '{}'", token));
  }
}

/// An assignment would change a variable. Returns the place of its '=', or npos.
std::size_t assignment_in(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    const bool is_comparison = i > 0 && std::string_view("<>!=").find(text[i - 1]) != std::string_view::npos;
    if (!is_comparison && (i + 1 == text.size() || text[i + 1] != '=')) return i;
  }
  return std::string::npos;
}

}  // namespace

bool expression::available() { return true; }

result<expression> expression::compile(const std::string& text, std::span<const std::string> variables,
                                       std::span<const named_number> constants) {
  auto c = std::make_unique<compiled>();
  c->values.assign(variables.size(), 0.0);
  std::vector<std::string> names(variables.begin(), variables.end());
  try {
    mu::Parser& p = c->parser;
    p.ClearConst();
    p.DefineConst("pi", std::numbers::pi);
    p.DefineConst("e", std::numbers::e);
    names.insert(names.end(), {"pi", "e"});
    std::vector<std::string> reserved = functions_of(p);
    reserved.insert(reserved.end(), names.begin(), names.end());
    for (const named_number& k : constants) {
      if (std::find(reserved.begin(), reserved.end(), k.name) != reserved.end())
        return error{
            fmt::format("constant '{}': the name is that of a variable, constant or function; choose another", k.name)};
      p.DefineConst(k.name, k.value);
      names.push_back(k.name);
    }
    for (std::size_t v = 0; v < variables.size(); ++v) p.DefineVar(variables[v], &c->values[v]);
    if (const std::size_t at = assignment_in(text); at != std::string::npos)
      return wrong(text, static_cast<int>(at), "unexpected '='; comparisons are ==, <=, >= and !=");
    p.SetExpr(text);
    p.Eval();
    if (p.GetNumResults() != 1)
      return wrong(text, static_cast<int>(std::min(text.find(','), text.size())),
                   fmt::format("expected one value, found {}", p.GetNumResults()));
  } catch (const mu::ParserError& e) {
    return describe(c->parser, e, text, names);
  }
  return expression(std::move(c));
}

double expression::at(std::span<const double> values) const {
  PLX_ASSERT_EQ(values.size(), compiled_->values.size());
  std::copy(values.begin(), values.end(), compiled_->values.begin());
  return compiled_->parser.Eval();
}

#else

struct expression::compiled {};

bool expression::available() { return false; }

result<expression> expression::compile(const std::string&, std::span<const std::string>,
                                       std::span<const named_number>) {
  return error{"this program was built without muParser, which evaluates expressions (Debian: libmuparser-dev)"};
}

double expression::at(std::span<const double>) const {
  PLX_ASSERT(false && "compile() fails in this build");
  return 0.0;
}

#endif

expression::expression(std::unique_ptr<compiled> c) : compiled_(std::move(c)) {}
expression::expression(expression&&) noexcept = default;
expression& expression::operator=(expression&&) noexcept = default;
expression::~expression() = default;

}  // namespace plx::star
