// Text for a stream or a file, written within a bounded time: a consumer that does not read delays nothing.
//
// A regular file is written as append_file() does. A pipe, a FIFO, a terminal or a socket takes what it has room for;
// when it makes no progress for the given time, the text is dropped and counted. A text that was written in part is
// completed by the next call, so that no line is torn. The next call does not wait until the consumer reads again.
// A FIFO without a reader counts as a consumer that does not read. SIGPIPE is not raised.
// Thread safety: one call at a time. Cost: of a write(); of a poll() for anything that is no regular file.
// Example: session/test/bounded_output_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx::probe {

class bounded_output {
 public:
  /// "stdout", "stderr" or a path. Nothing is opened before the first write().
  explicit bounded_output(std::string to);
  ~bounded_output();
  bounded_output(const bounded_output&) = delete;
  bounded_output& operator=(const bounded_output&) = delete;

  /// Appends `text`; `header` comes first in a file that is new or empty, and once in anything else. Waits at most
  /// `patience_s` for a consumer to make progress. A text that was dropped is no error.
  result<void> write(std::string_view header, std::string_view text, double patience_s);
  /// Texts that were dropped.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  struct target;
  result<void> write_target(const target& t, std::string_view header, std::string_view text, double patience_s);
  void open_fifo();

  const std::string to_;
  std::string rest_;  // of a text that was written in part
  bool header_written_ = false;
  bool stalled_ = false;  // the last call ended by a consumer that did not read
  std::uint64_t dropped_ = 0;
  int fifo_ = -1;  // stays open: a reader would take a close for the end
};

}  // namespace plx::probe
