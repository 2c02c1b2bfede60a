// Coroutines: a function that waits without a stack. It goes on as a new task when what it waits for is there.
#include "rt/coroutine.hpp"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include "rt/executor.hpp"
#include "rt/runtime.hpp"

// A lazy one: it begins when it is awaited.
plx::task<double> area(plx::future<double> width, plx::future<double> height) {
  co_return co_await width* co_await height;
}

// Two branches at once; each is a task that others may steal.
plx::task<long> fib(int n) {
  if (n < 2) co_return n;
  auto [a, b] = co_await plx::when_all(fib(n - 1), fib(n - 2));
  co_return a + b;
}

// An eager one: it begins at once, and its caller has a future.
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

    // Moving to another place, here to a strand: what follows runs one after another, without a lock.
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
