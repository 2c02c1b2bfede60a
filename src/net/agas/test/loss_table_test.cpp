#include "net/agas/agas_tables.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace plx;
using table = net::detail::loss_table;
using question = table::question;

constexpr gid first{1, 7, 1}, second{1, 7, 2};

// The table of locality 0 of four.
struct LossLedger : ::testing::Test {
  table l{0, 4};
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
  EXPECT_TRUE(l.answerable().empty());
}

TEST_F(LossLedger, ALossCountsOnce) {
  EXPECT_TRUE(lose(3));
  EXPECT_FALSE(lose(3));
  EXPECT_EQ(l.seen(), 1u);
  EXPECT_TRUE(lose(2));
  EXPECT_EQ(l.seen(), 2u);
}

TEST_F(LossLedger, SettledWhenAllSurvivorsHaveReplied) {
  lose(3);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  l.answer(3, 1);
  EXPECT_TRUE(l.ready().empty());
  l.answer(3, 1);  // again
  l.answer(2, 2);  // about a locality that is not lost
  l.answer(3, 9);  // by a nonexistent locality
  EXPECT_TRUE(l.ready().empty());
  EXPECT_FALSE(l.settled_or_defer(second, 0));
  l.answer(3, 2);
  EXPECT_EQ(l.ready(), (std::vector<gid>{first, second}));
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.settled_or_defer(first, 0));
}

TEST_F(LossLedger, SurvivorsAreAskedOnceIfSomethingHasToBeDecided) {
  lose(3);
  EXPECT_TRUE(l.unasked().empty());
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  EXPECT_EQ(l.unasked(), std::vector<locality_id>{3});
  EXPECT_TRUE(l.unasked().empty());
  lose(2);
  EXPECT_EQ(l.unasked(), std::vector<locality_id>{2});
  EXPECT_FALSE(l.settled_or_defer(second, 0));
  EXPECT_TRUE(l.unasked().empty());
}

TEST_F(LossLedger, EarlierClaimsDelayIt) {
  const unsigned before = l.begin_claim();
  lose(3);
  const unsigned after = l.begin_claim();
  EXPECT_NE(before, after);
  l.answer(3, 1);
  l.answer(3, 2);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  l.end_claim(before);
  EXPECT_EQ(l.ready(), std::vector<gid>{first});  // independent of the later one
  l.end_claim(after);
  EXPECT_TRUE(l.settled_or_defer(first, 0));
}

// A release carries the number of losses known to its sender; a loss that the directory does not know yet is awaited.
TEST_F(LossLedger, LossesKnownToOthersAreAwaited) {
  EXPECT_FALSE(l.settled_or_defer(first, 1));
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.settled_or_defer(second, 0));
  lose(3);
  EXPECT_TRUE(l.ready().empty());
  l.answer(3, 1);
  l.answer(3, 2);
  EXPECT_EQ(l.ready(), std::vector<gid>{first});
}

TEST_F(LossLedger, LostLocalitiesNeedNotReply) {
  lose(3);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  lose(2);
  l.answer(3, 1);
  EXPECT_TRUE(l.ready().empty());  // the second loss has no replies
  l.answer(2, 1);
  EXPECT_EQ(l.ready(), std::vector<gid>{first});
}

// References claimed at the lost directory are claimed again before the loss is settled.
TEST_F(LossLedger, ClaimsThatAreMadeAgainDelayIt) {
  EXPECT_FALSE(l.knows(3));
  const auto epoch = l.add(3);
  ASSERT_TRUE(epoch);
  EXPECT_TRUE(l.knows(3));
  l.answer(3, 1);
  l.answer(3, 2);
  l.ask({3, 1});
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  l.begin_claim(*epoch);
  l.end_claim(*epoch);
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.answerable().empty());
  l.end_claim(*epoch);
  EXPECT_EQ(l.ready(), std::vector<gid>{first});
  EXPECT_EQ(l.answerable(), (std::vector<question>{{3, 1}}));
}

TEST_F(LossLedger, QuestionsWaitForTheLossAndEarlierClaims) {
  const unsigned before = l.begin_claim();
  l.ask({3, 1});
  l.ask({3, 1});                        // repeated before the reply
  EXPECT_TRUE(l.answerable().empty());  // this locality does not know the loss
  lose(3);
  EXPECT_TRUE(l.answerable().empty());
  const unsigned after = l.begin_claim();
  l.ask({3, 2});
  l.end_claim(before);
  EXPECT_EQ(l.answerable(), (std::vector<question>{{3, 1}, {3, 2}}));
  EXPECT_TRUE(l.answerable().empty());
  l.ask({3, 1});
  EXPECT_EQ(l.answerable(), (std::vector<question>{{3, 1}}));
  l.end_claim(after);
}

TEST_F(LossLedger, QuestionsOfALaterLossWaitForClaimsBetween) {
  lose(3);
  const unsigned between = l.begin_claim();
  lose(2);
  l.ask({3, 1});
  l.ask({2, 1});
  EXPECT_EQ(l.answerable(), (std::vector<question>{{3, 1}}));
  l.end_claim(between);
  EXPECT_EQ(l.answerable(), (std::vector<question>{{2, 1}}));
}

// Claims are made on one thread, replies on another, releases on a third: each deferred id is returned exactly once.
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
      for (const locality_id from : {1u, 2u}) l.answer(who, from);
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
