#include "net/start/failure_detector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/test/table_bootstrap_test.hpp"

namespace {

using namespace plx;
using namespace plx::net;
using namespace plx::net::detail;
using testing::HasSubstr;

/// A locality of a test: its part of the job and its failure detector.
struct part {
  job_info met;
  std::unique_ptr<failure_detector> detector;
  std::vector<loss> losses;

  static std::unique_ptr<part> open(bootstrap& b) {
    auto p = std::make_unique<part>();
    p->met = exchange_job_info(b, "", 300).value();
    p->detector = failure_detector::listen(p->met).value();
    return p;
  }
  result<void> connect(bootstrap& b, double deadline_s = 300) {
    auto r = detector->connect(b.exchange(detector->address(), 300).value(), deadline_s);
    if (r)
      static_cast<void>(
          b.exchange("", 300));  // waits until all are connected, so that later events do not disturb the start
    return r;
  }
  template <class F>
  bool poll_until(F done, double limit_s = 300) {
    for (const double until = monotonic_seconds() + limit_s; !done();) {
      detector->poll();
      for (auto& l : detector->take_losses()) losses.push_back(l);
      if (monotonic_seconds() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  std::multiset<locality_id> lost() const {
    std::multiset<locality_id> who;
    for (const auto& l : losses) who.insert(l.who);
    return who;
  }
};

class FailureDetector : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Sizes, FailureDetector, testing::Values(2, 3, 4, 5, 8, 13));

TEST_P(FailureDetector, AllLearnThatAllHaveFinished) {
  test::table t(GetParam());
  std::atomic<unsigned> finished{0};
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    ASSERT_TRUE(p->connect(b));
    std::this_thread::sleep_for(std::chrono::milliseconds(b.here() * 3));
    EXPECT_FALSE(p->detector->all_finished());
    ++finished;
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    EXPECT_EQ(finished, t.size);  // all_finished() is not true too early
    p->detector->close(300);
    EXPECT_TRUE(p->losses.empty());
    EXPECT_EQ(p->detector->refused(), 0u);
  });
}

TEST_P(FailureDetector, NoticesOfSeveralLocalitiesAreSentTogether) {
  test::table t(GetParam());
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    ASSERT_TRUE(p->connect(b));
    const std::uint64_t before = p->detector->writes(), lines = p->detector->connections();
    p->detector->report_finished();
    static_cast<void>(b.exchange("", 300));  // all have sent theirs
    std::uint64_t polls = 0;
    EXPECT_TRUE(p->poll_until([&] { return ++polls, p->detector->all_finished(); }));
    EXPECT_LE(p->detector->writes() - before, lines * polls);
    p->detector->close(300);
  });
}

TEST_P(FailureDetector, ALossIsReportedOnceToAll) {
  for (const locality_id dead : {0u, GetParam() - 1}) {
    test::table t(GetParam());
    test::as_localities(t, [&](bootstrap& b) {
      const auto p = part::open(b);
      ASSERT_TRUE(p->connect(b));
      if (b.here() == dead) return;  // its connections close
      EXPECT_TRUE(p->poll_until([&] { return !p->losses.empty(); }));
      EXPECT_EQ(p->losses[0].why, "its process has ended");
      p->detector->report_finished();
      EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
      p->detector->close(300);
      EXPECT_THAT(p->lost(), testing::ElementsAre(dead));
    });
  }
}

TEST_P(FailureDetector, TheOthersFinishAfterHalfAreLost) {
  test::table t(GetParam());
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    ASSERT_TRUE(p->connect(b));
    if (b.here() % 2 == 1) return;
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    p->detector->close(300);
    std::multiset<locality_id> odd;
    for (locality_id i = 1; i < t.size; i += 2) odd.insert(i);
    EXPECT_EQ(p->lost(), odd);
  });
}

// All localities except 0 have finished, including the one that leaves. Locality 0 is not always its neighbour.
TEST_P(FailureDetector, LeavingBeforeAllHaveFinishedIsALoss) {
  const locality_id leaves = GetParam() > 3 ? 3 : 1;
  test::table t(GetParam());
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    ASSERT_TRUE(p->connect(b));
    if (b.here() != 0) p->detector->report_finished();
    if (b.here() == leaves) return p->detector->close(0.05);  // it has not waited for locality 0
    EXPECT_TRUE(p->poll_until([&] { return !p->losses.empty(); }));
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    p->detector->close(300);
    EXPECT_THAT(p->lost(), testing::ElementsAre(leaves));
    EXPECT_EQ(p->losses.at(0).why, "it has left the job");
  });
}

TEST_P(FailureDetector, AResigningLocalityIsLostAndLosesAll) {
  test::table t(GetParam());
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    ASSERT_TRUE(p->connect(b));
    if (b.here() == 1) p->detector->resign("tired");
    const std::size_t expected = b.here() == 1 ? t.size - 1 : 1;
    EXPECT_TRUE(p->poll_until([&] { return p->losses.size() == expected; }));
    for (const auto& l : p->losses) EXPECT_EQ(l.why, "tired");
    EXPECT_EQ(p->lost().count(1), b.here() == 1 ? 0u : 1u);
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    p->detector->close(300);
  });
}

TEST(FailureDetectorOfThree, ALocalityReportedAsLostLosesTheOthers) {
  test::table t(3);
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    ASSERT_TRUE(p->connect(b));
    if (b.here() == 0) p->detector->report_lost(2, "its answers are invalid");
    const std::size_t expected = b.here() == 2 ? 2 : 1;
    EXPECT_TRUE(p->poll_until([&] { return p->losses.size() == expected; }));
    if (b.here() == 2) {
      EXPECT_EQ(p->losses[0].why, "it considers this locality lost: its answers are invalid");
      EXPECT_THAT(p->lost(), testing::ElementsAre(0, 1));
    } else {
      EXPECT_THAT(p->lost(), testing::ElementsAre(2));
    }
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    p->detector->close(300);
  });
}

TEST(FailureDetectorOfThree, NeighboursExchangeProbes) {
  test::table t(3);
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    ASSERT_TRUE(p->connect(b));
    EXPECT_FALSE(p->detector->request_probe(b.here()));
    const locality_id other = (b.here() + 1) % 3, requesting = (b.here() + 2) % 3;
    EXPECT_TRUE(p->detector->request_probe(other));
    std::vector<locality_id> requested, replied;
    EXPECT_TRUE(p->poll_until([&] {
      for (const locality_id who : p->detector->take_probe_requests())
        requested.push_back(who), p->detector->reply_to_probe(who);
      for (const locality_id who : p->detector->take_probe_replies()) replied.push_back(who);
      return !requested.empty() && !replied.empty();
    }));
    EXPECT_THAT(requested, testing::ElementsAre(requesting));
    EXPECT_THAT(replied, testing::ElementsAre(other));
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    p->detector->close(300);
  });
}

TEST(FailureDetectorOfThree, AMissingLocalityIsAnErrorAfterTheDeadline) {
  test::table t(3);
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    if (b.here() == 2) {
      static_cast<void>(b.exchange(p->detector->address(), 300));
      p->poll_until([] { return false; }, 1.5);  // it listens, but does not connect
      return;
    }
    const auto r = p->connect(b, 0.5);
    ASSERT_FALSE(r);
    EXPECT_THAT(r.error().message, testing::AnyOf(HasSubstr("to connect within 0.5 s, found"),
                                                  HasSubstr("was lost at the start: its process has ended")));
  });
}

std::uint16_t port_in(std::string_view address) {
  std::uint16_t port = 0;
  std::memcpy(&port, take_field(address)->data(), sizeof port);
  return port;
}

int call_door(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 ? fd : -1;
}

// Connections from other programs come first: random bytes, silence, a wrong proof, a proof of another job, one of this
// job that was made for another connection, a flood.
TEST(FailureDetectorOfTwo, UnverifiedConnectionsAreRefusedAndCounted) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback network here";
  test::table t(2);
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    std::vector<int> strangers;
    if (b.here() == 0) {
      struct {
        std::uint64_t proof;
        std::uint32_t from, zero;
        std::uint64_t challenge;
      } hello{make_proof(make_secret().value(), proof_of::call, 1, 0), 1, 0, 1};
      auto recorded = hello;
      recorded.proof = make_proof(p->met.secret, proof_of::call, 1, 0, 12345);
      const std::uint16_t port = port_in(p->detector->address());
      for (int i = 0; i < 100; ++i) strangers.push_back(call_door(port));
      const std::string noise(100'000, '\xff');
      EXPECT_EQ(send(strangers[0], noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT) > 0, true);
      EXPECT_EQ(send(strangers[1], &hello, sizeof hello, MSG_NOSIGNAL), ssize_t{sizeof hello});
      EXPECT_EQ(send(strangers[2], "x", 1, MSG_NOSIGNAL), 1);
      EXPECT_EQ(send(strangers[4], &recorded, sizeof recorded, MSG_NOSIGNAL), ssize_t{sizeof recorded});
      close(std::exchange(strangers[3], -1));  // once: the number may be that of another descriptor by the end
    }
    ASSERT_TRUE(p->connect(b));
    EXPECT_EQ(p->detector->refused(), b.here() == 0 ? 100u : 0u);
    EXPECT_EQ(call_door(port_in(p->detector->address())), -1);  // it no longer listens
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    p->detector->close(300);
    EXPECT_TRUE(p->losses.empty());
    for (const int fd : strangers) close(fd);
  });
}

// Refused connections are removed; otherwise a flood of them would cost memory and time while localities connect.
TEST(FailureDetectorOfTwo, RefusedConnectionsAreRemoved) {
  if (!has_loopback()) GTEST_SKIP() << "no loopback network here";
  constexpr unsigned n_strangers = 3000;
  test::table t(2);
  std::atomic<bool> flooded{false};
  std::atomic<unsigned> connected_strangers{0};  // fewer if the machine has no more ports
  test::as_localities(t, [&](bootstrap& b) {
    const auto p = part::open(b);
    std::thread flood;
    if (b.here() == 0)
      flood = std::thread([&, port = port_in(p->detector->address())] {
        for (unsigned i = 0; i < n_strangers; ++i)
          if (const int fd = call_door(port); fd >= 0) close(fd), ++connected_strangers;
        flooded = true;
      });
    const auto addresses = b.exchange(p->detector->address(), 300).value();
    while (b.here() == 1 && !flooded) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto connected = p->detector->connect(addresses, 300);
    if (flood.joinable()) flood.join();
    ASSERT_TRUE(connected);
    EXPECT_EQ(p->detector->refused(), b.here() == 0 ? connected_strangers.load() : 0u);
    EXPECT_EQ(p->detector->connections(), 1u);
    p->detector->report_finished();
    EXPECT_TRUE(p->poll_until([&] { return p->detector->all_finished(); }));
    p->detector->close(300);
  });
}

TEST(Meeting, ProgramsOfAnotherVersionAreRefused) {
  test::table t(2);
  test::as_localities(t, [&](bootstrap& b) {
    if (b.here() == 1) {
      std::string other;
      append_field(other, "plx 0");
      append_field(other, host_key());
      static_cast<void>(b.exchange(other, 300));
      return;
    }
    EXPECT_EQ(exchange_job_info(b, "", 300).error().message,
              "expected a program of the same version, found another as locality 1; start the same program everywhere");
  });
}

}  // namespace
