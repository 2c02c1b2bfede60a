#include "io/run_checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.hpp"

namespace plx {
namespace {

const checkpoint_kind kind = {"plx-test", 3};

struct options {
  double u = 1;
  int n = 2;
  void describe(config_table& t) {
    t.section("model", "Model");
    t.add("model.u", u, {.help = "interaction"});
    t.add("model.n", n, {.help = "number"});
  }
};

class RunCheckpoint : public testing::Test {
 protected:
  RunCheckpoint() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~RunCheckpoint() override { std::filesystem::remove_all(folder); }
  const std::string folder = testing::TempDir() + "plx_" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
                             std::to_string(getpid()),
                    path = folder + "/checkpoint.h5";
};

TEST_F(RunCheckpoint, IsReadBack) {
  const run_checkpoint c{"plx-test 1", "[model]\nu = 1\n", {7, 0}, {0.1, -0.0, 1e300}};
  ASSERT_TRUE(write_run_checkpoint(path, kind, c));
  const auto r = read_run_checkpoint(path, kind);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->build, c.build);
  EXPECT_EQ(r->options, c.options);
  EXPECT_EQ(r->table_bytes, c.table_bytes);
  EXPECT_EQ(r->numbers, c.numbers);
}

TEST_F(RunCheckpoint, OthersAreRefused) {
  const auto message = [&](const checkpoint_kind& k) { return read_run_checkpoint(path, k).error().message; };
  EXPECT_NE(message(kind).find("cannot read checkpoint"), std::string::npos);
  ASSERT_TRUE(write_run_checkpoint(path, kind, {"plx-test 1", "", {}, {0.125, 2}}));
  EXPECT_NE(message({"plx-star", 3}).find("not one of plx-star"), std::string::npos);
  EXPECT_NE(message({"plx-test", 4}).find("has version 3, expected 4"), std::string::npos);
  std::string bytes = *read_file(path);
  const double number = 0.125;
  const auto at = bytes.find(std::string(reinterpret_cast<const char*>(&number), sizeof number));
  ASSERT_NE(at, std::string::npos);
  bytes[at] ^= 1;
  ASSERT_TRUE(write_file(path, bytes));
  EXPECT_NE(message(kind).find("checksum does not match"), std::string::npos);
  ASSERT_TRUE(write_file(path, bytes.substr(0, bytes.size() - 100)));
  EXPECT_NE(message(kind).find("truncated"), std::string::npos);
  ASSERT_TRUE(write_file(path, "text"));
  EXPECT_NE(message(kind).find("not a checkpoint"), std::string::npos);
}

TEST_F(RunCheckpoint, OptionsThatDifferAreNamed) {
  options before, now;
  config_table a, b;
  before.describe(a);
  now.describe(b);
  constexpr const char* may_change[] = {"model.n"};
  EXPECT_TRUE(same_options(a, b, may_change));
  now.n = 5;
  EXPECT_TRUE(same_options(a, b, may_change));
  now.u = 3;
  const std::string message = same_options(a, b, may_change, "run/config.toml: ").error().message;
  EXPECT_EQ(message.find("run/config.toml: model.u: expected 1"), 0u) << message;
  EXPECT_NE(message.find("found 3"), std::string::npos);
}

TEST_F(RunCheckpoint, NamesOfInputFilesMayHaveLineBreaks) {
  options before, now;
  config_table a, b;
  before.describe(a);
  now.describe(b);
  ASSERT_TRUE(a.load_text("[model]\nu = 3\n", "in\nput.toml"));
  ASSERT_TRUE(b.load_text("[model]\nu = 3\nn = 5\n", "other.toml"));
  const std::string message = same_options(a, b, {}).error().message;
  EXPECT_EQ(message.find("model.n: expected 2, "), 0u) << message;
}

}  // namespace
}  // namespace plx
