#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "net/action.hpp"
#include "net/core/failure.hpp"
#include "net/core/node.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "net/start/termination.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using namespace std::chrono_literals;
using net::loss_cause, net::reporter_of;

const loss_cause no_loss;
loss_cause died(locality_id which) { return {which, false, "its process has ended"}; }
loss_cause threw(locality_id which) { return {which, true, "it failed: no such file"}; }

TEST(FailureReport, IsWrittenByTheFirstLocalityThatLives) {
  EXPECT_EQ(reporter_of(std::vector{no_loss, died(1), no_loss}), 0u);
  EXPECT_EQ(reporter_of(std::vector{died(0), no_loss, no_loss}), 1u);
  EXPECT_EQ(reporter_of(std::vector{died(0), died(1), no_loss}), 2u);
  EXPECT_EQ(reporter_of(std::vector{died(0), died(1)}), no_locality);
}

TEST(FailureReport, IsWrittenByALocalityThatHasLeftBecauseOfALoss) {
  EXPECT_EQ(reporter_of(std::vector{died(1), no_loss, died(1)}), 0u);
  EXPECT_EQ(reporter_of(std::vector{no_loss, died(0), died(0)}), 1u);  // 0 is not known to be lost
}

TEST(FailureReport, IsWrittenByTheFirstLocalityWithAnErrorOfItsOwn) {
  EXPECT_EQ(reporter_of(std::vector{no_loss, no_loss, threw(2)}), 2u);
  EXPECT_EQ(reporter_of(std::vector{threw(2), threw(1), threw(2)}), 1u);
  EXPECT_EQ(reporter_of(std::vector{died(0), no_loss, threw(2)}), 2u);
}

int echo(int i) { return i; }

// Calls localities until one is lost, with pauses in which this one notices nothing.
void call_until_lost(net::seeded_choice& choose) {
  while (true) {
    for (int i = 0; i < 20; ++i) async<&echo>(static_cast<locality_id>(choose(locality_count())), i).get();
    this_thread::sleep_for(std::chrono::microseconds(choose(5000)));
    if (choose(20) == 0) this_thread::sleep_for(2s);
  }
}

struct end_of_locality {
  bool reports = false;
  std::string what, first;
};

// The localities leave when they have decided, as processes do: later ones lose those, too.
std::vector<end_of_locality> run_until_lost(net::simulation& sim, net::seeded_choice& choose,
                                            const std::set<locality_id>& victims, bool throws) {
  std::vector<end_of_locality> ends(sim.size());
  const auto at = std::chrono::microseconds(choose(20'000));
  sim.run([&] {
    const locality_id here = find_here();
    std::exception_ptr error;
    try {
      if (victims.contains(here)) {
        this_thread::sleep_for(at + std::chrono::microseconds(throws ? choose(300) : 0));
        if (throws) throw std::runtime_error("no such file");
        return sim.kill(here);
      }
      call_until_lost(choose);
    } catch (const locality_lost& e) {
      ends[here].what = e.what(), ends[here].first = e.first().what();
      error = std::current_exception();
    } catch (const std::runtime_error& e) {
      ends[here].what = e.what();
      error = std::current_exception();
    }
    if (!sim.network().alive(here)) return;
    ends[here].reports = reports_failure(error);
    EXPECT_EQ(reports_failure(error), ends[here].reports);
    sim.kill(here);
  });
  return ends;
}

std::set<locality_id> victims_of(std::uint64_t seed, unsigned n) {
  std::set<locality_id> victims{static_cast<locality_id>(seed % n)};
  if (seed % 3 == 0) victims.insert(static_cast<locality_id>((seed / 3) % n));
  return victims;
}

TEST(FailureReport, OneSurvivorReportsALoss) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    net::seeded_choice choose(seed);
    const auto n = static_cast<unsigned>(3 + seed % 8);
    net::simulation sim({.localities = n, .seed = seed, .credits = 64, .time_limit_s = 60});
    const auto victims = victims_of(seed / 8, n);
    const auto ends = run_until_lost(sim, choose, victims, false);
    locality_id expected = 0;
    while (victims.contains(expected)) ++expected;
    for (locality_id i = 0; i < n; ++i) {
      if (victims.contains(i)) continue;
      EXPECT_EQ(ends[i].reports, i == expected) << "locality " << i << ": " << ends[i].what;
      bool of_victim = false;
      for (const locality_id v : victims)
        of_victim |= ends[i].first == "locality " + std::to_string(v) + " is lost: the simulation killed it";
      EXPECT_TRUE(of_victim) << "locality " << i << ": " << ends[i].what;
    }
    ASSERT_FALSE(HasFailure());
  }
}

// Four localities are all neighbours.
TEST(FailureReport, OneOfThoseThatThrowReports) {
  constexpr unsigned n = 4;
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    net::seeded_choice choose(seed);
    net::simulation sim({.localities = n, .seed = seed, .credits = 64, .time_limit_s = 60});
    const auto victims = victims_of(seed, n);
    const auto ends = run_until_lost(sim, choose, victims, true);
    unsigned reports = 0;
    for (locality_id i = 0; i < n; ++i) {
      reports += ends[i].reports;
      EXPECT_TRUE(!ends[i].reports || victims.contains(i)) << "locality " << i << ": " << ends[i].what;
    }
    EXPECT_EQ(reports, 1u);
    ASSERT_FALSE(HasFailure());
  }
}

/// The peers whose loss a locality has handled, in order.
struct handled_losses final : net::service {
  explicit handled_losses(net::node&) {}
  void peer_lost(locality_id which) override { all.push_back(which); }
  std::vector<locality_id> all;
};

// A report of a consequence may arrive before its receiver has noticed the loss that caused it: calls to that locality
// fail by its loss at once, and before those to the living one that reports it.
TEST(FailureReport, AReportOfAConsequenceReportsItsCauseFirst) {
  net::simulation sim({.localities = 4, .credits = 64});
  sim.run_root([] {
    net::node& here = net::node_here();
    auto& handled = here.get<handled_losses>();
    here.get<net::termination>().take_failure(1, 3, {2, false, "its process has ended"});
    EXPECT_TRUE(here.is_lost(2) && here.is_lost(3));
    EXPECT_EQ(here.why_lost(2), "its process has ended");
    EXPECT_EQ(here.why_lost(3), "it failed: locality 2 is lost: its process has ended");
    this_thread::sleep_for(1s);
    EXPECT_EQ(handled.all, (std::vector<locality_id>{2, 3}));
    EXPECT_FALSE(here.is_lost(1)) << "it reports";
  });
}

TEST(FailureReport, ASingleLocalityReports) {
  runtime rt({.workers = 1});
  EXPECT_TRUE(rt.run([] { return reports_failure(std::make_exception_ptr(std::runtime_error("no such file"))); }));
}

}  // namespace
