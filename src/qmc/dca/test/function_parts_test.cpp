// Functions of two particles that stay on their localities, in parts of checkpoints: an iteration that is stopped or
// killed continues on other numbers of localities with the same bits and without repeated measurements; damage.
#include "qmc/dca/function_parts.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "qmc/dca/test/small_runs.hpp"

namespace plx::qmc {
namespace {

using namespace test;

class FunctionParts : public testing::Test {
 protected:
  FunctionParts() { std::filesystem::create_directories(folder_); }
  ~FunctionParts() override { std::filesystem::remove_all(folder_); }

  std::vector<recorder> observers(unsigned localities) {
    std::vector<recorder> all(localities);
    for (auto& r : all) r.store = store_;
    return all;
  }
  static std::uint64_t measurements_of(const std::vector<recorder>& all) {
    std::uint64_t sum = 0;
    for (const auto& r : all) sum += r.walkers->samples;
    return sum;
  }

  const std::string folder_ = testing::TempDir() + "plx_functions_" + std::to_string(::getpid()) +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::shared_ptr<function_store> store_ = std::make_shared<function_parts>(folder_);
};

dca_options measured_with_pauses() {
  auto o = with_functions();
  o.temperatures = {1};
  o.distribute = "always";
  o.checkpoint_interval_s = 1e-6;  // after one measurement of each walker
  o.measurements = 24;             // three in a bin
  return o;
}

// Each run ends at its first checkpoint within the iteration that measures functions, as if it were killed there.
TEST_F(FunctionParts, AnIterationContinuesOnAnyNumberOfLocalities) {
  auto o = measured_with_pauses();
  auto plain = o;
  plain.checkpoint_interval_s = 0;
  const auto alone = solve_alone(plain);
  std::optional<dca_state> from;
  std::uint64_t samples = 0;
  std::vector<dca_iteration> first;
  bool apart = true;  // the functions of the last checkpoint
  for (const auto& [localities, distribute] :
       {std::pair(3u, "always"), {2u, "always"}, {5u, "always"}, {3u, "never"}, {4u, "always"}}) {
    o.distribute = distribute;
    auto all = observers(localities);
    all[0].stops_in_functions = true;
    EXPECT_TRUE(solve_on(localities, o, all, from ? &*from : nullptr).stopped) << localities;
    samples += measurements_of(all);
    if (first.empty()) first = all[0].iterations;
    from = all[0].states.back();
    ASSERT_EQ(from->iteration, 1) << localities;
    ASSERT_EQ(from->walkers.size(), 4u);
    apart = o.distribute == "always";
    EXPECT_EQ(from->functions.empty(), !apart) << localities;
    EXPECT_EQ(from->functions.count(), apart ? localities : 0u);
  }
  ASSERT_TRUE(apart);
  o.checkpoint_interval_s = 0;
  o.distribute = "always";
  for (const unsigned localities : {1u, 3u}) {
    auto last = observers(localities);
    if (localities == 1) {
      runtime rt({.workers = 2, .bind = false});
      rt.run([&] { EXPECT_FALSE(run_dca(o, last[0], &*from).value().stopped); });
    } else {
      EXPECT_FALSE(solve_on(localities, o, last, &*from).stopped);
    }
    EXPECT_FALSE(last[0].failure);
    EXPECT_EQ(samples + measurements_of(last), 2u * 24) << "of two iterations, each once";
    last[0].iterations.insert(last[0].iterations.begin(), first.begin(), first.end());
    expect_same_functions(last[0], alone);
  }
}

// The checkpoint before the jackknife has all measurements, which are not repeated after a stop or a loss in it.
TEST_F(FunctionParts, AJackknifeBeginsAgainWithoutMeasurements) {
  auto o = measured_with_pauses();
  o.checkpoint_interval_s = 1e6;
  auto plain = o;
  plain.checkpoint_interval_s = 0;
  const auto alone = solve_alone(plain);
  for (const char* distribute : {"always", "never"}) {
    o.distribute = distribute;
    auto stopped = observers(2);
    stopped[0].stops_in_functions = true;
    EXPECT_TRUE(solve_on(2, o, stopped).stopped) << distribute;
    EXPECT_EQ(measurements_of(stopped), 2u * 24);
    EXPECT_TRUE(stopped[0].temperatures.empty());
    const dca_state last = stopped[0].states.back();
    auto again = observers(3);
    EXPECT_FALSE(solve_on(3, o, again, &last).stopped);
    EXPECT_EQ(measurements_of(again), 0u);
    again[0].iterations.insert(again[0].iterations.begin(), stopped[0].iterations.front());
    expect_same_functions(again[0], alone);
  }
}

// A checkpoint that the observer cannot write: neither the jackknife nor a further part of the measurement follows.
TEST_F(FunctionParts, AFullDiskStopsTheRunAtTheCheckpoint) {
  auto o = measured_with_pauses();
  for (const double interval_s : {1e6, 1e-6})
    for (const char* distribute : {"always", "never"}) {
      o.checkpoint_interval_s = interval_s;
      o.distribute = distribute;
      auto all = observers(2);
      all[0].disk_is_full = true;
      EXPECT_TRUE(solve_on(2, o, all).stopped);
      EXPECT_EQ(all[0].iterations.size(), 1u) << interval_s << distribute;
      EXPECT_TRUE(all[0].temperatures.empty());
      const auto within = std::count_if(all[0].states.begin(), all[0].states.end(),
                                        [](const dca_state& s) { return s.iteration == 1 && !s.walkers.empty(); });
      EXPECT_EQ(within, 1) << interval_s << distribute;
    }
}

// A stop without checkpoints at intervals also writes the parts.
TEST_F(FunctionParts, AStopKeepsTheMeasurements) {
  auto o = measured_with_pauses();
  o.checkpoint_interval_s = 0;
  auto stopped = observers(3);
  stopped[0].stops_in_the_last = true;
  EXPECT_TRUE(solve_on(3, o, stopped).stopped);
  const dca_state last = stopped[0].states.back();
  EXPECT_EQ(last.functions.count(), 3u);
  EXPECT_EQ(last.functions.firsts, (std::vector<std::uint64_t>{0, 2, 3, 4}));
  auto again = observers(2);
  EXPECT_FALSE(solve_on(2, o, again, &last).stopped);
  EXPECT_EQ(measurements_of(stopped) + measurements_of(again), 2u * 24);
}

struct failing : function_store {
  std::shared_ptr<function_store> store;
  bool writes = true, reads = true;
  result<std::uint64_t> write(std::uint64_t mark, unsigned rank, std::span<const walker_functions> all) override {
    if (!writes) return error{"no space on the disk"};
    return store->write(mark, rank, all);
  }
  result<walker_functions> read(const checkpoint_parts& parts, std::size_t walker) override {
    if (!reads) return error{"not a part"};
    return store->read(parts, walker);
  }
};

TEST_F(FunctionParts, AFailureOnAnyLocalityStopsTheRunWithItsMessage) {
  const auto o = measured_with_pauses();
  auto good = observers(2);
  good[0].stops_in_functions = true;
  EXPECT_TRUE(solve_on(2, o, good).stopped);
  const dca_state last = good[0].states.back();
  for (const unsigned where : {0u, 2u})
    for (const bool writes : {true, false}) {
      auto all = observers(3);
      const auto broken = std::make_shared<failing>();
      broken->store = store_;
      (writes ? broken->reads : broken->writes) = false;
      all[where].store = broken;
      EXPECT_TRUE(solve_on(3, o, all, &last).stopped);
      ASSERT_TRUE(all[0].failure) << where << writes;
      EXPECT_EQ(all[0].failure->message, writes ? "not a part" : "no space on the disk");
      EXPECT_EQ(all[0].states.size(), 1u) << "no state has parts that are incomplete";
      if (writes) {
        EXPECT_EQ(measurements_of(all), 0u) << "none runs without its functions";
      }
    }
}

TEST_F(FunctionParts, DamageIsNamed) {
  const std::vector<walker_functions> first = {{{1, 2, 3}, {{4, 5, 6}}}, {{7, 8, 9}, {}}},
                                      second = {{{1, -2, 3}, {{4, 5, 6}, {0, 0, 1}}}};
  checkpoint_parts parts{3, {0, 2, 2, 3}, {}};
  parts.checksums = {*store_->write(3, 0, first), *store_->write(3, 1, {}), *store_->write(3, 2, second)};
  const auto message = [&](const checkpoint_parts& from, std::size_t walker) {
    const auto r = store_->read(from, walker);
    return r ? std::string() : r.error().message;
  };
  for (std::size_t w = 0; w < 3; ++w) {
    const auto found = store_->read(parts, w);
    const auto& expected = w < 2 ? first[w] : second[0];
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->sums, expected.sums);
    EXPECT_EQ(found->bins, expected.bins);
  }
  EXPECT_NE(message(parts, 3).find("do not have walker 3"), std::string::npos);
  auto other = parts;
  other.checksums[2] ^= 1;
  EXPECT_NE(message(other, 2).find("another checkpoint"), std::string::npos);
  const std::string path = checkpoint_part_file(folder_, 3, 0), whole = *read_file(path);
  std::string bad = whole;
  const double seven = 7;
  const auto at = bad.find(std::string(reinterpret_cast<const char*>(&seven), sizeof seven));
  ASSERT_NE(at, std::string::npos);
  bad[at] ^= 1;
  ASSERT_TRUE(write_file(path, bad));
  EXPECT_EQ(message(parts, 0), "");
  EXPECT_NE(message(parts, 1).find("the checksum of row 2 does not match"), std::string::npos) << message(parts, 1);
  ASSERT_TRUE(write_file(path, whole.substr(0, whole.size() - 64)));
  EXPECT_NE(message(parts, 0).find("truncated"), std::string::npos);
  std::filesystem::remove(path);
  EXPECT_NE(message(parts, 0).find("-0.h5': No such file"), std::string::npos) << message(parts, 0);
}

}  // namespace
}  // namespace plx::qmc
