#include "probe/counters/counter_printer.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "probe/counters/gauge.hpp"
#include "session/session.hpp"

namespace {

using namespace plx::probe;
using plx::read_file;

struct fixture {
  counter_registry r;
  std::atomic<double> x{1536};  // the session's thread reads it
  registration a = r.add({"/app/size", "bytes", "How much", false}, [this] { return x.load(); });
  registration b = r.add({"/app/count", "1", "How many", true}, [this] { return x / 512; });
  std::string path = testing::TempDir() + "plx_printed_" + std::to_string(::getpid());
  fixture() { std::filesystem::remove_all(path); }
  ~fixture() { std::filesystem::remove_all(path); }
};

/// Removes the time, such as "   0.123 s", which varies.
std::string without_time(std::string text) {
  std::string rest;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    rest += text.substr(at + 12, end + 1 - at - 12);
    at = end + 1;
  }
  return rest;
}

TEST(CounterPrinter, TextIsForPeople) {
  fixture f;
  testing::internal::CaptureStdout();
  counter_printer p(f.r, {.patterns = {"/app/*"}});
  ASSERT_TRUE(p.print());
  EXPECT_EQ(without_time(testing::internal::GetCapturedStdout()),
            "          1.5 KiB  /app/size\n                3  /app/count\n");
}

TEST(CounterPrinter, CsvHasOneHeaderAndReplacesAnEarlierFile) {
  fixture f;
  ASSERT_TRUE(plx::write_file(f.path, "of an earlier run\n"));
  counter_printer p(f.r, {.patterns = {"/app/count"}, .format = counter_format::csv, .to = f.path, .reset = true});
  ASSERT_TRUE(p.print());
  f.x = 2048;
  ASSERT_TRUE(p.print());
  const std::string text = read_file(f.path).value();
  EXPECT_TRUE(text.starts_with("time_s,name,value,unit\n")) << text;
  EXPECT_NE(text.find(",/app/count,3,1\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",/app/count,1,1\n"), std::string::npos) << text;  // reset by the previous print
  EXPECT_EQ(text.find("time_s", 1), std::string::npos) << text;
}

TEST(CounterPrinter, AResetKeepsSamplesOfOtherStatistics) {
  fixture f;
  const auto of = [](const char* what) { return std::string("/statistics{/app/count}/") + what + "@100000"; };
  counter_printer p(f.r,
                    {.patterns = {of("max"), of("min")}, .format = counter_format::csv, .to = f.path, .reset = true});
  ASSERT_TRUE(p.print());
  const std::string text = read_file(f.path).value();
  for (const char* what : {"max", "min"}) EXPECT_NE(text.find(of(what)), std::string::npos) << text;
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(f.r.query(of("count")).value().at(0).value, 0);
}

TEST(CounterPrinter, JsonIsAnObjectPerLine) {
  fixture f;
  counter_printer p(f.r, {.patterns = {"/app/size"}, .format = counter_format::json, .to = f.path});
  ASSERT_TRUE(p.print());
  ASSERT_TRUE(p.print());
  const std::string text = read_file(f.path).value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(
      text.find(
          R"("counters":[{"name":"/app/size","value":1536,"unit":"bytes","help":"How much","monotonic":false}]})"),
      std::string::npos)
      << text;
}

TEST(CounterPrinter, AWriteErrorIsReportedOnceAndPrintsToStderr) {
  for (const char* to : {"/no/such/folder/file", "/dev/full"}) {
    fixture f;
    testing::internal::CaptureStderr();
    counter_printer p(f.r, {.patterns = {"/app/size"}, .format = counter_format::csv, .to = to});
    EXPECT_FALSE(p.print());
    EXPECT_FALSE(p.print());
    const std::string message = testing::internal::GetCapturedStderr();
    const std::string start = std::string("cannot write '") + to + "'";
    EXPECT_TRUE(message.starts_with(start)) << message;
    EXPECT_EQ(message.find(start, 1), std::string::npos) << message;
    EXPECT_NE(message.find("time_s,name,value,unit\n"), std::string::npos) << message;
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 4) << message;
  }
}

TEST(CounterPrinter, ARemovedFileIsCreatedAgain) {
  fixture f;
  std::filesystem::create_directories(f.path);
  counter_printer p(f.r, {.patterns = {"/app/size"}, .format = counter_format::csv, .to = f.path + "/c.csv"});
  ASSERT_TRUE(p.print());
  std::filesystem::remove_all(f.path);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(p.print());
  testing::internal::GetCapturedStderr();
  std::filesystem::create_directories(f.path);
  ASSERT_TRUE(p.print());
  EXPECT_TRUE(read_file(f.path + "/c.csv").value().starts_with("time_s,name,value,unit\n"));
}

TEST(CounterPrinter, APatternWithoutACounterIsReportedOnceAndRetried) {
  fixture f;
  testing::internal::CaptureStderr();
  counter_printer p(f.r, {.patterns = {"/app/siez", "/late/x"}, .format = counter_format::csv, .to = f.path});
  EXPECT_FALSE(p.print());
  const registration late = f.r.add({"/late/x"}, [] { return 7; });
  EXPECT_FALSE(p.print());
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "no counter matches '/app/siez'; did you mean '/app/size'?\n"
            "no counter matches '/late/x'; --plx:list-counters lists them all\n");
  EXPECT_NE(read_file(f.path).value().find(",/late/x,7,"), std::string::npos);
}

/// A program declares its counters after the runtime, so they are destroyed before the runtime prints.
TEST(CounterPrinter, ARemovedCounterIsPrintedWithItsLastValue) {
  fixture f;
  recorder rec(1);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    session s(rec, f.r, {.output = f.path, .print_counter = "/walker/*,/app/size", .print_format = "csv"});
    int walks = 0;
    const registration own = f.r.add({"/walker/count/walks", "1", "", true}, [&walks] { return walks; });
    tally pushed(f.r, {"/walker/count/steps", "1"});
    const registration unwanted = f.r.add({"/other/count"}, [] { return 1; });
    walks = 3;
    pushed.add(5);
  }
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find(",/walker/count/walks,3,1\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",/walker/count/steps,5,1\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("/other"), std::string::npos) << text;
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_TRUE(f.r.last_values("/walker/*").empty()) << "removed after the last print";
}

TEST(CounterLister, ListsOneLineForAllWorkersAndLaterCounters) {
  counter_registry r;
  std::vector<registration> keep;
  for (int i = 0; i < 3; ++i)
    keep.push_back(r.add({"/threads{locality#0/worker-thread#" + std::to_string(i) + "}/idle-rate", "1", "Idle share"},
                         [] { return 0; }));
  testing::internal::CaptureStdout();
  {
    const counter_lister l(r, false);
    keep.push_back(r.add({"/app/late", "s", "Comes later"}, [] { return 0; }));
  }
  keep.push_back(r.add({"/app/unlisted"}, [] { return 0; }));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(text.starts_with("/threads{locality#0/worker-thread#*}/idle-rate  1")) << text;
  EXPECT_EQ(text.find("worker-thread#1"), std::string::npos) << text;
  EXPECT_NE(text.find("/statistics{COUNTER}/rolling_median@MS,N"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("/app/late  s  Comes later\n")) << text;
  testing::internal::CaptureStdout();
  { const counter_lister l(r, true); }
  EXPECT_NE(testing::internal::GetCapturedStdout().find("worker-thread#1"), std::string::npos);
}

TEST(CounterSampler, ValuesAreWrittenToTheFileAndTheTrace) {
  fixture f;
  recorder rec(1);
  rec.trace(true, 64);
  counter_sampler s(rec, f.r, {"/app/*", "/no/such"}, f.path + "/new/counters.csv");
  EXPECT_EQ(s.sample().error().message, "no counter matches '/no/such'; --plx:list-counters lists them all");
  EXPECT_FALSE(s.sample());
  const std::string text = read_file(f.path + "/new/counters.csv").value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << text;
  EXPECT_EQ(rec.collect_trace().samples.size(), 4u);
}

TEST(Session, PrintsAndSamplesCountersOnAnIntervalAndAtTheEnd) {
  fixture f;
  recorder rec(1);
  {
    session s(rec, f.r,
              {.output = f.path,
               .print_counter = "/app/size,{/arithmetics/add@/app/size,/app/count}",
               .print_interval_s = 0.002,
               .print_format = "csv",
               .print_to = f.path + ".csv",
               .sample_counter = "/app/count",
               .sample_interval_s = 0.002});
    while (!std::filesystem::exists(f.path + ".csv") || std::filesystem::file_size(f.path + ".csv") < 300)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    f.x = 4096;
    ASSERT_TRUE(s.finish());
  }
  const std::string printed = read_file(f.path + ".csv").value();
  EXPECT_TRUE(printed.ends_with(",\"/arithmetics/add@/app/size,/app/count\",4104,mixed\n")) << printed;
  EXPECT_TRUE(read_file(f.path + "/counters.csv").value().ends_with(",/app/count,8,1\n"));
  std::filesystem::remove(f.path + ".csv");
}

TEST(Session, PrintingCreatesNoFolder) {
  fixture f;
  recorder rec(1);
  testing::internal::CaptureStdout();
  { session s(rec, f.r, {.output = f.path, .print_counter = "/app/size"}); }
  EXPECT_NE(testing::internal::GetCapturedStdout().find("/app/size"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(f.path));
}

}  // namespace
