#include "net/agas/loss_ledger.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace plx;
using ledger = net::detail::loss_ledger;
using question = ledger::question;

constexpr gid first{1, 7, 1}, second{1, 7, 2};

// Of four localities this is number 0.
struct LossLedger : ::testing::Test {
  ledger l{0, 4};
};

TEST_F(LossLedger, WithoutALossEverythingIsSettled) {
  EXPECT_EQ(l.seen(), 0u);
  EXPECT_TRUE(l.settled_or_defer(first, 0));
  const unsigned epoch = l.begin_claim();
  EXPECT_TRUE(l.settled_or_defer(first, 0));
  l.end_claim(epoch);
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.answerable().empty());
}

TEST_F(LossLedger, ALossCountsOnce) {
  EXPECT_TRUE(l.add(3));
  EXPECT_FALSE(l.add(3));
  EXPECT_EQ(l.seen(), 1u);
  EXPECT_TRUE(l.add(2));
  EXPECT_EQ(l.seen(), 2u);
}

TEST_F(LossLedger, ALossIsSettledWhenAllSurvivorsHaveAnswered) {
  l.add(3);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  l.answer(3, 1);
  EXPECT_TRUE(l.ready().empty());
  l.answer(3, 1);  // once more
  l.answer(2, 2);  // of what is not lost
  l.answer(3, 9);  // by nobody
  EXPECT_TRUE(l.ready().empty());
  EXPECT_FALSE(l.settled_or_defer(second, 0));
  l.answer(3, 2);
  EXPECT_EQ(l.ready(), (std::vector<gid>{first, second}));
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.settled_or_defer(first, 0));
}

TEST_F(LossLedger, ClaimsFromBeforeTheLossHoldItUp) {
  const unsigned before = l.begin_claim();
  l.add(3);
  const unsigned after = l.begin_claim();
  EXPECT_NE(before, after);
  l.answer(3, 1);
  l.answer(3, 2);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  l.end_claim(before);
  EXPECT_EQ(l.ready(), std::vector<gid>{first});  // whatever the later one does
  l.end_claim(after);
  EXPECT_TRUE(l.settled_or_defer(first, 0));
}

// What a release says its sender knew, and the directory does not know yet, is waited for.
TEST_F(LossLedger, ALossThatOthersKnowIsWaitedFor) {
  EXPECT_FALSE(l.settled_or_defer(first, 1));
  EXPECT_TRUE(l.ready().empty());
  EXPECT_TRUE(l.settled_or_defer(second, 0));
  l.add(3);
  EXPECT_TRUE(l.ready().empty());
  l.answer(3, 1);
  l.answer(3, 2);
  EXPECT_EQ(l.ready(), std::vector<gid>{first});
}

TEST_F(LossLedger, TheLostNeedNotAnswer) {
  l.add(3);
  EXPECT_FALSE(l.settled_or_defer(first, 0));
  l.add(2);
  l.answer(3, 1);
  EXPECT_TRUE(l.ready().empty());  // the second loss has no answers
  l.answer(2, 1);
  EXPECT_EQ(l.ready(), std::vector<gid>{first});
}

TEST_F(LossLedger, OneThatNothingDependsOnIsSettledFromTheStart) {
  EXPECT_TRUE(l.add(3, true));
  EXPECT_TRUE(l.settled_or_defer(first, 1));
}

TEST_F(LossLedger, QuestionsAreAnsweredOnceTheLossIsSeenAndClaimsFromBeforeHaveEnded) {
  const unsigned before = l.begin_claim();
  l.ask({3, 1});
  l.ask({3, 1});                        // asks again before it has an answer
  EXPECT_TRUE(l.answerable().empty());  // this locality has not seen it
  l.add(3);
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

TEST_F(LossLedger, QuestionsOfALaterLossWaitForTheClaimsBetween) {
  l.add(3);
  const unsigned between = l.begin_claim();
  l.add(2);
  l.ask({3, 1});
  l.ask({2, 1});
  EXPECT_EQ(l.answerable(), (std::vector<question>{{3, 1}}));
  l.end_claim(between);
  EXPECT_EQ(l.answerable(), (std::vector<question>{{2, 1}}));
}

// Claims come and go on one thread, answers on another, releases on a third: each deferred id comes out exactly once.
TEST_F(LossLedger, EachDeferredIdComesOutOnce) {
  constexpr std::uint64_t n = 2000;
  std::atomic<std::uint64_t> settled{0}, deferred{0}, out{0};
  std::atomic<bool> over{false};
  std::thread claims([&] {
    while (!over) l.end_claim(l.begin_claim());
  });
  std::thread losses([&] {
    for (const locality_id who : {3u, 2u}) {
      l.add(who);
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
