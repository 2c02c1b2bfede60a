// The table of bound keys, and its texts: options for people, effective values, TOML.
#include "base/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/config_detail.hpp"
#include "base/text.hpp"

namespace plx {

using namespace config_detail;

namespace {

template <class T>
constexpr element_type type_of = std::is_same_v<T, bool>     ? element_type::boolean
                                 : std::is_integral_v<T>     ? element_type::integer
                                 : std::is_same_v<T, double> ? element_type::number
                                                             : element_type::string;

template <class T>
element to_element(const T& v) {
  return element(std::in_place_index<static_cast<std::size_t>(type_of<T>)>, v);
}
template <class T>
T from_element(const element& e) {
  return static_cast<T>(std::get<static_cast<std::size_t>(type_of<T>)>(e));
}

template <class T>
struct span_target final : target {
  span_target(T* first, std::size_t count) : values(first), n(count) {}
  std::vector<element> get() const override {
    std::vector<element> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(to_element(values[i]));
    return all;
  }
  void set(const std::vector<element>& all) override {
    PLX_ASSERT_EQ(all.size(), n);
    for (std::size_t i = 0; i < n; ++i) values[i] = from_element<T>(all[i]);
  }
  T* values;
  std::size_t n;
};

template <class T>
struct vector_target final : target {
  explicit vector_target(std::vector<T>& v) : values(v) {}
  std::vector<element> get() const override {
    std::vector<element> all;
    for (const T& v : values) all.push_back(to_element(v));
    return all;
  }
  void set(const std::vector<element>& all) override {
    values.clear();
    for (const element& e : all) values.push_back(from_element<T>(e));
  }
  std::vector<T>& values;
};

template <class T>
entry make_entry(std::string_view key, config_info info, shape form, std::size_t length,
                 std::unique_ptr<target> bound) {
  entry e;
  e.key = key;
  e.info = std::move(info);
  e.type = type_of<T>;
  e.fits_int = std::is_same_v<T, int>;
  e.form = form;
  e.length = length;
  e.initial = bound->get();
  e.bound = std::move(bound);
  return e;
}

template <class T>
entry scalar_entry(std::string_view key, T& value, config_info info) {
  return make_entry<T>(key, std::move(info), shape::scalar, 1, std::make_unique<span_target<T>>(&value, 1));
}
template <class T>
entry array_entry(std::string_view key, T* values, std::size_t n, config_info info) {
  return make_entry<T>(key, std::move(info), shape::fixed, n, std::make_unique<span_target<T>>(values, n));
}
template <class T>
entry vector_entry(std::string_view key, std::vector<T>& values, config_info info) {
  return make_entry<T>(key, std::move(info), shape::any_length, 0, std::make_unique<vector_target<T>>(values));
}

}  // namespace

entry* config_table::state::find(std::string_view key) {
  const auto e = std::find_if(entries.begin(), entries.end(), [&](const entry& x) { return x.key == key; });
  return e == entries.end() ? nullptr : &*e;
}

entry& config_table::state::insert(entry e) {
  PLX_ASSERT(find(e.key) == nullptr, e.key);
  for (const element& v : e.initial)
    check(e, v).value();  // a default outside its own range is a programming error:
                          // abort
  return entries.emplace_back(std::move(e));
}

config_table::config_table() : state_(std::make_unique<state>()) {}
config_table::~config_table() = default;
config_table::config_table(config_table&&) noexcept = default;
config_table& config_table::operator=(config_table&&) noexcept = default;

void config_table::section(std::string_view name, std::string_view title) {
  state_->sections.push_back({std::string(name), std::string(title)});
}

void config_table::add(std::string_view key, bool& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, int& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::int64_t& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, double& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::string& v, config_info i) {
  state_->insert(scalar_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<int>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<std::int64_t>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<double>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add(std::string_view key, std::vector<std::string>& v, config_info i) {
  state_->insert(vector_entry(key, v, std::move(i)));
}
void config_table::add_elements(std::string_view key, bool* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, int* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, std::int64_t* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, double* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}
void config_table::add_elements(std::string_view key, std::string* v, std::size_t n, config_info i) {
  state_->insert(array_entry(key, v, n, std::move(i)));
}

void config_table::add_names(std::string_view key, std::vector<named_number>& values, config_info info) {
  PLX_ASSERT(values.empty(), key);
  state_->named.push_back({std::string(key), std::move(info), &values});
}
void config_table::add_list(std::string_view key, std::unique_ptr<config_list> list, std::string_view title) {
  state_->lists.push_back({std::string(key), std::string(title), std::move(list)});
}

bool config_table::knows(std::string_view key) const { return state_->find(key) != nullptr; }

const std::string& config_table::source(std::string_view key) const {
  const entry* e = state_->find(key);
  PLX_ASSERT(e != nullptr, key);
  return e->source;
}

std::vector<std::string> config_table::keys() const {
  std::vector<std::string> all;
  for (const entry& e : state_->entries) all.push_back(e.key);
  return all;
}

// ------------------------------------------------------------------------------------ texts

namespace {

std::string first_part(const std::string& key) { return key.substr(0, std::min(key.find('.'), key.size())); }

std::string title_of(const std::vector<section_title>& sections, const std::string& name) {
  for (const section_title& s : sections)
    if (s.name == name) return s.title;
  return "";
}

/// The entries grouped by section, sections in the order of their first key; keys without a section come first, as TOML
/// requires.
struct group {
  std::string name;
  std::vector<const entry*> entries;
  std::vector<const named_entry*> named;
  [[nodiscard]] bool empty() const { return entries.empty() && named.empty(); }
};
std::vector<group> groups_of(const std::vector<entry>& entries, const std::vector<named_entry>& named = {}) {
  std::vector<group> groups{{"", {}, {}}};
  const auto group_for = [&](const std::string& key) -> group& {
    const std::string name = key.find('.') == std::string::npos ? "" : first_part(key);
    const auto g = std::find_if(groups.begin(), groups.end(), [&](const group& x) { return x.name == name; });
    return g == groups.end() ? *groups.insert(groups.end(), {name, {}, {}}) : *g;
  };
  for (const entry& e : entries) group_for(e.key).entries.push_back(&e);
  for (const named_entry& e : named) group_for(e.key).named.push_back(&e);
  return groups;
}

constexpr const char* any_name = ".NAME";
constexpr const char* named_type = "numbers by name";

std::string unit_text(const entry& e) { return e.info.unit.empty() || e.info.unit == "1" ? "" : e.info.unit; }

struct widths {
  std::size_t key = 0, type = 0, value = 0, limits = 0;
};

std::string limits_text(const entry& e) {
  const std::string unit = unit_text(e);
  const std::string range = range_text(e.info);
  if (unit.empty()) return range;
  return range.empty() ? unit : unit + ", " + range;
}

std::string markdown_cell(std::string text) {
  for (std::size_t i = 0; (i = text.find('|', i)) != std::string::npos; i += 2) text.insert(i, 1, '\\');
  return text;
}

}  // namespace

namespace {

std::string row(const widths& w, const std::string& key, const std::string& type, const std::string& value,
                const config_info& info, const std::string& limits) {
  std::string text = fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}", key, w.key, type, w.type, value, w.value,
                                 limits, w.limits, info.help);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + '\n';
}

std::string options_of(const std::vector<entry>& entries, const std::vector<named_entry>& named,
                       const std::vector<section_title>& sections, bool of_list) {
  widths w;
  for (const entry& e : entries) {
    w.key = std::max(w.key, e.key.size());
    w.type = std::max(w.type, type_text(e).size());
    w.value = std::max(w.value, text_of(e, e.initial).size());
    w.limits = std::max(w.limits, limits_text(e).size());
  }
  std::string text;
  for (const group& g : groups_of(entries, named)) {
    if (g.empty()) continue;
    if (!g.name.empty() && !of_list) {
      const std::string title = title_of(sections, g.name);
      text += fmt::format("{}[{}]{}{}\n", text.empty() ? "" : "\n", g.name, title.empty() ? "" : " ", title);
    }
    for (const entry* e : g.entries)
      text += row(w, e->key, type_text(*e), text_of(*e, e->initial), e->info, limits_text(*e));
    for (const named_entry* e : g.named) text += row(w, e->key + any_name, named_type, "", e->info, "");
  }
  return text;
}

std::string table_head() { return "| key | type | default | unit | range | meaning |\n|---|---|---|---|---|---|\n"; }

std::string table_rows(const group& g) {
  std::string text;
  for (const entry* e : g.entries)
    text += fmt::format("| `{}` | {} | `{}` | {} | {} | {} |\n", e->key, type_text(*e),
                        markdown_cell(text_of(*e, e->initial)), markdown_cell(e->info.unit),
                        markdown_cell(range_text(e->info)), markdown_cell(e->info.help));
  for (const named_entry* e : g.named)
    text += fmt::format("| `{}{}` | {} | | {} | | {} |\n", e->key, any_name, named_type, markdown_cell(e->info.unit),
                        markdown_cell(e->info.help));
  return text;
}

std::string toml_of(const group& g, std::size_t skip) {
  std::string text;
  for (const entry* e : g.entries) text += fmt::format("{} = {}\n", e->key.substr(skip), text_of(*e, e->bound->get()));
  for (const named_entry* e : g.named)
    for (const named_number& n : *e->values)
      text += fmt::format("{}.{} = {}\n", e->key.substr(skip), n.name, text_of(element(n.value)));
  return text;
}

}  // namespace

std::string config_table::text_options() const {
  std::string text = options_of(state_->entries, state_->named, state_->sections, false);
  for (const list_entry& l : state_->lists) {
    const config_table item = l.list->of_defaults();
    text += fmt::format("\n[[{}]] {}\n{}", l.key, l.title, options_of(item.state_->entries, {}, {}, true));
  }
  return text;
}

std::string config_table::markdown() const {
  std::string text;
  for (const group& g : groups_of(state_->entries, state_->named)) {
    if (g.empty()) continue;
    const std::string title = title_of(state_->sections, g.name);
    if (!g.name.empty()) text += fmt::format("{}## {}\n\n", text.empty() ? "" : "\n", title.empty() ? g.name : title);
    text += table_head() + table_rows(g);
  }
  for (const list_entry& l : state_->lists) {
    const config_table item = l.list->of_defaults();
    text += fmt::format("\n## {} (`[[{}]]`)\n\n{}", l.title, l.key, table_head());
    for (const group& g : groups_of(item.state_->entries)) text += table_rows(g);
  }
  return text;
}

std::string config_table::text_effective() const {
  std::vector<std::pair<std::string, std::string>> lines;  // "key = value", source
  for (const entry& e : state_->entries)
    lines.emplace_back(fmt::format("{} = {}", e.key, text_of(e, e.bound->get())), e.source);
  for (const named_entry& e : state_->named)
    for (const named_number& n : *e.values)
      lines.emplace_back(fmt::format("{}.{} = {}", e.key, n.name, text_of(element(n.value))), e.source);
  for (const list_entry& l : state_->lists) {
    std::size_t number = 0;
    for (const config_table& item : l.list->items()) {
      for (const entry& e : item.state_->entries)
        lines.emplace_back(
            fmt::format("{}[{}]{} = {}", l.key, number, e.key.substr(l.key.size()), text_of(e, e.bound->get())),
            l.source);
      ++number;
    }
  }
  std::size_t width = 0;
  for (const auto& [left, source] : lines) width = std::max(width, left.size());
  std::string text;
  for (const auto& [left, source] : lines) text += fmt::format("{:<{}}  # {}\n", left, width, printable(source));
  return text;
}

std::string config_table::toml() const {
  std::string text;
  for (const group& g : groups_of(state_->entries, state_->named)) {
    if (!g.name.empty()) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", g.name);
    text += toml_of(g, g.name.empty() ? 0 : g.name.size() + 1);
  }
  for (const list_entry& l : state_->lists)
    for (const config_table& item : l.list->items()) {
      text += fmt::format("\n[[{}]]\n", l.key);
      for (const group& g : groups_of(item.state_->entries)) text += toml_of(g, l.key.size() + 1);
    }
  return text;
}

}  // namespace plx

namespace plx::config_detail {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", int{c});
    else
      out += c;
  }
  return out += '"';
}

std::string number_text(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", d);  // the shortest text that reads back to the same bits
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool bounded_below(double d) { return d > -std::numeric_limits<double>::infinity(); }
bool bounded_above(double d) { return d < std::numeric_limits<double>::infinity(); }

bool in_range(const config_info& info, double v) {
  return v >= info.min && v <= info.max && (!bounded_below(info.above) || v > info.above);  // false for NaN
}

}  // namespace

std::string text_of(const element& e) {
  switch (static_cast<element_type>(e.index())) {
    case element_type::boolean:
      return std::get<bool>(e) ? "true" : "false";
    case element_type::integer:
      return fmt::format("{}", std::get<std::int64_t>(e));
    case element_type::number:
      return number_text(std::get<double>(e));
    case element_type::string:
      break;
  }
  return quoted(std::get<std::string>(e));
}

std::string text_of(const entry& e, const std::vector<element>& values) {
  if (e.form == shape::scalar) return text_of(values.at(0));
  std::string text = "[";
  for (const element& v : values) (text += text.size() > 1 ? ", " : "") += text_of(v);
  return text += "]";
}

std::string type_text(const entry& e) {
  constexpr const char* names[] = {"boolean", "integer", "number", "string"};
  const char* name = names[static_cast<int>(e.type)];
  if (e.form == shape::scalar) return name;
  if (e.form == shape::any_length) return fmt::format("array of {}s", name);
  return fmt::format("array of {} {}s", e.length, name);
}

std::string range_text(const config_info& info) {
  if (!info.choices.empty()) return fmt::format("one of {}", fmt::join(info.choices, ", "));
  const bool open = bounded_below(info.above) && info.above >= info.min;
  const bool below = open || bounded_below(info.min);
  const bool above = bounded_above(info.max);
  const double least = open ? info.above : info.min;
  if (below && above) return fmt::format("in {}{}, {}]", open ? "(" : "[", least, info.max);
  if (below) return fmt::format("{} {}", open ? ">" : ">=", least);
  return above ? fmt::format("<= {}", info.max) : "";
}

result<void> check(const entry& e, const element& value) {
  if (e.type == element_type::string && !e.info.choices.empty()) {
    const std::string& text = std::get<std::string>(value);
    if (std::find(e.info.choices.begin(), e.info.choices.end(), text) != e.info.choices.end()) return {};
    return error{fmt::format("'{}' must be {}, found {}{}", e.key, range_text(e.info), text_of(value),
                             did_you_mean(text, e.info.choices))};
  }
  if (e.type != element_type::integer && e.type != element_type::number) return {};
  const auto* whole = std::get_if<std::int64_t>(&value);
  const double v = whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
  if (std::isinf(v) || (std::isnan(v) && range_text(e.info).empty()))
    return error{fmt::format("'{}' must be finite, found {}", e.key, text_of(value))};
  if (!in_range(e.info, v))
    return error{fmt::format("'{}' must be {}, found {}", e.key, range_text(e.info), text_of(value))};
  using int_limits = std::numeric_limits<int>;
  if (e.fits_int && (*whole < int_limits::min() || *whole > int_limits::max()))
    return error{
        fmt::format("'{}' must be in [{}, {}], found {}", e.key, int_limits::min(), int_limits::max(), *whole)};
  return {};
}

result<void> check(const named_entry& e, const named_number& n) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto fits = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (n.name.empty() || !is_letter(n.name[0]) || !std::all_of(n.name.begin(), n.name.end(), fits))
    return error{
        fmt::format("'{}.{}': expected a name of letters, digits and _, which begins with a letter", e.key, n.name)};
  if (std::isfinite(n.value)) return {};
  return error{fmt::format("'{}.{}' must be finite, found {}", e.key, n.name, text_of(element(n.value)))};
}

}  // namespace plx::config_detail
