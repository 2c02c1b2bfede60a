#include "control/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.hpp"
#include "base/log.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

using ::testing::HasSubstr;

struct tuning_cache : ::testing::Test {
  tuning_cache() {
    std::filesystem::remove_all(folder);
    log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &logged,
                    log_level::warning);
  }
  ~tuning_cache() override {
    log_to_function(nullptr, nullptr, log_level::none);
    std::filesystem::remove_all(folder);
  }
  [[nodiscard]] tuning_options options() const {
    return {.name = "loop at a.cpp:7 <int>",
            .space = {parameter::integer("edge", 4, 64, 8, 4), parameter::real("x", 0, 1, 0.5),
                      parameter::choice("how", {"small", "fast"})},
            .how = strategy::exhaustive,
            .grid = 3,
            .cache_folder = folder};
  }
  /// Runs a search; returns the number of points measured.
  static std::int64_t search(const tuning_options& o) {
    auto s = tuning_session::begin(o).value();
    while (const auto p = s.next())
      s.report(std::abs(static_cast<double>(p->integer("edge")) - 24) + std::abs(p->real("x") - 0.1) +
               (p->word("how") == "fast" ? 0 : 1));
    EXPECT_EQ(s.best().integer("edge"), 24);
    EXPECT_EQ(s.from_cache(), s.evaluations() == 0);
    return s.evaluations();
  }
  [[nodiscard]] std::string path() const { return tuning_file(folder, options().name); }
  void spoil(const std::string& what, const std::string& with) const {
    std::string text = read_file(path()).value();
    const auto at = text.find(what);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, what.size(), with);
    ASSERT_TRUE(write_file(path(), text).has_value());
  }

  const std::string folder = temporary_path("tuning_cache");
  std::string logged;
};

TEST_F(tuning_cache, a_result_is_restored_exactly) {
  EXPECT_GT(search(options()), 10);
  const auto known = load_tuned(options()).value();
  EXPECT_EQ(search(options()), 0);
  auto again = tuning_session::begin(options()).value();
  EXPECT_TRUE(again.done());
  EXPECT_EQ(again.best().values()[1], known.best[1]);
  EXPECT_EQ(again.best_value(), known.value);
  EXPECT_EQ(logged, "");
}

TEST_F(tuning_cache, other_parameters_or_another_aim_restart_the_search) {
  search(options());
  auto other = options();
  other.space[1] = parameter::real("x", 0, 2, 0.5);
  EXPECT_GT(search(other), 10);
  EXPECT_THAT(logged, HasSubstr("tuning 'loop at a.cpp:7 <int>' starts from the beginning, "));
  EXPECT_THAT(logged, HasSubstr("its parameters differ"));
  EXPECT_EQ(search(other), 0) << "it was overwritten";
}

TEST_F(tuning_cache, a_damaged_file_restarts_the_search) {
  for (const auto& [what, with] :
       {std::pair("evaluations=", "evaluationz="), {"best=24", "best=28"}, {"parallax", ""}, {"check=", "check=0"}}) {
    search(options());
    logged.clear();
    spoil(what, with);
    EXPECT_GT(search(options()), 10) << what;
    EXPECT_THAT(logged, HasSubstr("the file is damaged")) << what;
  }
  for (const std::size_t left : {0, 1, 20, 90}) {
    search(options());
    logged.clear();
    ASSERT_TRUE(write_file(path(), read_file(path()).value().substr(0, left)).has_value());
    EXPECT_GT(search(options()), 10) << left;
    EXPECT_THAT(logged, HasSubstr("the file is damaged")) << left;
  }
}

TEST_F(tuning_cache, an_unwritable_folder_is_reported_and_the_search_continues) {
  ASSERT_TRUE(write_file(folder, "a file is in the way").has_value());
  EXPECT_GT(search(options()), 10);
  EXPECT_THAT(logged, HasSubstr("was not saved: cannot create the folder"));
}

TEST_F(tuning_cache, names_are_converted_to_file_names) {
  EXPECT_NE(tuning_file("f", "a b"), tuning_file("f", "a-b"));
  EXPECT_THAT(tuning_file("f", "../x\ny"), ::testing::StartsWith("f/---x-y-"));
  EXPECT_THAT(tuning_machine(), HasSubstr(" x "));
}

}  // namespace
}  // namespace plx::probe
