// async/LIBRARY: ns of wall time per empty task that is created and waited for, one by one; /batch: a thousand are
// created before the first is waited for. /w1: the same on one worker.
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "library/contest.hpp"
#include "library/libraries.hpp"
#ifdef PLX_HAVE_TBB
#include <tbb/task_group.h>
#endif

namespace {

using plx::bench::entry;

// Empty tasks that are waited for.
struct async_work {
  int tasks;      // total
  int per_batch;  // 1: each is waited for before the next is created
};

/// Creates the tasks and waits for them, from within a task of the library. Returns the number of tasks that ran.
using async_run = int(async_work);

namespace with_plx {

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

const entry<async_run> me("plx", [](async_work w) {
  return plx::bench::plx_runtime().run([w] { return w.per_batch == 1 ? one_by_one(w.tasks) : in_batches(w); });
});

}  // namespace with_plx

#ifdef PLX_HAVE_TBB
// ---- oneTBB
// oneTBB has no futures: a task stores its result in a variable, and a task_group is waited for.
namespace with_tbb {

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

const entry<async_run> me("tbb", [](async_work w) {
  return plx::bench::tbb_arena().execute([w] { return w.per_batch == 1 ? one_by_one(w.tasks) : in_batches(w); });
});

}  // namespace with_tbb
#endif

#ifdef _OPENMP
namespace with_openmp {

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

const entry<async_run> me("omp", [](async_work w) {
  return plx::bench::in_omp([w] { return w.per_batch == 1 ? one_by_one(w.tasks) : in_batches(w); });
});

}  // namespace with_openmp
#endif

// ---- standard library
// std::async(launch::async): a thread of the operating system for each task.
namespace with_std {

int run(async_work w) {
  int ran = 0;
  std::vector<std::future<int>> batch(static_cast<std::size_t>(w.per_batch));
  for (int done = 0; done < w.tasks; done += w.per_batch) {
    for (auto& f : batch) f = std::async(std::launch::async, [] { return 1; });
    for (auto& f : batch) ran += f.get();
  }
  return ran;
}

const entry<async_run> me("std", run);

}  // namespace with_std

// ---- measurement
int tasks_for(const entry<async_run>& e, bool quick) {
  const int n = e.is("std") ? 2'000 : e.is("omp") ? 100'000 : e.is("tbb") ? 200'000 : 500'000;
  return quick ? n / 10 / 1000 * 1000 + 1000 : n;
}

void compete(plx::bench::contest& c, unsigned workers, int per_batch, const std::string& suffix) {
  const auto medians = plx::bench::in_turns<async_run>(c, c.turns(7), workers, [&](const entry<async_run>& e) {
    const async_work work{tasks_for(e, c.quick), per_batch};
    e.run({1000, per_batch});
    int ran = 0;
    const auto time = plx::bench::timed([&] { ran = e.run(work); });
    plx::bench::expect_same(e.label, ran, work.tasks);
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("async/") + who->label + suffix, time.wall_s / tasks_for(*who, c.quick) * 1e9, "ns",
                  plx::bench::lower);
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  compete(c, c.threads, 1, "");
  compete(c, c.threads, 1000, "/batch");
  if (c.threads > 1) {
    compete(c, 1, 1, "/w1");
    compete(c, 1, 1000, "/batch/w1");
  }
  return c.finish();
}
