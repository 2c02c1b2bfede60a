// Windows by messages: on real threads, and in simulations with delays, stalls and kills. tests/net/test_windows.py
// tests the same between processes, with direct accesses.
#include "net/window.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>

#include "net/collectives.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/async.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

template <class F>
void on_seeds(net::sim_options options, F f) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    options.seed = seed;
    net::simulation sim(options);
    ASSERT_NO_THROW(sim.run([&] { f(sim); }));
    for (locality_id i = 0; i < sim.size(); ++i) {
      EXPECT_EQ(sim.at(i).port().counts().refused, 0u);
      EXPECT_EQ(sim.at(i).replies().size(), 0u);
      EXPECT_EQ(sim.runtime_at(i).explain_waits(), "");
    }
    if (::testing::Test::HasFailure()) return;
  }
}

// On real threads, one worker per locality and two.
template <class F>
void on_threads(F f) {
  for (const unsigned n : {1u, 2u, 4u})
    for (const unsigned workers : {1u, 2u}) {
      SCOPED_TRACE(std::to_string(n) + " localities, workers " + std::to_string(workers));
      net::test::localities all(n, workers);
      all.run_all([&] { f(n); });
      for (unsigned i = 0; i < n; ++i) EXPECT_EQ(all.at(i).port().counts().refused, 0u);
    }
}

std::vector<std::uint8_t> bytes_of(std::size_t n, unsigned seed) {
  std::vector<std::uint8_t> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<std::uint8_t>(i * 7 + i / 251 + seed);
  return v;
}

// Sizes below and above a message, a piece, a chunk and all chunks in flight, at offsets that are aligned to nothing.
void put_and_get_every_size() {
  const communicator all;
  constexpr std::size_t most = (std::size_t{1} << 20) + 1, room = most + 64;
  const window<std::uint8_t> w(all, room);
  const unsigned right = (w.rank() + 1) % w.ranks(), left = (w.rank() + w.ranks() - 1) % w.ranks();
  std::size_t at = 3;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{4095}, std::size_t{4097},
                                 std::size_t{65536}, std::size_t{65537}, most}) {
    const auto mine = bytes_of(size, w.rank()), its = bytes_of(size, left);
    w.put(right, at, mine).get();
    std::vector<std::uint8_t> back(size);
    w.get(right, at, back).get();
    EXPECT_TRUE(back == mine) << size;
    const auto shared = w.get(right, at, size).get();
    EXPECT_TRUE(std::equal(shared.begin(), shared.end(), mine.begin(), mine.end())) << size;
    all.barrier().get();
    const auto here = w.local().subspan(at, size);
    EXPECT_TRUE(std::equal(here.begin(), here.end(), its.begin(), its.end())) << size;
    all.barrier().get();
    at += 5;
  }
}
TEST(Window, PutAndGetEverySize) {
  on_threads([](unsigned) { put_and_get_every_size(); });
}
TEST(Window, PutAndGetEverySizeInSimulations) {
  net::simulation sim({.localities = 3, .seed = 5});
  sim.run(put_and_get_every_size);
}

// Each rank has another size; elements outside of a part are refused at once, and nothing is sent.
TEST(Window, ElementsThatDoNotExistAreRefused) {
  on_threads([](unsigned n) {
    const communicator all;
    const window<double> w(all, 10 * (all.rank() + 1), 2);
    const unsigned last = n - 1;
    EXPECT_EQ(w.size(last), 10 * n);
    EXPECT_EQ(w.local().size(), 10 * (w.rank() + 1));
    std::vector<double> five(5, 1.0);
    EXPECT_NO_THROW(w.put(last, 10 * n - 5 * (w.rank() + 1), five).get());  // rank 0: the last elements
    const auto message = [](auto f) -> std::string {
      try {
        f();
      } catch (const std::out_of_range& e) {
        return e.what();
      }
      return "nothing was thrown";
    };
    const std::string end = std::to_string(10 * n);
    EXPECT_EQ(message([&] { w.put(last, 10 * n - 4, five).get(); }),
              "window::put: expected elements from 0 to " + end + " of rank " + std::to_string(last) +
                  ", found 5 from " + std::to_string(10 * n - 4) + " on");
    EXPECT_NE(message([&] { w.get(last, SIZE_MAX, five).get(); }), "nothing was thrown");
    EXPECT_EQ(message([&] { w.put(n, 0, five).get(); }),
              "window::put: expected a rank below " + std::to_string(n) + ", found " + std::to_string(n));
    EXPECT_EQ(message([&] { w.put_signal(last, 0, five, 2).get(); }),
              "window::put_signal: expected a signal below 2 of rank " + std::to_string(last) + ", found 2");
    EXPECT_NE(message([&] { w.wait_signal(7, 1).get(); }), "nothing was thrown");
    all.barrier().get();  // all puts are before the destructor, and none before this one is in progress
  });
}

template <class T>
void count_together(unsigned each) {
  const communicator all;
  const window<T> w(all, 3);
  const unsigned n = w.ranks();
  std::vector<future<T>> before;
  for (unsigned i = 0; i < each; ++i)
    for (unsigned to = 0; to < n; ++to) before.push_back(w.fetch_add(to, 1, static_cast<T>(i % 3 - 1)));
  T sum = 0;
  for (unsigned i = 0; i < each; ++i) sum = static_cast<T>(sum + static_cast<T>(i % 3 - 1));
  for (auto& f : before) f.get();
  all.barrier().get();
  EXPECT_EQ(w.local()[0], T{0});
  EXPECT_EQ(w.local()[1], static_cast<T>(sum * static_cast<T>(n)));
  EXPECT_EQ(w.local()[2], T{0});
  all.barrier().get();
  // Tickets: each value is drawn once.
  std::vector<T> tickets;
  for (unsigned i = 0; i < each; ++i) tickets.push_back(w.fetch_add(0, 2, T{1}).get());
  EXPECT_TRUE(std::is_sorted(tickets.begin(), tickets.end()));
  std::vector<int> drawn(std::size_t{n} * each);
  for (const auto& theirs : all.all_gather(tickets).get())
    for (const T t : theirs) ++drawn.at(static_cast<std::size_t>(t));
  EXPECT_EQ(drawn, std::vector<int>(drawn.size(), 1));
}
TEST(Window, ConcurrentAdditionsSumExactly) {
  on_threads([](unsigned) {
    count_together<std::uint64_t>(100);
    count_together<std::int32_t>(50);
  });
}
TEST(Window, ConcurrentAdditionsSumExactlyInSimulations) {
  on_seeds({.localities = 3}, [](net::simulation&) { count_together<std::int64_t>(6); });
}

// A lock of compare_exchange and exchange around a number that is read and written by get and put.
TEST(Window, ALockOfAtomicOperations) {
  on_seeds({.localities = 3}, [](net::simulation&) {
    const communicator all;
    const window<std::uint32_t> w(all, all.rank() == 1 ? 2 : 0);
    for (int turn = 0; turn < 3; ++turn) {
      while (w.compare_exchange(1, 0, 0, w.rank() + 1).get() != 0) this_thread::yield();
      const std::uint32_t seen = w.get(1, 1).get();
      w.put(1, 1, seen + 1).get();
      EXPECT_EQ(w.exchange(1, 0, 0).get(), w.rank() + 1);
    }
    all.barrier().get();
    if (w.rank() == 1) {
      EXPECT_EQ(w.local()[1], 9u);
    }
  });
}

// A signal that has arrived shows that its data and those of the signals before it have.
void pass_around(std::size_t size, int turns) {
  const communicator all;
  const window<std::uint32_t> w(all, size, 2);
  const unsigned n = w.ranks(), right = (w.rank() + 1) % n;
  std::vector<std::uint32_t> mine(size);
  std::uint64_t seen = 0;
  for (int turn = 1; turn <= turns; ++turn) {
    std::iota(mine.begin(), mine.end(), static_cast<std::uint32_t>(turn * 1000));
    auto sent = w.put_signal(right, 0, mine, 1, 2);
    w.wait_signal(1, seen += 2).get();
    EXPECT_EQ(w.signal(1), seen);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(w.local()[i], static_cast<std::uint32_t>(turn * 1000) + i);
    sent.get();
    all.barrier().get();  // the data have been read
  }
  EXPECT_EQ(w.signal(0), 0u);
}
TEST(Window, ASignalFollowsItsData) {
  on_threads([](unsigned) {
    for (const std::size_t size : {0u, 1u, 1000u, 1100u, 70'000u}) pass_around(size, 3);
  });
}
TEST(Window, ASignalFollowsItsDataInSimulations) {
  on_seeds({.localities = 3}, [](net::simulation& sim) {
    pass_around(sim.now_s() > 0 ? 3 : 5, 2);
    pass_around(1500, 2);
    pass_around(40'000, 1);
  });
}
TEST(Window, AStalledLocalityDelaysAndLosesNothing) {
  on_seeds({.localities = 3,
            .stalls = {{1, 0, 300e-6, 5}},
            .partitions = {{{2}, 0, 300e-6, 2}},
            .window_bytes = 3000,
            .receive_bytes_per_s = 20e6},
           [](net::simulation&) {
             pass_around(1500, 2);
             count_together<std::uint64_t>(3);
           });
}

// Operations whose futures are dropped are complete after flush().
TEST(Window, FlushWaitsForDroppedOperations) {
  on_seeds({.localities = 3}, [](net::simulation&) {
    const communicator all;
    const window<int> w(all, 3 * 40);
    for (int i = 0; i < 40; ++i)
      static_cast<void>(w.put((w.rank() + 1) % 3, 40 * w.rank() + static_cast<unsigned>(i), i + 1));
    w.flush().get();
    all.barrier().get();
    const unsigned left = (w.rank() + 2) % 3;
    for (int i = 0; i < 40; ++i) EXPECT_EQ(w.local()[40 * left + static_cast<unsigned>(i)], i + 1);
  });
}

// The destructor waits for the operations of all members, also those that no task waits for.
TEST(Window, TheDestructorWaitsForAllMembers) {
  on_seeds({.localities = 3}, [](net::simulation&) {
    const communicator all;
    std::vector<std::uint8_t> data(30'000, 1);
    {
      const window<std::uint8_t> w(all, 3 * data.size());
      for (unsigned to = 0; to < 3; ++to) static_cast<void>(w.put(to, w.rank() * data.size(), data));
    }
    const window<std::uint8_t> next(all, 1);
    EXPECT_EQ(next.local()[0], 0);
  });
}

// An exception that leaves the scope of a window does not wait for the other members.
TEST(Window, AnExceptionDestroysAWindowWithoutWaiting) {
  on_seeds({.localities = 2}, [](net::simulation&) {
    const communicator all;
    try {
      const window<std::uint64_t> w(all, 1);
      if (w.rank() == 0) throw std::runtime_error("as it should");
      EXPECT_EQ(w.fetch_add(0, 0, 1).get(), 0u);  // the memory is still there
      throw std::runtime_error("as it should");
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "as it should");
    }
    all.barrier().get();
  });
}

// Every operation that involves the lost locality, and every wait for a signal, ends with locality_lost; operations
// between the others succeed.
TEST(Window, ADeathFailsWhatDependsOnIt) {
  int failed = 0;
  on_seeds({.localities = 3, .detection_min_s = 1e-4, .kills = {{2, 0, 800e-6}}}, [&failed](net::simulation&) {
    const bool dies = find_here() == 2;
    try {
      const communicator all, others("others", dies ? std::vector<locality_id>{2} : std::vector<locality_id>{0, 1});
      const window<std::uint64_t> w(all, 5000);
      std::vector<std::uint64_t> data(5000, w.rank() + 1), back(5000);
      const auto lost = [&](auto f) {
        try {
          f.get();
          return false;
        } catch (const locality_lost& e) {
          EXPECT_TRUE(e.which() == 2 || dies) << e.what();
          ++failed;
          return true;
        }
      };
      while (!dies) {  // until the loss is noticed
        if (lost(w.put(2, 0, data)) || lost(w.get(2, 0, back)) || lost(w.fetch_add(2, 0, 1))) break;
      }
      EXPECT_TRUE(lost(w.wait_signal(0, 1)));
      EXPECT_TRUE(dies || lost(w.put_signal(2, 0, data)));
      if (!dies) {
        EXPECT_TRUE(lost(w.flush()));  // throws the errors of operations whose futures are dropped
        static_cast<void>(w.put(2, 0, data));
        EXPECT_TRUE(lost(w.flush()));
        static_cast<void>(w.get(2, 0, back));
        EXPECT_TRUE(lost(w.flush()));
        static_cast<void>(w.fetch_add(2, 0, 1));
        EXPECT_TRUE(lost(w.flush()));
        static_cast<void>(w.put_signal(2, 0, data));
        EXPECT_TRUE(lost(w.flush()));
        EXPECT_NO_THROW(w.flush().get());
        EXPECT_NO_THROW(w.put(1 - w.rank(), 0, data).get());
        EXPECT_NO_THROW(w.fetch_add(1 - w.rank(), 4999, 1).get());
        const window<int> of_survivors(others, 1);
        EXPECT_EQ(of_survivors.fetch_add(1 - of_survivors.rank(), 0, 1).get(), 0);
      }
    } catch (const locality_lost&) {  // before the window was made
      ++failed;
    }
  });
  EXPECT_GT(failed, 0);
}

// If a death makes the creation fail on some members only, the others may access the memory of those.
TEST(Window, ADeathDuringTheCreationFreesNoMemory) {
  int divided = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    net::simulation sim(
        {.localities = 3, .seed = seed, .detection_min_s = 1e-6, .detection_max_s = 200e-6, .kills = {{2, 0, 400e-6}}});
    bool made[3] = {};
    sim.run([&made] {
      const locality_id here = find_here();
      try {
        const communicator all;
        const window<std::uint64_t> w(all, 1);
        made[here] = true;
        for (std::uint64_t i = 0; i < 10 && here != 2; ++i) EXPECT_NO_THROW(w.put(1 - here, 0, i).get());
      } catch (const locality_lost&) {
      }
    });
    divided += made[0] != made[1] ? 1 : 0;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(divided, 0);
}

// Alone, a window needs no job.
TEST(Window, ATeamOfOneNeedsNoJob) {
  runtime rt({.workers = 1});
  rt.run([] {
    const window<std::int64_t> w(team(), 4);
    EXPECT_EQ(w.ranks(), 1u);
    EXPECT_EQ(w.fetch_add(0, 1, -5).get(), 0);
    EXPECT_EQ(w.compare_exchange(0, 1, -5, 7).get(), -5);
    EXPECT_EQ(w.compare_exchange(0, 1, -5, 8).get(), 7);
    w.put_signal(0, 2, std::vector<std::int64_t>{1, 2}).get();
    w.wait_signal(0, 1).get();
    EXPECT_EQ(w.get(0, 3).get(), 2);
    w.flush().get();
  });
}

}  // namespace
