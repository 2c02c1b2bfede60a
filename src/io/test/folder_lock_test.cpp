#include "io/folder_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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
  put("run.json", "{\n  \"program\": \"plx-dca\",\n}\n");
  put("checkpoint.h5", "");
  folder_lock other;
  EXPECT_THAT(reopen_run_folder(path, other, "plx-dca", "checkpoint.h5").error().message,
              HasSubstr("is in use by process"));
  lock.release();
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
  put("run.json", "{\n  \"program\": \"plx-star\",\n}\n");
  EXPECT_THAT(missing(), HasSubstr("holds a run of plx-star; expected one of plx-dca"));
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
  put("run.json", "{\n  \"program\": \"plx-star\",\n}\n");
  EXPECT_THAT(again(), HasSubstr("holds a run of plx-star"));
  EXPECT_EQ(read_file(path + "/config.toml").value(), "a = 1\n");
}

}  // namespace
}  // namespace plx
