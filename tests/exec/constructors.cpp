// Two programs in one source: a library whose constructor starts threads that start threads, lock, sleep and wait for
// futures, and waits for all of them, as thread pools of numerical libraries do; and the program that loads it.
// dlopen() holds a lock of the loader during the constructor.
#include <cstdio>

#if defined(LIBRARY)

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "waits_in_futex.h"

namespace {

std::mutex contended;

void innermost() {
  const std::lock_guard lock(contended);
  try {
    throw std::runtime_error("unwinds");
  } catch (const std::exception&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void outer() {
  std::thread one(innermost), two([] { innermost(); });
  one.join();
  two.join();
  std::promise<int> promise;
  std::atomic<int> waiter{0};
  std::thread maker([&] {
    while (waiter == 0 || waits_in_futex(waiter) == 0) std::this_thread::yield();
    promise.set_value(7);
  });
  waiter = own_thread_id();
  std::printf("future %d\n", promise.get_future().get());
  maker.join();
}

[[gnu::constructor]] void begin() {
  std::thread(outer).join();
  std::printf("constructor done\n");
}

}  // namespace

#else

#include <dlfcn.h>

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (library == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  std::printf("opened, then closed: %d\n", dlclose(library));
  return 0;
}

#endif
