// Threads with known numbers of waits: the counts are exact because each wait is enforced. The output does not depend
// on measurement. Usage: locks [recursive, or how it ends: return, exit, _exit, quick, abort, segv, kill, term, exec,
// fork, forks, running, computing, last_thread]
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "waits_in_futex.h"

std::mutex queue_lock;  // NOLINT: found by its name
std::shared_mutex table_lock;
std::recursive_mutex tree_lock;
std::condition_variable ready;
sem_t places;
std::atomic<int> word{0};
volatile int* volatile nowhere = nullptr;

namespace {

constexpr auto hold = std::chrono::milliseconds(20);
std::atomic<int> announced{0}, about_to_wait{0};
std::atomic<int> waiting_thread[8];

// Called by a thread that is about to wait.
void will_wait() {
  waiting_thread[announced++] = own_thread_id();
  ++about_to_wait;
}

bool sleeps(int thread) { return state_of(thread) == 'S'; }

// A holder keeps the lock until the others wait, and for some more time.
void let_wait(int n) {
  while (about_to_wait < n) std::this_thread::yield();
  for (int i = 0; i < n; ++i)
    while (waits_in_futex(waiting_thread[i]) == 0) std::this_thread::yield();
  std::this_thread::sleep_for(hold);
}

void lock_once(int) {
  will_wait();
  const std::lock_guard lock(queue_lock);
}

void* plain_routine(void*) { return nullptr; }

void contended_mutex() {
  announced = about_to_wait = 0;
  std::vector<std::thread> all;
  {
    const std::lock_guard lock(queue_lock);
    for (int i = 0; i < 3; ++i) all.emplace_back(lock_once, i);
    let_wait(3);
  }
  for (auto& t : all) t.join();
}

void shared() {
  announced = about_to_wait = 0;
  std::unique_lock lock(table_lock);
  std::thread reader([] {
    will_wait();
    const std::shared_lock read(table_lock);
  });
  let_wait(1);
  lock.unlock();
  reader.join();
}

void condition() {
  announced = about_to_wait = 0;
  bool go = false;
  std::mutex own;
  std::thread waiter([&] {
    std::unique_lock lock(own);
    will_wait();
    ready.wait(lock, [&] { return go; });
  });
  let_wait(1);
  {
    const std::lock_guard lock(own);
    go = true;
  }
  ready.notify_one();
  waiter.join();
}

void semaphore() {
  announced = about_to_wait = 0;
  sem_init(&places, 0, 1);
  sem_wait(&places);  // free: no wait
  std::thread taker([] {
    will_wait();
    sem_wait(&places);
  });
  let_wait(1);
  sem_post(&places);
  taker.join();
}

void future() {
  std::promise<int> p;
  announced = about_to_wait = 0;
  std::thread maker([&] {
    let_wait(1);
    p.set_value(7);
  });
  auto f = p.get_future();
  will_wait();
  std::printf("future %d\n", f.get());
  maker.join();
}

void atomic_wait() {
  announced = about_to_wait = 0;
  std::thread waiter([] {
    will_wait();
    word.wait(0);
  });
  let_wait(1);
  word = 1;
  word.notify_one();
  waiter.join();
}

void plain_threads() {
  for (int i = 0; i < 50; ++i) {
    pthread_t t;
    pthread_create(&t, nullptr, &plain_routine, nullptr);
    pthread_join(t, nullptr);
  }
}

void uncontended() {
  std::mutex own;
  long n = 0;
  for (int i = 0; i < 1000000; ++i) {
    const std::lock_guard lock(own);
    ++n;
  }
  std::printf("uncontended %ld\n", n);
}

int end(const std::string& how) {
  std::fflush(stdout);
  if (how == "exit") std::exit(3);
  if (how == "_exit") _exit(4);
  if (how == "quick") std::quick_exit(5);
  if (how == "abort") std::abort();
  if (how == "segv") *nowhere = 1;
  if (how == "kill") raise(SIGKILL);
  if (how == "term") raise(SIGTERM);
  if (how == "throw") throw 1;
  if (how == "exec") execl("/bin/echo", "echo", "another", nullptr);
  if (how == "no_exec") {
    execl("/nonexistent/program", "none", nullptr);
    std::thread([] {}).join();
  }
  if (how == "fork") {
    const pid_t child = fork();
    if (child == 0) {
      std::thread([] { std::printf("child\n"); }).join();
      std::exit(6);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child ended with %d\n", WEXITSTATUS(status));
  }
  if (how == "forks") {  // while other threads hold and wait for locks, also those of the measurement
    static std::mutex often;
    for (int i = 0; i < 2; ++i)
      std::thread([] {
        for (;;) const std::lock_guard lock(often);
      }).detach();
    int ended = 0;
    for (int i = 0; i < 100; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        alarm(60);  // ends a child that hangs
        std::thread([] { std::free(std::malloc(100)); }).join();
        _exit(6);
      }
      int status = 0;
      waitpid(child, &status, 0);
      ended += WIFEXITED(status) && WEXITSTATUS(status) == 6 ? 1 : 0;
    }
    std::printf("%d of 100 children ended\n", ended);
  }
  if (how == "vfork") {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/bin/true", "true", nullptr);
      _exit(7);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child ended with %d, shell with %d\n", WEXITSTATUS(status), WEXITSTATUS(std::system("exit 9")));
  }
  if (how == "running") {
    static std::atomic<int> thread{0};
    std::thread([] {
      pthread_setname_np(pthread_self(), "endless");
      thread = own_thread_id();
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }).detach();
    while (thread == 0 || !sleeps(thread)) std::this_thread::yield();
    std::this_thread::sleep_for(hold);
  }
  if (how == "computing") {  // threads compute, and wait for one another, while the process ends
    static std::mutex often;
    static std::atomic<long> turns{0};
    for (int i = 0; i < 8; ++i)
      std::thread([] {
        for (;;) {
          const std::lock_guard lock(often);
          for (int k = 0; k < 1000; ++k) turns.fetch_add(1, std::memory_order_relaxed);
        }
      }).detach();
    while (turns < 20'000'000) std::this_thread::sleep_for(hold);
  }
  if (how == "last_thread") {  // it ends after the main thread, and its output is written at the end of the process
    std::thread([] {
      while (state_of(getpid()) != 'Z') std::this_thread::yield();
      std::printf("the last thread ends\n");
    }).detach();
    pthread_exit(nullptr);
  }
  if (how == "recursive") {  // a thread waits before and after the inner lock is released
    announced = about_to_wait = 0;
    tree_lock.lock();
    std::thread waiter([] {
      will_wait();
      const std::lock_guard lock(tree_lock);
    });
    let_wait(1);
    tree_lock.lock();
    tree_lock.unlock();
    std::this_thread::sleep_for(hold);
    tree_lock.unlock();
    waiter.join();
  }
  if (how == "two_on_one_core") {
    static std::barrier both(2);
    const auto compute = [] {
      both.arrive_and_wait();
      timespec now{};
      do clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      while (now.tv_sec == 0 && now.tv_nsec < 300'000'000);
    };
    std::thread other(compute);
    std::thread(compute).join();
    other.join();
  }
  if (how == "cancel") {
    static sem_t never;
    static std::atomic<int> thread{0};
    sem_init(&never, 0, 0);
    pthread_t t;
    const auto wait_for_ever = [](void*) -> void* {
      thread = own_thread_id();
      return sem_wait(&never), nullptr;
    };
    pthread_create(&t, nullptr, wait_for_ever, nullptr);
    while (thread == 0 || waits_in_futex(thread) == 0) std::this_thread::yield();
    std::this_thread::sleep_for(hold);
    pthread_cancel(t);
    void* value = nullptr;
    pthread_join(t, &value);
    std::printf("cancelled %d\n", value == PTHREAD_CANCELED);
  }
  if (how == "signals") {
    struct sigaction before {};
    sigaction(SIGTERM, nullptr, &before);
    const bool usual = before.sa_handler == SIG_DFL;
    static std::atomic<int> seen{0};
    const bool was_default = signal(SIGTERM, [](int) { ++seen; }) == SIG_DFL;
    raise(SIGTERM);
    std::printf("signals %d %d %d\n", usual, was_default, seen.load());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  contended_mutex();
  shared();
  condition();
  semaphore();
  future();
  atomic_wait();
  plain_threads();
  uncontended();
  std::printf("done\n");
  return end(argc > 1 ? argv[1] : "return");
}
