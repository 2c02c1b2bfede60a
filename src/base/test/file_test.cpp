#include "base/file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {
std::atomic<int> syncs{0};
}
/// In place of the C library's.
extern "C" int fsync(int descriptor) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace {

namespace fs = std::filesystem;

class File : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plx_file_test_" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(File, ReadsBackWhatWasWritten) {
  const std::string text(200'000, 'x');
  ASSERT_TRUE(plx::write_file(path("a"), text));
  EXPECT_EQ(plx::read_file(path("a")).value(), text);
  ASSERT_TRUE(plx::write_file(path("a"), "short"));
  EXPECT_EQ(plx::read_file(path("a")).value(), "short");
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, OnlySyncedFilesWaitForTheDisk) {
  syncs = 0;
  ASSERT_TRUE(plx::write_file(path("a"), "unsynced", plx::durability::unsynced));
  EXPECT_EQ(syncs, 0);
  EXPECT_EQ(plx::read_file(path("a")).value(), "unsynced");
  ASSERT_TRUE(plx::write_file(path("a"), "synced"));
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(plx::read_file(path("a")).value(), "synced");
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, ProgressCountsFilesAndTheirWrites) {
  const std::uint64_t before = plx::file_progress();
  auto file = plx::atomic_file::create(path("a"));
  ASSERT_TRUE(file);
  EXPECT_EQ(plx::file_progress(), before + 1);
  const std::string half(40'000, 'x');  // of the buffer, and more: each one but the first flushes it
  for (std::uint64_t flushes = 0; flushes < 4; ++flushes) {
    ASSERT_TRUE(file->write(half));
    EXPECT_GE(plx::file_progress(), before + 1 + flushes);
  }
  ASSERT_TRUE(file->commit());
  EXPECT_GE(plx::file_progress(), before + 1 + 4);
  const std::uint64_t large = plx::file_progress();
  ASSERT_TRUE(plx::write_file(path("b"), std::string(8u << 20, 'x')));
  EXPECT_GE(plx::file_progress(), large + 1 + 8);
}

TEST_F(File, WithoutACommitNothingRemains) {
  ASSERT_TRUE(plx::write_file(path("a"), "old"));
  {
    auto file = plx::atomic_file::create(path("a"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string(100'000, 'y')));
    EXPECT_TRUE(fs::exists(file->temporary_path()));
  }
  EXPECT_EQ(plx::read_file(path("a")).value(), "old");
  EXPECT_EQ(files(), 1u);
}

TEST_F(File, AppendWritesTheHeaderOnce) {
  ASSERT_TRUE(plx::append_file(path("c.csv"), "a,b\n", "1,2\n"));
  ASSERT_TRUE(plx::append_file(path("c.csv"), "a,b\n", "3,4\n"));
  EXPECT_EQ(plx::read_file(path("c.csv")).value(), "a,b\n1,2\n3,4\n");
}

TEST_F(File, ErrorsNameThePathAndTheReason) {
  const std::string lost = path("none/x");
  EXPECT_EQ(plx::read_file(lost).error().message, "cannot read '" + lost + "': No such file or directory");
  EXPECT_EQ(plx::write_file(lost, "").error().message, "cannot write '" + lost + "': No such file or directory");
  EXPECT_EQ(plx::append_file(lost, "", "").error().message, "cannot write '" + lost + "': No such file or directory");
  EXPECT_EQ(plx::read_file(folder_.string()).error().message, "cannot read '" + folder_.string() + "': Is a directory");
}

/// As with `program >> log`: what the program writes otherwise stays, before and after.
TEST_F(File, StandardOutputIsWrittenToItsDescriptor) {
  const int before = ::dup(STDOUT_FILENO), log = ::open(path("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  ::dup2(log, STDOUT_FILENO);
  const auto write = [](std::string_view text) { (void)!::write(STDOUT_FILENO, text.data(), text.size()); };
  write("first\n");
  const auto done = plx::write_file("/dev/stdout", "second\n");
  write("third\n");
  ::dup2(before, STDOUT_FILENO);
  ::close(before), ::close(log);
  EXPECT_TRUE(done);
  EXPECT_EQ(plx::read_file(path("log")).value(), "first\nsecond\nthird\n");
  EXPECT_TRUE(fs::is_symlink("/dev/stdout"));
}

TEST_F(File, AFullDeviceIsAnError) {
  EXPECT_EQ(plx::write_file("/dev/full", "x").error().message, "cannot write '/dev/full': No space left on device");
  EXPECT_EQ(plx::append_file("/dev/full", "", "x").error().message,
            "cannot write '/dev/full': No space left on device");
}

TEST_F(File, AtAFileSizeLimitTheOldFileStays) {
  ASSERT_TRUE(plx::write_file(path("a"), "old"));
  ASSERT_TRUE(plx::append_file(path("log"), "", "line\n"));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto whole = plx::write_file(path("a"), std::string(300'000, 'x'));
  const auto appended = plx::append_file(path("log"), "", std::string(2000, 'x'));
  const auto begun = plx::append_file(path("new"), "header\n", std::string(2000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().message, "cannot write '" + path("a") + "': File too large");
  EXPECT_EQ(plx::read_file(path("a")).value(), "old");
  ASSERT_FALSE(appended);
  EXPECT_EQ(plx::read_file(path("log")).value(), "line\n");
  EXPECT_FALSE(begun);
  EXPECT_EQ(files(), 2u);  // not the new one
}

TEST_F(File, APipeIsReadUntilItsWriterCloses) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const std::string text(200'000, 'x');
  for (const auto& parts : {std::vector<std::string>{"text"}, {"first, ", "second"}, {text, text}}) {
    std::thread writer([&] {
      const int to = ::open(path("pipe").c_str(), O_WRONLY);
      for (const std::string& part : parts) {  // read_file() waits for each
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        EXPECT_EQ(::write(to, part.data(), part.size()), static_cast<ssize_t>(part.size()));
      }
      ::close(to);
    });
    int seen = ::open(path("pipe").c_str(), O_RDONLY);  // the writer has opened it
    const auto read = plx::read_file(path("pipe"));
    ::close(seen);
    writer.join();
    ASSERT_TRUE(read) << read.error().message;
    std::string all;
    for (const std::string& part : parts) all += part;
    EXPECT_EQ(*read, all);
  }
}

TEST_F(File, APipeWithoutAWriterIsAnError) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const auto read = plx::read_file(path("pipe"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message,
            "cannot read '" + path("pipe") + "': it is a pipe that no process has opened for writing in 5 s");
  std::thread writer([&] {  // later than the reader
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    EXPECT_TRUE(plx::append_file(path("pipe"), "", "text"));
  });
  auto text = plx::read_file(path("pipe"));
  for (int i = 0; i < 20 && !text; ++i) text = plx::read_file(path("pipe"));  // the writer may lose its core for 5 s
  EXPECT_EQ(text.value_or("error"), "text");
  writer.join();
}

TEST(ReadFile, ADeviceIsNotAFile) {
  for (const char* path : {"/dev/zero", "/dev/null"}) {
    const auto read = plx::read_file(path);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("found a device"), std::string::npos);
  }
}

}  // namespace
