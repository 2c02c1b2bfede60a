// Text to a file that appears whole or not at all, compressed (gzip) when its name ends in .gz.
//
// Thread safety: one thread at a time. Errors: base/file.hpp's. Example: probe/trace_json_test.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace plx::probe {

class text_sink {
 public:
  /// `path`, with ".gz" at its end if this build can compress.
  static std::string compressed_name(std::string path);
  /// Begins a file that will appear as `path` at commit().
  static result<std::unique_ptr<text_sink>> create(const std::string& path);
  virtual ~text_sink() = default;
  /// Appends.
  virtual result<void> write(std::string_view text) = 0;
  /// Requires: called at most once, and nothing written after.
  virtual result<void> commit() = 0;
};

// One field of a CSV file. Thread safety: everything. Example: probe/record/test/csv_test.cpp

/// The text as it is, or in quotes with inner quotes doubled when it holds a comma, a quote or a line break (RFC 4180).
std::string csv_field(std::string_view text);

}  // namespace plx::probe
