#include "star/output/run_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace plx::star {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class RunFolder : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() / (std::string("plx_") + test->name() + "_" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ / name; }
  void put(const std::string& name) const { std::ofstream(path(name)) << "x"; }
  std::vector<std::string> names_in(const std::string& folder) const {
    std::vector<std::string> all;
    for (const auto& e : fs::directory_iterator(path(folder))) all.push_back(e.path().filename());
    std::sort(all.begin(), all.end());
    return all;
  }

  fs::path root_;
};

TEST_F(RunFolder, CheckpointsAreInTheOrderOfTheirSteps) {
  fs::create_directories(path("out/checkpoint"));
  for (const char* name : {"sedov.99999998.h5", "sedov.99999999.h5", "sedov.100000000.h5", "sedov.100000001.h5"})
    put(std::string("out/checkpoint/") + name);
  put("out/checkpoint/mine.h5");  // not a file of a run: neither used nor removed
  const run_folder folder(path("out"));
  EXPECT_THAT(folder.checkpoints().back(), HasSubstr("sedov.100000001.h5"));
  folder.prune_checkpoints(2);
  EXPECT_THAT(names_in("out/checkpoint"), ElementsAre("mine.h5", "sedov.100000000.h5", "sedov.100000001.h5"));
}

TEST_F(RunFolder, CheckpointsOfGoodStatesAreKept) {
  fs::create_directories(path("out/checkpoint"));
  for (const int step : {1, 2, 3, 4, 5, 6, 7})
    put("out/checkpoint/" + std::string("a.0000000") + char('0' + step) + ".h5");
  const run_folder folder(path("out"));
  folder.prune_checkpoints(2, 3);
  EXPECT_THAT(names_in("out/checkpoint"),
              ElementsAre("a.00000002.h5", "a.00000003.h5", "a.00000006.h5", "a.00000007.h5"));
}

TEST_F(RunFolder, LaterMeshFilesAreRemovedExceptTheKeptOne) {
  fs::create_directories(path("out/mesh"));
  for (const char* number : {"00000", "00001", "00002", "100000"})
    for (const char* kind : {".athdf", ".xdmf"}) put(std::string("out/mesh/sedov.") + number + kind);
  put("out/mesh/notes.txt");
  const run_folder folder(path("out"));
  folder.drop_mesh_files("sedov", 1, folder.mesh_file("sedov", 1));
  EXPECT_THAT(names_in("out/mesh"), ElementsAre("notes.txt", "sedov.00000.athdf", "sedov.00000.xdmf",
                                                "sedov.00001.athdf", "sedov.00001.xdmf"));
  folder.drop_mesh_files("sedov", 1, "");
  EXPECT_THAT(names_in("out/mesh"), ElementsAre("notes.txt", "sedov.00000.athdf", "sedov.00000.xdmf"));
}

TEST_F(RunFolder, OneLockAtATime) {
  run_folder first(path("out")), second(path("out"));
  ASSERT_TRUE(first.lock(true));
  const auto refused = second.lock(true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is in use by process " + std::to_string(getpid()) + " on "));
  second.unmake();
  EXPECT_TRUE(fs::exists(path("out/.lock")));
  first.unmake();
  EXPECT_FALSE(fs::exists(path("out")));
  ASSERT_TRUE(second.lock(true));
}

TEST_F(RunFolder, AFolderWithTheLockOfADeadProcessIsFree) {
  fs::create_directories(path("out"));
  put("out/.lock");
  run_folder folder(path("out"));
  EXPECT_TRUE(run_folder::check_free(path("out")));
  EXPECT_TRUE(folder.lock(true));
}

// The runtime starts, and serves its page, before the run takes its folder.
TEST_F(RunFolder, AFolderWithTheUrlOfTheLivePageIsFree) {
  fs::create_directories(path("out"));
  put("out/live.url");
  run_folder folder(path("out"));
  EXPECT_TRUE(folder.lock(true));
}

TEST_F(RunFolder, FilesCreatedBeforeTheLockAreFound) {
  fs::create_directories(path("out"));
  put("out/run.json");
  run_folder folder(path("out"));
  const auto refused = folder.lock(true);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("not empty"));
}

}  // namespace
}  // namespace plx::star
