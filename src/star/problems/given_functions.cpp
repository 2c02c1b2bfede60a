#include "star/problems/given_functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/assert.hpp"
#include "base/file.hpp"
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

// ---- tables

namespace {

struct table_column {
  const char* name;
  double radial_row::*member;
};
constexpr table_column columns[] = {{"r", &radial_row::r},
                                    {"density", &radial_row::density},
                                    {"pressure", &radial_row::pressure},
                                    {"internal_energy", &radial_row::internal_energy},
                                    {"velocity", &radial_row::velocity}};
constexpr const char* known_columns = "r, density, pressure or internal_energy (per mass), and optionally velocity";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view between = ", \t\r;";
  for (std::size_t begin = 0; (begin = line.find_first_not_of(between, begin)) != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(between, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

class parser {
 public:
  explicit parser(const std::string& name) : name_(name) {}

  result<void> header(std::string_view line) {
    for (const std::string_view word : words_of(line)) {
      const auto c =
          std::find_if(std::begin(columns), std::end(columns), [&](const auto& x) { return x.name == word; });
      if (c == std::end(columns))
        return wrong(fmt::format("expected the columns {} by name, found '{}'{}", known_columns, word,
                                 did_you_mean(word, {"r", "density", "pressure", "internal_energy", "velocity"})));
      if (has(c->member)) return wrong(fmt::format("expected each column once, found '{}' twice", word));
      members_.push_back(c->member);
    }
    table_.has_pressure = has(&radial_row::pressure);
    if (!has(&radial_row::r) || !has(&radial_row::density) ||
        has(&radial_row::pressure) == has(&radial_row::internal_energy))
      return wrong(fmt::format("expected the columns {}, found {}", known_columns, line));
    return {};
  }

  result<void> row(std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() != members_.size())
      return wrong(fmt::format("expected {}, found {}", plural(members_.size(), "number"), words.size()));
    radial_row next;
    for (std::size_t i = 0; i < words.size(); ++i) {
      double& value = next.*members_[i];
      const auto [end, code] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), value);
      if (code != std::errc() || end != words[i].data() + words[i].size() || !std::isfinite(value))
        return wrong(fmt::format("expected a finite number, found '{}'", words[i]));
    }
    const double heat = table_.has_pressure ? next.pressure : next.internal_energy;
    if (!(next.density > 0.0) || !(heat > 0.0))
      return wrong(fmt::format("expected density and {} above 0, found {:g} and {:g}",
                               table_.has_pressure ? "pressure" : "internal_energy", next.density, heat));
    if (table_.rows.empty() ? next.r < 0.0 : !(next.r > table_.rows.back().r))
      return wrong(fmt::format("expected r to ascend from 0 or above, found {:g}", next.r));
    table_.rows.push_back(next);
    return {};
  }

  result<radial_table> read(std::string_view text) {
    for (; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (words_of(line).empty() || words_of(line)[0].starts_with('#')) continue;
      if (auto r = members_.empty() ? header(line) : row(line); !r) return r.error();
    }
    if (table_.rows.size() >= 2) return std::move(table_);
    return error{fmt::format("{}: expected a line of column names and at least two rows, found {}", name_,
                             plural(table_.rows.size(), "row"))};
  }

 private:
  bool has(double radial_row::*member) const {
    return std::find(members_.begin(), members_.end(), member) != members_.end();
  }
  error wrong(const std::string& what) const { return error{fmt::format("{}:{}: {}", name_, line_, what)}; }

  const std::string& name_;
  int line_ = 1;
  std::vector<double radial_row::*> members_;
  radial_table table_;
};

}  // namespace

radial_row radial_table::at(double r) const {
  const auto above =
      std::upper_bound(rows.begin(), rows.end(), r, [](double x, const radial_row& row) { return x < row.r; });
  if (above == rows.begin()) {
    radial_row first = rows.front();
    if (first.r > 0.0) first.velocity *= r / first.r;  // at rest in the centre
    return first;
  }
  if (above == rows.end()) return rows.back();
  const radial_row &a = above[-1], &b = *above;
  const double part = (r - a.r) / (b.r - a.r);
  radial_row w;
  for (const table_column& c : columns) w.*c.member = a.*c.member + part * (b.*c.member - a.*c.member);
  return w;
}

result<radial_table> parse_radial_table(std::string_view text, const std::string& name) {
  return parser(name).read(text);
}

result<radial_table> read_radial_table(const std::string& path) {
  const auto text = read_file(path);
  if (!text) return text.error();
  return parse_radial_table(*text, path);
}

}  // namespace plx::star
