// std::async(launch::async): a thread of the operating system for each task.
#include <future>
#include <vector>

#include "async/async.hpp"
#include "library/contest.hpp"

namespace {

int run(async_work w) {
  int ran = 0;
  std::vector<std::future<int>> batch(static_cast<std::size_t>(w.per_batch));
  for (int done = 0; done < w.tasks; done += w.per_batch) {
    for (auto& f : batch) f = std::async(std::launch::async, [] { return 1; });
    for (auto& f : batch) ran += f.get();
  }
  return ran;
}

const plx::bench::entry<async_run> me("std", run);

}  // namespace
