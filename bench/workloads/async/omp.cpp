#include <utility>
#include <vector>

#include "async/async.hpp"
#include "library/contest.hpp"

namespace {

int one_by_one(int tasks) {
  int ran = 0;
  for (int i = 0; i < tasks; ++i) {
    int result = 0;
#pragma omp task shared(result)
    result = 1;
#pragma omp taskwait
    ran += result;
  }
  return ran;
}

int in_batches(async_work w) {
  int ran = 0;
  std::vector<int> results(static_cast<std::size_t>(w.per_batch));
  for (int done = 0; done < w.tasks; done += w.per_batch) {
    for (int* result = results.data(); result != results.data() + results.size(); ++result) {
#pragma omp task firstprivate(result)
      *result = 1;
    }
#pragma omp taskwait
    for (int& result : results) ran += std::exchange(result, 0);
  }
  return ran;
}

const plx::bench::entry<async_run> me("omp", [](async_work w) {
  int ran = 0;
#pragma omp parallel
#pragma omp single
  ran = w.per_batch == 1 ? one_by_one(w.tasks) : in_batches(w);
  return ran;
});

}  // namespace
