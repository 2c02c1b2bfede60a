#include "net/core/waker.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "rt/runtime.hpp"

namespace {

struct asked {
  std::atomic<int> times{0};
  static plx::poll_result poll(void* self) {
    ++static_cast<asked*>(self)->times;
    return plx::poll_result::idle;
  }
};

TEST(Waker, AsksThePollersWhenTheDescriptorIsReadable) {
  plx::runtime rt({.workers = 1});
  asked a;
  const auto poller = rt.add_poller(asked::poll, &a);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  {
    plx::net::waker w(rt, ends[0]);
    for (int turn = 0; turn < 20; ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the worker sleeps
      const int before = a.times;
      w.armed();
      ASSERT_EQ(write(ends[1], "x", 1), 1);
      ASSERT_TRUE(plx::comes_true([&] { return a.times != before; }, std::this_thread::yield));
      char x;
      ASSERT_EQ(read(ends[0], &x, 1), 1);
    }
    w.armed();  // the waker is destroyed while it waits
  }
  rt.remove_poller(poller);
  close(ends[0]), close(ends[1]);
}

}  // namespace
