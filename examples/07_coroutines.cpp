// Coroutines: functions that wait without a stack, and resume as a new task when the awaited result is ready.
#include "rt/coroutine.hpp"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "rt/executor.hpp"
#include "rt/runtime.hpp"

// A lazy coroutine: it starts when it is awaited.
plx::task<double> area(plx::future<double> width, plx::future<double> height) {
  co_return co_await width* co_await height;
}

// Two parallel branches; each is a task that other workers may steal.
plx::task<long> fib(int n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await plx::when_all(fib(n - 1), fib(n - 2));
  co_return a + b;
}

// An eager coroutine: it starts immediately, and its caller gets a future.
plx::future<int> answer(plx::future<int> question) { co_return co_await question * 6; }

plx::task<int> fails() {
  co_await plx::this_task::sleep_for(std::chrono::milliseconds(1));
  throw std::runtime_error("no such block");
  co_return 0;
}

int main() {
  plx::runtime rt;
  rt.run([] {
    auto width = plx::async([] { return 3.0; }), height = plx::async([] { return 4.0; });
    std::printf("area %g\n", plx::sync_wait(area(std::move(width), std::move(height))));
    std::printf("fib(20) = %ld\n", plx::sync_wait(fib(20)));
    std::printf("the answer is %d\n", answer(plx::async([] { return 7; })).get());

    // A coroutine as a task; exceptions travel through its future.
    plx::future<int> broken = plx::spawn(fails());
    try {
      broken.get();
    } catch (const std::runtime_error& e) {
      std::printf("caught: %s\n", e.what());
    }

    // Moving to another executor, here a strand: the code after it runs one task at a time, without a lock.
    const plx::strand one_at_a_time;
    int visits = 0;
    std::vector<plx::future<void>> visitors;
    for (int i = 0; i < 10; ++i)
      visitors.push_back(plx::spawn([](plx::strand place, int& count) -> plx::task<> {
        co_await plx::schedule(place);
        ++count;
      }(one_at_a_time, visits)));
    for (auto& v : visitors) v.get();
    std::printf("visits %d\n", visits);
  });
}

// Output:
//   area 12
//   fib(20) = 6765
//   the answer is 42
//   caught: no such block
//   visits 10
