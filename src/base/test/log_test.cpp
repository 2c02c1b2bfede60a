#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "base/file.hpp"

namespace {

std::vector<std::string> heard;
void hear(void*, plx::log_level level, std::string_view text) {
  heard.push_back(std::string(plx::name_of(level)) + "|" + std::string(text));
}

class Log : public testing::Test {
 protected:
  void SetUp() override { heard.clear(); }
  void TearDown() override {
    plx::log_to_stderr(plx::log_level::none);
    plx::log_to_function(nullptr, nullptr, plx::log_level::none);
    (void)plx::log_to_file("", plx::log_level::none);
  }
  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("plx_log_" + std::to_string(::getpid()))).string();
};

TEST_F(Log, SilentAndCheapWithoutASink) {
  testing::internal::CaptureStderr();
  plx::log_error("no {}", "sink");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(plx::log_wants(plx::log_level::error));
}

TEST_F(Log, SinksTakeTheirLevelAndAbove) {
  plx::log_to_function(&hear, nullptr, plx::log_level::warning);
  plx::log_info("not this");
  plx::log_warning("{} of {}", 1, 2);
  plx::log_error("two\nlines");
  EXPECT_EQ(heard, (std::vector<std::string>{"warning|1 of 2", "error|two lines"}));
}

TEST_F(Log, StderrGetsLevelAndText) {
  plx::log_to_stderr(plx::log_level::info);
  testing::internal::CaptureStderr();
  plx::log_debug("no");
  plx::log_info("yes {:.1f}", 0.25);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "info: yes 0.2\n");
}

/// A pipe that is full and not read.
TEST_F(Log, AConsumerThatDoesNotReadDoesNotBlock) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const std::string page(4096, 'x');
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (::write(ends[1], page.data(), page.size()) > 0) {
  }
  ::fcntl(ends[1], F_SETFL, 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  plx::log_to_stderr(plx::log_level::info);
  for (int i = 0; i < 3; ++i) plx::log_info("dropped");
  std::string text(1u << 20, ' ');
  EXPECT_GT(::read(ends[0], text.data(), text.size()), 0);
  plx::log_info("written");
  ::dup2(before, STDERR_FILENO);
  ::close(before), ::close(ends[1]);
  std::string rest(1u << 20, ' ');
  rest.resize(static_cast<std::size_t>(::read(ends[0], rest.data(), rest.size())));
  ::close(ends[0]);
  EXPECT_EQ(rest, "info: written\n");
}

TEST_F(Log, TheFileGetsWholeLinesFromManyThreads) {
  ASSERT_TRUE(plx::log_to_file(path_, plx::log_level::debug));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 100; ++i) plx::log_debug("thread {} line {} end", t, i);
    });
  }
  for (auto& t : threads) t.join();
  ASSERT_TRUE(plx::log_to_file("", plx::log_level::none));
  const std::string text = plx::read_file(path_).value();
  std::filesystem::remove(path_);
  std::size_t lines = 0;
  for (std::size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1, ++lines) {
    ASSERT_THAT(text.substr(at, end - at),
                testing::MatchesRegex("....-..-..T..:..:..\\....Z debug   thread . line [0-9]+ end"));
  }
  EXPECT_EQ(lines, 400u);
}

TEST_F(Log, AFileThatCannotBeOpenedIsAnError) {
  EXPECT_EQ(plx::log_to_file("/nowhere/log", plx::log_level::info).error().message,
            "cannot write '/nowhere/log': No such file or directory");
}

}  // namespace
