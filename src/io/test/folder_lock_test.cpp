#include "io/folder_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/file.hpp"

namespace plx {
namespace {

using testing::HasSubstr;

struct RunFolder : testing::Test {
  RunFolder() { std::filesystem::remove_all(path); }
  ~RunFolder() override { std::filesystem::remove_all(path); }
  void put(const char* name, const std::string& text) { ASSERT_TRUE(write_file(path + "/" + name, text)); }
  std::string missing() { return missing_checkpoint(path, "plx-dca", "checkpoint.h5").message; }

  const std::string path =
      (std::filesystem::temp_directory_path() / ("plx-folder-" + std::to_string(getpid()))).string();
};

TEST_F(RunFolder, BeginsAndIsReopenedWithItsCheckpoint) {
  folder_lock lock;
  ASSERT_TRUE(begin_run_folder(path, lock, "a = 1\n", "plx-dca", "checkpoint.h5"));
  EXPECT_EQ(read_file(path + "/config.toml").value(), "a = 1\n");
  put("run.json", "{\"program\": \"plx-dca\"}");
  put("checkpoint.h5", "");
  folder_lock other;
  EXPECT_THAT(reopen_run_folder(path, other, "plx-dca", "checkpoint.h5").error().message,
              HasSubstr("is in use by process"));
  EXPECT_THAT(folder_lock::check_unused(path).error().message,
              HasSubstr("is in use by process " + std::to_string(getpid())));
  lock.release();
  EXPECT_TRUE(folder_lock::check_unused(path));
  EXPECT_TRUE(reopen_run_folder(path, other, "plx-dca", "checkpoint.h5"));
}

/// No advice to remove a folder that is in use, or that of another program.
TEST_F(RunFolder, WithoutACheckpointItSaysWhy) {
  EXPECT_THAT(missing(), HasSubstr("expected the folder of a run with checkpoint.h5, found none; start a new run"));
  folder_lock lock;
  ASSERT_TRUE(begin_run_folder(path, lock, "a = 1\n", "plx-dca", "checkpoint.h5"));
  EXPECT_THAT(missing(), HasSubstr("is in use by process " + std::to_string(getpid())));
  EXPECT_TRUE(folder_lock::holder_of(path));
  lock.release();
  EXPECT_FALSE(folder_lock::holder_of(path));
  EXPECT_THAT(missing(), HasSubstr("ended before its first checkpoint: remove the folder"));
  put("run.json", "{\"program\": \"plx-star\"}");
  EXPECT_THAT(missing(), HasSubstr("holds a run of plx-star; expected one of plx-dca"));
}

/// Asking whether a folder is in use must not refuse it to a process that takes it meanwhile.
TEST_F(RunFolder, AskingForTheHolderNeverKeepsAnotherFromTaking) {
  std::filesystem::create_directories(path);
  put(folder_lock::name, "1 on nowhere\n");  // left by a process that was killed
  std::atomic<bool> done = false;
  std::thread asking([&] {
    while (!done) folder_lock::holder_of(path);
  });
  int refused = 0;
  for (int i = 0; i < 500; ++i) {
    folder_lock lock;
    refused += lock.take(path) ? 0 : 1;
  }
  done = true;
  asking.join();
  EXPECT_EQ(refused, 0);
}

TEST_F(RunFolder, FilesOfAnotherRunAreKept) {
  folder_lock lock;
  ASSERT_TRUE(begin_run_folder(path, lock, "a = 1\n", "plx-dca", "checkpoint.h5"));
  lock.release();
  const auto again = [&] {
    return begin_run_folder(path, lock, "a = 2\n", "plx-dca", "checkpoint.h5").error().message;
  };
  EXPECT_THAT(again(), HasSubstr("or remove it: the run has ended before its first checkpoint"));
  put("checkpoint.h5", "");
  EXPECT_THAT(again(), HasSubstr("or continue the run in it: --resume " + path));
  put("run.json", "{\"program\": \"plx-star\"}");
  EXPECT_THAT(again(), HasSubstr("holds a run of plx-star"));
  EXPECT_EQ(read_file(path + "/config.toml").value(), "a = 1\n");
}

}  // namespace
}  // namespace plx
