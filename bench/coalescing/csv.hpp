// The file to which lines of measurements are appended.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace plx::bench {

struct csv_closing {
  void operator()(std::FILE* f) const noexcept {
    if (f != stdout) std::fclose(f);
  }
};
using csv_file = std::unique_ptr<std::FILE, csv_closing>;

/// Opens the file for appending; a new one starts with the names of the columns. "": standard output. Null: it cannot
/// be written.
csv_file open_csv(const std::string& path);

}  // namespace plx::bench
