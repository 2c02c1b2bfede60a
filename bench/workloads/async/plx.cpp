#include "library/plx.hpp"

#include <vector>

#include "async/async.hpp"
#include "library/contest.hpp"

namespace {

int one_by_one(int tasks) {
  int ran = 0;
  for (int i = 0; i < tasks; ++i) ran += plx::async([] { return 1; }).get();
  return ran;
}

int in_batches(async_work w) {
  int ran = 0;
  std::vector<plx::future<int>> batch(static_cast<std::size_t>(w.per_batch));
  for (int done = 0; done < w.tasks; done += w.per_batch) {
    for (auto& f : batch) f = plx::async([] { return 1; });
    for (auto& f : batch) ran += f.get();
  }
  return ran;
}

const plx::bench::entry<async_run> me("plx", [](async_work w) {
  return plx::bench::plx_runtime().run([w] { return w.per_batch == 1 ? one_by_one(w.tasks) : in_batches(w); });
});

}  // namespace
