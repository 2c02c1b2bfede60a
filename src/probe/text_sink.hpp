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

}  // namespace plx::probe
