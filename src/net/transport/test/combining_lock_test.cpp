#include "net/transport/process_transport.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace {

using namespace plx::net;
using detail::combining_lock;

TEST(CombiningLock, BelongsToOneThreadAtATime) {
  combining_lock t;
  EXPECT_FALSE(t.mine());
  EXPECT_TRUE(t.try_take());
  EXPECT_TRUE(t.mine());
  EXPECT_FALSE(t.try_take());
  std::thread([&] {
    EXPECT_FALSE(t.mine());
    EXPECT_FALSE(t.try_take());
  }).join();
  t.give_back();
  std::thread([&] {
    EXPECT_TRUE(t.try_take());
    t.give_back();
  }).join();
}

TEST(CombiningLock, ReturnsMessagesInOrder) {
  combining_lock t;
  outgoing a, b, c;
  EXPECT_EQ(t.take(), nullptr);
  t.put(a), t.put(b), t.put(c);
  EXPECT_TRUE(t.any());
  EXPECT_EQ(t.take(), &a);
  EXPECT_EQ(a.next, &b);
  EXPECT_EQ(b.next, &c);
  EXPECT_EQ(c.next, nullptr);
  EXPECT_FALSE(t.any());
}

TEST(CombiningLock, TheHolderSendsMessagesCausedByItsOwn) {
  combining_lock t;
  outgoing first, second;
  std::vector<transport_request*> issued;
  const auto issue = [&](transport_request& m) {
    issued.push_back(&m);
    if (&m == &first) t.send(second, [&](transport_request& inner) { issued.push_back(&inner); });
  };
  t.send(first, issue);
  EXPECT_EQ(issued, (std::vector<transport_request*>{&first, &second}));
  EXPECT_FALSE(t.mine());
}

// Every message is sent exactly once, and no two threads send at the same time, although no thread waits.
TEST(CombiningLock, EveryMessageIsSent) {
  combining_lock t;
  constexpr int threads = 4, each = 20'000;
  int sent = 0;  // changed only by the thread that holds the lock
  const auto issue = [&](transport_request&) { ++sent; };
  std::vector<std::vector<outgoing>> messages(threads, std::vector<outgoing>(each));
  std::vector<std::thread> senders;
  for (auto& mine : messages)
    senders.emplace_back([&] {
      for (outgoing& m : mine) t.send(m, issue);
    });
  for (auto& s : senders) s.join();
  EXPECT_EQ(sent, threads * each);
  EXPECT_FALSE(t.any());
}

}  // namespace
