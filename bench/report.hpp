// The results of a benchmark program: printed as lines, and written as JSON with `--json FILE`.
// Not thread-safe: one report per program, used by main. bench/README.md describes the convention.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace plx::bench {

enum direction { lower, higher };

/// The median (for an even number of values, the mean of the middle two). Requires: at least one value.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

class report {
 public:
  /// Removes `--json FILE` from the command line; `rest()` holds the other arguments.
  report(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
        path_ = argv[++i];
      } else {
        rest_.emplace_back(argv[i]);
      }
    }
  }

  const std::vector<std::string>& rest() const { return rest_; }

  /// Adds a result. `name` is workload/variant; names and units contain no quotes or backslashes.
  void add(std::string name, double value, std::string unit, direction better) {
    std::printf("%-28s %12.4g %-24s (%s is better)\n", name.c_str(), value, unit.c_str(),
                better == lower ? "lower" : "higher");
    std::fflush(stdout);
    rows_.push_back({std::move(name), value, std::move(unit), better});
  }

  /// Writes the file if requested. Returns the exit code of the program: 0, or 1 if the file cannot be written.
  int finish() const {
    if (path_.empty()) return 0;
    std::FILE* file = std::fopen(path_.c_str(), "w");
    if (file == nullptr) {
      std::fprintf(stderr, "cannot write %s: expected a path of a file that can be created\n", path_.c_str());
      return 1;
    }
    std::fputs("[", file);
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const row& r = rows_[i];
      std::fprintf(file, R"(%s{"name": "%s", "value": %.17g, "unit": "%s", "better": "%s"})", i == 0 ? "\n  " : ",\n  ",
                   r.name.c_str(), r.value, r.unit.c_str(), r.better == lower ? "lower" : "higher");
    }
    std::fputs("\n]\n", file);
    return std::fclose(file) == 0 ? 0 : 1;
  }

 private:
  struct row {
    std::string name;
    double value;
    std::string unit;
    direction better;
  };
  std::string path_;
  std::vector<std::string> rest_;
  std::vector<row> rows_;
};

}  // namespace plx::bench
