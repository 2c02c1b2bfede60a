#include "io/checkpoint_parts.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace plx {
namespace {

class CheckpointParts : public testing::Test {
 protected:
  CheckpointParts() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~CheckpointParts() override { std::filesystem::remove_all(folder_); }
  void add(const std::string& name) const { std::ofstream(folder_ + "/" + name) << "numbers"; }
  bool has(const std::string& name) const { return std::filesystem::exists(folder_ + "/" + name); }

  const std::string folder_ =
      testing::TempDir() + "plx_parts_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CheckpointParts, OthersAreRemovedAndFilesOfTheUserStay) {
  const char* const of_user[] = {
      "checkpoint-good.h5", "checkpoint-2026-11-30.h5", "checkpoint-1-0.h5.old", "my-checkpoint-1-0.h5",
      "checkpoint-1-.h5",   "checkpoint--0.h5",         "checkpoint-1.h5",       "checkpoint.h5",
      "checkpoint-1-0-h5"};
  const checkpoint_parts kept{12, {0, 1, 2}, {5, 6}};
  for (const char* name : of_user) add(name);
  for (const char* name : {"checkpoint-12-0.h5", "checkpoint-12-1.h5", "checkpoint-12-2.h5", "checkpoint-11-10.h5"})
    add(name);
  remove_other_parts(folder_, kept);
  EXPECT_TRUE(has("checkpoint-12-0.h5") && has("checkpoint-12-1.h5"));
  EXPECT_FALSE(has("checkpoint-12-2.h5") || has("checkpoint-11-10.h5"));
  remove_other_parts(folder_, {});
  EXPECT_FALSE(has("checkpoint-12-0.h5") || has("checkpoint-12-1.h5"));
  for (const char* name : of_user) EXPECT_TRUE(has(name)) << name;
}

TEST_F(CheckpointParts, APartWithItemsThatIsMissingIsNamed) {
  const checkpoint_parts parts{3, {0, 2, 2, 4}, {1, 2, 3}};  // the second has no items
  add("checkpoint-3-0.h5");
  const auto missing = check_parts_exist(folder_, parts);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("checkpoint-3-2.h5': expected the part of the checkpoint that process 2"),
            std::string::npos)
      << missing.error().message;
  add("checkpoint-3-2.h5");
  EXPECT_TRUE(check_parts_exist(folder_, parts));
  EXPECT_TRUE(check_parts_exist(folder_ + "/nowhere", {}));
}

TEST_F(CheckpointParts, EachItemIsInOnePart) {
  EXPECT_TRUE(checkpoint_parts().have(5));
  EXPECT_TRUE((checkpoint_parts{1, {0, 2, 2, 5}, {1, 2, 3}}).have(5));
  EXPECT_FALSE((checkpoint_parts{1, {0, 2, 2, 5}, {1, 2, 3}}).have(6));
  EXPECT_FALSE((checkpoint_parts{1, {1, 2, 2, 5}, {1, 2, 3}}).have(5));
  EXPECT_FALSE((checkpoint_parts{1, {0, 7, 2, 5}, {1, 2, 3}}).have(5));
}

}  // namespace
}  // namespace plx
