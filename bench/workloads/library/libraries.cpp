#include "library/libraries.hpp"

#ifdef PLX_HAVE_TBB
#include <tbb/global_control.h>
#include <tbb/version.h>
#endif
#ifdef _OPENMP
#include <omp.h>
#endif

#include <optional>

#include "base/build_info.hpp"
#include "library/contest.hpp"

namespace plx::bench {
namespace {

std::optional<runtime> the_runtime;

const library plx_library(
    "plx", [] { return std::string("plx ") + this_build().version + " (" + this_build().git + ")"; },
    [](unsigned workers) {
      plx_options().workers = workers;
      the_runtime.emplace(plx_options());
    },
    [] { the_runtime.reset(); });

// Entries that use the threads of the standard library, or no threads.
const library std_library(
    "std", nullptr, [](unsigned) {}, [] {});
const library serial_library(
    "serial", nullptr, [](unsigned) {}, [] {});

}  // namespace

runtime& plx_runtime() { return *the_runtime; }

runtime_options& plx_options() {
  static runtime_options options;
  return options;
}

#ifdef PLX_HAVE_TBB
namespace {

std::optional<tbb::global_control> limit;
std::optional<tbb::task_arena> arena;

const library tbb_library(
    "tbb", [] { return std::string("oneTBB ") + TBB_VERSION_STRING; },
    [](unsigned workers) {
      // At least two: with one, tasks enqueued by an external thread would never run.
      limit.emplace(tbb::global_control::max_allowed_parallelism, workers < 2 ? 2 : workers);
      arena.emplace(static_cast<int>(workers));
    },
    [] {
      arena.reset();
      limit.reset();
    });

}  // namespace

tbb::task_arena& tbb_arena() { return *arena; }
#endif

#ifdef _OPENMP
namespace {

std::string openmp_version() {
#if defined(__clang__)
  return "OpenMP " + std::to_string(_OPENMP) + " (libomp of Clang " __clang_version__ ")";
#else
  return "OpenMP " + std::to_string(_OPENMP) + " (libgomp of GCC " __VERSION__ ")";
#endif
}

const library omp_library(
    "omp", openmp_version, [](unsigned workers) { omp_set_num_threads(static_cast<int>(workers)); }, [] {});

}  // namespace
#endif

}  // namespace plx::bench
