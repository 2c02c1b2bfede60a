// The file that lines of measurements are appended to.
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

/// Opens it for more lines; a new one begins with the names of the columns. "": standard output. Null: it cannot be
/// written.
csv_file open_csv(const std::string& path);

}  // namespace plx::bench
