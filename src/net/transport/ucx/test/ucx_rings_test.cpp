// Short messages between localities of a host: through rings (net/transport/near_rings.hpp) or by UCX.
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/test/timeout_test.hpp"
#include "net/start/bootstrap.hpp"
#include "net/transport/shm_segment.hpp"
#include "net/transport/ucx/test/ucx_transport_test.hpp"

namespace {

using namespace plx;
using namespace plx::net;
using test::keeper, test::message, test::pattern, test::progress_until, test::with_transports, test::UcxTransport;

TEST_F(UcxTransport, RingsAreUsedIfUcxUsesSharedMemory) {
  using plx::net::detail::uses_shared_memory;
  for (const char* yes : {"all", "shm,self", "sm", "tcp,posix", "xpmem", "^tcp", "^xpmem", "^sysv", "^xpmem,posix"})
    EXPECT_TRUE(uses_shared_memory(yes)) << yes;
  for (const char* no : {"tcp,self", "rc", "", "^shm", "^tcp,mm", "^sm", "^all", "^posix,sysv", "^sysv,xpmem,posix"})
    EXPECT_FALSE(uses_shared_memory(no)) << no;
  EXPECT_TRUE(uses_shared_memory(nullptr));
}

/// Sets an environment variable for a scope.
class variable {
 public:
  variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~variable() { unsetenv(name_); }
  variable(const variable&) = delete;
  variable& operator=(const variable&) = delete;

 private:
  const char* const name_;
};

/// Sends n heads from locality 1 to 0, which does not poll meanwhile. Returns the counts of the sender.
near_counts sent_by_rings(std::size_t n, std::size_t bytes) {
  test::table t(2);
  std::atomic<bool> all_sent{false};
  near_counts counted;
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    std::deque<message> out;
    if (b.here() == 0) {
      while (!all_sent) std::this_thread::yield();
      EXPECT_TRUE(progress_until(carrier, [&] { return k.heads.size() == n; }));
      for (const auto& [from, head] : k.heads) EXPECT_TRUE(head == pattern(bytes, 1));
      return;
    }
    for (std::size_t i = 0; i < n; ++i) carrier.send(0, out.emplace_back(pattern(bytes, 1)));
    all_sent = true;
    EXPECT_TRUE(progress_until(carrier, [&] { return !carrier.pending(); }));
    for (const auto& m : out) EXPECT_EQ(m.good, 1);
    counted = carrier.near();
  });
  return counted;
}

TEST_F(UcxTransport, MessagesThatDoNotFitAFullRingArrive) {
  const near_counts n = sent_by_rings(1000, 400);
  EXPECT_GT(n.sent, 0u);
  EXPECT_GT(n.full, 0u);
  EXPECT_EQ(n.sent + n.full, 1000u);
}

TEST_F(UcxTransport, WithoutRingsUcxSendsAll) {
  {
    const variable off("PLX_SHARED_MEMORY", "off");
    EXPECT_EQ(sent_by_rings(100, 8).sent, 0u);
  }
  const variable tcp("UCX_TLS", "tcp,self");
  EXPECT_EQ(sent_by_rings(100, 8).sent, 0u);
}

// A raw message that the other locality awaits, and one that it receives when it has slept.
TEST_F(UcxTransport, ARawMessageWakesALocality) {
  test::table t(2);
  std::atomic<bool> sleeps{false};
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    const std::string one = "one message";
    const auto bytes = std::as_bytes(std::span(one));
    if (b.here() == 1) {
      EXPECT_TRUE(comes_true([&] { return sleeps.load(); }, [&] { carrier.progress(); }));
      EXPECT_TRUE(carrier.send_raw(0, bytes.first(3), bytes.subspan(3)));
      EXPECT_EQ(carrier.near().wakeups, 1u);
      EXPECT_TRUE(progress_until(carrier, [&] { return k.raw == 1; }));
      return;
    }
    EXPECT_TRUE(comes_true([&] { return carrier.arm(); }, [&] { carrier.progress(); }));
    sleeps = true;
    pollfd events{carrier.wake_fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&events, 1, 300'000), 1) << "woken";
    raw_message into;
    EXPECT_TRUE(comes_true([&] { return carrier.receive_awaited(1, bytes.first(3), into) == one.size(); }, [] {}));
    EXPECT_TRUE(carrier.send_raw(1, bytes, {}));
    EXPECT_TRUE(progress_until(carrier, [&] { return !carrier.pending(); }));
  });
}

// More than a poll looks at.
TEST_F(UcxTransport, TwentyLocalitiesUseRings) {
  constexpr locality_id n = 20;
  test::table t(n);
  with_transports(t, [&](transport& carrier, bootstrap& b, keeper& k) {
    std::deque<message> out;
    for (locality_id to = 0; to < n; ++to)
      if (to != b.here()) carrier.send(to, out.emplace_back(pattern(8, b.here())));
    EXPECT_TRUE(progress_until(carrier, [&] { return k.heads.size() == n - 1 && !carrier.pending(); }));
    EXPECT_EQ(carrier.near().sent, n - 1);
  });
}

// Also those of others, which may report why it has left. Locality 0 does not poll between the two.
TEST_F(UcxTransport, MessagesThatArrivedBeforeALossAreReceivedBeforeIt) {
  test::table t(3);
  std::atomic<bool> polled{false}, released{false}, left{false}, done{false};
  test::as_localities(t, [&](bootstrap& b) {
    auto carrier = find_transport("ucx", b, 300).value();
    keeper k;
    carrier->start(k);
    std::deque<message> out;
    if (b.here() == 1) {
      while (!released) std::this_thread::yield();
      for (int i = 0; i < 40; ++i) carrier->send(0, out.emplace_back(pattern(8, 1)));
      EXPECT_EQ(carrier->near().sent, 40u);
      carrier.reset();
      left = true;
    } else if (b.here() == 2) {
      while (!polled) std::this_thread::yield();
      for (int i = 0; i < 40; ++i) carrier->send(0, out.emplace_back(pattern(8, 1)));
      EXPECT_EQ(carrier->near().sent, 40u);
      released = true;
      EXPECT_TRUE(progress_until(*carrier, [&] { return done.load(); }));
    } else {
      carrier->progress();
      polled = true;
      while (!left) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it looks for losses every 5 ms
      EXPECT_TRUE(progress_until(*carrier, [&] { return !k.losses.empty(); }));
      EXPECT_EQ(k.heads_before_loss, 80u);
      done = true;
      carrier->stop(300);
    }
  });
}

/// Keeps what the localities exchange last: the addresses of their transports.
class spying_bootstrap final : public bootstrap {
 public:
  spying_bootstrap(bootstrap& b, std::vector<std::string>& last) : inner_(b), last_(last) {}
  [[nodiscard]] std::string_view name() const noexcept override { return inner_.name(); }
  [[nodiscard]] locality_id here() const noexcept override { return inner_.here(); }
  [[nodiscard]] unsigned size() const noexcept override { return inner_.size(); }
  void leave(double deadline_s) noexcept override { inner_.leave(deadline_s); }

 private:
  result<std::vector<std::string>> exchange_bytes(std::string_view mine, double deadline_s) override {
    auto all = inner_.exchange(mine, deadline_s);
    if (all) last_ = *all;
    return all;
  }

  bootstrap& inner_;
  std::vector<std::string>& last_;
};

// Two at once: none is overlooked.
TEST_F(UcxTransport, LocalitiesThatWriteInvalidMessagesAreLost) {
  test::table t(3);
  std::atomic<unsigned> started{0};
  std::atomic<bool> done{false};
  test::as_localities(t, [&](bootstrap& b) {
    std::vector<std::string> addresses;
    spying_bootstrap spy(b, addresses);
    auto carrier = find_transport("ucx", spy, 300).value();
    keeper k;
    carrier->start(k);
    for (++started; started != 3;) std::this_thread::yield();
    if (b.here() != 0) {
      while (!done) carrier->progress();
      return;
    }
    std::string_view fields = addresses.at(0);
    std::string_view offer;
    for (int i = 0; i < 3; ++i) offer = net::detail::take_field(fields).value_or("");
    auto memory = net::detail::shm_segment::open(offer, 3);
    if (!memory) ADD_FAILURE() << memory.error().message;
    for (const unsigned bad : {1u, 2u})
      if (memory) memory->ring_of(bad).line(0).stamp.store(net::detail::shm_ring::stamp(0, 60'000));
    EXPECT_TRUE(progress_until(
        *carrier, [&] { return k.losses.size() == 2; }, memory ? 300 : 0));
    for (const auto& [who, why] : k.losses) EXPECT_EQ(why, "it wrote an invalid message to shared memory") << who;
    done = true;
    carrier->stop(300);
  });
}

}  // namespace
