// An external thread submits tasks (not possible with OpenMP). post_from_outside/LIBRARY: ns of wall time per task,
// from the first post until all have run.
#include <atomic>
#include <string>
#include <thread>

#include "library/contest.hpp"
#include "library/libraries.hpp"

namespace {

using plx::bench::entry;

/// Calls `submit(task)` for each task, and waits until all have run.
template <class Submit>
long post(int tasks, Submit&& submit) {
  std::atomic<long> ran{0};
  for (int i = 0; i < tasks; ++i) submit([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
  while (ran.load(std::memory_order_relaxed) != tasks) std::this_thread::yield();
  return ran;
}

const entry<long(int)> with_plx("plx", [](int tasks) {
  return post(tasks, [&runtime = plx::bench::plx_runtime()](auto task) { runtime.post(task); });
});
#ifdef PLX_HAVE_TBB
const entry<long(int)> with_tbb("tbb", [](int tasks) {
  return post(tasks, [&arena = plx::bench::tbb_arena()](auto task) { arena.enqueue(task); });
});
#endif
// A detached thread for each task.
const entry<long(int)> with_std("std",
                                [](int tasks) { return post(tasks, [](auto task) { std::thread(task).detach(); }); });

// ---- measurement
int tasks_for(const entry<long(int)>& e, bool quick) {
  const int n = e.is("std") ? 2'000 : 200'000;
  return quick ? n / 10 : n;
}

}  // namespace

int main(int argc, char** argv) {
  plx::bench::contest c(argc, argv);
  const auto medians = plx::bench::in_turns<long(int)>(c, c.turns(9), [&](const entry<long(int)>& e) {
    const int tasks = tasks_for(e, c.quick);
    e.run(100);
    long ran = 0;
    const auto time = plx::bench::timed([&] { ran = e.run(tasks); });
    plx::bench::expect_same(e.label, ran, static_cast<long>(tasks));
    return time;
  });
  for (const auto& [who, time] : medians)
    c.numbers.add(std::string("post_from_outside/") + who->label, time.wall_s / tasks_for(*who, c.quick) * 1e9, "ns",
                  plx::bench::lower);
  return c.finish();
}
