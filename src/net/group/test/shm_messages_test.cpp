#include "net/group/shm_messages.hpp"
#include "net/group/groups.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <random>

#include "base/test/timeout_test.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/start/termination.hpp"
#include "net/test/threads_test.hpp"
#include "probe/counters/gauge.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using net::collective::shm_messages;
using net::collective::shm_segment;

/// Localities that share memory, as on one host.
class neighbours {
 public:
  explicit neighbours(unsigned n, unsigned workers = 1, bool share = true) : memory_(n), all(n, workers) {
    for (auto& m : memory_) m = std::vector<shm_line>(shm_segment::bytes_for(n) / sizeof(shm_line));
    for (unsigned i = 0; i < n && share; ++i) {
      std::vector<shm_messages::neighbour> near;
      for (unsigned k = 0; k < n; ++k) near.push_back({k, of(k), true});
      at(i).open(of(i), std::move(near));
    }
  }
  shm_segment of(unsigned i) {
    return shm_segment::at(reinterpret_cast<std::byte*>(memory_[i].data()), static_cast<unsigned>(memory_.size()));
  }
  shm_messages& at(unsigned i) { return all.at(i).get<shm_messages>(); }
  shm_messages::counts counted() {
    shm_messages::counts sum;
    for (unsigned i = 0; i < memory_.size(); ++i) {
      const auto c = at(i).counted();
      sum.sent += c.sent, sum.received += c.received, sum.refused_room += c.refused_room, sum.wakeups += c.wakeups;
    }
    return sum;
  }

 private:
  using shm_line = net::collective::shm_line;
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

std::vector<bits> seen_by_all(unsigned n, std::uint64_t seed, bool share, shm_messages::counts& c) {
  neighbours near(n, 1, share);
  std::vector<bits> seen(n);
  near.all.run_all([&] { seen[find_here()] = random_calls(n, seed); });
  c = near.counted();
  for (unsigned i = 0; i < n; ++i) EXPECT_EQ(near.all.at(i).port().counts().refused, 0u);
  return seen;
}

TEST(ShmMessages, ResultsEqualThoseOverTheNetwork) {
  for (const unsigned n : {2u, 3u, 4u, 5u, 8u})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      SCOPED_TRACE(testing::Message() << n << " localities, seed " << seed);
      shm_messages::counts shared, not_shared;
      const auto by_memory = seen_by_all(n, seed, true, shared), by_messages = seen_by_all(n, seed, false, not_shared);
      EXPECT_EQ(by_memory, by_messages);
      EXPECT_FALSE(by_memory[0].empty());
      EXPECT_GT(shared.sent, 100u);
      EXPECT_EQ(not_shared.sent, 0u);
    }
}

TEST(ShmMessages, ThousandsOfConsecutiveCalls) {
  for (const unsigned n : {2u, 3u, 4u}) {
    neighbours near(n);
    near.all.run_all([n] {
      const communicator all;
      for (unsigned i = 0; i < 1500; ++i) {
        ASSERT_EQ(all.all_reduce(i + find_here(), std::plus<>()).get(), n * i + n * (n - 1) / 2);
        if (i % 64 == 0) all.barrier().get();
      }
    });
    EXPECT_GT(near.counted().sent, 1500u);
  }
}

TEST(ShmMessages, ConcurrentWorkersAndGroups) {
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
TEST(ShmMessages, FullRingFallsBackToTheNetwork) {
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
  EXPECT_GT(near.counted().refused_room, 0u);
  EXPECT_GT(near.counted().sent, 100u);
}

TEST(ShmMessages, CountersCountMessages) {
  neighbours near(2);
  near.all.run_all([] {
    const communicator all;
    for (unsigned i = 0; i < 10; ++i) all.all_reduce(i, std::plus<>()).get();
  });
  for (const char* name : {"shm-messages-sent", "shm-messages-received"}) {
    const auto found =
        near.all.at(0).home().counters().query("/collectives{locality#0/total}/count/" + std::string(name));
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->size(), 1u);
    EXPECT_EQ(found->front().value, 10.0) << name;
  }
}

TEST(ShmMessages, WorksInOneDirectionOnly) {
  std::vector<net::collective::shm_line> memory(shm_segment::bytes_for(2) / 64), unused(memory.size());
  net::test::localities all(2, 1);
  const auto at = [](auto& m) { return shm_segment::at(reinterpret_cast<std::byte*>(m.data()), 2); };
  std::vector<shm_messages::neighbour> near0, near1;
  near0.push_back({0, {}, false}), near0.push_back({1, {}, false});  // cannot open the other's segment
  near1.push_back({0, at(memory), true}), near1.push_back({1, {}, false});
  all.at(0).get<shm_messages>().open(at(memory), std::move(near0));
  all.at(1).get<shm_messages>().open(at(unused), std::move(near1));
  all.run_all([] {
    const communicator c;
    for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(c.all_reduce(i, std::plus<>()).get(), 2 * i);
  });
  EXPECT_EQ(all.at(0).get<shm_messages>().counted().sent, 0u);
  EXPECT_GT(all.at(1).get<shm_messages>().counted().sent, 90u);
}

TEST(ShmMessages, SleepingLocalityIsWoken) {
  neighbours near(2);
  near.all.run_all([&] {
    const communicator all;
    for (unsigned i = 0; i < 10; ++i) {
      const auto other_sleeps = [&] { return near.of(1 - all.rank()).asleep() != 0; };
      EXPECT_TRUE(comes_true([&] { return all.rank() != i % 2 || other_sleeps(); },
                             [] { this_thread::sleep_for(std::chrono::microseconds(100)); }));
      ASSERT_EQ(all.all_reduce(i, std::plus<>()).get(), 2 * i);
    }
  });
  EXPECT_GE(near.counted().wakeups, 10u);
}

// A call that looks for its own message delivers others, too. The calls resumed by that must not wait, because a lock
// is held, and are not part of this task.
TEST(ShmMessages, CallsResumedInLookRunAsInAPoller) {
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
TEST(ShmMessages, JobEndWaitsForMessages) {
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

// look() takes a message before the wake-up for it arrives: the next sleep has another number, because the sender wakes
// the receiver once for each.
TEST(ShmMessages, SpuriousWakeupSleepsAgain) {
  neighbours near(2);
  std::uint32_t last = 0;
  for (unsigned turn = 1; turn <= 3; ++turn) {
    const auto segment = near.of(1);
    const auto& asleep = segment.asleep();
    ASSERT_TRUE(plx::comes_true([&] { return asleep != 0 && asleep != last; })) << turn;
    last = asleep;
    std::atomic<bool> sent{false};
    near.all.run_all([&] {
      const communicator all;
      // The locality's only worker does not see the wake-up.
      EXPECT_TRUE(comes_true([&] { return all.rank() != 1 || sent; }, std::this_thread::yield));
      auto value = all.broadcast(7, 0);
      sent = true;
      EXPECT_EQ(value.get(), 7);
    });
    EXPECT_EQ(near.at(0).counted().wakeups, turn);
  }
}

// A sender that was stopped or killed before its wake-up went out does not keep others from waking the receiver.
TEST(ShmMessages, EachSenderWakesASleepingLocality) {
  neighbours near(3);
  ASSERT_TRUE(plx::comes_true([&] { return near.of(2).asleep() != 0; }));
  std::atomic<int> turn{-1};
  near.all.run_all([&] {
    const auto here = static_cast<int>(find_here());
    if (here == 2) {
      turn = 0;
      // The locality's only worker takes no messages during this wait.
      EXPECT_TRUE(comes_true([&] { return turn == 2; }, std::this_thread::yield));
      return;
    }
    EXPECT_TRUE(comes_true([&] { return turn == here; }, std::this_thread::yield));
    const net::collective::address where{1, 0, find_here(), 0, net::collective::kind::barrier};
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(near.at(find_here()).send(2, where, {}));
    ++turn;
  });
  EXPECT_EQ(near.at(0).counted().wakeups, 1u);
  EXPECT_EQ(near.at(1).counted().wakeups, 1u);
}

// A neighbour that writes as fast as this locality reads does not keep the reading thread for ever.
TEST(ShmMessages, AStreamOfMessagesIsTakenInParts) {
  using net::collective::address;
  neighbours near(2);
  constexpr unsigned calls = 400;
  unsigned done = 0;
  std::uint64_t most = 0;
  near.all.run(0, [&] {
    const communicator all;
    const auto id = near.all.at(0).get<net::collective::groups>().named("", {0, 1}).id();
    net::collective::shm_writer to_this(near.of(0).ring_of(1));
    const auto write = [&] {
      const address a{id, done, 1, 0, net::collective::kind::reduce};
      const int value = 1;
      return to_this.put(std::as_bytes(std::span(&a, 1)), std::as_bytes(std::span(&value, 1)));
    };
    const auto plus = [&](int x, int y) {
      ++done;
      most = std::max(most, done - near.at(0).counted().received);  // counted after the last one that is taken at once
      EXPECT_TRUE(done == calls || write());
      return x + y;
    };
    std::vector<future<std::optional<int>>> values;
    for (unsigned i = 0; i < calls; ++i) values.push_back(all.reduce(1, plus, 0));
    EXPECT_TRUE(write());
    for (auto& v : values) EXPECT_EQ(v.get(), std::optional(2));
  });
  EXPECT_EQ(done, calls);
  EXPECT_LE(most, shm_segment::ring_lines(2));
}

TEST(ShmMessages, LossIsReported) {
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
TEST(ShmMessages, MessagesWrittenBeforeALossCount) {
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
    EXPECT_EQ(value.get(), 7);
    EXPECT_THROW(all.broadcast(0, 1).get(), locality_lost);
  });
}

TEST(ShmMessages, InvalidMessageOfALostLocality) {
  neighbours near(2);
  near.all.run(0, [&] {
    net::node_here().give_up(1, "declared lost by the test");
    near.of(0).ring_of(1).lines[0].stamp = net::collective::shm_ring::stamp(0, 0);
    EXPECT_THROW(communicator().all_reduce(1, std::plus<>()).get(), locality_lost);
    EXPECT_TRUE(comes_true([] { return net::node_here().port().counts().refused != 0; }, this_thread::yield));
  });
}

TEST(ShmMessages, DifferentCallsAtOnePlaceAreNamed) {
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
TEST(ShmMessages, InvalidMessageEndsItsSender) {
  neighbours near(2);
  near.of(0).ring_of(1).lines[0].stamp = net::collective::shm_ring::stamp(0, 60'000);
  near.all.run(0, [] {
    try {
      communicator().all_reduce(1, std::plus<>()).get();
      ADD_FAILURE();
    } catch (const locality_lost& e) {
      EXPECT_EQ(e.which(), 1u);
      EXPECT_NE(std::string(e.what()).find("invalid message"), std::string::npos);
    }
  });
  EXPECT_EQ(near.all.at(0).port().counts().refused, 1u);
}

TEST(ShmMessages, ForgedSenderIsRefused) {
  for (const unsigned forged : {0u, 2u, 3u, 4'000'000'000u}) {
    neighbours near(3);
    near.all.run_all([] { communicator().barrier().get(); });
    const auto id = near.all.at(0).get<net::collective::groups>().named("", {0, 1, 2}).id();
    net::collective::shm_writer w(near.of(0).ring_of(1));
    // Behind the messages that are already there, which are few.
    net::collective::address a{id, 1, forged, 0, net::collective::kind::barrier};
    bool refused = false;
    for (int i = 0; i < 20 && !refused; ++i) {
      ASSERT_TRUE(w.put(std::as_bytes(std::span(&a, 1)), {}));
      near.all.run(0, [] { this_thread::sleep_for(std::chrono::milliseconds(1)); });
      refused = near.all.at(0).port().counts().refused != 0;
    }
    EXPECT_TRUE(refused) << forged;
  }
}

TEST(ShmMessages, InvalidOperationsAreRefused) {
  neighbours near(2);
  net::collective::shm_writer w(near.of(0).ring_of(1));
  const std::array<std::byte, 10> few{};
  const net::collective::address no_kind{1, 0, 1, 0, net::collective::kind::none},
      wrong_kind{1, 0, 1, 0, static_cast<net::collective::kind>(99)};
  ASSERT_TRUE(w.put(few, {}));
  ASSERT_TRUE(w.put(std::as_bytes(std::span(&no_kind, 1)), {}));
  ASSERT_TRUE(w.put(std::as_bytes(std::span(&wrong_kind, 1)), {}));
  // No wake-up was sent: locality 0 polls only while it works.
  EXPECT_TRUE(comes_true([&] { return near.at(0).counted().received >= 3; },
                         [&] { near.all.run(0, [] { this_thread::yield(); }); }));
  EXPECT_EQ(near.all.at(0).port().counts().refused, 3u);
  EXPECT_FALSE(near.all.at(0).is_lost(1));
}

}  // namespace
