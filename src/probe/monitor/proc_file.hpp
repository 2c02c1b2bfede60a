// Files of /proc: read again when what was read is old, and numbers found in their text.
//
// Thread safety: everything. Cost: of the system's making the file, some microseconds (/proc/stat of a large machine:
// a millisecond); several counters of one file that are read at once share one reading.
// Errors: a file or a number that is not there throws std::runtime_error with one line, which becomes the counter's
// problem. Example: probe/monitor/test/proc_test.cpp
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

/// The words of the line that begins with `key`, without it: "cpu", "MemTotal:", "voluntary_ctxt_switches:". A key
/// ends at a space or is followed by one. Nothing when there is no such line.
std::optional<std::vector<std::string_view>> words_of_line(std::string_view text, std::string_view key);
/// The words of a line.
std::vector<std::string_view> split_words(std::string_view line);
/// A number at the start of a word; nothing when there is none.
std::optional<double> number_of(std::string_view word);

}  // namespace plx::probe
