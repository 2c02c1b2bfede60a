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
};
std::vector<group> groups_of(const std::vector<entry>& entries) {
  std::vector<group> groups{{"", {}}};
  for (const entry& e : entries) {
    const std::string name = e.key.find('.') == std::string::npos ? "" : first_part(e.key);
    auto g = std::find_if(groups.begin(), groups.end(), [&](const group& x) { return x.name == name; });
    if (g == groups.end()) g = groups.insert(groups.end(), {name, {}});
    g->entries.push_back(&e);
  }
  return groups;
}

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

std::string config_table::text_options() const {
  widths w;
  for (const entry& e : state_->entries) {
    w.key = std::max(w.key, e.key.size());
    w.type = std::max(w.type, type_text(e).size());
    w.value = std::max(w.value, text_of(e, e.initial).size());
    w.limits = std::max(w.limits, limits_text(e).size());
  }
  std::string text;
  for (const group& g : groups_of(state_->entries)) {
    if (g.entries.empty()) continue;
    if (!g.name.empty()) {
      const std::string title = title_of(state_->sections, g.name);
      text += fmt::format("{}[{}]{}{}\n", text.empty() ? "" : "\n", g.name, title.empty() ? "" : " ", title);
    }
    for (const entry* e : g.entries) {
      text += fmt::format("  {:<{}}  {:<{}}  {:<{}}  {:<{}}  {}", e->key, w.key, type_text(*e), w.type,
                          text_of(*e, e->initial), w.value, limits_text(*e), w.limits, e->info.help);
      text.erase(text.find_last_not_of(' ') + 1);
      text += '\n';
    }
  }
  return text;
}

std::string config_table::markdown() const {
  std::string text;
  for (const group& g : groups_of(state_->entries)) {
    if (g.entries.empty()) continue;
    const std::string title = title_of(state_->sections, g.name);
    if (!g.name.empty()) text += fmt::format("{}## {}\n\n", text.empty() ? "" : "\n", title.empty() ? g.name : title);
    text += "| key | type | default | unit | range | meaning |\n|---|---|---|---|---|---|\n";
    for (const entry* e : g.entries) {
      text += fmt::format("| `{}` | {} | `{}` | {} | {} | {} |\n", e->key, type_text(*e),
                          markdown_cell(text_of(*e, e->initial)), markdown_cell(e->info.unit),
                          markdown_cell(range_text(e->info)), markdown_cell(e->info.help));
    }
  }
  return text;
}

std::string config_table::text_effective() const {
  std::vector<std::string> left;
  std::size_t width = 0;
  for (const entry& e : state_->entries) {
    left.push_back(fmt::format("{} = {}", e.key, text_of(e, e.bound->get())));
    width = std::max(width, left.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < left.size(); ++i)
    text += fmt::format("{:<{}}  # {}\n", left[i], width, state_->entries[i].source);
  return text;
}

std::string config_table::toml() const {
  std::string text;
  for (const group& g : groups_of(state_->entries)) {
    if (!g.name.empty()) text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", g.name);
    const std::size_t skip = g.name.empty() ? 0 : g.name.size() + 1;
    for (const entry* e : g.entries)
      text += fmt::format("{} = {}\n", e->key.substr(skip), text_of(*e, e->bound->get()));
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

}  // namespace plx::config_detail
