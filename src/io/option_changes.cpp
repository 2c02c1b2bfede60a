#include "io/option_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/file.hpp"
#include "base/text.hpp"
#include "io/run_facts.hpp"

namespace plx {
namespace {

// The items of the list in the run.json of a folder, without brackets.
std::string earlier_items(const std::string& folder) {
  const auto text = folder.empty() ? result<std::string>(error{}) : read_file(folder + "/run.json");
  if (!text) return "";
  constexpr std::string_view begin = "\"changed_options\": [";
  const std::size_t at = text->find(begin);
  if (at == text->npos) return "";
  const std::size_t first = at + begin.size(), line_end = std::min(text->find('\n', first), text->size());
  const std::size_t end = text->rfind(']', line_end);
  return end == text->npos || end < first ? "" : text->substr(first, end - first);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> option_values(std::string_view toml) {
  std::vector<std::pair<std::string, std::string>> all;
  std::map<std::string, int> items;
  std::string section;
  for (std::size_t at = 0, end = 0; at < toml.size(); at = end + 1) {
    end = std::min(toml.find('\n', at), toml.size());
    const std::string_view line = toml.substr(at, end - at);
    if (line.starts_with("[[")) {
      const std::string name(line.substr(2, line.find(']') - 2));
      section = fmt::format("{}[{}].", name, items[name]++);
    } else if (line.starts_with('[')) {
      section = std::string(line.substr(1, line.find(']') - 1)) + ".";
    } else if (const std::size_t equals = line.find(" = "); equals != line.npos) {
      all.emplace_back(section + std::string(line.substr(0, equals)), std::string(line.substr(equals + 3)));
    }
  }
  return all;
}

std::vector<option_change> option_changes(std::string_view before, std::string_view now) {
  const auto old_values = option_values(before), values = option_values(now);
  const auto value_in = [](const auto& all, const std::string& key) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& v) { return v.first == key; });
    return found == all.end() ? std::string() : found->second;
  };
  std::vector<option_change> changes;
  for (const auto& [key, value] : values)
    if (std::string was = value_in(old_values, key); was != value) changes.push_back({key, std::move(was), value});
  for (const auto& [key, was] : old_values)
    if (value_in(values, key).empty()) changes.push_back({key, was, ""});
  return changes;
}

std::string changed_options_json(const std::string& folder, std::span<const option_change> changes,
                                 std::string_view by) {
  std::string items = earlier_items(folder);
  const std::string time = utc_now();
  for (const option_change& c : changes)
    items += fmt::format("{}{{\"key\": {}, \"was\": {}, \"value\": {}, \"by\": {}, \"time\": {}}}",
                         items.empty() ? "" : ", ", json_text(c.key), json_text(c.was), json_text(c.value),
                         json_text(std::string(by)), json_text(time));
  return "[" + items + "]";
}

}  // namespace plx
