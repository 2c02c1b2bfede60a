// Actions of the same name and type in two files: this one and equal_names_other_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "net/component.hpp"
#include "net/locality.hpp"
#include "net/test/threads_test.hpp"

namespace equal_names {

// Call the functions of the other file.
int others_in_unnamed(plx::locality_id to, int x);
int others_static(plx::locality_id to, int x);
int others_member(plx::locality_id to, int x);

namespace {
int f(int x) { return x + 1; }
struct thing {
  int get(int x) { return x + 10; }
};
}  // namespace
static int g(int x) { return x + 100; }

}  // namespace equal_names

namespace {

using namespace plx;

TEST(EqualNames, EachFileCallsItsOwnFunctions) {
  net::test::localities all(2);
  all.run(0, [] {
    for (const locality_id to : {0u, 1u}) {
      EXPECT_EQ(async<&equal_names::f>(to, 1).get(), 2);
      EXPECT_EQ(equal_names::others_in_unnamed(to, 1), -2);
      EXPECT_EQ(async<&equal_names::g>(to, 1).get(), 101);
      EXPECT_EQ(equal_names::others_static(to, 1), -101);
      EXPECT_EQ(async<&equal_names::thing::get>(new_<equal_names::thing>(to).get(), 1).get(), 11);
      EXPECT_EQ(equal_names::others_member(to, 1), -11);
    }
  });
}

// The descriptions that localities compare distinguish the two by a number and by the place of their code.
TEST(EqualNames, AreDistinguishedInDescriptions) {
  const std::string all = net::describe_actions();
  EXPECT_EQ(net::difference_of_actions(all, all), "");
  std::string first = all.substr(0, all.find(" #1\t"));
  first = first.substr(first.rfind('\n') + 1);
  ASSERT_NE(first, all);
  EXPECT_NE(all.find(first + " #2\t"), std::string::npos);
  std::string moved = all;
  // The last '+' of the line: the layout before it may have some.
  const std::size_t place = moved.rfind('+', moved.find('\n', moved.find(first + " #1\t")));
  moved.replace(place, 3, "+0y");
  EXPECT_THAT(net::difference_of_actions(all, moved), testing::HasSubstr("several actions are called "));
  std::string one_less = all;
  const std::size_t begin = one_less.find(first + " #2\t");
  one_less.erase(begin, one_less.find('\n', begin) + 1 - begin);
  EXPECT_THAT(net::difference_of_actions(all, one_less), testing::HasSubstr("is missing there"));
}

}  // namespace
