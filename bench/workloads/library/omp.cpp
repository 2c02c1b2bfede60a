#include <omp.h>

#include "library/contest.hpp"

namespace plx::bench {
namespace {

std::string version() {
#if defined(__clang__)
  return "OpenMP " + std::to_string(_OPENMP) + " (libomp of Clang " __clang_version__ ")";
#else
  return "OpenMP " + std::to_string(_OPENMP) + " (libgomp of GCC " __VERSION__ ")";
#endif
}

const library omp_library(
    "omp", version, [](unsigned workers) { omp_set_num_threads(static_cast<int>(workers)); }, [] {});

}  // namespace
}  // namespace plx::bench
