#include "probe/counters/bounded_output.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "probe/counters/counter_printer.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "session/session.hpp"

namespace plx::probe {
namespace {

/// A FIFO and its reading end.
struct fifo {
  std::string path = temporary_path("fifo");
  int reader = -1;
  explicit fifo(bool with_reader) {
    std::filesystem::remove(path);
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    if (with_reader) reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  }
  ~fifo() {
    if (reader >= 0) ::close(reader);
    std::filesystem::remove(path);
  }
  [[nodiscard]] std::string read_all() const {
    std::string text;
    char piece[4096];
    for (ssize_t n = 0; (n = ::read(reader, piece, sizeof piece)) > 0;) text.append(piece, static_cast<std::size_t>(n));
    return text;
  }
};

TEST(BoundedOutput, AFullFifoDropsWholeLines) {
  const fifo f(true);
  bounded_output out(f.path);
  const std::string line(999, 'x');
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(out.write("header\n", line + "\n", 0));
  EXPECT_GT(out.dropped(), 100u);
  std::string text = f.read_all();
  ASSERT_TRUE(out.write("header\n", "end\n", 0));
  text += f.read_all();
  EXPECT_TRUE(text.starts_with("header\nxx")) << text.substr(0, 20);
  EXPECT_TRUE(text.ends_with("x\nend\n")) << text.substr(text.size() - 20);
  EXPECT_EQ(text.size() % 1000, std::size_t{7 + 4});  // whole lines
}

TEST(BoundedOutput, AFifoWithoutAReaderIsNotAnError) {
  const fifo f(false);
  bounded_output out(f.path);
  EXPECT_TRUE(out.write("", "text\n", 10));
  EXPECT_EQ(out.dropped(), 1u);
}

TEST(BoundedOutput, AReaderThatEndsIsAnErrorWithoutASignal) {
  fifo f(true);
  bounded_output out(f.path);
  ASSERT_TRUE(out.write("", "text\n", 0));
  ::close(std::exchange(f.reader, -1));
  const auto done = out.write("", "text\n", 0);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find(f.path), std::string::npos);
  EXPECT_TRUE(out.write("", "text\n", 0));  // like a FIFO without a reader
}

/// While it exists, stdout is a pipe that nothing reads.
struct unread_stdout {
  int ends[2] = {-1, -1}, before = -1;
  unread_stdout() {
    EXPECT_EQ(::pipe(ends), 0);
    std::fflush(stdout);
    before = ::dup(STDOUT_FILENO);
    EXPECT_EQ(::dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
  }
  ~unread_stdout() {
    ::dup2(before, STDOUT_FILENO);
    ::close(before), ::close(ends[0]), ::close(ends[1]);
  }
};

TEST(BoundedOutput, AFullPipeAsStdoutIsAwaitedUntilTheDeadline) {
  std::uint64_t dropped = 0;
  {
    const unread_stdout pipe;
    bounded_output out("stdout");
    for (int i = 0; i < 200; ++i) EXPECT_TRUE(out.write("", std::string(999, 'y') + "\n", 0.01));
    dropped = out.dropped();
    EXPECT_EQ(::fcntl(pipe.ends[1], F_GETFL) & O_NONBLOCK, 0);  // the program's descriptor is unchanged
  }
  EXPECT_GT(dropped, 50u);
}

TEST(CounterLister, AConsumerThatDoesNotReadDelaysNeitherTheListNorAddedCounters) {
  counter_registry counters;
  const auto add = [&](int i) {
    return counters.add({"/app" + std::to_string(i) + "/" + std::string(20'000, 'n')}, [] { return 1; });
  };
  std::vector<registration> keep;
  for (int i = 0; i < 10; ++i) keep.push_back(add(i));
  {
    const unread_stdout pipe;
    const counter_lister list(counters, true);
    for (int i = 10; i < 20; ++i) keep.push_back(add(i));
  }
  EXPECT_EQ(counters.list("/app*/*").size(), 20u);
}

/// A FIFO that is opened but never read: records are still drained, and the session ends.
TEST(Session, AConsumerThatDoesNotReadLosesNoRecords) {
  const fifo f(true);
  recorder r(1);
  counter_registry counters;
  const registration long_name = counters.add({"/app/" + std::string(60'000, 'n')}, [] { return 1; });
  std::uint64_t recorded = 0;
  {
    session s(r, counters,
              {.output = temporary_path("unread"),
               .trace = true,
               .trace_records = 1 << 12,
               .print_counter = "/app/*",
               .print_interval_s = 0.001,
               .print_to = f.path});
    // The rings fill up repeatedly; recording waits for draining only.
    while (recorded < 8u << 12) {
      for (int i = 0; i < 512; ++i, ++recorded) r.worker(0).record({.begin = now_ticks(), .end = now_ticks()});
      const std::uint64_t drained = r.traced();
      for (int i = 0; i < 20'000 && r.traced() == drained; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    testing::internal::CaptureStderr();
    ASSERT_TRUE(s.finish());
  }
  EXPECT_NE(testing::internal::GetCapturedStderr().find(" of counters to '" + f.path + "': expected a consumer"),
            std::string::npos);
  EXPECT_EQ(r.trace_lost(), 0u);
  EXPECT_GE(r.traced(), recorded);
}

}  // namespace
}  // namespace plx::probe
