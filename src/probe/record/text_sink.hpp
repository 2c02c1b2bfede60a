// Text output to a file that appears completely or not at all, compressed (gzip) if its name ends in .gz.
//
// The files of a measurement are unsynced (base/file.hpp): a program that ends does not wait for the disk.
//
// Thread safety: one thread at a time. Errors: as in base/file.hpp. Example: trace/tools/test/json_trace_test.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx::probe {

class text_sink {
 public:
  /// `path`, followed by ".gz" if this build supports compression.
  static std::string compressed_name(std::string path);
  /// Starts a file that appears as `path` at commit().
  static result<std::unique_ptr<text_sink>> create(const std::string& path);
  virtual ~text_sink() = default;
  /// Appends text.
  virtual result<void> write(std::string_view text) = 0;
  /// Requires: called at most once, and no write() after it.
  virtual result<void> commit() = 0;
};

/// Writes a whole file of a measurement, unsynced.
result<void> write_measurement(const std::string& path, std::string_view content);

// A field of a CSV file. Thread safety: all functions are thread-safe. Example: probe/record/test/csv_test.cpp

/// The text unchanged, or quoted with inner quotes doubled if it contains a comma, a quote or a line break (RFC 4180).
std::string csv_field(std::string_view text);

}  // namespace plx::probe
