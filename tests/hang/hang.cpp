// A program that hangs on purpose, to test the diagnoses: two tasks lock two mutexes in opposite order, and run() waits
// for a promise that is never fulfilled. It prints "all hang" when they do, and ends after the number of seconds in its
// argument.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/runtime.hpp"

namespace {

plx::mutex salt, pepper;
plx::latch both_hold_one(2);

[[gnu::noinline]] void take_both(plx::mutex& first, plx::mutex& second) {
  first.lock();
  both_hold_one.arrive_and_wait();
  second.lock();
  second.unlock();
  first.unlock();
}

[[gnu::noinline]] int wait_for_nobody() {
  plx::promise<int> forgotten;
  return forgotten.get_future().get() + 1;
}

}  // namespace

/// Called when all tasks hang: a place for breakpoints.
extern "C" [[gnu::noinline]] void all_hang() { asm volatile(""); }

int main(int argc, char** argv) {
  const std::string seconds = argc > 1 ? argv[1] : "3";
  plx::runtime rt({.workers = 2});
  std::thread end([&rt, &seconds] {
    const auto wait = [](auto span) { std::this_thread::sleep_for(span); };
    for (std::string text; text.find("DEADLOCK") == text.npos || text.find("future") == text.npos;) {
      wait(std::chrono::milliseconds(5));
      text = rt.explain_waits();
    }
    std::puts("all hang");
    std::fflush(stdout);
    all_hang();
    wait(std::chrono::seconds(std::stoi(seconds)));
    std::_Exit(0);
  });
  rt.post([] { take_both(salt, pepper); });
  rt.post([] { take_both(pepper, salt); });
  return rt.run(wait_for_nobody);
}
