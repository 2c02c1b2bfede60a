#include "probe/record/wait_log.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "probe/counters/standard_counters.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

struct sum {
  std::uint64_t waits = 0;
  ticks total = 0, longest = 0;
};

std::map<std::string, sum> by_kind(const wait_log& log) {
  std::map<std::string, sum> all;
  log.for_each([&](const wait_kind& what, std::uint64_t waits, ticks total, ticks longest) {
    sum& s = all[what.kind];
    s.waits += waits;
    s.total += total;
    s.longest = std::max(s.longest, longest);
  });
  return all;
}

TEST(WaitLog, RecordsCountSumAndMaximumByKindAndObject) {
  wait_log log;
  int a = 0, b = 0;
  log.add({"mutex", &a}, 10);
  log.add({"mutex", &a}, 30);
  log.add({"mutex", &b}, 5);
  log.add({"future"}, 7);
  std::map<const void*, sum> mutexes;
  log.for_each([&](const wait_kind& what, std::uint64_t waits, ticks total, ticks longest) {
    if (std::string(what.kind) == "mutex") mutexes[what.object] = {waits, total, longest};
  });
  EXPECT_EQ(mutexes[&a].waits, 2u);
  EXPECT_EQ(mutexes[&a].total, 40u);
  EXPECT_EQ(mutexes[&a].longest, 30u);
  EXPECT_EQ(mutexes[&b].total, 5u);
  EXPECT_EQ(by_kind(log)["future"].waits, 1u);
}

TEST(WaitLog, OneAddressIsTwoObjectsWhenTheirNamesDiffer) {
  wait_log log;
  int place = 0;
  log.add({"mutex", &place, register_name("first")}, 1);
  log.add({"mutex", &place, register_name("second")}, 2);
  int cells = 0;
  log.for_each([&](const wait_kind&, std::uint64_t, ticks, ticks) { ++cells; });
  EXPECT_EQ(cells, 2);
}

TEST(WaitLog, ObjectsBeyondTheTableAreRecordedByKind) {
  wait_log log;
  constexpr std::uint64_t n = 100'000;
  for (std::uint64_t i = 1; i <= n; ++i) log.add({"mutex", reinterpret_cast<void*>(i * 64)}, 3);
  log.add({"latch", reinterpret_cast<void*>(8)}, 4);
  auto all = by_kind(log);
  EXPECT_EQ(all["mutex"].waits, n);
  EXPECT_EQ(all["mutex"].total, 3 * n);
  EXPECT_EQ(all["latch"].waits, 1u);
}

TEST(WaitLog, NamesBeyondTheTableLoseNothing) {
  wait_log log;
  for (name_id name = 1; name <= 3000; ++name) log.add({"mutex", nullptr, name}, 2);
  std::uint64_t waits = 0;
  log.for_each([&](const wait_kind&, std::uint64_t n, ticks, ticks) { waits += n; });
  EXPECT_EQ(waits, 3000u);
}

TEST(WaitLog, IsReadWhileItsWorkerWrites) {
  wait_log log;
  std::atomic<bool> end{false};
  std::thread reader([&] {
    while (!end) {
      log.for_each([](const wait_kind& what, std::uint64_t, ticks total, ticks longest) {
        EXPECT_STREQ(what.kind, "mutex");
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(what.object) % 64, what.object == nullptr ? 0u : what.name % 64);
        EXPECT_LE(longest, total + 1);  // of the newest wait, one may be updated before the other
      });
    }
  });
  for (std::uint64_t i = 0; i < 200'000; ++i) log.add({"mutex", reinterpret_cast<void*>((i % 2000) * 64)}, 1);
  end = true;
  reader.join();
}

TEST(WaitTable, SumsOverWorkersAndWritesTheFile) {
  recorder r(2);
  int m = 0, other = 0;
  r.waits_of(0).add({"mutex", &m, register_name("forces, \"old\"")}, ticks_from(1e-3));
  r.waits_of(1).add({"mutex", &m, register_name("forces, \"old\"")}, ticks_from(3e-3));
  r.waits_of(1).add({"shared_mutex, to read", &other}, ticks_from(1e-3));
  r.waits_of(0).add({"shared_mutex, to write", &other}, ticks_from(1e-3));
  const auto all = r.waits();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "forces, \"old\"");
  EXPECT_EQ(all[0].waits, 2u);
  EXPECT_NEAR(all[0].total_s, 4e-3, 1e-6);
  EXPECT_NEAR(all[0].max_s, 3e-3, 1e-6);
  EXPECT_EQ(all[1].kind, "shared_mutex");
  EXPECT_EQ(all[1].waits, 2u);

  const std::string path = temporary_path("waits.csv");
  ASSERT_TRUE(r.write_waits_csv(path));
  const auto text = read_file(path);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->substr(0, text->find('\n')), "kind,object,name,waits,total_s,max_s");
  EXPECT_NE(text->find("\"forces, \"\"old\"\"\",2,0.00"), std::string::npos) << *text;
}

TEST(WaitTable, CountersBelongToTheLocalityOfTheirRegistry) {
  recorder r(2);
  counter_registry counters(3);
  const auto keep = add_wait_counters(counters, r);
  EXPECT_FALSE(keep.empty());
  for (const counter_info& c : counters.list()) EXPECT_NE(c.name.find("{locality#3/"), std::string::npos) << c.name;
}

TEST(WaitTable, ANameGivenToAnAddressIsUsedUntilItIsRemoved) {
  recorder r(1);
  int barrier = 0;
  r.waits_of(0).add({"barrier", &barrier}, 1);
  name_object(&barrier, "end of step");
  EXPECT_EQ(r.waits().at(0).name, "end of step");
  name_object(&barrier, "");
  EXPECT_EQ(r.waits().at(0).name, "");
}

}  // namespace
}  // namespace plx::probe
