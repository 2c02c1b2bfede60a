// Executors: where, when and under which name tasks run.
#include "rt/executor.hpp"

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "rt/runtime.hpp"
#include "rt/thread.hpp"

// Needs about 2 MiB of stack, more than a task has by default.
int levels(int n) { return n == 0 ? 0 : 1 + levels(n - 1) % 1'000'000; }

int main() {
  plx::runtime rt({.workers = 2});
  plx::runtime io({.workers = 1, .bind = false});  // a second runtime, for I/O
  const plx::executor ex = rt.get_executor();
  rt.run([&] {
    // The name of these tasks in the profile, and the worker that they stay on.
    const auto pinned = ex.with_name("pinned work").with_affinity(1);
    std::printf("on worker %u\n", plx::async(pinned, [] { return *plx::worker_index(); }).get());

    // High priority overtakes queued tasks; low priority fills idle time. Deep recursion gets a larger stack.
    auto urgent = plx::async(ex.with_priority(plx::priority::high), [] { return std::string("urgent"); });
    auto report = urgent.then(ex.with_priority(plx::priority::low), [](auto f) { return f.get() + ", then calm"; });
    std::printf("%s\n", report.get().c_str());
    std::printf("levels %d\n", plx::async(ex.with_stack_size(std::size_t{4} << 20), levels, 20'000).get());

    // At most two of these run at once: the others are queued without occupying a worker.
    const plx::limiting_executor two(ex, 2);
    std::atomic<int> running{0};
    std::atomic<bool> too_many{false};
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 20; ++i)
      all.push_back(plx::async(two, [&] {
        if (++running > 2) too_many = true;
        plx::this_thread::yield();
        --running;
      }));
    for (auto& f : all) f.get();
    std::printf("more than two at once: %s\n", too_many ? "yes" : "no");

    // One at a time, in order: no lock is needed.
    const plx::strand in_order(ex);
    std::string text;
    for (char c = 'a'; c <= 'j'; ++c) plx::post(in_order, [&text, c] { text += c; });
    plx::async(in_order, [] {}).get();
    std::printf("%s\n", text.c_str());

    // The other runtime has its own workers. Tasks of both can wait for each other.
    std::printf("from there: %d\n", plx::async(io.get_executor(), [] { return 42; }).get());
  });
}

// Output:
//   on worker 1
//   urgent, then calm
//   levels 20000
//   more than two at once: no
//   abcdefghij
//   from there: 42
