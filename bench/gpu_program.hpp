// The choice of the backend and main() of the benchmarks for GPUs.
#pragma once

#include <cstdio>
#include <exception>
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
