#include "net/start/termination.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "net/action.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using namespace std::chrono_literals;

std::atomic<int> ended{0};

// Each call makes the next one on its neighbour, still after the program that made the first one has returned.
void hop(int left) {
  this_thread::sleep_for(std::chrono::microseconds(200));
  if (left > 0) post<&hop>((find_here() + 1) % locality_count(), left - 1);
  if (left == 0) ++ended;
}

TEST(Termination, WaitsForEveryParcelInFlight) {
  for (int turn = 0; turn < 5; ++turn) {
    net::test::localities all(3);
    ended = 0;
    all.run_all([] {
      if (find_here() == 1)
        for (int i = 0; i < 4; ++i) post<&hop>(2, 20);
      net::node_here().get<net::termination>().wait_for_all();
      EXPECT_EQ(ended, 4);
      net::node_here().get<net::termination>().wait_for_all();  // a second time
    });
  }
}

TEST(Termination, DoesNotWaitForALostLocality) {
  net::test::localities all(3);
  std::atomic<int> out{0};
  all.run_all([&] {
    if (find_here() == 2) return;  // never calls wait_for_all()
    if (find_here() == 0) all.lose(2);
    net::node_here().get<net::termination>().wait_for_all();
    ++out;
  });
  EXPECT_EQ(out, 2);
}

std::atomic<bool> may_finish{false};
std::atomic<int> worked{0};
void works() {
  EXPECT_TRUE(comes_true([] { return may_finish.load(); }, [] { this_thread::sleep_for(1ms); }));
  ++worked;
  if (find_here() == 1) post<&works>(3);
}

TEST(Termination, WaitsForTheOthersParcelsAfterALoss) {
  net::test::localities all(4);
  may_finish = false;
  worked = 0;
  std::atomic<bool> too_early{false};
  all.run_all([&] {
    if (find_here() == 2) return;  // never calls wait_for_all()
    if (find_here() == 0) {
      post<&works>(1);
      all.lose(2);
      post([] {
        this_thread::sleep_for(50ms);  // many rounds of counting, none of which may detect the end
        may_finish = true;
      });
    }
    net::node_here().get<net::termination>().wait_for_all();
    if (worked != 2) too_early = true;
  });
  EXPECT_FALSE(too_early);
  EXPECT_EQ(worked, 2);
}

// Parcels cause further parcels on all localities, while one of them dies. One locality runs at a time.
struct travels {
  struct one {
    locality_id from = 0, to = 0;
    bool started = false, done = false;
  };
  net::seeded_choice choose{1};
  std::vector<one> all;
};
travels* now = nullptr;

void travel(int id, int left);
void begin_travel(int left) {
  const auto to = static_cast<locality_id>((find_here() + 1 + now->choose(3)) % 4);
  now->all.push_back({find_here(), to});
  post<&travel>(to, static_cast<int>(now->all.size()) - 1, left);
}
void travel(int id, int left) {
  now->all[static_cast<std::size_t>(id)].started = true;
  this_thread::sleep_for(std::chrono::microseconds(now->choose(1500)));
  for (std::size_t i = left == 0 ? 2 : now->choose(2); i < 2; ++i) begin_travel(left - 1);
  now->all[static_cast<std::size_t>(id)].done = true;
}

TEST(Termination, IsExactWhileALocalityDies) {
  unsigned cut_off = 0;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    travels mine;
    mine.choose = net::seeded_choice(seed + 1'000'000);
    now = &mine;
    net::simulation sim(
        {.localities = 4, .seed = seed, .detection_min_s = 1e-4, .detection_max_s = 3e-3, .kills = {{2, 0, 4e-3}}});
    ASSERT_NO_THROW(sim.run([&] {
      for (int i = 0; i < 3; ++i) begin_travel(4);
      try {
        net::node_here().get<net::termination>().wait_for_all();
      } catch (const locality_lost&) {
        return;  // this locality has died
      }
      if (!sim.network().alive(find_here())) return;
      for (const travels::one& t : mine.all) {
        if (sim.network().alive(t.to) && (sim.network().alive(t.from) || t.started)) {
          EXPECT_TRUE(t.done);
        }
      }
    }));
    for (const travels::one& t : mine.all) cut_off += !t.done;
    now = nullptr;
    ASSERT_FALSE(::testing::Test::HasFailure());
  }
  EXPECT_GT(cut_off, 0u);  // it died while parcels were in flight
}

TEST(Termination, AFailedLocalityIsLostForThatReason) {
  net::test::localities all(2);
  all.run_all([] {
    auto& end = net::node_here().get<net::termination>();
    if (find_here() == 0) return end.fail("no such file");
    try {
      end.wait_for_all();
      ADD_FAILURE();
    } catch (const locality_lost& e) {
      EXPECT_STREQ(e.what(), "locality 0 is lost: it failed: no such file");
    }
  });
}

TEST(Termination, ReturnsAtOnceOnASingleLocality) {
  net::test::localities all(1);
  all.run(0, [] { net::node_here().get<net::termination>().wait_for_all(); });
}

}  // namespace
