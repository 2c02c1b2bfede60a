#include "probe/monitor/proc_file.hpp"

#include <charconv>
#include <stdexcept>

#include "base/file.hpp"

namespace plx::probe {

std::shared_ptr<const std::string> proc_file::text() {
  const std::lock_guard lock(mutex_);
  const ticks now = now_ticks();
  if (text_ != nullptr && now - read_at_ < ticks_from(1e-3)) return text_;
  auto read = read_file(path_);
  if (!read) throw std::runtime_error(read.error().message);
  text_ = std::make_shared<const std::string>(std::move(*read));
  read_at_ = now_ticks();
  return text_;
}

std::vector<std::string_view> split_words(std::string_view line) {
  constexpr std::string_view space = " \t";
  std::vector<std::string_view> words;
  for (;;) {
    line.remove_prefix(std::min(line.find_first_not_of(space), line.size()));
    if (line.empty()) return words;
    const std::size_t end = std::min(line.find_first_of(space), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::optional<std::vector<std::string_view>> words_of_line(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (key.ends_with(':') || line.empty() || line[0] == ' ' || line[0] == '\t') return split_words(line);
  }
  return std::nullopt;
}

std::optional<double> number_of(std::string_view word) {
  double value = 0;
  const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (failed != std::errc()) return std::nullopt;
  return value;
}

}  // namespace plx::probe
