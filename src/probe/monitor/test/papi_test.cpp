#include "probe/monitor/monitors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "probe/monitor/shared_library.hpp"

namespace {

using namespace plx::probe;
using testing::ElementsAre;

double value(const counter_registry& r, std::string_view name) { return r.query(name).value().at(0).value; }

TEST(Papi, EventsOfThreadsAndOfTheMachine) {
  int (*started)() = nullptr;
  const auto fake = shared_library::open({FAKE_papi});
  ASSERT_TRUE(fake) << fake.error().message;
  ASSERT_TRUE(fake->find("fake_papi_started", started));
  {
    counter_registry r;
    std::vector<std::string> notes;
    const auto keep =
        add_papi_counters(r, "PAPI_TOT_INS, PAPI_TOT_CYC,PAPI_FP_OPS,PAPI_NO_SUCH,rapl::ENERGY,PAPI_TOT_INS",
                          {{"locality#0/worker-thread#0", 10}, {"locality#0/worker-thread#1", 20}}, &notes, FAKE_papi);
    EXPECT_EQ(started(), 3);  // two threads, and the machine's energy
    EXPECT_EQ(value(r, "/papi{locality#0/worker-thread#0}/PAPI_TOT_INS"), 1010);
    EXPECT_EQ(value(r, "/papi{locality#0/worker-thread#1}/PAPI_TOT_CYC"), 2020);
    EXPECT_EQ(value(r, "/papi/PAPI_TOT_INS"), 2030);
    EXPECT_EQ(value(r, "/papi{process}/rapl::ENERGY"), 4000);
    EXPECT_EQ(r.list().size(), 7u);
    EXPECT_THAT(notes, ElementsAre("PAPI event 'PAPI_NO_SUCH' is omitted: Event does not exist",
                                   "PAPI event 'PAPI_FP_OPS' is omitted: Event exists, but cannot be counted due to "
                                   "hardware"));
  }
  EXPECT_EQ(started(), 0);
}

TEST(Papi, WithoutThreadsTheProcessIsCounted) {
  counter_registry r;
  const auto keep = add_papi_counters(r, "PAPI_TOT_INS", {}, nullptr, FAKE_papi);
  EXPECT_EQ(value(r, "/papi{process}/PAPI_TOT_INS"), 1000);
}

TEST(Papi, WithoutTheLibraryThereIsANote) {
  counter_registry r;
  std::vector<std::string> notes;
  EXPECT_TRUE(add_papi_counters(r, "PAPI_TOT_INS", {}, &notes, "/no/such/libpapi.so").empty());
  EXPECT_TRUE(add_papi_counters(r, "PAPI_TOT_INS", {}, &notes, FAKE_nvml).empty());
  ASSERT_EQ(notes.size(), 2u);
  EXPECT_TRUE(notes[0].starts_with("PAPI is omitted: /no/such/libpapi.so")) << notes[0];
  EXPECT_EQ(notes[1], "PAPI is omitted: its library lacks functions of PAPI 5 to 7");
}

/// Each event is counted, or a note gives the reason.
TEST(Papi, OnThisMachine) {
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_papi_counters(r, "PAPI_TOT_INS,perf::PAGE-FAULTS", {{"me", gettid()}}, &notes);
  for (const std::string& n : notes) std::printf("%s\n", n.c_str());
  EXPECT_TRUE(!keep.empty() || !notes.empty());
  for (const counter_info& c : r.list()) EXPECT_TRUE(r.query(c.name)) << c.name;
}

}  // namespace
