#include "control/tuning_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"

namespace plx::probe {
namespace {

constexpr std::string_view heading = "parallax tuning 1\n";

/// FNV-1a: detects damage, not manipulation.
std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

std::string definition_of(const tuning_options& o) {
  std::string all = o.aim == goal::minimise ? "least" : "most";
  for (const parameter& p : o.space) all += "; " + p.definition();
  return all;
}

/// Replaces line breaks by spaces.
std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

/// The value of the line "key=...", which is removed from `text`; empty if the line has another key.
std::optional<std::string_view> take_line(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key) || text.substr(key.size(), 1) != "=") return std::nullopt;
  const std::string_view value = text.substr(key.size() + 1, end - key.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

template <class T>
bool read_number(std::optional<std::string_view> text, T& value) {
  if (!text) return false;
  const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
  return failed == std::errc{} && end == text->data() + text->size();
}

result<tuned_result> parse(std::string_view text, const tuning_options& o) {
  const error damaged{"the file is damaged"};
  const std::size_t check = text.rfind("check=");
  if (!text.starts_with(heading) || check == std::string_view::npos) return damaged;
  if (text.substr(check) != fmt::format("check={:016x}\n", hash_of(text.substr(0, check)))) return damaged;
  text.remove_prefix(heading.size());
  if (take_line(text, "name") != one_line(o.name)) return error{"it belongs to another session"};
  if (take_line(text, "machine") != tuning_machine()) return error{"it belongs to another machine"};
  if (take_line(text, "space") != one_line(definition_of(o))) return error{"its parameters differ"};
  tuned_result r;
  for (const parameter& p : o.space) {
    const auto line = take_line(text, "best");
    if (!line) return damaged;
    const auto value = p.parse(*line);
    if (!value) return damaged;
    r.best.push_back(p.place_of(*value));
  }
  if (!read_number(take_line(text, "value"), r.value)) return damaged;
  if (!read_number(take_line(text, "evaluations"), r.evaluations)) return damaged;
  return r;
}

}  // namespace

std::string default_tuning_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/parallax";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/parallax";
  return {};
}

std::string tuning_machine() {
  std::string model = "processor";
  if (const auto info = read_file("/proc/cpuinfo")) {
    const std::size_t at = info->find("model name");
    const std::size_t colon = at == std::string::npos ? at : info->find(": ", at);
    if (colon != std::string::npos) model = info->substr(colon + 2, info->find('\n', colon) - colon - 2);
  }
  return one_line(fmt::format("{} x {}", sysconf(_SC_NPROCESSORS_ONLN), model));
}

std::string tuning_file(const std::string& folder, std::string_view name) {
  std::string readable;
  for (const char c : name.substr(0, 60)) readable += std::isalnum(static_cast<unsigned char>(c)) ? c : '-';
  return fmt::format("{}/{}-{:016x}.tuned", folder, readable, hash_of(name));
}

std::optional<tuned_result> load_tuned(const tuning_options& o) {
  const std::string path = tuning_file(o.cache_folder, o.name);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const auto text = read_file(path);
  auto r = text ? parse(*text, o) : result<tuned_result>(text.error());
  if (r) return *r;
  log_warning("tuning '{}' starts from the beginning, {} is not used: {}", o.name, path, r.error().message);
  return std::nullopt;
}

result<void> store_tuned(const tuning_options& o, const tuned_result& r) {
  std::error_code failed;
  std::filesystem::create_directories(o.cache_folder, failed);
  if (failed) return error{fmt::format("cannot create the folder '{}': {}", o.cache_folder, failed.message())};
  std::string text = fmt::format("{}name={}\nmachine={}\nspace={}\n", heading, one_line(o.name), tuning_machine(),
                                 one_line(definition_of(o)));
  for (std::size_t i = 0; i < o.space.size(); ++i)
    text += fmt::format("best={}\n", o.space[i].text_of(o.space[i].value_at(r.best[i])));
  text += fmt::format("value={}\nevaluations={}\n", r.value, r.evaluations);
  text += fmt::format("check={:016x}\n", hash_of(text));
  return write_file(tuning_file(o.cache_folder, o.name), text);
}

}  // namespace plx::probe
