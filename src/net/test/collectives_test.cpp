#include "net/collectives.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using namespace plx;

// Runs f on 1 to 9 localities.
template <class F>
void on_several(F f) {
  for (const unsigned n : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u}) {
    SCOPED_TRACE(n);
    net::test::localities all(n, 1);
    all.run_all([&] { f(n); });
    for (unsigned i = 0; i < n; ++i) EXPECT_EQ(all.at(i).port().counts().refused, 0u);
  }
}

std::string word(unsigned rank) { return std::string(rank * 7 + 1, static_cast<char>('a' + rank)); }
// Empty, small, or too large for a tree.
std::vector<double> block(unsigned rank) {
  std::vector<double> v(rank % 3 == 0 ? 0 : rank % 3 == 1 ? 100 : 20'000);
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = rank + 0.5 * static_cast<double>(i);
  return v;
}

TEST(Collectives, BroadcastGivesTheRootsValue) {
  on_several([](unsigned n) {
    const communicator all;
    EXPECT_EQ(all.rank(), find_here());
    EXPECT_EQ(all.size(), n);
    for (unsigned root = 0; root < n; ++root) {
      EXPECT_EQ(all.broadcast(all.rank() * 10, root).get(), root * 10);
      EXPECT_EQ(all.broadcast(word(all.rank()), root).get(), word(root));
      EXPECT_EQ(all.broadcast(block(all.rank()), root).get(), block(root));
    }
  });
}

// Concatenation is not commutative: it detects a wrong order.
std::string joined(const std::string& a, const std::string& b) { return a + b; }
TEST(Collectives, ReductionsKeepTheOrderOfRanks) {
  on_several([](unsigned n) {
    const communicator all;
    std::string everything, before;
    for (unsigned i = 0; i < n; ++i) {
      if (i == all.rank()) before = everything;
      everything += word(i);
    }
    EXPECT_EQ(all.all_reduce(word(all.rank()), joined).get(), everything);
    for (unsigned root = 0; root < n; ++root) {
      const auto at_root = all.reduce(word(all.rank()), joined, root).get();
      EXPECT_EQ(at_root.has_value(), root == all.rank());
      EXPECT_EQ(at_root.value_or(everything), everything);
    }
    EXPECT_EQ(all.inclusive_scan(word(all.rank()), joined).get(), before + word(all.rank()));
    const auto ex = all.exclusive_scan(word(all.rank()), joined).get();
    EXPECT_EQ(ex.has_value(), all.rank() != 0);
    EXPECT_EQ(ex.value_or(""), before);
  });
}

TEST(Collectives, MinimumMaximumAndSum) {
  on_several([](unsigned n) {
    const communicator all;
    const int r = static_cast<int>(all.rank());
    EXPECT_EQ(all.all_reduce(0.5 + r, minimum()).get(), 0.5);
    EXPECT_EQ(all.all_reduce(r, maximum()).get(), static_cast<int>(n) - 1);
    EXPECT_EQ(all.all_reduce(r, std::plus<>()).get(), static_cast<int>(n * (n - 1) / 2));
  });
}

// Sums of numbers of very different magnitude depend on the order, which must be the same for every rank and root.
TEST(Collectives, FloatingPointSumsAreTheSameOnAllRanks) {
  on_several([](unsigned n) {
    const communicator all;
    std::mt19937_64 random(all.rank());
    for (int turn = 0; turn < 20; ++turn) {
      const double x = std::ldexp(double(random()), static_cast<int>(random() % 100));
      const double sum = all.all_reduce(x, std::plus<>()).get();
      for (const double other : all.all_gather(sum).get()) EXPECT_EQ(other, sum);
      for (unsigned root = 0; root < n; ++root) EXPECT_EQ(all.reduce(x, std::plus<>(), root).get().value_or(sum), sum);
    }
  });
}

TEST(Collectives, GatherAndScatterAreOrderedByRank) {
  on_several([](unsigned n) {
    const communicator all;
    std::vector<std::string> words;
    std::vector<std::vector<double>> blocks;
    for (unsigned i = 0; i < n; ++i) words.push_back(word(i)), blocks.push_back(block(i));
    for (unsigned root = 0; root < n; ++root) {
      const bool mine = root == all.rank();
      EXPECT_EQ(all.gather(word(all.rank()), root).get(), mine ? words : std::vector<std::string>());
      EXPECT_EQ(all.gather(block(all.rank()), root).get(), mine ? blocks : std::vector<std::vector<double>>());
      EXPECT_EQ(all.scatter(mine ? words : std::vector<std::string>(), root).get(), word(all.rank()));
      EXPECT_EQ(all.scatter(mine ? blocks : std::vector<std::vector<double>>(), root).get(), block(all.rank()));
    }
    EXPECT_EQ(all.all_gather(word(all.rank())).get(), words);
    EXPECT_EQ(all.all_gather(block(all.rank())).get(), blocks);
    EXPECT_EQ(all.all_gather(all.rank()).get().back(), n - 1);
  });
}

TEST(Collectives, AllToAllIsATransposition) {
  on_several([](unsigned n) {
    const communicator all;
    std::vector<std::vector<double>> out, in;
    for (unsigned i = 0; i < n; ++i) {
      out.push_back(block(100 * all.rank() + i));
      in.push_back(block(100 * i + all.rank()));
    }
    EXPECT_EQ(all.all_to_all(out).get(), in);
  });
}

// No member leaves the barrier before all have arrived.
TEST(Collectives, ABarrierWaitsForAll) {
  for (const unsigned n : {2u, 3u, 5u, 8u}) {
    net::test::localities all(n, 1);
    std::atomic<unsigned> came{0};
    all.run_all([&] {
      const communicator c;
      for (unsigned turn = 1; turn <= 100; ++turn) {
        came.fetch_add(1);
        c.barrier().get();
        EXPECT_GE(came.load(), turn * n);
      }
    });
  }
}

TEST(Collectives, ManyConcurrentCalls) {
  on_several([](unsigned n) {
    const communicator a, b("another"), same("another");
    std::vector<future<unsigned>> sums;
    std::vector<future<std::string>> words;
    for (unsigned i = 0; i < 200; ++i) {
      sums.push_back(a.all_reduce(i, std::plus<>()));
      words.push_back((i % 2 == 0 ? b : same).broadcast(word(i % 20), i % n));
    }
    for (unsigned i = 0; i < 200; ++i) EXPECT_EQ(sums[i].get(), n * i);
    for (unsigned i = 0; i < 200; ++i) EXPECT_EQ(words[i].get(), word(i % 20));
  });
}

TEST(Collectives, SubsetsAreIndependent) {
  on_several([](unsigned n) {
    std::vector<locality_id> mine;
    for (unsigned i = find_here() % 2; i < n; i += 2) mine.push_back(i);
    const communicator half("half", mine), all;
    EXPECT_EQ(half.members(), mine);
    EXPECT_EQ(half.rank(), find_here() / 2);
    auto everywhere = all.all_reduce(1u, std::plus<>());
    EXPECT_EQ(half.all_gather(find_here()).get(), mine);
    EXPECT_EQ(everywhere.get(), n);
  });
}

TEST(Collectives, CallsWithALostMemberFail) {
  for (const unsigned n : {2u, 3u, 5u, 8u}) {
    net::test::localities all(n, 1);
    std::atomic<unsigned> failures{0};
    all.run_all([&] {
      const communicator c;
      if (c.rank() == n - 1) return all.lose(n - 1);  // makes no call
      for (auto* later : {"at once", "later"}) {
        try {
          c.all_reduce(1, std::plus<>()).get();
          ADD_FAILURE() << later;
        } catch (const locality_lost& e) {
          EXPECT_EQ(e.which(), n - 1);
          ++failures;
        }
      }
      std::vector<locality_id> rest(c.members().begin(), c.members().end() - 1);
      EXPECT_EQ(communicator("the rest", rest).all_reduce(1u, std::plus<>()).get(), n - 1);
      EXPECT_THROW(communicator("with the lost one").barrier().get(), locality_lost);
    });
    EXPECT_EQ(failures, 2 * (n - 1));
  }
}

TEST(Collectives, MismatchedCallsAreReported) {
  net::test::localities all(3, 1);
  std::atomic<unsigned> failures{0};
  all.run_all([&] {
    const communicator c;
    try {
      if (c.rank() == 1)
        c.barrier().get();
      else
        c.all_reduce(1, std::plus<>()).get();
    } catch (const std::exception& e) {
      failures += std::string(e.what()).find("all members make the same calls") != std::string::npos;
    }
  });
  EXPECT_EQ(failures, 3u);
}

TEST(Collectives, AnExceptionInAnOperationReachesAll) {
  net::test::localities all(4, 1);
  std::atomic<unsigned> failures{0};
  all.run_all([&] {
    const communicator c;
    try {
      c.all_reduce(1.0, [](double, double) -> double { throw std::domain_error("no sum of these"); }).get();
    } catch (const std::exception& e) {
      failures += std::string(e.what()).find("no sum of these") != std::string::npos;
    }
  });
  EXPECT_EQ(failures, 4u);
}

// Messages for a communicator that does not exist here yet are bounded; refused ones are reported to all members.
TEST(Collectives, MessagesForUnknownCommunicatorsAreBounded) {
  struct flood {
    const char* text;
    std::function<void()> send;
    const char* name;
  };
  const flood floods[] = {{"MiB of payloads for communicators that locality 1 has not created",
                           [] {
                             const communicator c("later", {0, 1});
                             for (int i = 0; i < 1100; ++i) c.broadcast(std::vector<double>(8192, i)).get();
                           },
                           "later"},
                          {"payloads of the communicator \"the last\" may have been refused",
                           [] {
                             for (int i = 0; i < 4200; ++i)
                               communicator("number " + std::to_string(i), {0, 1}).broadcast(i).get();
                           },
                           "the last"}};
  for (const flood& f : floods) {
    SCOPED_TRACE(f.name);
    net::test::localities all(2, 1);
    all.run(0, f.send);
    EXPECT_GT(all.at(1).port().counts().refused, 0u);
    std::atomic<unsigned> failures{0};
    all.run_all([&] {
      try {
        communicator(f.name, {0, 1}).barrier().get();
        communicator(f.name, {0, 1}).barrier().get();
      } catch (const std::runtime_error& e) {
        failures += std::string(e.what()).find(f.text) != std::string::npos;
      }
    });
    EXPECT_EQ(failures, 2u);
  }
}

TEST(Collectives, AnAbandonedCallEndsWithTheJob) {
  net::test::localities all(2, 1);
  all.run(0, [] { static_cast<void>(communicator().barrier()); });
}

// One round of all collective calls, on any transport.
void all_of_them(unsigned n) {
  const communicator all;
  const unsigned r = all.rank();
  auto sum = all.all_reduce(r + 1, std::plus<>());
  auto words = all.all_gather(word(r));
  auto blocks = all.gather(block(r), n - 1);
  std::vector<std::string> mine;
  for (unsigned i = 0; i < n; ++i) mine.push_back(word(r) + word(i));
  auto dealt = all.scatter(mine, n / 2);
  auto exchanged = all.all_to_all(mine);
  auto up_to = all.inclusive_scan(word(r), joined);
  all.barrier().get();
  EXPECT_EQ(sum.get(), n * (n + 1) / 2);
  std::string before;
  const auto gathered = words.get();
  const auto at_last = blocks.get();
  EXPECT_EQ(at_last.size(), r == n - 1 ? n : 0);
  for (unsigned i = 0; i < n; ++i) {
    EXPECT_EQ(gathered[i], word(i));
    if (i <= r) before += word(i);
    EXPECT_TRUE(r != n - 1 || at_last[i] == block(i)) << i;
  }
  EXPECT_EQ(up_to.get(), before);
  EXPECT_EQ(dealt.get(), word(n / 2) + word(r));
  const auto in = exchanged.get();
  for (unsigned i = 0; i < n; ++i) EXPECT_EQ(in[i], word(i) + word(r));
}

TEST(Collectives, ResultsDoNotDependOnMessageOrder) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const auto n = static_cast<unsigned>(1 + seed % 6);
    net::simulation sim({.localities = n, .seed = seed});
    sim.run([n] { all_of_them(n), all_of_them(n); });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

// A locality dies at any moment: waiting calls fail, none hangs, and completed results are correct.
TEST(Collectives, ADeathAtAnyMomentIsReported) {
  int died = 0;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    const auto n = static_cast<unsigned>(2 + seed % 4);
    const locality_id dead = static_cast<locality_id>(seed / 4 % n);
    net::simulation sim({.localities = n, .seed = seed, .kills = {{dead, 0, 2e-3}}});
    sim.run([&] {
      try {
        const communicator all;
        for (unsigned turn = 0; turn < 20; ++turn) {
          EXPECT_EQ(all.all_reduce(turn, std::plus<>()).get(), n * turn);
          EXPECT_EQ(all.broadcast(turn, turn % n).get(), turn);
          EXPECT_EQ(all.all_gather(turn).get(), std::vector<unsigned>(n, turn));
        }
      } catch (const locality_lost& e) {
        EXPECT_TRUE(find_here() == dead || e.which() == dead) << e.what();
        died += find_here() != dead;
      }
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_GT(died, 0);
}

}  // namespace
