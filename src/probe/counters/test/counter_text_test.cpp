#include "probe/counters/counter_printer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace {

using namespace plx::probe;

std::string text_of(double value, const char* unit) {
  const std::string line = counters_as_text({{"/a/x", value, unit}}, 0);
  const std::size_t begin = line.find_first_not_of(' ', 12);
  return line.substr(begin, line.size() - begin - 7);
}

TEST(CounterText, ValuesHaveUnitsForPeople) {
  EXPECT_EQ(text_of(0.25, "s"), "250 ms");
  EXPECT_EQ(text_of(-2.5e-6, "s"), "-2.5 us");
  EXPECT_EQ(text_of(3e-9, "s"), "3 ns");
  EXPECT_EQ(text_of(12, "s"), "12 s");
  EXPECT_EQ(text_of(0, "s"), "0 s");
  EXPECT_EQ(text_of(512, "bytes"), "512 bytes");
  EXPECT_EQ(text_of(3 << 20, "bytes"), "3 MiB");
  EXPECT_EQ(text_of(1234567, "1"), "1234567");
  EXPECT_EQ(text_of(0.123456789, "1"), "0.123457");
  EXPECT_EQ(text_of(1e300, "W"), "1e+300 W");
}

TEST(CounterText, AProblemIsNotANumber) {
  const std::vector<counter_value> v{{"/a/x", std::nan(""), "s", "it is \"off\"\n"}};
  EXPECT_NE(counters_as_text(v, 1.5).find("?  /a/x (it is \"off\""), std::string::npos);
  EXPECT_EQ(counters_as_csv(v, 1.5), "1.500000,/a/x,nan,s\n");
  EXPECT_EQ(
      counters_as_json(v, 1.5),
      R"({"time_s":1.500000,"counters":[{"name":"/a/x","value":null,"unit":"s","problem":"it is \"off\"\u000a"}]})");
}

TEST(CounterText, JsonOfARegistry) {
  counter_registry r;
  const registration a = r.add({"/a/x", "s", "An \"x\"", true}, [] { return 0.1; });
  const registration b = r.add({"/b/x"}, []() -> double { throw std::runtime_error("no"); });
  const std::string text = counters_as_json(r.query("/*/*").value(), 1);
  EXPECT_NE(text.find(R"({"name":"/a/x","value":0.1,"unit":"s","help":"An \"x\"","monotonic":true})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("value":null,"unit":"","help":"","monotonic":false,"problem":"no"})"), std::string::npos)
      << text;
}

TEST(CounterText, TheListIsShortOrFull) {
  const std::vector<counter_info> all{{"/t{locality#0/worker-thread#0}/x", "s", "An x"},
                                      {"/t{locality#0/worker-thread#12}/x", "s", "An x"},
                                      {"/machine/memory", "bytes", "Memory"}};
  EXPECT_EQ(list_as_text(all),
            "/t{locality#0/worker-thread#*}/x  s      An x\n/machine/memory                   bytes  Memory\n");
  EXPECT_NE(list_as_text(all, true).find("worker-thread#12"), std::string::npos);
}

}  // namespace
