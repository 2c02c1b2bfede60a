#include "io/run_table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/file.hpp"
#include "base/text.hpp"

namespace plx {
namespace {

constexpr std::size_t most_quoted = 60;

bool is_number(std::string_view cell) {
  double value = 0;
  const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return read.ptr == cell.data() + cell.size() && read.ec != std::errc::invalid_argument && !cell.empty();
}

bool is_word(std::string_view cell) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !cell.empty() && std::all_of(cell.begin(), cell.end(), fits) && !is_number(cell);
}

/// The lines of a table, each split into cells.
class line_reader {
 public:
  line_reader(const std::string& path, std::string_view text) : path_(path), text_(text), rest_(text) {}

  /// The next line without its line break; none at the end of the text.
  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t end = rest_.find('\n');
    is_whole_ = end != rest_.npos;
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(is_whole_ ? end + 1 : rest_.size());
    ++number_;
    cells_.clear();
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      cells_.push_back(line.substr(at, comma - at));
      at = comma + 1;
    }
    return line;
  }
  /// Does the line that was read last end with a line break?
  bool is_whole() const { return is_whole_; }
  const std::vector<std::string_view>& cells() const { return cells_; }
  std::size_t bytes_read() const { return text_.size() - rest_.size(); }
  error wrong(std::string_view expected, std::string_view found) const {
    return error{fmt::format("'{}', line {}: expected {}, found '{}'", path_, std::max<std::size_t>(number_, 1),
                             expected, printable(found, most_quoted))};
  }

 private:
  const std::string& path_;
  std::string_view text_, rest_;
  std::vector<std::string_view> cells_;
  std::size_t number_ = 0;
  bool is_whole_ = false;
};

result<std::vector<std::string_view>> read_names(line_reader& lines) {
  const auto line = lines.next();
  const auto& cells = lines.cells();
  if (!line || !lines.is_whole() || !std::all_of(cells.begin(), cells.end(), is_word))
    return lines.wrong("a line with the names of the columns", line.value_or(""));
  return cells;
}

result<void> check_row(const line_reader& lines, std::string_view line, const std::vector<std::string_view>& names,
                       std::string_view of_words, bool may_be_empty) {
  if (lines.cells().size() != names.size())
    return lines.wrong(fmt::format("a row of {}", plural(names.size(), "value")), line);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view cell = lines.cells()[i];
    if (names[i] == of_words ? is_word(cell) : is_number(cell) || (may_be_empty && cell.empty())) continue;
    return lines.wrong(fmt::format("a {} in the column '{}'", names[i] == of_words ? "word" : "number", names[i]),
                       cell);
  }
  return {};
}

}  // namespace

result<void> check_table(const std::string& path, std::string_view text, std::string_view of_words) {
  line_reader lines(path, text);
  const auto names = read_names(lines);
  if (!names) return names.error();
  while (const auto line = lines.next()) {
    if (auto r = check_row(lines, *line, *names, of_words, true); !r) return r;
    if (!lines.is_whole()) return lines.wrong("a line break at the end of the row", *line);
  }
  return {};
}

result<std::size_t> bytes_up_to_step(const std::string& path, std::string_view text, std::string_view names,
                                     std::int64_t step, std::int64_t last_row) {
  line_reader lines(path, text);
  const auto found = read_names(lines);
  if (!found) return found.error();
  if (!names.empty() && !text.starts_with(names))
    return lines.wrong(fmt::format("the columns '{}' of this program", names.substr(0, names.size() - 1)),
                       text.substr(0, text.find('\n')));
  std::size_t kept = lines.bytes_read();
  std::int64_t last = -1;
  while (const auto line = lines.next()) {
    if (!lines.is_whole()) break;
    if (auto r = check_row(lines, *line, *found, {}, false); !r) return r.error();
    const std::string_view first = lines.cells()[0];
    std::int64_t of_row = -1;
    std::from_chars(first.data(), first.data() + first.size(), of_row);
    if (of_row > step) break;
    if (of_row <= last) return lines.wrong(fmt::format("a step above {}", last), first);
    last = of_row;
    kept = lines.bytes_read();
  }
  if (last < last_row)
    return error{fmt::format("'{}': expected rows up to step {}, as when the checkpoint was written, found {}", path,
                             last_row, last < 0 ? "none" : fmt::format("the last at step {}", last))};
  return kept;
}

result<void> sync_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return file_error("open", path, errno);
  const int number = fsync(descriptor) == 0 || errno == EINVAL ? 0 : errno;  // EINVAL: a file system without fsync
  close(descriptor);
  return number == 0 ? result<void>() : file_error("write", path, number);
}

result<void> shorten_file(const std::string& path, std::uint64_t bytes) {
  std::error_code failed;
  if (std::filesystem::file_size(path, failed) > bytes && !failed) std::filesystem::resize_file(path, bytes, failed);
  return failed ? file_error("shorten", path, failed.value()) : result<void>();
}

result<std::vector<std::uint64_t>> sizes_of_tables(const std::string& folder, std::span<const char* const> names) {
  std::vector<std::uint64_t> sizes;
  for (const char* name : names) {
    const std::string path = folder + "/" + name;
    std::error_code missing;
    const auto bytes = std::filesystem::file_size(path, missing);
    sizes.push_back(missing ? 0 : bytes);
    if (missing) continue;
    if (auto r = sync_file(path); !r) return r.error();
  }
  return sizes;
}

result<void> shorten_tables(const std::string& folder, std::span<const char* const> names,
                            const std::vector<std::uint64_t>& bytes, std::string_view of_words) {
  constexpr const char* advice = "it was changed after the run: restore it, or start the run again in another folder";
  for (std::size_t i = 0; i < std::min(names.size(), bytes.size()); ++i) {
    if (bytes[i] == 0) continue;
    const std::string path = folder + "/" + names[i];
    const auto text = read_file(path);
    const std::size_t found = text ? text->size() : 0;
    if (found < bytes[i])
      return error{fmt::format("'{}': expected at least the {} that the checkpoint refers to, found {}; {}", path,
                               plural(bytes[i], "byte"), found, advice)};
    if (auto r = check_table(path, std::string_view(*text).substr(0, bytes[i]), of_words); !r)
      return error{fmt::format("{}; {}", r.error().message, advice)};
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string path = folder + "/" + names[i];
    if (std::error_code code; !std::filesystem::exists(path, code)) continue;
    if (auto r = shorten_file(path, i < bytes.size() ? bytes[i] : 0); !r) return r;
  }
  return {};
}

}  // namespace plx
