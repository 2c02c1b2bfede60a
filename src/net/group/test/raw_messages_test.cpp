// Collective calls whose payloads are raw messages through the rings of a transport (net/transport/near_rings.hpp).
#include "net/group/groups.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

#include "base/test/timeout_test.hpp"
#include "net/collectives.hpp"
#include "net/core/failure.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/parcels/message_log.hpp"
#include "net/start/termination.hpp"
#include "net/test/threads_test.hpp"
#include "net/transport/near_rings.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using net::detail::shm_segment;

/// Messages go through rings, or, if those have no room, through queues.
class ring_transport final : public net::test::queue_transport {
 public:
  using queue_transport::queue_transport;
  net::detail::near_rings rings;

  bool send_raw(locality_id to, std::span<const std::byte> first, std::span<const std::byte> rest) noexcept override {
    return rings.send_raw(to, first, rest) != net::detail::near_rings::sending::left;
  }
  std::size_t receive_awaited(locality_id from, std::span<const std::byte> awaited,
                              net::raw_message& into) noexcept override {
    return rings.receive_awaited(*receiver_, from, awaited, into);
  }
  void receive_of(locality_id from) noexcept override { rings.receive_of(*receiver_, from); }
  bool progress() noexcept override {
    locality_id invalid = no_locality;
    const bool any = rings.receive(*receiver_, invalid);
    if (invalid != no_locality) receiver_->lost(invalid, "it wrote an invalid message");
    return queue_transport::progress() || any;
  }
  [[nodiscard]] net::near_counts near() const noexcept override { return rings.counted(); }
};

/// Localities that share memory, as on one host.
class neighbours {
 public:
  /// `reachable(i, k)`: whether locality i can write to the memory of locality k.
  template <class F>
  neighbours(unsigned n, unsigned workers, F reachable)
      : memory_(n), all(n, workers, [&](auto network, locality_id i) {
          auto t = std::make_unique<ring_transport>(std::move(network), i);
          if (memory_[i].empty())
            for (auto& m : memory_) m = std::vector<shm_line>(shm_segment::bytes_for(n) / sizeof(shm_line));
          std::vector<net::detail::near_rings::owner> others;
          for (unsigned k = 0; k < n; ++k)
            if (k != i) others.push_back({k, k, reachable(i, k), of(k)});
          t->rings.open(of(i), i, n, std::move(others));
          return t;
        }) {}
  explicit neighbours(unsigned n, unsigned workers = 1, bool share = true)
      : neighbours(n, workers, [share](unsigned, unsigned) { return share; }) {}
  shm_segment of(unsigned i) {
    return shm_segment::at(reinterpret_cast<std::byte*>(memory_[i].data()), static_cast<unsigned>(memory_.size()));
  }
  net::near_counts at(unsigned i) { return all.at(i).carrier().near(); }
  net::near_counts counted() {
    net::near_counts sum;
    for (unsigned i = 0; i < memory_.size(); ++i) {
      const auto c = at(i);
      sum.sent += c.sent, sum.received += c.received, sum.full += c.full;
    }
    return sum;
  }

 private:
  using shm_line = net::detail::shm_line;
  std::vector<std::vector<shm_line>> memory_;  // destroyed after the localities

 public:
  net::test::localities all;
};

// Values whose floating-point sums depend on the order of the additions.
double rough(std::mt19937_64& random) { return std::ldexp(double(random()), static_cast<int>(random() % 100)); }

using bits = std::vector<std::uint64_t>;
void note(bits& seen, double x) { seen.push_back(std::bit_cast<std::uint64_t>(x)); }

// A random program, generated from `seed`: groups, operations, sizes, and the number of concurrent calls, the same on
// all localities. Returns the bits of the results of this locality.
bits random_calls(unsigned n, std::uint64_t seed) {
  std::mt19937_64 common(seed), mine(seed * 1000 + find_here());
  const communicator all, other("other");
  std::vector<locality_id> members;
  for (unsigned i = find_here() % 2; i < n; i += 2) members.push_back(i);
  const communicator half("half", members);
  bits seen;
  std::vector<std::function<void()>> results;
  const auto add = [&](auto f) {
    auto shared = std::make_shared<decltype(f)>(std::move(f));
    results.push_back([&seen, shared] {
      const auto value = shared->get();
      if constexpr (requires { value.has_value(); }) {
        if (value) note(seen, *value);
      } else if constexpr (requires { value.size(); }) {
        for (const double x : value) note(seen, x);
      } else {
        note(seen, value);
      }
    });
  };
  for (int turn = 0; turn < 150; ++turn) {
    const std::uint64_t which = common() % 3, kind = common() % 8, root = common(), size = common() % 80;
    const communicator& c = which == 0 ? half : which == 1 ? other : all;
    const double x = rough(mine);
    const auto at = static_cast<unsigned>(root % c.size());
    if (which == 0 && kind > 5) continue;
    switch (kind) {
      case 0:
        add(c.all_reduce(x, std::plus<>()));
        break;
      case 1:
        add(c.reduce(x, std::plus<>(), which == 0 ? 0 : at));
        break;
      case 2:
        add(c.broadcast(std::vector<double>(size, x), which == 0 ? 0 : at));
        break;
      case 3:
        add(c.all_gather(x));
        break;
      case 4:
        add(c.inclusive_scan(x, std::plus<>()));
        break;
      case 5:
        c.barrier().get();
        break;
      case 6:
        add(c.gather(x, at));
        break;
      default:
        add(c.all_to_all(std::vector<double>(c.size(), x)));
        break;
    }
    if (common() % 4 != 0) continue;
    for (const auto& r : results) r();
    results.clear();
  }
  for (const auto& r : results) r();
  return seen;
}

std::vector<bits> seen_by_all(unsigned n, std::uint64_t seed, bool share, net::near_counts& c) {
  neighbours near(n, 1, share);
  std::vector<bits> seen(n);
  near.all.run_all([&] { seen[find_here()] = random_calls(n, seed); });
  c = near.counted();
  for (unsigned i = 0; i < n; ++i) EXPECT_EQ(near.all.at(i).port().counts().refused, 0u);
  return seen;
}

TEST(RawMessages, ResultsEqualThoseOverTheNetwork) {
  for (const unsigned n : {2u, 3u, 4u, 5u, 8u})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(testing::Message() << n << " localities, seed " << seed);
      net::near_counts shared, not_shared;
      const auto by_memory = seen_by_all(n, seed, true, shared), by_messages = seen_by_all(n, seed, false, not_shared);
      EXPECT_EQ(by_memory, by_messages);
      EXPECT_FALSE(by_memory[0].empty());
      EXPECT_GT(shared.sent, 100u);
      EXPECT_EQ(not_shared.sent, 0u);
    }
}

TEST(RawMessages, ThousandsOfConsecutiveCalls) {
  for (const unsigned n : {2u, 3u, 4u}) {
    neighbours near(n);
    near.all.run_all([n] {
      const communicator all;
      for (unsigned i = 0; i < 500; ++i) {
        ASSERT_EQ(all.all_reduce(i + find_here(), std::plus<>()).get(), n * i + n * (n - 1) / 2);
        if (i % 64 == 0) all.barrier().get();
      }
    });
    EXPECT_GT(near.counted().sent, 500u);
  }
}

TEST(RawMessages, ConcurrentWorkersAndGroups) {
  neighbours near(3, 3);
  near.all.run_all([] {
    std::vector<future<void>> tasks;
    for (int t = 0; t < 6; ++t)
      tasks.push_back(async([t] {
        const communicator c("group " + std::to_string(t));
        for (unsigned i = 0; i < 300; ++i) ASSERT_EQ(c.all_reduce(i, std::plus<>()).get(), 3 * i);
      }));
    for (auto& t : tasks) t.get();
  });
}

// When a ring is full, messages are sent over the network and overtake those in the ring; the results must not change.
TEST(RawMessages, FullRingFallsBackToTheNetwork) {
  neighbours near(2);
  std::atomic<bool> sent{false};
  near.all.run_all([&] {
    const communicator all;
    // The locality's only worker takes no messages during this wait.
    EXPECT_TRUE(comes_true([&] { return all.rank() != 1 || sent; }, std::this_thread::yield));
    std::vector<future<unsigned>> values;
    for (unsigned i = 0; i < 2000; ++i) values.push_back(all.broadcast(all.rank() == 0 ? i : 0, 0));
    sent = true;
    for (unsigned i = 0; i < 2000; ++i) ASSERT_EQ(values[i].get(), i);
  });
  EXPECT_GT(near.counted().full, 0u);
  EXPECT_GT(near.counted().sent, 100u);
}

// A call that receives its own message delivers others, too. The calls resumed by that must not wait, because a lock
// is held, and are not part of this task.
TEST(RawMessages, CallsResumedByAnotherCallRunAsInAPoller) {
  neighbours near(2);
  std::atomic<int> turn{0};
  bool polling = false, as_before = false;
  near.all.run_all([&] {
    const communicator all;
    const auto note = [&](int a, int b) {
      if (find_here() == 0) polling = plx::detail::this_worker()->polling && !plx::detail::this_worker()->in_task;
      return a + b;
    };
    EXPECT_TRUE(comes_true([&] { return all.rank() != 1 || turn == 1; }, std::this_thread::yield));
    auto first = all.reduce(1, note, 0);  // on 0, its message has not arrived yet
    if (all.rank() == 0) {
      turn = 1;
      // The locality's only worker takes no messages during this wait.
      EXPECT_TRUE(comes_true([&] { return turn == 2; }, std::this_thread::yield));
    }
    auto second = all.reduce(2, std::plus<>(), 0);
    if (all.rank() == 0)
      as_before = !plx::detail::this_worker()->polling && plx::detail::this_worker()->in_task && first.is_ready();
    else
      turn = 2;
    EXPECT_EQ(first.get(), all.rank() == 0 ? std::optional(2) : std::nullopt);
    EXPECT_EQ(second.get(), all.rank() == 0 ? std::optional(4) : std::nullopt);
  });
  EXPECT_TRUE(polling);
  EXPECT_TRUE(as_before);
}

// Messages that no call awaits count as in flight, like parcels: the job ends after they have been delivered.
TEST(RawMessages, JobEndWaitsForMessages) {
  neighbours near(8);
  near.all.run_all([&] {
    const communicator all;
    for (int turn = 0; turn < 20; ++turn) {
      std::vector<future<unsigned>> values;
      for (unsigned i = 0; i < 60; ++i) values.push_back(all.inclusive_scan(i, std::plus<>()));
      net::node_here().get<net::termination>().wait_for_all();
      for (unsigned i = 0; i < 60; ++i) EXPECT_TRUE(values[i].is_ready()) << i;
      for (unsigned i = 0; i < 60; ++i) EXPECT_EQ(values[i].get(), i * (all.rank() + 1));
    }
  });
  const auto c = near.counted();
  EXPECT_EQ(c.sent, c.received);
}

// A locality that could not open the memory of the others still receives through its own.
TEST(RawMessages, WorkInOneDirectionOnly) {
  neighbours near(2, 1, [](unsigned from, unsigned) { return from == 1; });
  near.all.run_all([] {
    const communicator c;
    for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(c.all_reduce(i, std::plus<>()).get(), 2 * i);
  });
  EXPECT_EQ(near.at(0).sent, 0u);
  EXPECT_GT(near.at(1).sent, 90u);
}

// Handles and traces need parcels.
TEST(RawMessages, ParcelsAreUsedWhileATraceIsRecorded) {
  neighbours near(2);
  for (unsigned i = 0; i < 2; ++i) near.all.at(i).port().messages().start();
  near.all.run_all([] { EXPECT_EQ(communicator().all_reduce(1, std::plus<>()).get(), 2); });
  EXPECT_EQ(near.counted().sent, 0u) << "the transport of this test sends parcels through queues";
  for (unsigned i = 0; i < 2; ++i) near.all.at(i).port().messages().stop();
}

TEST(RawMessages, LossIsReported) {
  for (const unsigned n : {2u, 3u, 5u}) {
    neighbours near(n);
    std::atomic<unsigned> failed{0};
    near.all.run_all([&] {
      const communicator c;
      try {
        for (unsigned i = 0; i < 100 || c.rank() != n - 1; ++i) c.all_reduce(1, std::plus<>()).get();
        near.all.lose(n - 1);
      } catch (const locality_lost& e) {
        EXPECT_EQ(e.which(), n - 1);
        ++failed;
      }
    });
    EXPECT_EQ(failed, n - 1);
  }
}

// Completely written messages count, even if their sender has been lost since.
TEST(RawMessages, MessagesWrittenBeforeALossCount) {
  neighbours near(2);
  std::atomic<int> turn{0};
  near.all.run_all([&] {
    const communicator all;
    EXPECT_TRUE(comes_true([&] { return all.rank() != 1 || turn == 1; }, std::this_thread::yield));
    auto value = all.broadcast(all.rank() == 1 ? 7 : 0, 1);  // on 0, its message has not arrived yet
    if (all.rank() == 1) {
      turn = 2;
      return;
    }
    turn = 1;
    // The locality's only worker takes no messages during this wait.
    EXPECT_TRUE(comes_true([&] { return turn == 2; }, std::this_thread::yield));
    net::node_here().give_up(1, "declared lost by the test");
    near.all.at(1).give_up(0, "declared lost by the test");
    net::node_here().get<net::collective::groups>().peer_lost(1);  // before this worker polls
    EXPECT_EQ(value.get(), 7);
    EXPECT_THROW(all.broadcast(0, 1).get(), locality_lost);
  });
}

// 1 has failed because of the loss of 2, and is given up before 2 is.
TEST(RawMessages, AGroupReportsTheFirstLoss) {
  neighbours near(3);
  near.all.run(0, [&] {
    net::node& here = net::node_here();
    auto value = communicator().all_reduce(1, std::plus<>());
    here.give_up(1, net::loss_cause{2, false, "declared lost by the test"});
    here.give_up(2, "declared lost by the test");
    here.get<net::collective::groups>().peer_lost(1);  // as a worker does that has not yet processed the loss of 2
    try {
      value.get();
      ADD_FAILURE() << "no error";
    } catch (const locality_lost& e) {
      EXPECT_EQ(e.which(), 2u) << e.what();
    }
  });
}

TEST(RawMessages, InvalidMessageOfALostLocality) {
  neighbours near(2);
  near.all.run(0, [&] {
    net::node_here().give_up(1, "declared lost by the test");
    near.of(0).ring_of(1).lines[0].stamp = net::detail::shm_ring::stamp(0, 0);
    EXPECT_THROW(communicator().all_reduce(1, std::plus<>()).get(), locality_lost);
  });
}

TEST(RawMessages, DifferentCallsAtOnePlaceAreNamed) {
  neighbours near(3);
  std::atomic<unsigned> failed{0};
  near.all.run_all([&] {
    const communicator c;
    try {
      c.rank() == 1 ? c.barrier().get() : static_cast<void>(c.all_reduce(1, std::plus<>()).get());
    } catch (const std::exception& e) {
      failed += std::string(e.what()).find("all members make the same calls") != std::string::npos;
    }
  });
  EXPECT_EQ(failed, 3u);
}

// Messages in shared memory are checked like network messages.
TEST(RawMessages, InvalidMessageEndsItsSender) {
  neighbours near(2);
  near.of(0).ring_of(1).lines[0].stamp = net::detail::shm_ring::stamp(0, 60'000);
  near.all.run(0, [&near] {
    try {
      communicator().all_reduce(1, std::plus<>()).get();
      ADD_FAILURE();
    } catch (const locality_lost& e) {
      EXPECT_EQ(e.which(), 1u);
      EXPECT_NE(std::string(e.what()).find("invalid message"), std::string::npos);
      near.all.at(1).give_up(0, "declared lost by the test");
    }
  });
}

TEST(RawMessages, ForgedSenderIsRefused) {
  for (const unsigned forged : {0u, 2u, 3u, 4'000'000'000u}) {
    neighbours near(3);
    near.all.run_all([] { communicator().barrier().get(); });
    const auto id = near.all.at(0).get<net::collective::groups>().named("", {0, 1, 2}).id();
    net::detail::shm_writer w(near.of(0).ring_of(1), 1);  // behind the message of the barrier, which is one line
    const net::collective::address a{id, 1, forged, 0, net::collective::kind::barrier};
    near.all.at(1).note_sent(0);
    ASSERT_TRUE(w.put(std::as_bytes(std::span(&a, 1)), {}, true));
    near.all.settle();
    EXPECT_EQ(near.all.at(0).port().counts().refused, 1u) << forged;
  }
}

TEST(RawMessages, InvalidOperationsAreRefused) {
  neighbours near(2);
  net::detail::shm_writer w(near.of(0).ring_of(1));
  const std::array<std::byte, 10> few{};
  const net::collective::address no_kind{1, 0, 1, 0, net::collective::kind::none},
      wrong_kind{1, 0, 1, 0, static_cast<net::collective::kind>(99)};
  for (int i = 0; i < 3; ++i) near.all.at(1).note_sent(0);
  ASSERT_TRUE(w.put(few, {}, true));
  ASSERT_TRUE(w.put(std::as_bytes(std::span(&no_kind, 1)), {}, true));
  ASSERT_TRUE(w.put(std::as_bytes(std::span(&wrong_kind, 1)), {}, true));
  near.all.settle();
  EXPECT_EQ(near.all.at(0).port().counts().refused, 3u);
  EXPECT_FALSE(near.all.at(0).is_lost(1));
}

}  // namespace
