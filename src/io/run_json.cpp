#include "io/run_json.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.hpp"
#include "base/process.hpp"
#include "base/text.hpp"

namespace plx {
namespace {

using json = nlohmann::ordered_json;

// The run.json of a folder; an empty object if it is missing or damaged.
json run_json(const std::string& folder) {
  const auto text = read_file(folder + "/run.json");
  json all = text ? json::parse(*text, nullptr, false) : json::object();
  return all.is_object() ? all : json::object();
}

}  // namespace

machine_facts this_machine() { return {host_name(), processor_model(), usable_processors()}; }

// Field 22 of /proc/self/stat; the name in parentheses before it may contain any character.
process_facts this_process() {
  process_facts p{getpid(), 0, "", ""};
  std::string line;
  std::ifstream stat("/proc/self/stat");
  std::getline(stat, line);
  std::istringstream fields(line.substr(std::min(line.size(), line.rfind(')') + 1)));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  fields >> p.started_ticks;
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  std::getline(boot, p.boot);
  char name[64];
  if (const ssize_t n = readlink("/proc/self/ns/pid", name, sizeof name); n > 0)
    p.numbers.assign(name, static_cast<std::size_t>(n));
  return p;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string json_of(const machine_facts& m) {
  return fmt::format("{{\"host\": {}, \"cpu\": {}, \"cores\": {}}}", json_text(m.host), json_text(m.cpu), m.cores);
}

std::string json_of(const process_facts& p) {
  return fmt::format("{{\"pid\": {}, \"started_ticks\": {}, \"boot\": {}, \"numbers\": {}}}", p.pid, p.started_ticks,
                     json_text(p.boot), json_text(p.numbers));
}

std::string program_of_run(const std::string& folder) {
  const json program = run_json(folder)["program"];
  return program.is_string() ? program.get<std::string>() : "";
}

std::string run_status_in(const std::string& folder) {
  const json program = run_json(folder)["status"];
  return program.is_string() ? program.get<std::string>() : "";
}

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
  json all = folder.empty() ? json::array() : run_json(folder)["changed_options"];
  if (!all.is_array()) all = json::array();
  const std::string time = utc_now();
  for (const option_change& c : changes)
    all.push_back({{"key", c.key}, {"was", c.was}, {"value", c.value}, {"by", std::string(by)}, {"time", time}});
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace plx
