#include "net/distributed.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/async.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using namespace plx;

// Every locality sends, the last one receives: each value arrives once, in the order of its sender.
void send_and_receive(unsigned n, int each, std::size_t capacity) {
  const distributed::channel<std::pair<unsigned, int>> c("numbers", capacity);
  const distributed::latch sent("sent", n);
  std::vector<future<bool>> taken;
  for (int i = 0; i < each; ++i) taken.push_back(c.send({find_here(), i}));
  auto closing = async([&] {
    for (auto& t : taken) EXPECT_TRUE(t.get());
    sent.arrive_and_wait();
    if (find_here() == 0) c.close().get();
  });
  if (find_here() == n - 1) {
    std::map<unsigned, int> next;
    while (const auto x = c.receive().get()) EXPECT_EQ(x->second, next[x->first]++);
    EXPECT_EQ(next.size(), n);
    for (const auto& [from, count] : next) EXPECT_EQ(count, each) << from;
  }
  closing.get();
}

TEST(DistributedChannel, EachValueIsReceivedOnceAndInOrder) {
  for (const std::size_t capacity : {std::size_t{1}, std::size_t{5}, distributed::channel<int>::unbounded})
    for (const unsigned n : {1u, 2u, 4u}) {
      net::test::localities all(n);
      all.run_all([&] { send_and_receive(n, 200, capacity); });
    }
}

TEST(DistributedChannel, AnyOrderOfMessagesGivesTheSame) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const auto n = static_cast<unsigned>(1 + seed % 4);
    net::simulation sim({.localities = n, .seed = seed});
    sim.run([&] { send_and_receive(n, 10, seed % 3 == 0 ? 2 : 100); });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(DistributedChannel, ReceiversShareTheElements) {
  net::test::localities all(3);
  std::atomic<long> sum{0};
  all.run_all([&] {
    const distributed::channel<std::string> c("words");
    const distributed::barrier b("all", 3);
    if (find_here() == 0) {
      for (int i = 1; i <= 1000; ++i) EXPECT_TRUE(c.send(std::to_string(i)).get());
      c.close().get();
      EXPECT_FALSE(c.send("late").get());
    }
    while (const auto word = c.receive().get()) sum += std::stol(*word);
    b.arrive_and_wait();
    EXPECT_EQ(sum, 500500);
  });
}

TEST(DistributedChannel, SendWaitsWhileFull) {
  net::test::localities all(2);
  all.run(1, [] {
    const distributed::channel<int> c("small", 2);
    EXPECT_TRUE(c.send(1).get());
    EXPECT_TRUE(c.send(2).get());
    auto third = c.send(3);
    auto closed = c.close();
    closed.get();
    EXPECT_FALSE(third.is_ready());
    EXPECT_EQ(c.receive().get(), 1);
    EXPECT_TRUE(third.get());
    EXPECT_EQ(c.receive().get(), 2);
    EXPECT_EQ(c.receive().get(), 3);
    EXPECT_EQ(c.receive().get(), std::nullopt);
  });
}

TEST(DistributedChannel, TypeMismatchIsReported) {
  net::test::localities all(2);
  all.run(0, [] {
    EXPECT_TRUE(distributed::channel<int>("mixed").send(1).get());
    EXPECT_THROW(distributed::channel<double>("mixed").receive().get(), std::runtime_error);
  });
}

TEST(DistributedLatch, OpensWhenAllHaveCountedDown) {
  net::test::localities all(4);
  std::atomic<int> came{0};
  all.run_all([&] {
    const distributed::latch l("l", 8);
    auto open = l.wait();
    came += 2;
    l.count_down().get();
    l.arrive_and_wait();
    EXPECT_EQ(came, 8);
    open.get();
    EXPECT_THROW(l.count_down().get(), std::exception);
  });
}

TEST(DistributedBarrier, OpensOnlyAfterAllHaveArrived) {
  for (const unsigned n : {1u, 3u}) {
    net::test::localities all(n);
    std::atomic<unsigned> came{0};
    all.run_all([&] {
      const distributed::barrier b("b", 2 * n);
      auto rounds = [&] {
        for (unsigned turn = 1; turn <= 50; ++turn) {
          came.fetch_add(1);
          b.arrive_and_wait();
          EXPECT_GE(came.load(), turn * 2 * n);
        }
        b.arrive_and_drop().get();
      };
      auto other = async(rounds);
      rounds();
      other.get();
    });
  }
}

// Localities 0 and 1 wait for locality 2, and get an error when it dies, on whichever locality the objects live.
TEST(Distributed, LossFailsPendingCalls) {
  std::set<locality_id> homes;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 3, .seed = seed, .kills = {{2, 0, 1e-4}}});
    const std::string name = "n" + std::to_string(seed % 7);
    homes.insert(distributed::detail::object{fnv1a("latch " + name), 0}.id % 3);
    int failures = 0;
    sim.run([&] {
      if (find_here() == 2) return;
      const distributed::latch l(name, 3);
      const distributed::barrier b(name, 3);
      const distributed::channel<int> c(name);
      const auto lost = [&](auto f) {
        try {
          f.get();
          ADD_FAILURE() << "completed without the contribution of locality 2";
        } catch (const locality_lost& e) {
          EXPECT_EQ(e.which(), 2u);
          ++failures;
        }
      };
      auto open = l.wait();
      auto all = b.arrive();
      lost(c.receive());
      lost(std::move(open));
      lost(std::move(all));
    });
    EXPECT_EQ(failures, 6);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_EQ(homes.size(), 3u);
}

}  // namespace
