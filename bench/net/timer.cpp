// How late a message with a fixed interval is sent, with idle workers and with workers that run short tasks: the
// transport records when it receives the message.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "net/core/node.hpp"
#include "parts.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"
#include "timing.hpp"

namespace plx::bench {
namespace {

constexpr double interval_s = 300e-6;

void late(int) {}

/// Records when a message arrived, and drops it.
class noting_transport final : public net::transport {
 public:
  explicit noting_transport(std::atomic<ticks>& when) : when_(when) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "noting"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  [[nodiscard]] bool must_be_asked() const noexcept override { return false; }
  void start(net::receiver&) override {}
  void send(locality_id, net::outgoing& m) noexcept override {
    when_.store(now_ticks(), std::memory_order_release);
    m.sent(&m, true);
  }
  bool progress() noexcept override { return false; }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

 private:
  std::atomic<ticks>& when_;
};

void work_for(double s) {
  const ticks end = now_ticks() + ticks_from(s);
  while (now_ticks() < end) {
  }
}

/// Microseconds after the interval, each turn.
std::vector<double> lateness(unsigned workers, bool busy, int turns) {
  std::atomic<ticks> left{0};
  std::atomic<bool> end{false};
  runtime rt({.workers = workers});
  net::node n(rt, std::make_unique<noting_transport>(left), 0, 2);
  std::vector<double> us;
  rt.run([&] { coalesce_all({.parcels = 1000, .interval_us = interval_s * 1e6, .strict = true}); });
  if (busy)
    for (unsigned i = 0; i < workers; ++i)
      rt.post([&end] {
        while (!end.load(std::memory_order_relaxed)) {
          work_for(3e-6);
          this_thread::yield();
        }
      });
  for (int i = 0; i < turns; ++i) {
    left.store(0, std::memory_order_relaxed);
    // A parcel that follows the previous one after a long time is sent immediately; the second one waits.
    const ticks posted = rt.run([&left] {
      post<&late>(1, 1);
      left.store(0, std::memory_order_relaxed);
      const ticks before = now_ticks();
      post<&late>(1, 2);
      return before;
    });
    ticks when = 0;
    while ((when = left.load(std::memory_order_acquire)) == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    us.push_back((seconds(when - posted) - interval_s) * 1e6);
    std::this_thread::sleep_for(std::chrono::microseconds(700));
  }
  end = true;
  rt.run([] { coalesce_all(self_clocking); });
  n.stop(1);
  return us;
}

}  // namespace

void timer(report& r, bool quick) {
  const int turns = quick ? 20 : 2000;
  const double idle = median(lateness(1, false, turns)), busy = median(lateness(1, true, turns));
  r.add("net/timer/idle", idle, "us", lower);
  r.add("net/timer/busy", busy, "us", lower);
  r.add("net/timer", std::max(idle, busy), "us", lower);
}

}  // namespace plx::bench
