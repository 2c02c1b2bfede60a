#include "net/coalescing.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <complex>

#include "base/test/timeout_test.hpp"
#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/parcels/collector.hpp"
#include "net/parcels/frame.hpp"
#include "net/test/threads_test.hpp"
#include "rt/thread.hpp"

namespace coalescing_test {

using namespace plx;

using number = std::complex<double>;
number conjugate(number z) { return std::conj(z); }
std::atomic<std::uint64_t> arrived{0};
void arrive(std::uint64_t n) { arrived += n; }

std::string text_of(std::string_view text) {
  const auto parsed = parse_coalescing(text);
  if (!parsed) return parsed.error().message;
  std::string all;
  for (const auto& s : *parsed) all += "[" + s.action + ": " + describe(s.how) + "]";
  return all;
}

TEST(Coalescing, IsReadFromText) {
  EXPECT_EQ(text_of(""), "");
  EXPECT_EQ(text_of("self"), "[: self]");
  EXPECT_EQ(text_of(" self ; "), "[: self]");
  EXPECT_EQ(text_of("128,1000"), "[: 128,1000]");
  EXPECT_EQ(text_of("off; f=off"), "[: off][f: off]");
  EXPECT_EQ(text_of("adaptive; f=adaptive;g = self"), "[: adaptive][f: adaptive][g: self]");
  EXPECT_EQ(text_of("f = 4, 0.5, 65536; mine::g=self"), "[f: 4,0.5,65536][mine::g: self]");
  EXPECT_EQ(text_of("8,1000,strict; f=8,1000,512, strict"), "[: 8,1000,strict][f: 8,1000,512,strict]");
  for (const char* wrong : {"fast", "adaptiv", "adaptive,1000", "0,5", "0,0", "1", "1,-1", "1,2,3,4", "1,strict",
                            "1,2,strict,3", "1,2,strictly", "f=", "f=1,2x"}) {
    const std::string message = text_of(wrong);
    EXPECT_TRUE(message.starts_with("coalesce: expected self, off, adaptive, or parcels,microseconds")) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(Coalescing, ActionsAreFoundByTheirNames) {
  const auto* e = &net::detail::entry_of<&conjugate>();
  EXPECT_EQ(net::find_action("coalescing_test::conjugate").value(), e);
  EXPECT_EQ(net::find_action("conjugate").value(), e);
  EXPECT_EQ(net::find_action("conjugat").error().message, "there is no action 'conjugat'; did you mean 'conjugate'?");
  net::test::localities all(2);
  EXPECT_EQ(net::coalesce_as(all.at(0), "self; conjugat=4,10").error().message,
            "coalesce: there is no action 'conjugat'; did you mean 'conjugate'?");
}

/// All settings give the same results, with calls in both directions; the setting of an action also covers its replies.
TEST(Coalescing, AllSettingsGiveTheSameResults) {
  for (const coalescing& how : {self_clocking, coalescing{.parcels = 1}, coalescing{.parcels = 128, .interval_us = 200},
                                coalescing{.parcels = 7, .interval_us = 0.5},
                                coalescing{.parcels = 100'000, .interval_us = 50, .bytes = 3000}}) {
    net::test::localities all(3);
    constexpr int calls = 3000;
    all.run_all([&] { coalesce<&conjugate>(how); });  // on all, before the first reply is sent
    all.run_all([&] {
      std::vector<future<number>> results;
      for (int i = 0; i < calls; ++i)
        for (const locality_id to : find_remote_localities()) results.push_back(async<&conjugate>(to, number(i, 1)));
      for (std::size_t i = 0; i < results.size(); ++i)
        ASSERT_EQ(results[i].get(), number(static_cast<double>(i / 2), -1)) << describe(how);
    });
    const auto& e = net::detail::entry_of<&conjugate>();
    for (locality_id i = 0; i < 3; ++i) {
      const auto counts = all.at(i).port().counts_of(e.index);
      EXPECT_EQ(counts.parcels, 4u * calls);
      EXPECT_TRUE(how.way != coalescing_way::fixed || counts.messages * how.parcels >= counts.parcels);
    }
  }
}

TEST(Coalescing, SettingsChangeDuringTraffic) {
  net::test::localities all(2);
  arrived = 0;
  constexpr std::uint64_t posts = 40'000;
  std::atomic<int> sending{2};
  all.run_all([&] {
    std::vector<future<void>> done;
    done.push_back(async([&] {
      for (std::uint64_t i = 0; i < posts; ++i) {
        post<&arrive>(1 - find_here(), i);
        if (i % 1000 == 0) this_thread::yield();
      }
      --sending;
    }));
    for (unsigned turn = 0; sending > 0; ++turn) {
      switch (turn % 4) {
        case 0:
          coalesce<&arrive>({.parcels = 1 + turn % 50, .interval_us = 20});
          break;
        case 1:
          coalesce<&arrive>(self_clocking);
          break;
        case 2:
          coalesce_all({.parcels = 5, .interval_us = 1e5});
          break;
        default:
          coalesce<&arrive>({.parcels = 1'000'000, .interval_us = 1e5});
          flush_parcels();
      }
      this_thread::yield();
    }
    coalesce<&arrive>(self_clocking);  // sends what waits for a long interval
    coalesce_all(self_clocking);
    for (auto& d : done) d.get();
  });
  EXPECT_EQ(arrived, 2 * (posts * (posts - 1) / 2));
}

TEST(Coalescing, OffSendsEachParcelAlone) {
  net::test::localities all(2);
  ASSERT_TRUE(net::coalesce_as(all.at(0), "off"));
  constexpr std::uint64_t posts = 500;
  arrived = 0;
  all.run(0, [] {
    for (std::uint64_t i = 0; i < posts; ++i) post<&arrive>(1, i);
  });
  EXPECT_EQ(arrived, posts * (posts - 1) / 2);
  EXPECT_EQ(all.at(0).port().counts().parcels_sent, posts);
  EXPECT_EQ(all.at(0).port().counts().messages_sent, posts);
}

/// No interval of this test ever ends: messages that are not full, of calls and replies, are sent because the sender is
/// idle.
TEST(Coalescing, IdleWorkersFlush) {
  for (const unsigned workers : {1u, 2u}) {
    net::test::localities all(2, workers);
    all.run_all([] { coalesce<&conjugate>({.parcels = 1000, .interval_us = 1e9}); });
    all.run_all([] {
      for (const int calls : {1, 7, 1500, 3}) {
        std::vector<future<number>> results;
        for (int i = 0; i < calls; ++i) results.push_back(async<&conjugate>(1 - find_here(), number(i, 1)));
        for (int i = 0; i < calls; ++i) ASSERT_EQ(results[static_cast<std::size_t>(i)].get(), number(i, -1));
      }
    });
  }
}

/// With `strict`, parcels wait for the interval even if the worker is idle.
TEST(Coalescing, StrictWaitsForTheInterval) {
  net::test::localities all(2, 1);
  arrived = 0;
  auto& root = all.at(0).home();
  root.run([] { coalesce<&arrive>({.parcels = 1000, .interval_us = 1e9, .strict = true}); });
  root.run([] {
    for (std::uint64_t i = 1; i <= 5; ++i) post<&arrive>(1, i);  // the first one is sent immediately
  });
  root.run([] { this_thread::sleep_for(std::chrono::milliseconds(2)); });
  EXPECT_LE(arrived, 1u);
  root.run([] { flush_parcels(); });
  EXPECT_TRUE(comes_true([] { return arrived == 15; }));
}

// Counts what is sent. Nothing ever arrives, so the workers sleep.
class silent_transport final : public net::transport {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "silent"; }
  [[nodiscard]] bool must_be_asked() const noexcept override { return false; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  void start(net::receiver&) override {}
  void send(locality_id, net::outgoing& m) noexcept override {
    if (m.pieces.empty()) {
      for (net::frame_reader f(m.head); f.next();) ++parcels_left;
      m.sent(&m, true);
    } else {
      unfinished_ = true;
      large_ = &m;  // until progress() is called
    }
  }
  bool progress() noexcept override {
    ++asked;
    net::outgoing* m = large_.exchange(nullptr);
    if (m == nullptr) return false;
    m->sent(m, true);
    ++large_left;
    unfinished_ = false;
    return true;
  }
  [[nodiscard]] bool pending() const noexcept override { return unfinished_; }
  bool stop(double) noexcept override { return true; }

  static inline std::atomic<unsigned> parcels_left{0}, large_left{0}, asked{0};

 private:
  std::atomic<net::outgoing*> large_{nullptr};
  std::atomic<bool> unfinished_{false};
};
void take_all(const std::vector<double>&) {}

/// Parcels of an external thread: all workers sleep, and none of them polls unless it is woken.
TEST(Coalescing, ExternalThreadsWakeAWorker) {
  for (const coalescing& how : {self_clocking, coalescing{.parcels = 1000, .interval_us = 1e9}}) {
    silent_transport::parcels_left = silent_transport::large_left = 0;
    auto rt = std::make_unique<runtime>(runtime_options{.workers = 2});
    net::node n(*rt, std::make_unique<silent_transport>(), 0, 2);
    rt->run([&] { coalesce<&arrive>(how); });
    // Twenty checks, at least a millisecond apart, between which progress() was not called.
    auto all_sleep = [last = 0u, looks = 0]() mutable {
      const unsigned now = silent_transport::asked;
      looks = now == std::exchange(last, now) ? looks + 1 : 0;
      return looks >= 20 && (looks = 0, true);
    };
    unsigned sent = 0;
    for (const unsigned parcels : {1u, 2u, 100u, 3u}) {
      EXPECT_TRUE(comes_true(all_sleep));
      for (unsigned i = 0; i < parcels; ++i) post<&arrive>(1, i);
      sent += parcels;
      EXPECT_TRUE(comes_true([&] { return silent_transport::parcels_left == sent; })) << parcels << " parcels";
    }
    EXPECT_TRUE(comes_true(all_sleep));
    post<&take_all>(1, std::vector<double>(10'000));
    EXPECT_TRUE(comes_true([] { return silent_transport::large_left == 1; }));
    n.stop(1);
    rt.reset();
  }
}

/// The bound is far below the amount of data, so both localities wait for room repeatedly, with one worker each.
TEST(Coalescing, FloodingInBothDirections) {
  net::test::localities all(2, 1);
  arrived = 0;
  static constexpr std::uint64_t posts = 3000;
  for (locality_id i = 0; i < 2; ++i) all.at(i).port().bound_unsent(1000);
  all.run_all([] {
    std::vector<future<void>> senders;
    for (int t = 0; t < 8; ++t)
      senders.push_back(async([] {
        for (std::uint64_t i = 0; i < posts; ++i) post<&arrive>(1 - find_here(), 1);
      }));
    for (auto& s : senders) s.get();
  });
  EXPECT_EQ(arrived, 2 * 8 * posts);
}

}  // namespace coalescing_test
