// Criteria from text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/config.hpp"
#include "mesh/refinement.hpp"

namespace plx::mesh {

namespace {

using kind = criterion::kind;
constexpr std::pair<const char*, kind> kinds[] = {{"second_derivative", kind::second_derivative},
                                                  {"gradient", kind::gradient},
                                                  {"threshold", kind::threshold},
                                                  {"sphere", kind::sphere},
                                                  {"box", kind::box}};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin || separator == ',') parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Reads key=value pairs; every key must be asked for, each value must parse.
class fields {
 public:
  explicit fields(std::span<const std::string> words) {
    for (const std::string& w : words) {
      const std::size_t equals = w.find('=');
      if (equals == std::string::npos)
        fail(fmt::format("expected key=value, found \"{}\"", w));
      else
        values_.push_back({w.substr(0, equals), w.substr(equals + 1), false});
    }
  }

  void numbers(const char* key, std::vector<double>& out, std::size_t count, bool required) {
    const field* f = find(key);
    if (f == nullptr) {
      if (required) fail(fmt::format("{}= is missing", key));
      return;
    }
    out.clear();
    for (const std::string& part : split(f->value, ',')) {
      double x = 0.0;
      const auto [end, status] = std::from_chars(part.data(), part.data() + part.size(), x);
      if (status != std::errc() || end != part.data() + part.size())
        return fail(fmt::format("{}={}: expected numbers, found \"{}\"", key, f->value, part));
      out.push_back(x);
    }
    if (count > 0 && out.size() != count)
      fail(fmt::format("{}={}: expected {} number{}", key, f->value, count, count == 1 ? "" : "s"));
  }

  void number(const char* key, double& out, bool required, double min, double max) {
    std::vector<double> v{out};
    numbers(key, v, 1, required);
    if (v.empty() || !error_.empty()) return;
    if (!(v[0] >= min && v[0] <= max)) fail(fmt::format("{}={}: expected {} to {}", key, v[0], min, max));
    out = v[0];
  }

  void level(const char* key, int& out, bool required) {
    double x = out;
    number(key, x, required, 0, deepest_level);
    if (x != static_cast<int>(x)) fail(fmt::format("{}={}: expected a whole number", key, x));
    out = static_cast<int>(x);
  }

  void point(const char* key, std::array<double, 3>& out) {
    std::vector<double> v;
    numbers(key, v, 3, true);
    if (error_.empty()) std::copy(v.begin(), v.end(), out.begin());
  }

  // What was wrong, or the first key that nobody asked for.
  std::string error(std::vector<std::string> known) const {
    if (!error_.empty()) return error_;
    for (const field& f : values_)
      if (!f.used) return fmt::format("unknown \"{}=\": expected {}", f.key, fmt::join(known, ", "));
    return {};
  }

  void fail(std::string message) {
    if (error_.empty()) error_ = std::move(message);
  }

 private:
  struct field {
    std::string key, value;
    bool used;
  };
  const field* find(const char* key) {
    for (field& f : values_)
      if (f.key == key) return f.used = true, &f;
    return nullptr;
  }

  std::vector<field> values_;
  std::string error_;
};

std::string read(criterion& c, fields f) {
  constexpr double huge = std::numeric_limits<double>::max();
  switch (c.what) {
    case kind::second_derivative:
    case kind::gradient:
      f.number("refine", c.refine, true, 0, 1);
      f.number("coarsen", c.coarsen, true, 0, 1);
      f.level("max_level", c.max_level, false);
      if (c.coarsen > c.refine) f.fail("expected coarsen <= refine");
      if (c.what == kind::gradient) return f.error({"refine", "coarsen", "max_level"});
      f.number("noise", c.noise, false, 0, 1);
      return f.error({"refine", "coarsen", "noise", "max_level"});
    case kind::threshold:
      c.coarsen = 0.8;
      f.numbers("above", c.above, 0, true);
      f.number("coarsen", c.coarsen, false, 0, 1);
      if (!std::is_sorted(c.above.begin(), c.above.end())) f.fail("above=: expected ascending numbers, one per level");
      c.max_level = static_cast<int>(c.above.size());
      return f.error({"above", "coarsen"});
    case kind::sphere:
      f.point("center", c.lower);
      f.number("radius", c.radius, true, 0, huge);
      f.level("level", c.max_level, true);
      return f.error({"center", "radius", "level"});
    case kind::box:
      f.point("lower", c.lower);
      f.point("upper", c.upper);
      f.level("level", c.max_level, true);
      return f.error({"lower", "upper", "level"});
  }
  return {};
}

}  // namespace

void refinement_options::describe(config_table& t) {
  t.section("refine", "Refinement");
  t.add(
      "refine.criteria", criteria,
      {.help = "what wants finer blocks, one text each: \"second_derivative VARIABLE refine=0.7 coarsen=0.3 "
               "[noise=0.01] [max_level=L]\", \"gradient VARIABLE refine=0.2 coarsen=0.05 [max_level=L]\", \"threshold "
               "VARIABLE above=0.1,1,10 [coarsen=0.8]\", \"sphere center=x,y,z radius=r level=L\", \"box lower=x,y,z "
               "upper=x,y,z level=L\""});
  t.add("refine.every", every, {.unit = "steps", .help = "steps from one check to the next", .min = 1, .max = 1e9});
  t.add("refine.buffer_cells", buffer_cells,
        {.unit = "cells",
         .help = "cells around a cell that wants refinement that are refined, too",
         .min = 0,
         .max = 64});
  t.add("refine.coarsen_after", coarsen_after,
        {.unit = "checks", .help = "checks in a row that a block must be willing to coarsen", .min = 1, .max = 1e6});
}

result<criterion> parse_criterion(const std::string& text) {
  const std::vector<std::string> words = split(text, ' ');
  const auto fail = [&](const std::string& what) { return error{fmt::format("criterion \"{}\": {}", text, what)}; };
  criterion c;
  const auto* known =
      words.empty() ? std::end(kinds)
                    : std::find_if(std::begin(kinds), std::end(kinds), [&](auto& k) { return words[0] == k.first; });
  if (known == std::end(kinds))
    return fail("expected it to begin with second_derivative, gradient, threshold, sphere or box");
  c.what = known->second;
  std::size_t first = 1;
  if (c.needs_tile()) {
    if (words.size() < 2 || words[1].find('=') != std::string::npos)
      return fail(fmt::format("expected a variable after \"{}\"", words[0]));
    c.variable = words[first++];
  }
  if (const std::string wrong = read(c, fields(std::span(words).subspan(first))); !wrong.empty()) return fail(wrong);
  return c;
}

result<std::vector<criterion>> parse_criteria(std::span<const std::string> texts, std::span<const std::string> known) {
  std::vector<criterion> criteria;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto c = parse_criterion(texts[i]);
    if (!c) return error{fmt::format("refine.criteria[{}]: {}", i, c.error().message)};
    if (c->needs_tile() && std::find(known.begin(), known.end(), c->variable) == known.end())
      return error{fmt::format("refine.criteria[{}]: criterion \"{}\": unknown variable \"{}\": expected one of {}", i,
                               texts[i], c->variable, fmt::join(known, ", "))};
    criteria.push_back(std::move(c).value());
  }
  return criteria;
}

}  // namespace plx::mesh
