// Programs that crash, hang or get a signal, one per case; test_flight.py checks what the flight recorder writes.
// Usage: flight_cases CASE. No measurement is requested: the recorder is on by default.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "rt/latch.hpp"
#include "rt/runtime.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using std::chrono::milliseconds;

task_info named(const char* name, std::uint64_t key = probe::no_key) { return {probe::register_name(name), key}; }

void compute(double s) {
  const ticks end = now_ticks() + ticks_from(s);
  while (now_ticks() < end) {
  }
}

/// Some steps of work and one more task that stays busy, then `goes_wrong` in the task "guilty" with key 77.
template <class F>
void after_some_work(F goes_wrong) {
  runtime rt({.workers = 2});
  rt.run(named("main"), [&] {
    for (int step = 0; step < 3; ++step) {
      task_group g;
      for (std::uint64_t block = 0; block < 8; ++block) g.run(named("relax", block), [] { compute(1e-3); });
      g.wait();
    }
    async(named("guilty", 77), [&] { goes_wrong(); }).get();
  });
}

[[gnu::noinline]] void write_to(volatile int* p) { *p = 1; }
void null_pointer() {
  volatile int* volatile nowhere = nullptr;
  write_to(nowhere);
}

[[gnu::noinline]] int endless(int n) {  // NOLINT: its stack is to overflow
  volatile char room[1024] = {};
  room[static_cast<std::size_t>(n) % sizeof room] = static_cast<char>(n);
  return n < 0 ? 0 : endless(n + 1) + room[1];
}

void say(const char* text) { [[maybe_unused]] const auto n = ::write(STDOUT_FILENO, text, std::strlen(text)); }

template <class E>
[[noreturn, gnu::noinline]] void throws(const E& e) {
  throw E(e);
}

void users_handler(int) {
  say("the program's own handler\n");
  _exit(7);
}
void users_request_handler(int) { say("the program's own USR2\n"); }
[[noreturn]] void users_terminate() {
  say("the program's own terminate\n");
  _exit(8);
}

void raised(int signal) {
  after_some_work([signal] { std::raise(signal); });
}

void both_workers() {
  after_some_work([] {
    latch both(2);
    task_group g;
    for (int i = 0; i < 2; ++i)
      g.run(named("twin"), [&] {
        both.count_down();
        while (!both.try_wait()) this_thread::yield();
        null_pointer();
      });
    g.wait();
  });
}

void on_a_thread() {
  after_some_work([] { std::thread([] { null_pointer(); }).join(); });
}

void asked() {
  after_some_work([] {
    compute(5e-3);
    std::raise(SIGUSR2);
    std::raise(SIGUSR2);
  });
  say("continued\n");
}

volatile std::sig_atomic_t interrupted = 0;
void asked_from_outside() {
  std::signal(SIGINT, [](int) { interrupted = 1; });
  after_some_work([] {
    say("ready\n");
    const ticks timeout = now_ticks() + ticks_from(300);
    while (interrupted == 0 && now_ticks() < timeout) compute(1e-3);
  });
  say("continued\n");
}

void deadlock() {
  after_some_work([] {
    latch never(1);
    never.wait();
  });
}

/// Whether a file of the recorder contains the task "guilty". A delay before that task may have been reported as well.
bool is_reported() {
  std::error_code not_yet;
  const std::filesystem::directory_iterator all("plx-run", not_yet);
  return std::any_of(begin(all), end(all), [](const auto& file) {
    if (file.path().extension() != ".json") return false;
    const auto text = read_file(file.path());
    return text && text->find("\"guilty\"") != std::string::npos;
  });
}

void busy() {
  after_some_work([] {
    const ticks timeout = now_ticks() + ticks_from(300);
    while (!is_reported() && now_ticks() < timeout) compute(0.1);
  });
  say("continued\n");
}

int run(const std::string& which) {
  if (which == "segv") return after_some_work(null_pointer), 0;
  if (which == "abort") return after_some_work([] { std::abort(); }), 0;
  if (which == "bus") return raised(SIGBUS), 0;
  if (which == "fpe") return raised(SIGFPE), 0;
  if (which == "ill") return raised(SIGILL), 0;
  if (which == "overflow") return after_some_work([] { endless(0); }), 0;
  if (which == "both") return both_workers(), 0;
  if (which == "thread") return on_a_thread(), 0;
  if (which == "exception") return after_some_work([] { throw std::runtime_error("no \"luck\""); }), 0;
  if (which == "terminate") return after_some_work([]() noexcept { throws(42); }), 0;
  if (which == "handler") return std::signal(SIGSEGV, users_handler), after_some_work(null_pointer), 0;
  if (which == "terminate_handler") {
    std::set_terminate(users_terminate);
    return after_some_work([]() noexcept { throws(std::logic_error("text")); }), 0;
  }
  if (which == "asked") return std::signal(SIGUSR2, users_request_handler), asked(), 0;
  if (which == "asked_from_outside") return asked_from_outside(), 0;
  if (which == "deadlock") return deadlock(), 0;
  if (which == "busy") return busy(), 0;
  if (which == "fine") return after_some_work([] {}), 0;
  if (which == "after") {  // the runtime and its handlers have been removed
    after_some_work([] {});
    null_pointer();
  }
  std::fprintf(stderr, "flight_cases: unknown case '%s'\n", which.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) { return run(argc == 2 ? argv[1] : ""); }
