#include "io/run_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "base/config.hpp"
#include "base/file.hpp"

namespace plx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct sample_item {
  std::string name = "a";
  void describe(config_table& t) { t.add("list.name", name); }
};

struct sample_options {
  double cfl = 0.4;
  std::vector<int> sizes{1, 2};
  std::string text = "x = y";
  std::vector<sample_item> list;
  config_table table;
  sample_options() {
    table.add("hydro.cfl", cfl);
    table.add("mesh.sizes", sizes);
    table.add("mesh.text", text);
    table.add_list("list", list, "Items");
  }
};

TEST(OptionChanges, AreThoseOfTheCommandLine) {
  sample_options o;
  ASSERT_TRUE(o.table.load_text("[hydro]\ncfl = 0.5\n[[list]]\nname = \"b\"\n", "t"));
  const std::string input = o.table.toml();
  EXPECT_TRUE(option_changes(input, o.table.toml()).empty());
  for (const char* set : {"hydro.cfl=0.25", "mesh.sizes=[3]", "mesh.text=x = y", "list=[{name=\"b\"},{name=\"c\"}]"})
    ASSERT_TRUE(o.table.set(set)) << set;
  EXPECT_THAT(option_changes(input, o.table.toml()),
              ElementsAre(option_change{"hydro.cfl", "0.5", "0.25"}, option_change{"mesh.sizes", "[1, 2]", "[3]"},
                          option_change{"list[1].name", "", "\"c\""}));
}

TEST(OptionChanges, OfAResumedRunFollowThoseOfTheRunBefore) {
  const std::string folder = testing::TempDir() + "option_changes_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  const std::vector<option_change> first{{"mesh.sizes", "[1, 2]", "[3]"}}, second{{"mesh.text", "\"a\"", "\"]\\n\""}},
      third{{"hydro.cfl", "0.5", "0.25"}};
  EXPECT_EQ(changed_options_json(folder, {}, "--set"), "[]");
  const auto write = [&](const std::string& list) {  // a text and an object before it have the key, too
    ASSERT_TRUE(
        write_file(folder + "/run.json", R"({"message": "\"changed_options\": [7]", "a": {"changed_options": [8]},)"
                                         "\n  \"changed_options\": " +
                                             list + ",\n  \"x\": [1]\n}\n"));
  };
  write(changed_options_json("", first, "--set"));
  write(changed_options_json(folder, second, "--resume"));
  const std::string list = changed_options_json(folder, third, "--resume");
  EXPECT_THAT(list, HasSubstr(R"([{"key":"mesh.sizes","was":"[1, 2]","value":"[3]","by":"--set","time":)"));
  EXPECT_THAT(list, HasSubstr(R"(,{"key":"mesh.text","was":"\"a\"","value":"\"]\\n\"","by":"--resume")"));
  EXPECT_THAT(list, HasSubstr(R"(,{"key":"hydro.cfl","was":"0.5","value":"0.25","by":"--resume")"));
  EXPECT_EQ(list.find("[7"), list.npos) << list;
  EXPECT_EQ(list.find("[8"), list.npos) << list;
  ASSERT_TRUE(write_file(folder + "/run.json", "{\"changed_options\": ["));
  EXPECT_EQ(changed_options_json(folder, {}, "--resume"), "[]") << "a damaged file counts as none";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace plx
