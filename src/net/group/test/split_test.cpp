// Communicators and teams that are split, also while a member dies.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/group/groups.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/team.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

TEST(Split, MembersOfAColourKeepTheirOrder) {
  for (const unsigned n : {1u, 2u, 5u, 9u}) {
    net::test::localities all_localities(n, 1);
    all_localities.run_all([n] {
      const communicator all;
      for (const unsigned colours : {1u, 2u, 3u, n}) {
        const unsigned mine = all.rank() * 7 % colours;
        std::vector<locality_id> same;
        for (unsigned r = 0; r < n; ++r)
          if (r * 7 % colours == mine) same.push_back(r);
        const communicator part = all.split(mine);
        EXPECT_EQ(part.members(), same);
        EXPECT_EQ(part.members()[part.rank()], find_here());
        EXPECT_EQ(part.all_gather(find_here()).get(), same);
      }
    });
  }
}

// The same colours again, and parts of parts, are communicators of their own: their calls are not mixed up.
TEST(Split, PartsAreIndependent) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 5, .seed = seed});
    sim.run([] {
      const communicator all;
      const unsigned colour = all.rank() % 2;
      const communicator first = all.split(colour), second = all.split(colour), inner = first.split(first.rank() / 2);
      auto a = first.all_reduce(1u, std::plus<>()), b = second.all_reduce(10u, std::plus<>());
      auto c = inner.all_reduce(100u, std::plus<>()), d = all.all_reduce(1000u, std::plus<>());
      EXPECT_EQ(d.get(), 5000u);
      EXPECT_EQ(c.get(), 100 * inner.size());
      EXPECT_EQ(b.get(), 10 * second.size());
      EXPECT_EQ(a.get(), first.size());
      EXPECT_EQ(first.size(), colour == 0 ? 3u : 2u);
      EXPECT_EQ(inner.size(), first.rank() < 2 ? 2u : 1u);
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Split, ATeamAloneSplitsWithoutAJob) {
  const team alone, part = alone.split(7);
  EXPECT_TRUE(part.is_alone());
  EXPECT_EQ(part.gather(std::vector<double>{1, 2}), (std::vector<double>{1, 2}));
}

TEST(Split, TeamsSplit) {
  net::test::localities all_localities(4, 1);
  all_localities.run_all([] {
    const team all{communicator()}, half = all.split(all.rank() / 2), one = half.split(half.rank());
    EXPECT_EQ(half.rank(), all.rank() % 2);
    const double mine = all.rank(), first = 2 * (all.rank() / 2);
    EXPECT_EQ(half.gather(std::vector<double>{mine}), (std::vector<double>{first, first + 1}));
    EXPECT_TRUE(one.is_alone());
  });
}

// A member dies at any time: during a split, or during calls of the parts. The others get an error, or succeed; none
// waits for ever, which the simulation would report.
TEST(Split, NoMemberWaitsAfterADeath) {
  int completed = 0, lost = 0;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const auto victim = static_cast<locality_id>(seed % 5);
    net::simulation sim({.localities = 5, .seed = seed, .kills = {{victim, 0, 2e-3}}});
    sim.run([&] {
      try {
        const communicator all;
        for (unsigned turn = 0; turn < 12; ++turn) {
          const communicator part = all.split((find_here() + turn) % 2);
          EXPECT_EQ(part.all_reduce(1u, std::plus<>()).get(), part.size());
          part.barrier().get();
          ++completed;
        }
      } catch (const locality_lost& e) {
        EXPECT_TRUE(e.which() == victim || find_here() == victim) << e.what();
        ++lost;
      }
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(completed, 0);
  EXPECT_GT(lost, 0);
}

// A part without the lost member continues, the other one ends.
TEST(Split, APartWithoutTheLostMemberContinues) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 5, .seed = seed});
    std::vector<std::optional<communicator>> parts(5);
    sim.run([&] { parts[find_here()] = communicator().split(find_here() < 2 ? 0 : 1); });
    sim.kill(4);
    sim.run([&] {
      if (find_here() == 4) return;
      const communicator& part = *parts[find_here()];
      EXPECT_THROW(communicator().barrier().get(), locality_lost);
      if (find_here() >= 2) {
        EXPECT_THROW(part.barrier().get(), locality_lost);
        return;
      }
      for (int i = 0; i < 10; ++i) EXPECT_EQ(part.all_reduce(1, std::plus<>()).get(), 2);
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

std::size_t groups_here() { return net::node_here().get<net::collective::groups>().size(); }

// Whichever member is late, and with calls that end after the last handle is gone.
TEST(Split, ALoopKeepsFewParts) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    net::simulation sim({.localities = 5, .seed = seed});
    sim.run([seed] {
      net::seeded_choice choose(seed + find_here());
      const communicator all;
      const communicator stored = all.split(find_here() % 2);
      for (unsigned turn = 0; turn < 40; ++turn) {
        if (choose(4) == 0) this_thread::sleep_for(std::chrono::microseconds(choose(200)));
        auto sum = all.split((find_here() + turn) % 3).all_reduce(1u, std::plus<>());
        if (choose(2) == 0) sum.get();
        EXPECT_LE(groups_here(), 2u + 3u) << "turn " << turn;  // two named or stored, three of this loop
        if (choose(2) == 0 && sum.valid()) sum.get();
      }
      EXPECT_EQ(stored.all_reduce(1u, std::plus<>()).get(), stored.size());
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

TEST(Split, PartsOfPartsAreDroppedWithThem) {
  net::test::localities all_localities(4, 2);
  all_localities.run_all([] {
    const team all{communicator()};
    for (int turn = 0; turn < 200; ++turn) {
      const team half = all.split(all.rank() / 2);
      for (int i = 0; i < 3; ++i) EXPECT_EQ(half.split(half.rank() % 2).size(), 1u);
      EXPECT_EQ(half.gather(std::vector<double>{1}).size(), 2u);
      EXPECT_LE(groups_here(), 1u + 2 * (1 + 3)) << "turn " << turn;
    }
  });
}

// A part may be used by one member for longer than by the others, and by a part of it alone.
TEST(Split, APartIsKeptWhileAnyMemberUsesIt) {
  net::test::localities all_localities(3, 2);
  all_localities.run_all([] {
    const communicator all;
    std::optional<communicator> part = all.split(0), inner = part->split(0);
    if (find_here() != 1) part.reset();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(all.split(find_here()).size(), 1u);
    EXPECT_EQ(inner->all_reduce(1, std::plus<>()).get(), 3);
    inner.reset();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(all.split(find_here()).size(), 1u);
    EXPECT_GE(groups_here(), 3u);  // locality 1 has a handle
    part.reset();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(all.split(find_here()).size(), 1u);
    EXPECT_LE(groups_here(), 3u);
  });
}

TEST(Split, APartMayOutliveItsJob) {
  std::vector<communicator> parts(0);
  {
    net::test::localities all_localities(2, 1);
    std::mutex lock;
    all_localities.run_all([&] {
      const communicator part = communicator().split(0).split(0);
      const std::lock_guard guard(lock);
      parts.push_back(part);
    });
  }
  EXPECT_EQ(parts.size(), 2u);
}

// The second call gets errors on all localities, whose messages are empty on all but one.
TEST(Team, AnErrorThatWasAgreedOnBeforeKeepsItsMessage) {
  net::simulation job({.localities = 3, .seed = 1});
  job.run([] {
    const team members{communicator("team")};
    EXPECT_TRUE(members.agree({}));
    const bool fails = members.rank() == 1;
    const auto first = members.agree(fails ? result<void>(error{"the disk is full"}) : result<void>());
    const auto second = members.agree(first);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message, fails ? "the disk is full" : "");
  });
}

}  // namespace
