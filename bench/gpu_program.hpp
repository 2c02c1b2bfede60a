// The choice of the backend and main() of the benchmarks for GPUs.
#pragma once

#include <cstddef>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "report.hpp"

namespace plx::bench {

/// The backend of that name; the best one if it is empty. If that is the cpu: null, after a line with the reason.
inline const gpu::backend* chosen_backend(const std::string& name, const char* rows) {
  if (!name.empty()) return &gpu::find_backend(name);
  std::vector<std::string> why_not;
  const gpu::backend& best = gpu::best_backend(&why_not);
  if (best.name != "cpu") return &best;
  std::printf("# omitted: %s: %s\n", rows, why_not.empty() ? "no backend but cpu was built" : why_not.front().c_str());
  return nullptr;
}

struct gpu_arguments {
  std::string backend;  ///< of --backend; empty: the best one
  bool quick = false;
};

/// The arguments `--backend NAME` and `--quick`. Errors: throws with one line for any other word.
inline gpu_arguments gpu_arguments_of(const report& r) {
  gpu_arguments a;
  for (std::size_t i = 0; i < r.rest().size(); ++i) {
    const std::string& word = r.rest()[i];
    if (word == "--quick") {
      a.quick = true;
    } else if (word == "--backend" && i + 1 < r.rest().size()) {
      a.backend = r.rest()[++i];
    } else {
      throw std::runtime_error("'" + word + "': expected --backend NAME, --quick or --json FILE");
    }
  }
  return a;
}

/// Calls run(report), which returns how many results are wrong. Returns the exit code of the program.
template <class Run>
int main_of(const char* program, int argc, char** argv, Run&& run) {
  report r(argc, argv);
  try {
    const int wrong = run(r);
    const int written = r.finish();
    return wrong > 0 ? 1 : written;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s: %s\n", program, e.what());
    return 1;
  }
}

}  // namespace plx::bench
