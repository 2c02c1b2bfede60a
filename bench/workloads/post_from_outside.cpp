// An external thread submits tasks (not possible with OpenMP). post_from_outside/LIBRARY: ns of wall time per task,
// from the first post until all have run.
#include <atomic>
#include <string>
#include <thread>

#include "library/contest.hpp"
#include "library/libraries.hpp"

namespace {

using plx::bench::entry;

// ---- plx
namespace with_plx {

long post(int tasks) {
  std::atomic<long> ran{0};
  auto& runtime = plx::bench::plx_runtime();
  for (int i = 0; i < tasks; ++i) runtime.post([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
  while (ran.load(std::memory_order_relaxed) != tasks) std::this_thread::yield();
  return ran;
}

const entry<long(int)> me("plx", post);

}  // namespace with_plx

#ifdef PLX_HAVE_TBB
// ---- oneTBB
namespace with_tbb {

long post(int tasks) {
  std::atomic<long> ran{0};
  auto& arena = plx::bench::tbb_arena();
  for (int i = 0; i < tasks; ++i) arena.enqueue([&ran] { ran.fetch_add(1, std::memory_order_relaxed); });
  while (ran.load(std::memory_order_relaxed) != tasks) std::this_thread::yield();
  return ran;
}

const entry<long(int)> me("tbb", post);

}  // namespace with_tbb
#endif

// ---- standard library
// A detached thread for each task.
namespace with_std {

long post(int tasks) {
  std::atomic<long> ran{0};
  for (int i = 0; i < tasks; ++i) std::thread([&ran] { ran.fetch_add(1, std::memory_order_relaxed); }).detach();
  while (ran.load(std::memory_order_relaxed) != tasks) std::this_thread::yield();
  return ran;
}

const entry<long(int)> me("std", post);

}  // namespace with_std

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
