// The evaluation of rows of bins by tasks, for a jackknife.
//
// Thread safety: any task. Cost: a task per row. Example: qmc/dca/test/dca_test.cpp
#pragma once

#include <cstddef>
#include <functional>

#include "base/result.hpp"

namespace plx::qmc {

/// Calls f(0) to f(n_rows - 1), a task for each. Returns false if stop() (or nullptr), which is called by these tasks,
/// returned true before all were called. Error: that of the lowest row, for any number of workers. An exception of f is
/// rethrown once all tasks have ended.
result<bool> evaluate_rows(std::size_t n_rows, const std::function<bool()>& stop,
                           const std::function<result<void>(std::size_t)>& f);

}  // namespace plx::qmc
