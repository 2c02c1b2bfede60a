// The workers of the libraries, while their entries run.
#pragma once

#ifdef PLX_HAVE_TBB
#include <tbb/task_arena.h>
#endif

#include <type_traits>

#include "rt/runtime.hpp"

namespace plx::bench {

/// Requires: the library "plx" is started.
runtime& plx_runtime();

/// The options of runtimes started from now on; `workers` is set by the contest. For workloads that need other options
/// than the defaults.
runtime_options& plx_options();

#ifdef PLX_HAVE_TBB
/// Requires: the library "tbb" is started.
tbb::task_arena& tbb_arena();
#endif

#ifdef _OPENMP
/// f() by one thread of a team of OpenMP, whose other threads run the tasks that it creates.
template <class F>
auto in_omp(F&& f) {
  std::invoke_result_t<F&> result{};
#pragma omp parallel
#pragma omp single
  result = f();
  return result;
}
#endif

}  // namespace plx::bench
