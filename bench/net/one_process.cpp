// The parts in one process: the cost of a call without a transport, and the delay of messages with an interval.
#include <algorithm>
#include <atomic>
#include <complex>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "net/core/node.hpp"
#include "net/transport/transport.hpp"
#include "parts.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"
#include "timing.hpp"

namespace plx::bench {
namespace {

/// A transport that returns each message to its sender, as if locality 1 had sent it: calls and answers pass through
/// all of net and no further, in one thread. The cost of a call is then what each of two processes spends when both
/// call each other, without the transport.
class mirror_transport final : public net::transport {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "mirror"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return std::size_t{256} << 10; }
  void start(net::receiver& r) override { receiver_ = &r; }
  void send(locality_id, net::outgoing& m) noexcept override {
    if (n_ == waiting_.size()) waiting_.emplace_back();
    waiting_[n_++].assign(m.head.begin(), m.head.end());
    m.sent(&m, true);
  }
  bool progress() noexcept override {
    if (n_ == 0) return false;
    arriving_.swap(waiting_);
    const std::size_t n = std::exchange(n_, 0);
    for (std::size_t i = 0; i < n; ++i) receiver_->arrived(1, arriving_[i]);
    return true;
  }
  [[nodiscard]] bool pending() const noexcept override { return n_ != 0; }
  bool stop(double) noexcept override { return true; }

 private:
  net::receiver* receiver_ = nullptr;
  std::vector<std::vector<std::byte>> waiting_, arriving_;  // buffers are reused
  std::size_t n_ = 0;
};

}  // namespace

// Cost of a call to a process, in core time: the transport is a mirror.
namespace {

using number = std::complex<double>;
number mirrored(number z) { return std::conj(z); }
void take(number) {}
void nothing() {}

constexpr int batch = 10'000;

void calls() {
  static std::vector<future<number>> results;
  results.clear();
  results.reserve(batch);
  for (int i = 0; i < batch; ++i) results.push_back(async<&mirrored>(1, number(i, 1)));
  for (auto& r : results) r.wait();
}
// No coalescing: each call and each answer is a message, and the caller waits in between.
void one_by_one() {
  for (int i = 0; i < batch; ++i) async<&nothing>(1).get();
}
void posts() {
  net::node& n = net::node_here();
  const std::uint64_t before = n.parcels().done;
  for (int i = 0; i < batch; ++i) post<&take>(1, number(i, 1));
  while (n.parcels().done - before < batch) this_thread::yield();
}

template <class F>
double ns_per_call(F f, int turns) {
  runtime rt({.workers = 1});
  net::node n(rt, std::make_unique<mirror_transport>(), 0, 2);
  n.port().bound_queued(~0u);  // the mirror's reports of credits name the wrong sender, and are refused
  std::vector<double> ns;
  for (int i = 0; i < turns; ++i) {
    const double begin = core_seconds();
    rt.run(f);
    ns.push_back((core_seconds() - begin) / batch * 1e9);
  }
  n.stop(1);
  return median(ns);
}

}  // namespace

void cost(report& r, bool quick) {
  const int turns = quick ? 5 : 301;
  r.add("net/cost/call", ns_per_call(calls, turns), "ns", lower);
  r.add("net/cost/single", ns_per_call(one_by_one, quick ? 5 : 31), "ns", lower);
  r.add("net/cost/post", ns_per_call(posts, turns), "ns", lower);
}

// How late a message with a fixed interval is sent, with idle workers and with workers that run short tasks: the
// transport records when it receives the message.
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
