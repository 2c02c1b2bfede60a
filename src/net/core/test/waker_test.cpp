#include "net/core/waker.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string_view>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "net/core/node.hpp"
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

/// Wakes no worker; something arrives when the test says so.
class armed_transport final : public plx::net::transport {
 public:
  struct state {
    int ends[2] = {-1, -1};
    std::atomic<int> arms{0};
    std::atomic<bool> comes{false};
  };
  explicit armed_transport(state& s) : state_(s) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "armed"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  [[nodiscard]] int wake_fd() const noexcept override { return state_.ends[0]; }
  bool arm() noexcept override { return ++state_.arms, true; }
  void start(plx::net::receiver&) override {}
  void send(plx::locality_id, plx::net::outgoing& m) noexcept override { m.sent(&m, true); }
  bool progress() noexcept override { return state_.comes.exchange(false); }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

 private:
  state& state_;
};

// A worker that is awake for another reason may receive the wake-up before the waker notices it. The sender sends no
// further one for this sleep.
TEST(Waker, TheTransportIsArmedAgainAfterSomethingHasCome) {
  armed_transport::state s;
  ASSERT_EQ(pipe(s.ends), 0);
  {
    auto rt = std::make_unique<plx::runtime>(plx::runtime_options{.workers = 1});
    plx::net::node n(*rt, std::make_unique<armed_transport>(s), 0, 2);
    ASSERT_TRUE(plx::comes_true([&] { return s.arms != 0; }));
    for (int turn = 0; turn < 20; ++turn) {
      const int before = s.arms;
      s.comes = true;
      EXPECT_TRUE(plx::comes_true([&] { return !s.comes; }, [&] { rt->ask_pollers(); }));
      EXPECT_TRUE(plx::comes_true([&] { return s.arms > before; })) << turn;
    }
    n.stop(1);
    rt.reset();
  }
  close(s.ends[0]), close(s.ends[1]);
}

}  // namespace
