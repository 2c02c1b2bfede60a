// Files of /proc: cached for a short time, and numbers found in their text.
//
// Thread safety: all functions are thread-safe. Cost: the system generates the file in some microseconds (/proc/stat of
// a large machine: a millisecond); counters of one file that are read together share one read.
// Errors: a missing file or number throws std::runtime_error with one line, which becomes the counter's problem.
// Example: probe/monitor/test/proc_test.cpp
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace plx::probe {

class proc_file {
 public:
  explicit proc_file(std::string path) : path_(std::move(path)) {}
  /// The text, at most a millisecond old.
  std::shared_ptr<const std::string> text();
  /// The file's path.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  const std::string path_;
  std::mutex mutex_;
  std::shared_ptr<const std::string> text_;
  ticks read_at_ = 0;
};

/// The first line of a file of /proc or /sys; "" if it cannot be read.
std::string first_line_of(const std::string& path);
/// The words of the line that begins with `key`, without the key: "cpu", "MemTotal:", "voluntary_ctxt_switches:". A key
/// ends at a space or is followed by one. Nothing if there is no such line.
std::optional<std::vector<std::string_view>> words_of_line(std::string_view text, std::string_view key);
/// The words of a line, which spaces or tabs separate.
std::vector<std::string_view> split_words(std::string_view line);
/// The number at the start of a word; nothing if there is none.
std::optional<double> number_of(std::string_view word);

}  // namespace plx::probe
