#include "trace/tools/trace_export.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "base/file.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/trace_builder_test.hpp"
#include "probe/record/text_sink.hpp"
#include "trace/test/json_reader_test.hpp"
#if PLX_HAVE_ZLIB
#include <zlib.h>
#endif

namespace plx::probe {
namespace {

using testing::ElementsAre;

class JsonTrace : public testing::Test {
 protected:
  std::string path(const std::string& suffix) const {
    return (std::filesystem::temp_directory_path() / ("plx_trace_" + std::to_string(::getpid()) + suffix)).string();
  }
  void TearDown() override {
    std::filesystem::remove(path(".json"));
    std::filesystem::remove(path(".json.gz"));
  }
  json written(const trace_data& d) {
    const auto done = write_json_trace(d, path(".json"));
    EXPECT_TRUE(done) << done.error().message;
    return json_reader::read(read_file(path(".json")).value());
  }
  static std::vector<json> events(const json& trace, const std::string& kind) {
    std::vector<json> found;
    for (const json& e : trace["traceEvents"].list)
      if (e["ph"].text == kind) found.push_back(e);
    return found;
  }
  /// Times are nearly whole nanoseconds and compared to 2 ns.
  static ticks us(double n) { return 1'000'000 + ticks_from(n * 1e-6); }
};

constexpr double tolerance = 0.002;

TEST_F(JsonTrace, PiecesOfTasksOnTheirWorkersRow) {
  trace_builder b(2);
  b.data.origin = 1'000'000;
  b.piece(0, 1, "trace \"test\"\n", us(1), us(101)).key(42).ready(us(0.5));
  b.piece(1, 2, "other", us(10), us(20), false).key(~1ull);
  b.piece(1, 2, "other", us(30), us(40), true, true);
  const json t = written(b.data);
  EXPECT_EQ(t["displayTimeUnit"].text, "ns");
  const auto slices = events(t, "X");
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_EQ(slices[0]["tid"].number, 1);
  EXPECT_EQ(slices[0]["name"].text, "trace \"test\"\n");
  EXPECT_NEAR(slices[0]["ts"].number, 1, tolerance);
  EXPECT_NEAR(slices[0]["dur"].number, 100, tolerance);
  EXPECT_EQ(slices[0]["args"]["key"].number, 42);
  EXPECT_EQ(slices[0]["args"]["task"].number, 1);
  EXPECT_NEAR(slices[0]["args"]["wait_us"].number, 0.5, tolerance);
  EXPECT_EQ(slices[1]["args"]["key"].text, "18446744073709551614") << "a double would round it";
  EXPECT_EQ(slices[1]["args"]["ended"].text, "suspended");
  EXPECT_EQ(slices[2]["args"]["began"].text, "resumed");
  EXPECT_EQ(t["otherData"]["records"].number, 3);
  EXPECT_EQ(t["otherData"]["records_lost"].number, 0);
}

TEST_F(JsonTrace, OperationsOfADeviceHaveBytesAndNoArrowsFromEachOther) {
  trace_builder b(2);
  b.device(1, 0, "gpu 0 (x), stream 1");
  b.task(0, 1, "host", 1000, 2000);
  b.task(1, 2, "copy", 2000, 3000).key(640).task(1, 3, "kernel", 3000, 4000).task(0, 4, "after", 5000, 6000);
  b.edge(1, 2, 1500).edge(1, 3, 1600).edge(2, 3, 3000).edge(3, 4, 4500);
  const json t = written(b.data);
  const auto slices = events(t, "X");
  ASSERT_EQ(slices.size(), 4u);
  EXPECT_EQ(slices[2]["tid"].number, 2);
  EXPECT_EQ(slices[2]["cat"].text, "device");
  EXPECT_EQ(slices[2]["args"]["bytes"].number, 640);
  EXPECT_EQ(events(t, "s").size(), 3u);
  std::string rows;
  for (const json& e : events(t, "M"))
    if (e["name"].text == "thread_name") rows += e["args"]["name"].text + ";";
  EXPECT_NE(rows.find("gpu 0 (x), stream 1;"), std::string::npos) << rows;
}

TEST_F(JsonTrace, ParentsAreArgumentsAndArrowsBindToTheSlicesOfBothEnds) {
  const task_id join = join_bit | 9;
  trace_builder b(2);
  b.task(0, 1, "a", 1000, 2000).task(0, 2, "b", 2000, 3000).task(1, 3, "c", 4000, 5000);
  b.edge(1, join, 2000).edge(2, join, 3000).edge(join, 3, 3000);
  const json t = written(b.data);
  const auto slices = events(t, "X"), begins = events(t, "s"), ends = events(t, "f");
  ASSERT_EQ(slices.size(), 3u);
  EXPECT_FALSE(slices[0]["args"].has("parents"));
  ASSERT_EQ(slices[2]["args"]["parents"].list.size(), 2u);
  EXPECT_EQ(slices[2]["args"]["parents"].list[0].number, 1);
  EXPECT_EQ(slices[2]["args"]["parents"].list[1].number, 2);
  ASSERT_EQ(begins.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(begins[i]["id"].number, ends[i]["id"].number);
    EXPECT_GE(begins[i]["ts"].number, slices[i]["ts"].number);
    EXPECT_LT(begins[i]["ts"].number, slices[i]["ts"].number + slices[i]["dur"].number);
    EXPECT_EQ(ends[i]["ts"].number, slices[2]["ts"].number);
    EXPECT_EQ(ends[i]["tid"].number, 2);
  }
}

TEST_F(JsonTrace, ManyParentsAreAllListed) {
  trace_builder b(1);
  for (task_id i = 1; i <= 20; ++i) b.task(0, i, "in", 100 * i, 100 * i + 50).edge(i, 99, 100 * i + 50);
  b.task(0, 99, "out", 5000, 6000);
  const json last = events(written(b.data), "X").back();
  EXPECT_EQ(last["args"]["parents"].list.size(), 20u);
  EXPECT_FALSE(last["args"].has("more_parents"));
}

TEST_F(JsonTrace, ParentsThatOutgrowTheGraphAreTruncated) {
  trace_builder b(1);
  const task_id join = join_bit | 1;
  for (task_id i = 1; i <= 50; ++i) b.task(0, i, "in", 100 * i, 100 * i + 50).edge(i, join, 100 * i + 50);
  for (task_id i = 51; i <= 100; ++i) b.edge(join, i, 5050).task(0, i, "out", 100 * i, 100 * i + 50);
  const json trace = written(b.data);
  const auto slices = events(trace, "X");
  EXPECT_EQ(slices[50]["args"]["parents"].list.size(), 50u);
  EXPECT_FALSE(slices[50]["args"].has("more_parents"));
  EXPECT_EQ(slices[99]["args"]["parents"].list.size(), 16u);
  EXPECT_TRUE(slices[99]["args"].has("more_parents"));
  EXPECT_GT(trace["otherData"]["pieces_with_more_parents"].number, 30);
}

TEST_F(JsonTrace, SamplesAreCurvesAndMarksAreInstants) {
  trace_builder b(1);
  b.data.samples = {{10, "blocks", 12.5}, {20, "rate", std::numeric_limits<double>::quiet_NaN()}};
  b.data.marks = {{30, "policy", "cap 3 -> 2\n"}};
  const json t = written(b.data);
  ASSERT_EQ(events(t, "C").size(), 1u);
  EXPECT_EQ(events(t, "C")[0]["args"]["value"].number, 12.5);
  ASSERT_EQ(events(t, "i").size(), 1u);
  EXPECT_EQ(events(t, "i")[0]["cat"].text, "policy");
  EXPECT_EQ(events(t, "i")[0]["name"].text, "cap 3 -> 2\n");
}

TEST_F(JsonTrace, TimesNeverRunBackwardsAndNeighboursNeverOverlap) {
  trace_builder b(1);
  ticks at = 12345;
  for (task_id i = 1; i < 3000; ++i) {
    b.task(0, i, "t", at, at + i % 7 * i % 13);
    at = b.data.workers[0].back().end;
  }
  double end = 0;
  for (const json& e : events(written(b.data), "X")) {
    EXPECT_GE(e["ts"].number, end - 1e-6);
    end = e["ts"].number + e["dur"].number;
  }
}

TEST_F(JsonTrace, InvalidUtf8IsReplaced) {
  trace_builder b(1);
  b.task(0, 1, "caf\xc3\xa9 \xff \xc0\xaf \xed\xa0\x80", 1, 2);
  EXPECT_EQ(events(written(b.data), "X")[0]["name"].text,
            "caf\xc3\xa9 \xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

#if PLX_HAVE_ZLIB
TEST_F(JsonTrace, CompressedHoldsTheSameText) {
  trace_builder b(1);
  for (ticks i = 1; i < 50'000; ++i) b.task(0, i, "t", 100 * i, 100 * i + 70);
  ASSERT_TRUE(write_json_trace(b.data, path(".json")));
  ASSERT_TRUE(write_json_trace(b.data, path(".json.gz")));
  gzFile file = gzopen(path(".json.gz").c_str(), "rb");
  std::string text, piece(1 << 16, '\0');
  for (int n; (n = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
    text.append(piece, 0, static_cast<std::size_t>(n));
  EXPECT_EQ(gzclose(file), Z_OK);
  EXPECT_EQ(text, read_file(path(".json")).value());
  EXPECT_LT(std::filesystem::file_size(path(".json.gz")), text.size() / 4);
}
#endif

TEST_F(JsonTrace, AFullDiskIsOneLine) {
  trace_builder b(1);
  b.task(0, 1, "t", 1, 2);
  EXPECT_EQ(write_json_trace(b.data, "/dev/full").error().message, "cannot write '/dev/full': No space left on device");
  const std::string nowhere = text_sink::compressed_name("/nowhere/t.json");
  EXPECT_EQ(write_json_trace(b.data, nowhere).error().message,
            "cannot write '" + nowhere + "': No such file or directory");
}

TEST_F(JsonTrace, AJobHasAProcessPerLocalityAndAnArrowPerParcel) {
  trace_builder b(3);
  b.data.origin = 1'000'000;
  b.piece(0, 1, "here", us(1), us(5)).piece(2, 2, "there", us(10), us(20));
  b.data.samples.push_back({us(3), "/x", 7});
  trace_job job;
  job.localities.resize(3);
  job.localities[0] = {.host = "a", .first_worker = 0, .workers = 1, .missing = ""};
  job.localities[1] = {.host = "b", .first_worker = 1, .workers = 2, .uncertainty_s = 5e-7, .missing = ""};
  job.localities[2] = {.host = "", .missing = "it is lost: \"gone\""};
  job.sample_at = {1};
  const name_id f = register_name("f");
  // Two of the same nanosecond; one that was not received.
  job.messages.push_back({.sent = us(2), .received = us(8), .number = 1, .bytes = 40, .from = 0, .to = 1, .name = f});
  job.messages.push_back({.sent = us(2), .received = us(7), .number = 2, .bytes = 41, .from = 0, .to = 1, .name = f});
  job.messages.push_back({.sent = us(4), .received = 0, .number = 3, .bytes = 42, .from = 0, .to = 2, .name = f});
  const auto done = write_json_trace(b.data, trace_graph(b.data), path(".json"), &job);
  ASSERT_TRUE(done) << done.error().message;
  const json t = json_reader::read(read_file(path(".json")).value());

  std::vector<json> tasks, parcels;
  for (const json& e : events(t, "X")) (e.has("cat") ? parcels : tasks).push_back(e);
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0]["pid"].number, 1);
  EXPECT_EQ(tasks[1]["pid"].number, 2);
  EXPECT_EQ(tasks[1]["tid"].number, 2);  // the second worker of locality 1
  EXPECT_EQ(events(t, "C").at(0)["pid"].number, 2);
  ASSERT_EQ(parcels.size(), 5u);
  EXPECT_EQ(parcels[0]["pid"].number, 1);
  EXPECT_EQ(parcels[0]["tid"].number, 2);  // below the worker
  EXPECT_EQ(parcels[0]["name"].text, "f");
  EXPECT_EQ(parcels[0]["args"]["to"].number, 1);
  EXPECT_NEAR(parcels[0]["ts"].number, 2, tolerance);
  EXPECT_GT(parcels[1]["ts"].number, parcels[0]["ts"].number);
  EXPECT_EQ(parcels[3]["tid"].number, 4);  // received: below two workers and what was sent
  EXPECT_EQ(parcels[3]["args"]["number"].number, 2);
  EXPECT_NEAR(parcels[3]["ts"].number, 7, tolerance);
  EXPECT_NEAR(parcels[3]["dur"].number, 1, tolerance);
  const auto starts = events(t, "s"), ends = events(t, "f");
  ASSERT_EQ(starts.size(), 2u);
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(starts[0]["id"].number, ends[1]["id"].number);
  EXPECT_EQ(t["otherData"]["parcels"].number, 3);
  EXPECT_EQ(t["otherData"]["localities"].list.at(2)["missing"].text, "it is lost: \"gone\"");
  EXPECT_EQ(t["otherData"]["localities"].list.at(1)["host"].text, "b");
  std::vector<std::string> processes;
  for (const json& e : events(t, "M"))
    if (e["name"].text == "process_name") processes.push_back(e["args"]["name"].text);
  EXPECT_THAT(processes, ElementsAre("parallax locality 0", "parallax locality 1", "parallax locality 2 (missing)"));
}

}  // namespace
}  // namespace plx::probe
