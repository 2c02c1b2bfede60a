// send() and recv() of communicators.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "net/archive.hpp"
#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/group/tagged_messages.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/async.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using net::collective::tagged_messages;

TEST(Tagged, ValuesOnARingAsInTheManual) {
  const unsigned n = 3;
  net::test::localities all(n);
  all.run_all([&] {
    const communicator comm;
    const unsigned left = (comm.rank() + n - 1) % n, right = (comm.rank() + 1) % n;
    const std::vector<double> edge(4, comm.rank());
    plx::future<void> sent = comm.send(right, 7, edge);  // 7 is the tag
    const auto ghosts = comm.recv<std::vector<double>>(left, 7).get();
    sent.get();  // the neighbour has taken the message
    EXPECT_EQ(ghosts, std::vector<double>(4, left));
  });
}

TEST(Tagged, ValuesOfAllKindsArrive) {
  for (const unsigned n : {1u, 2u, 3u}) {
    net::test::localities all(n);
    all.run_all([&] {
      const communicator c;
      const unsigned to = (c.rank() + 1) % n, from = (c.rank() + n - 1) % n;
      const std::vector<double> numbers = {1.5 * c.rank(), 2, 3}, many(50'000, c.rank());
      std::vector<future<void>> sent;
      sent.push_back(c.send(to, 1, c.rank()));
      sent.push_back(c.send(to, 2, std::string("from ") + std::to_string(c.rank())));
      sent.push_back(c.send(to, 3, numbers));
      sent.push_back(c.send(to, 3, std::span<const double>(many)));
      sent.push_back(c.send(to, 3, std::vector<double>{7}));
      sent.push_back(c.send(to, 4, std::vector<std::string>{"a", "b"}));
      sent.push_back(c.send(to, 5, std::vector<double>()));
      sent.push_back(c.send(to, 6, true));
      EXPECT_EQ(c.recv<std::vector<std::string>>(from, 4).get(), (std::vector<std::string>{"a", "b"}));
      EXPECT_TRUE(c.recv<bool>(from, 6).get());
      EXPECT_EQ(c.recv<unsigned>(from, 1).get(), from);
      EXPECT_EQ(c.recv<std::string>(from, 2).get(), "from " + std::to_string(from));
      std::vector<double> three(3);
      c.recv(from, 3, std::span<double>(three)).get();
      EXPECT_EQ(three, (std::vector<double>{1.5 * from, 2, 3}));
      EXPECT_EQ(c.recv<std::vector<double>>(from, 3).get(), std::vector<double>(50'000, from));
      EXPECT_EQ(c.recv<double>(from, 3).get(), 7);
      EXPECT_TRUE(c.recv<std::vector<double>>(from, 5).get().empty());
      for (auto& f : sent) f.get();
    });
    for (unsigned i = 0; i < n; ++i) {
      EXPECT_EQ(all.at(i).port().counts().refused, 0u);
      EXPECT_EQ(all.at(i).get<tagged_messages>().waiting().messages, 0u);
    }
  }
}

std::vector<unsigned> contents_of(unsigned from, unsigned to, unsigned tag, unsigned number) {
  std::vector<unsigned> v = {from, to, tag, number};
  if (number % 4 == 1) v.resize(3000, number);  // a piece of its own
  return v;
}

// Each member sends to each, itself included, with three tags. Some receptions begin before the messages are sent.
void all_pairs(const communicator& c, unsigned each) {
  const unsigned n = c.size(), r = c.rank();
  std::vector<future<std::vector<unsigned>>> received;
  const auto receive = [&](bool early) {
    for (unsigned from = 0; from < n; ++from)
      for (unsigned tag = 0; tag < 3; ++tag)
        for (unsigned i = 0; i < each; ++i)
          if (((from + tag) % 2 == 0) == early) received.push_back(c.recv<std::vector<unsigned>>(from, tag));
  };
  receive(true);
  std::vector<future<void>> sent;
  for (unsigned i = 0; i < each; ++i)
    for (unsigned to = 0; to < n; ++to)
      for (unsigned tag = 0; tag < 3; ++tag) sent.push_back(c.send(to, tag, contents_of(r, to, tag, i)));
  receive(false);
  auto at = received.begin();
  for (const bool early : {true, false})
    for (unsigned from = 0; from < n; ++from)
      for (unsigned tag = 0; tag < 3; ++tag)
        for (unsigned i = 0; i < each; ++i)
          if (((from + tag) % 2 == 0) == early) {
            EXPECT_EQ((at++)->get(), contents_of(from, r, tag, i));
          }
  for (auto& f : sent) f.get();
}

TEST(Tagged, EachPairAndTagKeepsItsOrder) {
  for (const unsigned n : {1u, 2u, 4u}) {
    net::test::localities all(n);
    all.run_all([] { all_pairs(communicator(), 40); });
  }
}

TEST(Tagged, AnyOrderOfMessagesGivesTheSame) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const auto n = static_cast<unsigned>(1 + seed % 4);
    net::simulation sim({.localities = n, .seed = seed});
    sim.run([&] {
      const communicator c, other("other");
      auto second = async([&] { all_pairs(other, 4); });  // numbers are counted for each communicator
      all_pairs(c, 6);
      second.get();
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// A message and its reply, whatever its size.
TEST(Tagged, MessagesOfASend) {
  for (const std::size_t count : {1u, 100'000u}) {
    net::simulation sim({.localities = 2, .workers = 1, .credits = 16384});
    std::vector<std::optional<communicator>> all(2);
    sim.run([&] { all[find_here()].emplace(); });
    std::vector<net::port_counts> before;
    for (locality_id i = 0; i < 2; ++i) before.push_back(sim.at(i).port().counts());
    sim.run([&] {
      std::vector<double> v(count);
      find_here() == 0 ? all[0]->send(1, 0, v).get() : all[1]->recv(0, 0, std::span<double>(v)).get();
    });
    for (locality_id i = 0; i < 2; ++i) {
      const net::port_counts now = sim.at(i).port().counts();
      EXPECT_EQ(now.messages_sent - before[i].messages_sent, 1u) << i;
      const std::size_t bytes = i == 0 ? count * sizeof(double) : 0;
      EXPECT_GE(now.bytes_sent - before[i].bytes_sent, bytes);
      EXPECT_LE(now.bytes_sent - before[i].bytes_sent, bytes + 300);
    }
    sim.run([&] { all[find_here()].reset(); });
  }
}

// Three members send to a slow one much more than may wait there.
TEST(Tagged, MemoryOfASlowReceiverIsBounded) {
  constexpr std::uint64_t most = 20'000, each = 4000;
  std::uint64_t largest = 0;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 4, .seed = seed});
    sim.run([&] {
      const communicator c;
      auto& here = net::node_here().get<tagged_messages>();
      here.bound_waiting(most);
      if (c.rank() != 0) {
        for (unsigned i = 0; i < 20; ++i) (void)c.send(0, i % 2, std::vector<std::byte>(each + i));
        return;
      }
      for (unsigned i = 0; i < 20; ++i)
        for (unsigned from = 1; from < 4; ++from) {
          largest = std::max(largest, here.waiting().bytes);
          this_thread::sleep_for(std::chrono::microseconds(100));
          EXPECT_EQ(c.recv<std::vector<std::byte>>(from, i % 2).get().size(), each + i);
        }
    });
    EXPECT_LE(largest, 3 * most);
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(largest, 2 * most);
}

// Many tasks send messages of several sizes with one tag: they arrive in the order of the calls of send().
TEST(Tagged, SendersAreAdmittedInOrder) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    constexpr int n = 30;
    net::simulation sim({.localities = 2, .seed = seed, .credits = 16384});
    sim.run([&] {
      net::node_here().get<tagged_messages>().bound_waiting(2000);
      const communicator c;
      if (c.rank() == 1) {
        for (int i = 0; i < n; ++i) EXPECT_EQ(c.recv<std::vector<int>>(0, 0).get().at(0), i);
        return;
      }
      int calls = 0;  // tasks of a locality change only where they wait
      std::vector<future<void>> tasks;
      for (int i = 0; i < n; ++i)
        tasks.push_back(async([&, i] {
          std::vector<int> v(i % 3 == 1 ? 400 : 1);  // the larger ones need all the room
          v[0] = calls++;
          c.send(1, 0, v).get();
        }));
      for (auto& f : tasks) f.get();
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Tagged, AMessageOfAnySizeHasRoom) {
  net::simulation sim({.localities = 2});
  sim.run([&] {
    net::node_here().get<tagged_messages>().bound_waiting(1000);
    const communicator c;
    const std::vector<int> large(5000, 3);
    for (int i = 0; i < 3; ++i)
      if (c.rank() == 0) {
        c.send(1, 0, large).get();
      } else {
        EXPECT_EQ(c.recv<std::vector<int>>(0, 0).get(), large);
      }
  });
}

/// The text of the exception of f; "" without one.
template <class E, class F>
std::string text_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
  }
  return "";
}

TEST(Tagged, NonexistentRanksAreRefused) {
  net::test::localities all(2);
  all.run_all([] {
    const communicator c("pair");
    const std::string expected = "rank 2 of the communicator \"pair\": expected a rank below 2";
    EXPECT_EQ(text_of<std::invalid_argument>([&] { (void)c.send(2, 0, 1); }), "send() to " + expected);
    EXPECT_EQ(text_of<std::invalid_argument>([&] { (void)c.recv<int>(2, 0); }), "recv() from " + expected);
  });
}

// The wrong message counts as received.
TEST(Tagged, OtherTypesAndNumbersAreReportedToBoth) {
  net::test::localities all(2);
  all.run_all([] {
    const communicator c;
    const std::string before = "message 0 with tag 3 from locality 0 contains ";
    const struct {
      std::uint32_t tag;
      std::string text;
    } cases[] = {{3, before + "a value of another type than std::vector<float>, which recv() expects"},
                 {4, "message 0 with tag 4 from locality 0 contains 3 elements of double: recv() expects 2"},
                 {5, "message 0 with tag 5 from locality 0 contains 3 elements of double: recv() expects 1"}};
    for (const auto& x : cases) {
      if (c.rank() == 0) {
        auto wrong = c.send(1, x.tag, std::vector<double>{1, 2, 3}), right = c.send(1, x.tag, std::string("next"));
        EXPECT_NE(text_of<remote_error>([&] { wrong.get(); }).find(x.text), std::string::npos);
        EXPECT_NO_THROW(right.get());
        continue;
      }
      std::vector<double> two(2);
      const std::string found = text_of<std::logic_error>([&] {
        if (x.tag == 3) (void)c.recv<std::vector<float>>(0, 3).get();
        if (x.tag == 4) c.recv(0, 4, std::span<double>(two)).get();
        if (x.tag == 5) (void)c.recv<double>(0, 5).get();
      });
      EXPECT_EQ(found, x.text);
      EXPECT_EQ(c.recv<std::string>(0, x.tag).get(), "next");
    }
  });
}

// Locality 0 dies at any moment: each future has its value or the loss, and none hangs. The survivors continue.
TEST(Tagged, ADeathAtAnyMomentIsReported) {
  int lost = 0, received = 0;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 3, .seed = seed, .kills = {{0, 0, 1e-3}}});
    sim.run([&] {
      const communicator c;
      if (c.rank() == 0) {
        for (int i = 0; i < 20; ++i) {
          (void)c.send(1, 0, i), (void)c.send(2, 0, std::vector<int>(2000, i));
          if (text_of<locality_lost>([&] { (void)c.recv<int>(2, 1).get(); }) != "") return;
        }
        return;
      }
      std::vector<future<void>> sent;
      for (int i = 0; i < 20; ++i) sent.push_back(c.send(0, 1, i));
      bool missing = false;
      for (int i = 0; i < 20; ++i) {
        try {
          const int found = c.rank() == 1 ? c.recv<int>(0, 0).get() : c.recv<std::vector<int>>(0, 0).get().at(1999);
          EXPECT_EQ(found, i);
          EXPECT_FALSE(missing) << "after a missing one";
          ++received;
        } catch (const locality_lost& e) {
          EXPECT_EQ(e.which(), 0u);
          missing = true;
          ++lost;
        }
      }
      // Some messages of locality 1 are never received; the rest of it sends more than locality 0 receives.
      if (missing)
        for (auto& f : sent) (void)text_of<locality_lost>([&] { f.get(); });
      auto there = c.send(3 - c.rank(), 9, c.rank());
      EXPECT_EQ(c.recv<unsigned>(3 - c.rank(), 9).get(), 3 - c.rank());
      there.get();
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(lost, 0);
  EXPECT_GT(received, 0);
}

// Locality 1 sends one message and dies. Locality 0 is busy, so that its tasks run later than its poller.
TEST(Tagged, AMessageThatHasArrivedIsReceivedAfterTheLossOfItsSender) {
  int lost = 0, received = 0;
  for (std::uint64_t seed = 1; seed <= 5 * plx::testing::seed_count(); ++seed) {
    net::simulation sim({.seed = seed, .detection_min_s = 1e-6, .detection_max_s = 20e-6, .kills = {{1, 0, 50e-6}}});
    sim.run([&] {
      const communicator c;
      if (c.rank() == 1) {
        (void)c.send(0, 0, std::vector<int>(seed % 2 == 0 ? 2000 : 1));
        return this_thread::sleep_for(std::chrono::seconds(1));
      }
      bool ended = false;
      std::vector<future<void>> others;
      for (int i = 0; i < 200; ++i)
        others.push_back(async([&ended] {
          while (!ended) this_thread::yield();
        }));
      auto message = c.recv<std::vector<int>>(1, 0);
      try {
        (void)message.get();
        ++received;
      } catch (const locality_lost&) {
        EXPECT_EQ(net::node_here().port().counts().parcels_received, 0u) << "it has arrived";
        ++lost;
      }
      ended = true;
      for (auto& f : others) f.get();
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(lost, 0);
  EXPECT_GT(received, 0);
}

// Whether recv() is called before or after: it fails, and takes no later message.
TEST(Tagged, AMessageWhoseDataDoNotArriveIsReportedToBoth) {
  using fate = net::test::queue_network::piece_fate;
  for (const bool early : {true, false}) {
    net::test::localities all(2);
    future<std::vector<int>> first;
    const auto receive = [&] { first = communicator().recv<std::vector<int>>(0, 0); };
    if (early) all.run(1, receive);
    all.network().pieces = fate::fail;
    all.run(0, [] {
      const std::string why = text_of<remote_error>([] { communicator().send(1, 0, std::vector<int>(5000, 1)).get(); });
      EXPECT_NE(why.find("its data could not be received"), std::string::npos) << why;
    });
    all.network().pieces = fate::arrive;
    if (!early) all.run(1, receive);
    EXPECT_EQ(text_of<std::runtime_error>([&] { (void)first.get(); }),
              "message 0 with tag 0 from locality 0 could not be delivered: its send() has the reason");
    all.run(0, [] { (void)communicator().send(1, 0, std::vector<int>(5000, 2)); });
    all.run(1, [] { EXPECT_EQ(communicator().recv<std::vector<int>>(0, 0).get(), std::vector<int>(5000, 2)); });
    EXPECT_EQ(all.at(1).get<tagged_messages>().waiting().messages, 0u);
  }
}

// A receiver keeps messages up to its bound. Those that it refuses are reported to both, and later ones arrive.
TEST(Tagged, AReceiverKeepsABoundedNumberOfBytes) {
  net::test::localities all(2);
  auto& there = all.at(1).get<tagged_messages>();
  there.bound_kept(1000);
  std::vector<future<void>> sent;
  const auto send = [&](char c) {
    all.run(0, [&] { sent.push_back(communicator().send(1, 0, std::string(400, c))); });
  };
  send('a'), send('b');
  EXPECT_LE(there.waiting().bytes, 500u);
  all.run(1, [] {
    const communicator c;
    EXPECT_EQ(c.recv<std::string>(0, 0).get(), std::string(400, 'a'));
    EXPECT_NE(text_of<std::runtime_error>([&] { (void)c.recv<std::string>(0, 0).get(); }), "");
  });
  for (int i = 0; i < 5; ++i) {
    send('c');
    all.run(1, [] { EXPECT_EQ(communicator().recv<std::string>(0, 0).get(), std::string(400, 'c')); });
  }
  const std::string why = text_of<remote_error>([&] { sent[1].get(); });
  EXPECT_NE(why.find("more than 1000 bytes of tagged messages"), std::string::npos) << why;
  EXPECT_NO_THROW(sent[0].get());
  EXPECT_EQ(all.at(1).port().counts().refused, 1u);
}

// A sender that waits for room is resumed by the loss of the receiver.
TEST(Tagged, ASenderWithoutRoomLearnsOfTheLoss) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 2, .seed = seed, .kills = {{1, 0, 1e-3}}});
    sim.run([&] {
      const communicator c;
      net::node_here().get<tagged_messages>().bound_waiting(1000);
      if (c.rank() != 0) return this_thread::sleep_for(std::chrono::seconds(1));
      std::vector<future<void>> sent;
      for (int i = 0; i < 20; ++i) sent.push_back(c.send(1, 0, std::vector<char>(300)));
      for (auto& f : sent) EXPECT_NE(text_of<locality_lost>([&] { f.get(); }), "");
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// The job ends although messages wait for a reception, and receptions for a message.
TEST(Tagged, LeavingWhileMessagesWait) {
  future<void> unread, own;
  future<int> never, never_own;
  {
    net::test::localities all(2);
    all.run_all([&] {
      const communicator c;
      if (c.rank() == 1) {
        never = c.recv<int>(0, 8);
        return;
      }
      unread = c.send(1, 0, 5);
      own = c.send(0, 0, 5);
      never_own = c.recv<int>(0, 7);
    });
    EXPECT_EQ(all.at(1).get<tagged_messages>().waiting().messages, 1u);
    // A later run can still receive it.
    all.run_all([&] {
      const communicator c;
      if (c.rank() == 1) {
        EXPECT_EQ(c.recv<int>(0, 0).get(), 5);
      } else {
        unread.get();
        unread = c.send(1, 0, 6);
      }
    });
  }
  const std::string end = "the job ended before this message";
  EXPECT_NE(text_of<std::runtime_error>([&] { unread.get(); }), "");
  EXPECT_EQ(text_of<std::runtime_error>([&] { own.get(); }).find(end), 0u);
  EXPECT_EQ(text_of<std::runtime_error>([&] { (void)never.get(); }).find(end), 0u);
  EXPECT_EQ(text_of<std::runtime_error>([&] { (void)never_own.get(); }).find(end), 0u);
}

TEST(Tagged, PartsOfACommunicatorHaveMessagesOfTheirOwn) {
  net::test::localities all(4);
  all.run_all([] {
    const communicator c, half = c.split(c.rank() % 2);
    const unsigned other = 1 - half.rank();
    auto whole = c.send(c.rank() ^ 2, 0, 100 + c.rank());
    auto part = half.send(other, 0, 200 + c.rank());
    EXPECT_EQ(half.recv<unsigned>(other, 0).get(), 200 + (c.rank() ^ 2));
    EXPECT_EQ(c.recv<unsigned>(c.rank() ^ 2, 0).get(), 100 + (c.rank() ^ 2));
    whole.get(), part.get();
  });
}

}  // namespace
