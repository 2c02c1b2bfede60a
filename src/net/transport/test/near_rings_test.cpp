#include "net/transport/near_rings.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test/timeout_test.hpp"

namespace {

using namespace plx::net;
using plx::locality_id;
using plx::no_locality;
using net_rings = detail::near_rings;
using sending = detail::near_rings::sending;

/// Notes what arrives.
class noting_receiver final : public receiver {
 public:
  void arrived(locality_id from, std::span<const std::byte> head) noexcept override {
    all.emplace_back(from, std::string(reinterpret_cast<const char*>(head.data()), head.size()));
  }
  void* announced(locality_id, std::span<const std::byte>, std::span<place>) noexcept override { return nullptr; }
  void pieces_arrived(locality_id, void*, bool) noexcept override {}
  void pieces_lost(locality_id, void*) noexcept override {}
  void lost(locality_id, std::string_view) noexcept override {}

  void raw_arrived(locality_id from, std::span<const std::byte> message) noexcept override {
    raw.emplace_back(from, std::string(reinterpret_cast<const char*>(message.data()), message.size()));
  }

  std::vector<std::pair<locality_id, std::string>> all, raw;
};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

/// The rings of three localities: 0 and 2 on one host, 1 on another.
class NearRings : public testing::Test {
 protected:
  void SetUp() override {
    for (locality_id i = 0; i < 3; ++i) {
      jobs[i].here = i;
      jobs[i].size = 3;
      jobs[i].hosts = {"a", "b", "a"};
      offers.push_back(rings[i].offer(jobs[i]));
    }
    if (offers[0].empty()) GTEST_SKIP() << "no shared memory";
    for (locality_id i = 0; i < 3; ++i) rings[i].open(jobs[i], offers);
  }
  bool receive(locality_id here) { return rings[here].receive(receivers[here], invalid); }

  detail::job_info jobs[3];
  net_rings rings[3];
  noting_receiver receivers[3];
  std::vector<std::string> offers;
  locality_id invalid = no_locality;
};

TEST_F(NearRings, MessagesArriveInOrder) {
  EXPECT_FALSE(receive(2));
  const std::string longest(detail::most_shm_bytes, 'x');
  for (const std::string& text : {std::string("a"), longest, std::string(56, 'b'), std::string(57, 'c')})
    EXPECT_EQ(rings[0].send(2, bytes_of(text)), sending::sent);
  EXPECT_TRUE(receive(2));
  EXPECT_FALSE(receive(2));
  ASSERT_EQ(receivers[2].all.size(), 4u);
  EXPECT_EQ(receivers[2].all[0], std::pair(locality_id{0}, std::string("a")));
  EXPECT_EQ(receivers[2].all[1].second, longest);
  EXPECT_EQ(receivers[2].all[2].second, std::string(56, 'b'));
  EXPECT_EQ(receivers[2].all[3].second, std::string(57, 'c'));
  EXPECT_EQ(rings[2].send(0, bytes_of("back")), sending::sent);
  EXPECT_TRUE(receive(0));
  EXPECT_EQ(receivers[0].all.at(0), std::pair(locality_id{2}, std::string("back")));
  EXPECT_EQ(invalid, no_locality);
}

TEST_F(NearRings, TheLibrarySendsTheOthers) {
  EXPECT_TRUE(offers[1].empty()) << "no other locality is on its host";
  EXPECT_EQ(rings[0].send(1, bytes_of("a")), sending::left);
  EXPECT_EQ(rings[1].send(0, bytes_of("a")), sending::left);
  EXPECT_EQ(rings[0].send(2, bytes_of(std::string(detail::most_shm_bytes + 1, 'x'))), sending::left);
  EXPECT_EQ(rings[0].send(2, {}), sending::left);
  EXPECT_FALSE(receive(2));
}

TEST_F(NearRings, AFullRingHasRoomAgainWhenItIsRead) {
  int n = 0;
  while (rings[0].send(2, bytes_of("message")) == sending::sent) ASSERT_LT(++n, 100'000);
  EXPECT_GE(n, 16);
  while (receive(2)) {
  }
  EXPECT_EQ(receivers[2].all.size(), static_cast<std::size_t>(n));
  EXPECT_EQ(rings[0].send(2, bytes_of("message")), sending::sent);
}

TEST_F(NearRings, AMessageToASleepingLocalityIsLeftToTheLibraryWhichWakesIt) {
  EXPECT_TRUE(rings[2].sleep());
  EXPECT_EQ(rings[0].send(2, bytes_of("first")), sending::left);
  EXPECT_EQ(rings[0].send(2, bytes_of("second")), sending::sent) << "one wakes it";
  EXPECT_FALSE(rings[2].sleep()) << "a message has arrived";
  EXPECT_TRUE(receive(2));
  EXPECT_TRUE(rings[2].sleep());
  EXPECT_EQ(rings[0].send(2, bytes_of("of the next sleep")), sending::left);
  rings[2].awake();
  EXPECT_EQ(rings[0].send(2, bytes_of("awake")), sending::sent);
  EXPECT_EQ(rings[0].counted().wakeups, 2u);
}

TEST_F(NearRings, RawMessagesAreDistinguishedFromHeads) {
  const std::string longest(most_raw_bytes, 'x');
  EXPECT_EQ(rings[0].send_raw(2, bytes_of("fir"), bytes_of("st")), sending::sent);
  EXPECT_EQ(rings[0].send(2, bytes_of("head")), sending::sent);
  EXPECT_EQ(rings[0].send_raw(2, bytes_of(longest).first(8), bytes_of(longest).subspan(8)), sending::sent);
  EXPECT_EQ(rings[0].send_raw(2, bytes_of("x"), bytes_of(longest)), sending::left) << "too long";
  EXPECT_EQ(rings[0].send_raw(1, bytes_of("to another host"), {}), sending::left);
  EXPECT_TRUE(receive(2));
  const std::pair first(locality_id{0}, std::string("first")), last(locality_id{0}, longest);
  EXPECT_EQ(receivers[2].raw, (std::vector{first, last}));
  EXPECT_EQ(receivers[2].all, (std::vector{std::pair(locality_id{0}, std::string("head"))}));
  EXPECT_EQ(rings[0].counted().sent, 3u);
  EXPECT_EQ(rings[0].counted().sent_raw, 2u);
}

TEST_F(NearRings, AnAwaitedRawMessageIsFoundBehindOthersAndLeavesLaterOnes) {
  raw_message into;
  EXPECT_EQ(rings[2].receive_awaited(receivers[2], 0, bytes_of("b"), into), 0u);
  for (const char* text : {"a1", "b2", "b3"}) EXPECT_EQ(rings[0].send_raw(2, bytes_of(text), {}), sending::sent);
  EXPECT_EQ(rings[2].receive_awaited(receivers[2], 0, bytes_of("b"), into), 2u);
  EXPECT_EQ(into[1], std::byte{'2'});
  EXPECT_EQ(receivers[2].raw, (std::vector{std::pair(locality_id{0}, std::string("a1"))}));
  EXPECT_EQ(rings[2].receive_awaited(receivers[2], 1, bytes_of("b"), into), 0u) << "of another host";
  EXPECT_EQ(rings[0].send(2, bytes_of("head")), sending::sent);
  EXPECT_EQ(rings[0].send_raw(2, bytes_of("b4"), {}), sending::sent);
  EXPECT_EQ(rings[2].receive_awaited(receivers[2], 0, bytes_of("b4"), into), 0u) << "heads are received by polls";
  EXPECT_TRUE(receivers[2].all.empty());
  rings[2].receive_of(receivers[2], 0);
  EXPECT_EQ(receivers[2].raw.back().second, "b4");
  EXPECT_EQ(receivers[2].all.size(), 1u);
  EXPECT_EQ(rings[2].counted().received, 5u);
}

// Heads are delivered under the transport's lock only: also one that is written between two messages of a call.
TEST_F(NearRings, AnAwaitedRawMessageIsFoundWithoutHeadsThatAreWrittenMeanwhile) {
  class counting final : public receiver {
   public:
    void arrived(locality_id, std::span<const std::byte>) noexcept override { ++(polled ? heads : wrong); }
    void raw_arrived(locality_id, std::span<const std::byte>) noexcept override { ++raw; }
    void* announced(locality_id, std::span<const std::byte>, std::span<place>) noexcept override { return nullptr; }
    void pieces_arrived(locality_id, void*, bool) noexcept override {}
    void pieces_lost(locality_id, void*) noexcept override {}
    void lost(locality_id, std::string_view) noexcept override {}
    bool polled = false;
    unsigned heads = 0, raw = 0, wrong = 0;
  } r;
  constexpr unsigned rounds = 20'000;
  std::atomic<unsigned> begun{0}, left{0};
  std::atomic<bool> ended{false};
  std::thread writing([&] {
    for (unsigned i = 0; i < rounds; ++i) {
      while (begun.load() <= i && !ended.load()) std::this_thread::yield();
      if (ended.load()) return;
      left += rings[0].send_raw(2, bytes_of("raw"), {}) == sending::left ? 1u : 0u;
      left += rings[0].send(2, bytes_of("head")) == sending::left ? 1u : 0u;
    }
  });
  raw_message into;
  bool all_came = true;
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  for (unsigned i = 0; i < rounds && all_came && std::chrono::steady_clock::now() < enough; ++i) {
    begun = i + 1;
    all_came = plx::comes_true(
        [&] {
          EXPECT_EQ(rings[2].receive_awaited(r, 0, bytes_of("none"), into), 0u);
          return r.raw > i || r.wrong != 0;
        },
        std::this_thread::yield);
    EXPECT_EQ(rings[2].receive_awaited(r, 0, bytes_of("none"), into), 0u);
    if (r.wrong != 0) break;
    r.polled = true;
    all_came =
        all_came && plx::comes_true([&] { return rings[2].receive_of(r, 0), r.heads > i; }, std::this_thread::yield);
    r.polled = false;
  }
  ended = true;
  writing.join();
  EXPECT_TRUE(all_came);
  EXPECT_EQ(r.wrong, 0u);
  EXPECT_EQ(left.load(), 0u);
  EXPECT_GT(r.raw, 0u);
  EXPECT_EQ(rings[0].counted().sent_raw, r.raw);
}

// A neighbour that writes as fast as this locality reads does not keep the reading thread for ever.
TEST_F(NearRings, AStreamOfRawMessagesIsReceivedInParts) {
  class answering final : public receiver {
   public:
    explicit answering(net_rings& from) : from_(from) {}
    void arrived(locality_id, std::span<const std::byte>) noexcept override {}
    void raw_arrived(locality_id, std::span<const std::byte> message) noexcept override {
      if (++received < 10'000) from_.send_raw(2, message, {});
    }
    void* announced(locality_id, std::span<const std::byte>, std::span<place>) noexcept override { return nullptr; }
    void pieces_arrived(locality_id, void*, bool) noexcept override {}
    void pieces_lost(locality_id, void*) noexcept override {}
    void lost(locality_id, std::string_view) noexcept override {}
    unsigned received = 0;

   private:
    net_rings& from_;
  } r(rings[0]);
  raw_message into;
  EXPECT_EQ(rings[0].send_raw(2, bytes_of("again"), {}), sending::sent);
  EXPECT_EQ(rings[2].receive_awaited(r, 0, bytes_of("never"), into), 0u);
  EXPECT_LE(r.received, 128u);
  rings[2].receive_of(r, 0);
  EXPECT_LE(r.received, 2 * 128u + 16);
  EXPECT_TRUE(rings[2].receive(r, invalid));
  EXPECT_LE(r.received, 3 * 128u + 16);
}

TEST_F(NearRings, ARawMessageToASleepingLocalityIsWrittenAndWakesItOnce) {
  EXPECT_TRUE(rings[2].sleep());
  EXPECT_EQ(rings[0].send_raw(2, bytes_of("first"), {}), sending::sent_asleep);
  EXPECT_EQ(rings[0].send_raw(2, bytes_of("second"), {}), sending::sent);
  // Received without the wake-up: the next sleep has another number, for which a sender sends another one.
  rings[2].receive_of(receivers[2], 0);
  EXPECT_TRUE(rings[2].sleep());
  EXPECT_EQ(rings[0].send_raw(2, bytes_of("third"), {}), sending::sent_asleep);
}

TEST_F(NearRings, AnInvalidMessageThatAnotherThreadFindsIsReportedByTheNextPoll) {
  auto memory = detail::shm_segment::open(offers[2], 2);
  ASSERT_TRUE(memory) << memory.error().message;
  memory->ring_of(0).line(0).stamp.store(detail::shm_ring::stamp(0, detail::shm_ring::raw_bit));
  raw_message into;
  EXPECT_EQ(rings[2].receive_awaited(receivers[2], 0, bytes_of("a"), into), 0u);
  EXPECT_FALSE(rings[2].sleep());
  EXPECT_TRUE(receive(2));
  EXPECT_EQ(invalid, 0u);
  EXPECT_TRUE(rings[2].sleep());
}

// Another thread may hold the lock for long, because it was preempted.
TEST_F(NearRings, ASendNeverWaits) {
  constexpr std::size_t each = 20'000;
  const std::string longest(detail::most_shm_bytes, 'x');
  std::atomic<std::size_t> sent{0}, ended{0};
  const auto send = [&] {
    for (std::size_t i = 0; i < each; ++i) sent += rings[0].send(2, bytes_of(longest)) == sending::sent ? 1 : 0;
    ++ended;
  };
  std::thread one(send), other(send);
  while (ended.load() != 2) receive(2);
  one.join(), other.join();
  while (receive(2)) {
  }
  EXPECT_EQ(receivers[2].all.size(), sent.load());
  EXPECT_EQ(rings[0].counted().sent, sent.load());
  EXPECT_EQ(rings[2].counted().received, sent.load());
}

// The sender waits for each message to be received: if the receiver slept without being woken, it would wait for ever.
TEST_F(NearRings, NoMessageIsOverlookedByALocalityThatFallsAsleep) {
  constexpr std::size_t rounds = 20'000;
  std::atomic<std::size_t> woken{0}, received{0};
  std::atomic<bool> ended{false};
  std::thread receiving([&] {
    while (!ended.load()) {
      const std::size_t before = woken.load();
      while (receive(2)) {
      }
      received = receivers[2].all.size();
      if (!rings[2].sleep()) continue;
      while (woken.load() == before && !ended.load()) std::this_thread::yield();
    }
  });
  const auto enough = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::size_t sent = 0;
  bool arrived = true;
  for (std::size_t i = 0; i < rounds && arrived && std::chrono::steady_clock::now() < enough; ++i) {
    const sending how = rings[0].send(2, bytes_of("x"));
    sent += how != sending::left ? 1 : 0;
    if (how != sending::sent) woken.fetch_add(1);  // a message of the library wakes as well
    arrived = plx::comes_true([&] { return received.load() == sent; }, std::this_thread::yield);
  }
  EXPECT_EQ(received.load(), sent);
  EXPECT_GT(sent, 0u);
  ended = true;
  receiving.join();
}

TEST_F(NearRings, AnInvalidMessageEndsTheRing) {
  auto memory = detail::shm_segment::open(offers[2], 2);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(rings[0].send(2, bytes_of("good")), sending::sent);
  memory->ring_of(0).line(1).stamp.store(detail::shm_ring::stamp(1, 60'000));
  EXPECT_TRUE(receive(2));
  EXPECT_EQ(invalid, 0u);
  EXPECT_EQ(receivers[2].all.size(), 1u);
  EXPECT_FALSE(receive(2));
}

/// The rings of localities of one host.
class ManyNearRings : public testing::Test {
 protected:
  void open(unsigned n) {
    for (locality_id i = 0; i < n; ++i) {
      jobs.emplace_back();
      jobs[i].here = i;
      jobs[i].size = n;
      jobs[i].hosts.assign(n, "a");
      rings.push_back(std::make_unique<net_rings>());
      offers.push_back(rings[i]->offer(jobs[i]));
    }
    if (offers[0].empty()) GTEST_SKIP() << "no shared memory";
    for (locality_id i = 0; i < n; ++i) rings[i]->open(jobs[i], offers);
  }
  std::vector<detail::job_info> jobs;
  std::vector<std::unique_ptr<net_rings>> rings;
  std::vector<std::string> offers;
  noting_receiver received;
  locality_id invalid = no_locality;
};

// A sender that was stopped or killed before its wake-up went out does not keep others from waking the receiver.
TEST_F(ManyNearRings, EachSenderWakesASleepingLocality) {
  open(3);
  if (IsSkipped()) return;
  EXPECT_TRUE(rings[0]->sleep());
  EXPECT_EQ(rings[1]->send(0, bytes_of("a")), sending::left);
  EXPECT_EQ(rings[2]->send(0, bytes_of("b")), sending::left);
  EXPECT_EQ(rings[1]->send(0, bytes_of("c")), sending::sent);
  EXPECT_EQ(rings[2]->send(0, bytes_of("d")), sending::sent);
  EXPECT_TRUE(rings[0]->receive(received, invalid));
  EXPECT_TRUE(rings[0]->sleep()) << "again, after the wake-ups have been received";
  EXPECT_EQ(rings[1]->send(0, bytes_of("e")), sending::left);
}

TEST_F(ManyNearRings, SeveralInvalidMessagesAreReportedOneByOne) {
  open(4);
  if (IsSkipped()) return;
  auto memory = detail::shm_segment::open(offers[0], 4);
  ASSERT_TRUE(memory) << memory.error().message;
  for (const unsigned bad : {1u, 2u}) memory->ring_of(bad).line(0).stamp.store(detail::shm_ring::stamp(0, 60'000));
  EXPECT_EQ(rings[3]->send(0, bytes_of("good")), sending::sent);
  std::vector<locality_id> found;
  for (int i = 0; i < 4; ++i) {
    locality_id one = no_locality;
    rings[0]->receive(received, one);
    if (one != no_locality) found.push_back(one);
  }
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<locality_id>{1, 2}));
  EXPECT_EQ(received.all.size(), 1u);
}

// An invalid message of another neighbour has been found, but not reported.
TEST_F(ManyNearRings, APendingReportDelaysNoOtherMessagesAndIsNotReplaced) {
  open(5);
  if (IsSkipped()) return;
  auto memory = detail::shm_segment::open(offers[0], 5);
  ASSERT_TRUE(memory) << memory.error().message;
  const auto write_invalid = [&](unsigned from, std::size_t line) {
    memory->ring_of(from).line(line).stamp.store(detail::shm_ring::stamp(line, detail::shm_ring::raw_bit));
  };
  write_invalid(1, 0);
  raw_message into;
  EXPECT_EQ(rings[0]->receive_awaited(received, 1, bytes_of("a"), into), 0u);
  EXPECT_EQ(rings[2]->send_raw(0, bytes_of("good"), {}), sending::sent);
  write_invalid(2, 1);
  rings[0]->receive_of(received, 2);
  EXPECT_EQ(received.raw, (std::vector{std::pair(locality_id{2}, std::string("good"))}));
  EXPECT_EQ(rings[3]->send_raw(0, bytes_of("last"), {}), sending::sent);
  write_invalid(3, 1);
  rings[0]->receive_last(received, 3);
  EXPECT_EQ(received.raw.back(), std::pair(locality_id{3}, std::string("last")));
  std::vector<locality_id> found;
  for (int i = 0; i < 4; ++i) {
    locality_id one = no_locality;
    rings[0]->receive_of_all(received, one);
    if (one != no_locality) found.push_back(one);
  }
  EXPECT_EQ(found, (std::vector<locality_id>{1, 2})) << "3 was lost before";
}

TEST_F(ManyNearRings, TheReachableOnesAreThoseAfterThisLocality) {
  open(5);
  if (IsSkipped()) return;
  EXPECT_EQ(rings[2]->reachable(3), (std::vector<locality_id>{3, 4, 0}));
  EXPECT_EQ(rings[0]->reachable(2), (std::vector<locality_id>{1, 2}));
  EXPECT_EQ(rings[4]->reachable(64), (std::vector<locality_id>{0, 1, 2, 3}));
}

TEST_F(ManyNearRings, AllAreReadAlsoIfTheyAreMoreThanOnePollLooksAt) {
  constexpr unsigned n = 40;
  open(n);
  if (IsSkipped()) return;
  for (const bool of_all : {false, true}) {
    received.all.clear();
    for (locality_id i = 1; i < n; ++i) EXPECT_EQ(rings[i]->send(0, bytes_of("x")), sending::sent);
    if (of_all)
      EXPECT_TRUE(rings[0]->receive_of_all(received, invalid));
    else
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(rings[0]->receive(received, invalid));
    EXPECT_EQ(received.all.size(), n - 1);
    EXPECT_FALSE(rings[0]->receive_of_all(received, invalid));
  }
  EXPECT_EQ(rings[0]->counted().received, 2 * (n - 1));
  EXPECT_EQ(rings[1]->send(0, bytes_of("last")), sending::sent);
  EXPECT_FALSE(rings[0]->sleep()) << "it looks at all";
}

TEST_F(ManyNearRings, OfTooManyOnlyRawMessagesAreSent) {
  open(net_rings::most_for_heads + 1);
  if (IsSkipped()) return;
  EXPECT_EQ(rings[1]->send(0, bytes_of("head")), sending::left);
  EXPECT_EQ(rings[1]->send_raw(0, bytes_of("raw"), {}), sending::sent);
  EXPECT_TRUE(rings[0]->receive_of_all(received, invalid));
  EXPECT_EQ(received.raw.size(), 1u);
}

TEST_F(NearRings, TheLastMessagesOfALostLocalityArriveAndNoLaterOnes) {
  for (int i = 0; i < 40; ++i) EXPECT_EQ(rings[0].send(2, bytes_of("last")), sending::sent);
  rings[2].receive_last(receivers[2], 0);
  EXPECT_EQ(receivers[2].all.size(), 40u);
  EXPECT_EQ(rings[0].send(2, bytes_of("late")), sending::sent);
  EXPECT_FALSE(receive(2));
  EXPECT_EQ(rings[2].send(0, bytes_of("to the lost one")), sending::left);
  EXPECT_TRUE(rings[2].sleep()) << "it does not wait for messages that it will not read";
}

TEST_F(NearRings, AfterTheEndTheLibraryGetsAllMessages) {
  EXPECT_EQ(rings[0].send(2, bytes_of("before")), sending::sent);
  rings[2].close();
  EXPECT_FALSE(receive(2));
  EXPECT_EQ(rings[2].send(0, bytes_of("after")), sending::left);
}

TEST(NearRingsOffer, NoneIfTheUserWantsNone) {
  detail::job_info job;
  job.size = 2;
  job.hosts = {"a", "a"};
  setenv("PLX_SHARED_MEMORY", "off", 1);
  EXPECT_EQ(net_rings().offer(job), "");
  unsetenv("PLX_SHARED_MEMORY");
}

}  // namespace
