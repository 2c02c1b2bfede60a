// Text output to a stream or a file within a bounded time: a consumer that does not read does not delay the program.
//
// A regular file is written as by append_file(). A pipe, a FIFO, a terminal or a socket is written as far as it accepts
// data; if it makes no progress for the given time, the text is dropped and counted. A partly written text is completed
// by the next call, so that lines stay intact. After a timeout, calls do not wait until the consumer reads again. A
// FIFO without a reader counts as a consumer that does not read. SIGPIPE is not raised.
// Thread safety: one call at a time. Cost: a write(), and a poll() for anything but a regular file.
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
  /// `to`: "stdout", "stderr" or a path. Nothing is opened before the first write().
  explicit bounded_output(std::string to);
  ~bounded_output();
  bounded_output(const bounded_output&) = delete;
  bounded_output& operator=(const bounded_output&) = delete;

  /// Appends `text`, preceded by `header` in a new or empty file, and once in anything else. Waits at most `timeout_s`
  /// for a consumer to make progress. A dropped text is not an error.
  result<void> write(std::string_view header, std::string_view text, double timeout_s);
  /// The number of dropped texts.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  struct target;
  result<void> write_target(const target& t, std::string_view header, std::string_view text, double timeout_s);
  void open_fifo();

  const std::string to_;
  std::string rest_;  // the rest of a partly written text
  bool header_written_ = false;
  bool stalled_ = false;  // the last call timed out
  std::uint64_t dropped_ = 0;
  int fifo_ = -1;  // stays open: a reader would take a close for the end of the output
};

}  // namespace plx::probe
