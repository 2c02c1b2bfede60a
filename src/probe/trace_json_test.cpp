#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "base/file.hpp"
#include "probe/recorder.hpp"
#include "probe/text_sink.hpp"
#if PLX_HAVE_ZLIB
#include <zlib.h>
#endif

namespace {

using namespace plx::probe;
using testing::HasSubstr;

class TraceJson : public testing::Test {
 protected:
  std::string path(const std::string& suffix) const {
    return (std::filesystem::temp_directory_path() / ("plx_trace_" + std::to_string(::getpid()) + suffix)).string();
  }
  void TearDown() override {
    std::filesystem::remove(path(".json"));
    std::filesystem::remove(path(".json.gz"));
  }
};

TEST_F(TraceJson, PiecesOfTasksOnTheirWorkersRow) {
  const plx::ticks start = plx::now_ticks();
  recorder r(2);
  r.trace(true, 64);
  const plx::ticks us = plx::ticks_from(1e-6);
  const plx::ticks t = start + 1'000'000 * us;
  const name_id name = register_name("trace \"test\"\n");
  r.worker(0).record({.name = name, .key = 42, .begin = t, .end = t + 100 * us});
  r.worker(1).record({.name = name, .key = ~1ull, .begin = t, .end = t + 50 * us, .finished = false});
  r.worker(1).record({.name = name, .begin = t + 60 * us, .end = t + 90 * us, .finished = true, .earlier = 50 * us});
  r.trace_counter("blocks", 12.5);
  r.trace_counter("rate", std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(r.write_trace_json(path(".json")));
  const std::string text = plx::read_file(path(".json")).value();
  EXPECT_THAT(text, testing::StartsWith("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"));
  EXPECT_THAT(text, HasSubstr("\"tid\":1,\"name\":\"thread_name\",\"args\":{\"name\":\"worker 0\"}"));
  EXPECT_THAT(text, testing::ContainsRegex("\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":[0-9]+\\.[0-9][0-9][0-9],"
                                           "\"dur\":(100.0|99.9)[0-9][0-9],\"name\":\"trace .\"test.\".u000a\","
                                           "\"args\":.\"key\":42..,"));
  EXPECT_THAT(text, HasSubstr("\"args\":{\"key\":\"18446744073709551614\",\"ended\":\"suspended\"}}"));
  EXPECT_THAT(text, HasSubstr("\"args\":{\"began\":\"resumed\"}}"));
  EXPECT_THAT(text, testing::ContainsRegex("\"ph\":\"C\",.*\"name\":\"blocks\",\"args\":.\"value\":12.5.."));
  EXPECT_THAT(text, HasSubstr("\"records\":3,\"records_lost\":0"));
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find(",\n]"), std::string::npos);
}

#if PLX_HAVE_ZLIB
TEST_F(TraceJson, CompressedHoldsTheSameText) {
  recorder r(1);
  r.trace(true, 1 << 16);
  for (plx::ticks i = 0; i < 50'000; ++i) r.worker(0).record({.key = i, .begin = i, .end = i * 7});
  ASSERT_TRUE(r.write_trace_json(path(".json")));
  ASSERT_TRUE(r.write_trace_json(path(".json.gz")));
  gzFile file = gzopen(path(".json.gz").c_str(), "rb");
  std::string text, piece(1 << 16, '\0');
  for (int n; (n = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;)
    text.append(piece, 0, static_cast<std::size_t>(n));
  EXPECT_EQ(gzclose(file), Z_OK);
  EXPECT_EQ(text, plx::read_file(path(".json")).value());
  EXPECT_LT(std::filesystem::file_size(path(".json.gz")), text.size() / 4);
}
#endif

TEST_F(TraceJson, AFullDiskIsOneLine) {
  recorder r(1);
  r.trace(true, 64);
  r.worker(0).record({.begin = 0, .end = 1});
  EXPECT_EQ(r.write_trace_json("/dev/full").error().message, "cannot write '/dev/full': No space left on device");
  EXPECT_EQ(r.write_trace_json("/nowhere/t.json.gz").error().message,
            "cannot write '/nowhere/t.json.gz': No such file or directory");
}

}  // namespace
