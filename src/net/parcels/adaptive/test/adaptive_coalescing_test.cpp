#include "net/parcels/adaptive/adaptive_coalescing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "control/policy.hpp"
#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/parcels/collector.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/thread.hpp"

namespace adaptive_coalescing_test {

using namespace plx;
using namespace plx::net;
using std::chrono::microseconds;

std::atomic<std::uint64_t> arrived{0};
void taken(std::uint64_t n) { arrived += n; }
int adaptively_doubled(int x) { return 2 * x; }

std::string text_of(runtime& rt, const std::string& actuator) {
  const auto found = rt.actuators().find(actuator);
  return found ? (*found)->text() : "";
}

/// A program on locality 0 of a simulation with a virtual clock, sampled by the test.
class program {
 public:
  explicit program(net::simulation& s) : node_(s.at(0)), rt_(s.runtime_at(0)) {}

  /// Posts for the duration of a sample, one parcel after each `pause()`, and takes the sample. `idle`: the share of
  /// the time that counts as idle.
  template <class F>
  void look(F pause, double idle) {
    constexpr auto span = microseconds(25'000);
    for (auto passed = microseconds(0); passed < span;) {
      const microseconds p = pause();
      this_thread::sleep_for(p);
      post<&taken>(1, 1);
      passed += p;
    }
    load_.idle_s += idle * 0.025;
    load_.network_s += 0.1 * 0.025;
    load_.handing_s += 100 * 3.3e-6;
    load_.sendings += 100;
    node_.get<adaptive_coalescing>().look(load_);
  }
  [[nodiscard]] bool fixed() { return text_of(rt_, way) == "fixed"; }
  [[nodiscard]] collected_counts collected() { return node_.port().collected(net::detail::entry_of<&taken>().index); }

  const std::string way = "coalesce-way@adaptive_coalescing_test::taken";
  const std::string parcels = "coalesce-parcels@adaptive_coalescing_test::taken";

 private:
  node& node_;
  runtime& rt_;
  locality_load load_;
};

/// Real collectors and the virtual clock: the program computes between its parcels, waits, and sends rarely.
TEST(AdaptiveCoalescing, AdjustsTheCollectorsAndLogsReasons) {
  net::simulation sim({.localities = 2, .seed = 5, .credits = 4096});
  arrived = 0;
  std::uint64_t sent = 0;
  sim.run_root([&] {
    coalesce<&taken>(adaptive);
    program p(sim);
    runtime& rt = sim.runtime_at(0);
    EXPECT_FALSE(p.fixed());
    for (int i = 0; i < 20; ++i) p.look([] { return microseconds(50); }, 0);
    EXPECT_TRUE(p.fixed());
    const auto before = p.collected();
    for (int i = 0; i < 10; ++i) p.look([] { return microseconds(50); }, 0);
    const auto after = p.collected();
    const unsigned n = static_cast<unsigned>(std::stoul(text_of(rt, p.parcels)));
    EXPECT_GE(n, 4u);
    // Messages hold that many parcels, and therefore cost at most 5 % of the time.
    const double each = double(after.parcels - before.parcels) / double(after.messages - before.messages);
    EXPECT_NEAR(each, n, 1);
    EXPECT_LT(3.5 / each, 0.05 * 50);

    for (int i = 0; i < 20; ++i) p.look([] { return microseconds(50); }, 0.5);
    EXPECT_TRUE(p.fixed()) << "idle workers flush";
    p.look([] { return microseconds(1000); }, 0.9);
    EXPECT_FALSE(p.fixed()) << "parcels became rare";
    sent = p.collected().parcels;

    bool found = false;
    for (const probe::decision& d : rt.actuators().log()->all())
      if (d.what == p.way && d.to == "fixed") {
        EXPECT_EQ(d.who, "coalescing");
        EXPECT_EQ(d.from, "self");
        EXPECT_NE(d.why.find("messages of 1.0 parcels cost"), std::string::npos) << d.why;
        found = true;
        break;
      }
    EXPECT_TRUE(found);
    coalesce<&taken>(self_clocking);
  });
  EXPECT_EQ(arrived, sent);
}

/// A program that slows down with the fixed form: the trial is undone, and not repeated immediately.
TEST(AdaptiveCoalescing, HarmfulChangesAreUndone) {
  net::simulation sim({.localities = 2, .seed = 6, .credits = 4096});
  sim.run_root([&] {
    coalesce<&taken>(adaptive);
    program p(sim);
    runtime& rt = sim.runtime_at(0);
    int looks_fixed = 0;
    for (int i = 0; i < 40; ++i) {
      p.look([&] { return microseconds(p.fixed() ? 75 : 50); }, 0);
      looks_fixed += p.fixed();
    }
    EXPECT_GE(looks_fixed, 1);
    EXPECT_LE(looks_fixed, 6);
    EXPECT_FALSE(p.fixed());
    const auto all = rt.actuators().log()->all();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const probe::decision& d) {
      return d.why.find("sends 0.6") != std::string::npos || d.why.find("sends 0.7") != std::string::npos;
    }));
    coalesce<&taken>(self_clocking);
  });
}

TEST(AdaptiveCoalescing, PolicyExistsWhileSomethingIsAdaptive) {
  net::test::localities all(2);
  runtime& rt = all.at(0).home();
  const auto policies = [&rt] {
    std::size_t n = 0;
    for (const auto& r : rt.policies().report()) n += r.name == "coalescing" && !r.off;
    return n;
  };
  const auto actuators = [&rt] {
    std::size_t n = 0;
    for (const auto& a : rt.actuators().list()) n += a->info().name.starts_with("coalesce-");
    return n;
  };
  const auto index = net::detail::entry_of<&adaptively_doubled>().index;
  EXPECT_EQ(actuators(), 0u);
  ASSERT_TRUE(coalesce_as(all.at(0), "adaptive; adaptively_doubled=adaptive"));
  EXPECT_EQ(policies(), 1u);
  EXPECT_EQ(actuators(), 8u);
  EXPECT_EQ(all.at(0).port().how_collected(index), adaptive);
  all.run(0, [] {
    for (int i = 0; i < 2000; ++i) EXPECT_EQ(async<&adaptively_doubled>(1, i).get(), 2 * i);
  });

  // Changes by a user, within bounds; the policy is not notified and may change the value again.
  const auto parcels = rt.actuators().find("coalesce-parcels").value();
  EXPECT_EQ(parcels->set_text("0", "me", "a try").error().message.find('\n'), std::string::npos);
  EXPECT_TRUE(parcels->set_text("7", "me", "a try"));
  EXPECT_EQ(parcels->text(), "7");

  ASSERT_TRUE(coalesce_as(all.at(0), "adaptively_doubled=5,100"));
  EXPECT_EQ(actuators(), 4u);
  EXPECT_EQ(all.at(0).port().how_collected(index), (coalescing{.parcels = 5, .interval_us = 100}));
  ASSERT_TRUE(coalesce_as(all.at(0), "self"));
  EXPECT_EQ(actuators(), 0u);
  EXPECT_TRUE(parcels->set_text("8", "me", "too late").error().message.find("was removed") != std::string::npos)
      << parcels->set_text("8", "me", "too late").error().message;
  ASSERT_TRUE(coalesce_as(all.at(0), "adaptive"));
  EXPECT_EQ(actuators(), 4u);
}

TEST(AdaptiveCoalescing, BeginsWithTheGivenBytes) {
  net::test::localities all(2);
  net::node& n = all.at(0);
  const auto index = net::detail::entry_of<&adaptively_doubled>().index;
  const auto name = "coalesce-bytes@adaptive_coalescing_test::adaptively_doubled";
  const auto begins_with = [&](std::size_t bytes) {
    collect_as(n, index, {.bytes = bytes, .way = coalescing_way::adaptive});
    const auto actuator = n.home().actuators().find(name);
    return std::pair(actuator ? (*actuator)->text() : actuator.error().message, n.port().collected(index).most_bytes);
  };
  EXPECT_EQ(begins_with(6000), std::pair(std::string("6000"), std::size_t{6000}));
  ASSERT_TRUE(n.home().actuators().find(name).value()->set_text("5000", "test", "of the user"));
  EXPECT_EQ(begins_with(6000), std::pair(std::string("5000"), std::size_t{5000})) << "the same again changes nothing";
  EXPECT_EQ(begins_with(7000), std::pair(std::string("7000"), std::size_t{7000}));
  EXPECT_EQ(begins_with(0), std::pair(std::string("0"), std::size_t{8192}));
  EXPECT_EQ(begins_with(std::size_t{1} << 40).first, "1048576");
}

/// Both localities adaptive, with changes by the test and the policy while they send: every parcel arrives once.
TEST(AdaptiveCoalescing, NothingIsLostDuringChanges) {
  net::test::localities all(2);
  arrived = 0;
  constexpr std::uint64_t posts = 30'000;
  std::atomic<int> sending{2};
  all.run_all([&] {
    std::vector<future<void>> done;
    coalesce<&taken>(adaptive);
    done.push_back(async([&] {
      for (std::uint64_t i = 0; i < posts; ++i) {
        post<&taken>(1 - find_here(), i);
        if (i % 500 == 0) this_thread::yield();
      }
      --sending;
    }));
    runtime& rt = all.at(find_here()).home();
    for (unsigned turn = 0; sending > 0; ++turn) {
      if (turn % 3 == 0) coalesce<&taken>(turn % 2 == 0 ? self_clocking : adaptive);
      if (const auto way = rt.actuators().find("coalesce-way@adaptive_coalescing_test::taken"))
        (void)(*way)->set_text(turn % 2 == 0 ? "fixed" : "self", "test", "to and fro");
      this_thread::yield();
    }
    coalesce<&taken>(self_clocking);
    for (auto& d : done) d.get();
  });
  EXPECT_EQ(arrived, 2 * (posts * (posts - 1) / 2));
}

}  // namespace adaptive_coalescing_test
