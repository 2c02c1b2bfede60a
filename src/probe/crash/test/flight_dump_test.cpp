#include "probe/crash/flight_dump.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "base/file.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

name_id crashing = unnamed;

flight_now second_is_busy(void*, unsigned i) noexcept {
  if (i != 1) return {};
  return {.busy = true, .name = crashing, .key = 42, .since = now_ticks() - ticks_from(0.5)};
}
int second(void*) noexcept { return 1; }

struct FlightDump : testing::Test {
  recorder r{2};
  const std::string folder = temporary_path("flight");
  std::string file(unsigned number) const {
    return folder + "/flight-" + std::to_string(getpid()) + "-" + std::to_string(number) + ".json";
  }
  flight_source source() const {
    return {.rec = &r, .now = second_is_busy, .here = second, .folder = folder.c_str(), .seconds = 2};
  }
  void SetUp() override {
    std::filesystem::remove_all(folder);
    crashing = register_name("the \"guilty\"\none");
    r.flight(1024);
  }
  void piece(unsigned worker, const char* name, double ago_s, double length_s, std::uint64_t key = no_key) {
    const ticks begin = now_ticks() - ticks_from(ago_s);
    r.worker(worker).record(
        {.name = register_name(name), .key = key, .begin = begin, .end = begin + ticks_from(length_s)});
  }
};

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST_F(FlightDump, ContainsTheLastSecondsAndTheStateOfAllWorkers) {
  piece(0, "long ago", 5, 1);
  piece(0, "solve", 1, 0.25, 7);
  piece(1, "solve", 0.9, 0.25);
  const flight_registration there(source());
  testing::internal::CaptureStderr();
  ASSERT_TRUE(write_flight("tried", 5));
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(message, "\n"), 1u) << message;
  EXPECT_NE(message.find("(key 42) on worker 1; the last seconds of all workers are in '" + file(5)), std::string::npos)
      << message;
  const std::string text = read_file(file(5)).value();
  EXPECT_EQ(count(text, "\"solve\""), 2u);
  EXPECT_EQ(count(text, "long ago"), 0u);
  EXPECT_NE(text.find("\"dur\":250000.0"), std::string::npos) << text;
  EXPECT_NE(text.find("\"args\":{\"key\":7}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"reason\":\"tried\""), std::string::npos);
  EXPECT_NE(text.find("\"worker\":1,\"task\":\"the \\\"guilty\\\" one\",\"key\":42}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"args\":{\"key\":42,\"running\":true}"), std::string::npos) << text;
  EXPECT_FALSE(std::filesystem::exists(file(5) + ".part"));
}

TEST_F(FlightDump, KeepsTheLastPiecesOfMany) {
  r.flight(0);
  recorder large(1);
  large.flight(std::size_t{1} << 16);
  const ticks begin = now_ticks() - ticks_from(1);
  const name_id old = register_name("old"), fresh = register_name("fresh");
  for (unsigned i = 0; i < 60'000; ++i)
    large.worker(0).record({.name = i < 60'000 - most_flight_pieces ? old : fresh,
                            .begin = begin + ticks_from(i * 1e-5),
                            .end = begin + ticks_from(i * 1e-5 + 5e-6)});
  flight_source s = source();
  s.rec = &large;
  const flight_registration there(s);
  testing::internal::CaptureStderr();
  ASSERT_TRUE(write_flight("tried", 6));
  testing::internal::GetCapturedStderr();
  const std::string text = read_file(file(6)).value();
  EXPECT_EQ(count(text, "\"fresh\""), most_flight_pieces);
  EXPECT_EQ(count(text, "\"old\""), 0u);
}

TEST_F(FlightDump, WithoutARegistrationNothingIsWritten) {
  { const flight_registration there(source()); }
  EXPECT_FALSE(write_flight("tried", 7));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(FlightDump, AnImpossibleFolderIsAOneLineError) {
  flight_source s = source();
  s.folder = "/proc/no/such";
  const flight_registration there(s);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(write_flight("tried", 8));
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find("cannot write '/proc/no/such/flight-"), std::string::npos) << message;
  EXPECT_NE(message.find("No such file or directory"), std::string::npos) << message;
}

TEST_F(FlightDump, AnExistingLinkIsNotFollowed) {
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file(folder + "/other file", "text\n"));
  std::filesystem::create_symlink(folder + "/other file", file(10) + ".part");
  const flight_registration there(source());
  testing::internal::CaptureStderr();
  EXPECT_TRUE(write_flight("tried", 10));
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(read_file(folder + "/other file").value(), "text\n");
  EXPECT_FALSE(std::filesystem::is_symlink(file(10)));
}

TEST_F(FlightDump, AFullDiskIsAOneLineErrorAndLeavesNoFile) {
  struct rlimit_file {  // a limit on the file size replaces a full disk
    rlimit_file() {
      std::signal(SIGXFSZ, SIG_IGN);
      getrlimit(RLIMIT_FSIZE, &before);
      rlimit small = before;
      small.rlim_cur = 1000;
      setrlimit(RLIMIT_FSIZE, &small);
    }
    ~rlimit_file() { setrlimit(RLIMIT_FSIZE, &before); }
    rlimit before{};
  };
  for (int i = 0; i < 100; ++i) piece(0, "solve", 1, 1e-3);
  const flight_registration there(source());
  testing::internal::CaptureStderr();
  bool written = true;
  {
    const rlimit_file full;
    written = write_flight("tried", 9);
  }
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_FALSE(written);
  EXPECT_NE(message.find("File too large"), std::string::npos) << message;
  EXPECT_FALSE(std::filesystem::exists(file(9)));
  EXPECT_FALSE(std::filesystem::exists(file(9) + ".part"));
}

}  // namespace
}  // namespace plx::probe
