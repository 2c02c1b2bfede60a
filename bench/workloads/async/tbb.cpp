// oneTBB has no futures: a task stores its result in a variable, and a task_group is waited for.
#include "library/tbb.hpp"

#include <tbb/task_group.h>

#include <vector>

#include "async/async.hpp"
#include "library/contest.hpp"

namespace {

int one_by_one(int tasks) {
  int ran = 0;
  for (int i = 0; i < tasks; ++i) {
    int result = 0;
    tbb::task_group group;
    group.run([&result] { result = 1; });
    group.wait();
    ran += result;
  }
  return ran;
}

int in_batches(async_work w) {
  int ran = 0;
  std::vector<int> results(static_cast<std::size_t>(w.per_batch));
  for (int done = 0; done < w.tasks; done += w.per_batch) {
    tbb::task_group group;
    for (int& result : results) group.run([&result] { result = 1; });
    group.wait();
    for (int& result : results) ran += std::exchange(result, 0);
  }
  return ran;
}

const plx::bench::entry<async_run> me("tbb", [](async_work w) {
  return plx::bench::tbb_arena().execute([w] { return w.per_batch == 1 ? one_by_one(w.tasks) : in_batches(w); });
});

}  // namespace
