#include "net/agas/agas_tables.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

using namespace plx;
using table = net::detail::loss_table;
using lost = std::vector<locality_id>;

constexpr gid first{1, 7, 1}, second{1, 7, 2};

// The table of a locality of four.
struct LossLedger : ::testing::Test {
  table l{4};
  /// Nothing here depends on the lost locality.
  bool lose(locality_id who) {
    const auto epoch = l.add(who);
    if (epoch) l.end_claim(*epoch);
    return epoch.has_value();
  }
};

TEST_F(LossLedger, SettledWithoutLosses) {
  EXPECT_EQ(l.seen(), 0u);
  EXPECT_TRUE(l.settled_or_defer(first, 0));
  const unsigned epoch = l.begin_claim();
  EXPECT_TRUE(l.settled_or_defer(first, 0));
  l.end_claim(epoch);
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.settled_here({}));
}

TEST_F(LossLedger, ALossCountsOnce) {
  EXPECT_TRUE(lose(3));
  EXPECT_FALSE(lose(3));
  EXPECT_EQ(l.seen(), 1u);
  EXPECT_TRUE(lose(2));
  EXPECT_EQ(l.seen(), 2u);
}

TEST_F(LossLedger, SettledWhenAllSurvivorsHaveSettled) {
  lose(3);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  l.settle(lost{2});  // which is not lost
  EXPECT_TRUE(l.ready().empty());
  EXPECT_FALSE(l.settled_or_defer(second, 0));
  l.settle(lost{3});
  EXPECT_EQ(l.ready(), (std::vector<gid>{first, second}));
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.settled_or_defer(first, 0));
}

TEST_F(LossLedger, ASettlementIsNeededOncePerLossIfSomethingHasToBeDecided) {
  lose(3);
  EXPECT_FALSE(l.needs_settlement());
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  EXPECT_TRUE(l.needs_settlement());
  EXPECT_FALSE(l.needs_settlement());
  lose(2);
  EXPECT_TRUE(l.needs_settlement());
  EXPECT_FALSE(l.settled_or_defer(second, 0));
  EXPECT_FALSE(l.needs_settlement());
}

// A release carries the number of losses known to its sender; a loss that the directory does not know yet is awaited.
TEST_F(LossLedger, LossesKnownToOthersAreAwaited) {
  EXPECT_FALSE(l.settled_or_defer(first, 1));
  EXPECT_FALSE(l.needs_settlement());
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.settled_or_defer(second, 0));
  lose(3);
  EXPECT_TRUE(l.needs_settlement());
  EXPECT_TRUE(l.ready().empty());
  l.settle(lost{3});
  EXPECT_EQ(l.ready(), std::vector<gid>{first});
}

TEST_F(LossLedger, AllKnownLossesHaveToBeSettled) {
  lose(3);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  lose(2);
  l.settle(lost{3});
  EXPECT_TRUE(l.ready().empty());
  l.settle(lost{2, 3});
  EXPECT_EQ(l.ready(), std::vector<gid>{first});
}

// References claimed at the lost directory are claimed again before the loss is settled here.
TEST_F(LossLedger, ClaimsThatAreMadeAgainDelayIt) {
  EXPECT_FALSE(l.knows(3));
  const auto epoch = l.add(3);
  ASSERT_TRUE(epoch);
  EXPECT_TRUE(l.knows(3));
  l.begin_claim(*epoch);
  l.end_claim(*epoch);
  EXPECT_FALSE(l.settled_here(lost{3}));
  l.end_claim(*epoch);
  EXPECT_TRUE(l.settled_here(lost{3}));
}

TEST_F(LossLedger, EarlierClaimsDelayItAndLaterOnesDoNot) {
  const unsigned before = l.begin_claim();
  EXPECT_FALSE(l.settled_here(lost{3}));  // this locality does not know the loss
  lose(3);
  const unsigned after = l.begin_claim();
  EXPECT_NE(before, after);
  EXPECT_FALSE(l.settled_here(lost{3}));
  l.end_claim(before);
  EXPECT_TRUE(l.settled_here(lost{3}));
  l.end_claim(after);
}

TEST_F(LossLedger, ALaterLossWaitsForClaimsBetween) {
  lose(3);
  const unsigned between = l.begin_claim();
  lose(2);
  EXPECT_TRUE(l.settled_here(lost{3}));
  EXPECT_FALSE(l.settled_here(lost{2}));
  EXPECT_FALSE(l.settled_here(lost{2, 3}));
  l.end_claim(between);
  EXPECT_TRUE(l.settled_here(lost{2, 3}));
}

// Claims are made on one thread, losses are settled on another, ids are deferred on a third: each deferred id is
// returned exactly once.
TEST_F(LossLedger, EachDeferredIdIsReturnedOnce) {
  constexpr std::uint64_t n = 2000;
  std::atomic<std::uint64_t> settled{0}, deferred{0}, out{0};
  std::atomic<bool> over{false};
  std::thread claims([&] {
    while (!over) l.end_claim(l.begin_claim());
  });
  std::thread losses([&] {
    for (const locality_id who : {3u, 2u}) {
      lose(who);
      l.settle(lost{who});
    }
  });
  std::thread takes([&] {
    while (!over) out += l.ready().size();
  });
  for (std::uint64_t i = 1; i <= n; ++i)
    ++(l.settled_or_defer({1, 7, i}, static_cast<unsigned>(i % 3)) ? settled : deferred);
  losses.join();
  over = true;
  claims.join();
  takes.join();
  out += l.ready().size();
  EXPECT_EQ(settled + deferred, n);
  EXPECT_EQ(out, deferred);
}

}  // namespace
