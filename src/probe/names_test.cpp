#include "probe/names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace {

using namespace plx::probe;

TEST(Names, TheSameTextGetsTheSameId) {
  const name_id a = register_name("names_test/a");
  EXPECT_EQ(register_name(std::string("names_test/") + "a"), a);
  EXPECT_NE(register_name("names_test/b"), a);
  EXPECT_EQ(name_of(a), "names_test/a");
  EXPECT_LT(a, name_count());
}

TEST(Names, ZeroIsUnnamed) {
  EXPECT_EQ(register_name(""), unnamed);
  EXPECT_EQ(register_name("unnamed"), unnamed);
  EXPECT_EQ(name_of(unnamed), "unnamed");
  EXPECT_EQ(name_of(~0u), "unnamed");
}

struct some_type {};

TEST(Names, TypesAreReadable) {
  EXPECT_NE(name_of(register_type_name<some_type>()).find("some_type"), std::string_view::npos);
  EXPECT_EQ(name_of(register_type_name<std::vector<int>>()), "std::vector<int, std::allocator<int> >");
  const auto work = [] {};
  EXPECT_NE(name_of(register_type_name<decltype(work)>()).find("TypesAreReadable"), std::string_view::npos);
}

TEST(Names, ManyThreadsAgree) {
  std::vector<std::vector<name_id>> ids(4);
  std::vector<std::thread> threads;
  for (auto& mine : ids) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 200; ++i) {
        mine.push_back(register_name("names_test/thread/" + std::to_string(i)));
        ASSERT_EQ(name_of(mine.back()), "names_test/thread/" + std::to_string(i));
      }
    });
  }
  for (auto& t : threads) t.join();
  for (const auto& other : ids) EXPECT_EQ(other, ids[0]);
}

}  // namespace
