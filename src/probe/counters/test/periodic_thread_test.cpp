#include "probe/counters/periodic_thread.hpp"

#include <gtest/gtest.h>

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <stdexcept>
#include <system_error>

#include "base/log.hpp"

namespace plx::probe {
namespace {

TEST(PeriodicThread, CallsEachFunctionPeriodicallyUntilItIsRemoved) {
  periodic_thread b;
  std::atomic<int> quick{0}, other{0};
  const auto id = b.every(1e-3, [&] { ++quick; });
  b.every(2e-3, [&] { ++other; });
  while (quick < 5 || other < 5) {
  }
  b.remove(id);
  const int then = quick, others = other;
  while (other < others + 5) {
  }
  EXPECT_EQ(quick, then);
}

TEST(PeriodicThread, AFunctionMayRemoveItself) {
  periodic_thread b;
  std::atomic<int> calls{0}, other{0};
  std::uint64_t id = 0;
  std::atomic<bool> known{false};
  id = b.every(1e-3, [&] {
    if (!known) return;
    b.remove(id);
    ++calls;
  });
  known = true;
  b.every(1e-3, [&] { ++other; });
  while (other < 20) {
  }
  EXPECT_EQ(calls, 1);
}

TEST(PeriodicThread, AFunctionThatThrowsIsRemovedAndReported) {
  std::string message;
  log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &message,
                  log_level::warning);
  std::atomic<int> calls{0}, other{0};
  {
    periodic_thread b;
    b.every(1e-3, [&] {
      ++calls;
      throw std::runtime_error("no such sensor");
    });
    b.every(1e-3, [&] { ++other; });
    while (other < 20) {
    }
  }
  log_to_function(nullptr, nullptr, log_level::none);
  EXPECT_EQ(calls, 1);
  EXPECT_NE(message.find("no such sensor"), message.npos) << message;
}

#if defined(__GLIBC__)
TEST(PeriodicThread, AFailureToCreateTheThreadRestoresTheSignals) {
  pthread_attr_t before, huge;
  pthread_getattr_default_np(&before);
  pthread_attr_init(&huge);
  pthread_attr_setstacksize(&huge, std::size_t{1} << 50);  // larger than the address space
  pthread_setattr_default_np(&huge);
  periodic_thread b;
  bool thrown = false;
  try {
    b.every(1, [] {});
  } catch (const std::system_error&) {
    thrown = true;
  }
  pthread_setattr_default_np(&before);
  sigset_t now;
  pthread_sigmask(SIG_SETMASK, nullptr, &now);
  EXPECT_EQ(sigismember(&now, SIGINT), 0);
  if (!thrown) GTEST_SKIP() << "the thread was created nevertheless";
}
#endif

TEST(PeriodicThread, EndsWithoutAnyFunction) { periodic_thread b; }

}  // namespace
}  // namespace plx::probe
