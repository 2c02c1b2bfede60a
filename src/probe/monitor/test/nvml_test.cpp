#include "probe/monitor/monitors.hpp"

#include <gtest/gtest.h>

#include "probe/counters/counter_printer.hpp"
#include "probe/monitor/shared_library.hpp"

namespace {

using namespace plx::probe;

double value(const counter_registry& r, std::string_view name) { return r.query(name).value().at(0).value; }

TEST(Nvml, EachGpuHasTheValuesOfTheLibrary) {
  int (*begun)() = nullptr;
  const auto fake = shared_library::open({FAKE_nvml});
  ASSERT_TRUE(fake) << fake.error().message;
  ASSERT_TRUE(fake->find("fake_nvml_begun", begun));
  {
    counter_registry r;
    std::vector<std::string> notes;
    const auto keep = add_nvml_counters(r, &notes, FAKE_nvml);
    EXPECT_EQ(begun(), 1);
    EXPECT_DOUBLE_EQ(value(r, "/gpu{gpu#0}/utilization"), 0.75);
    EXPECT_DOUBLE_EQ(value(r, "/gpu{gpu#1}/utilization"), 0.74);
    EXPECT_DOUBLE_EQ(value(r, "/gpu{gpu#0}/memory-utilization"), 0.25);
    EXPECT_EQ(value(r, "/gpu{gpu#0}/memory/used"), 400);
    EXPECT_EQ(value(r, "/gpu{gpu#0}/memory/free"), 600);
    EXPECT_EQ(value(r, "/gpu{gpu#0}/memory/total"), 1000);
    EXPECT_DOUBLE_EQ(value(r, "/gpu{gpu#0}/power"), 250.5);
    EXPECT_EQ(value(r, "/gpu{gpu#0}/temperature"), 61);
    EXPECT_EQ(value(r, "/gpu{gpu#0}/clock/memory"), 2e9);
    const double energy = value(r, "/gpu{gpu#0}/energy");
    EXPECT_DOUBLE_EQ(value(r, "/gpu{gpu#0}/energy"), energy + 1);
    EXPECT_NE(r.list("/gpu{gpu#0}/power").at(0).help.find("(Fake 100)"), std::string::npos);
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_EQ(notes[0], "/gpu{gpu#1}/energy is omitted: NVML: Not Supported");
  }
  EXPECT_EQ(begun(), 0);  // shut down with the last counter
}

TEST(Nvml, WithoutTheLibraryThereIsANote) {
  counter_registry r;
  std::vector<std::string> notes;
  EXPECT_TRUE(add_nvml_counters(r, &notes, "/no/such/libnvidia-ml.so").empty());
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_TRUE(notes[0].starts_with("GPUs are omitted: /no/such/libnvidia-ml.so")) << notes[0];
  notes.clear();
  EXPECT_TRUE(add_nvml_counters(r, &notes, FAKE_papi).empty());  // a library, but another one
  EXPECT_EQ(notes.at(0), "GPUs are omitted: NVML's library lacks functions of its version 2");
}

/// The GPUs of this machine, if any.
TEST(Nvml, OnThisMachine) {
  counter_registry r;
  std::vector<std::string> notes;
  const auto keep = add_nvml_counters(r, &notes);
  for (const std::string& n : notes) std::printf("%s\n", n.c_str());
  EXPECT_TRUE(!keep.empty() || !notes.empty());
  for (const counter_info& c : r.list()) {
    const auto v = r.query(c.name);
    EXPECT_TRUE(v) << c.name;
    if (v) std::printf("%s", counters_as_text(*v, 0).c_str());
  }
}

}  // namespace
