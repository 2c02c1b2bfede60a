// Writing configuration: options for people, effective values, TOML.
#include <fmt/format.h>

#include <algorithm>

#include "base/config_detail.hpp"

namespace plx {

using namespace config_detail;

namespace {

std::string first_part(const std::string& key) { return key.substr(0, std::min(key.find('.'), key.size())); }

std::string title_of(const std::vector<section_title>& sections, const std::string& name) {
  for (const section_title& s : sections)
    if (s.name == name) return s.title;
  return "";
}

/// The entries grouped by section, sections in the order of their first key; keys without a section come first, as TOML
/// wants it.
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
