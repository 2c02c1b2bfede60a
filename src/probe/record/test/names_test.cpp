#include "probe/record/names.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
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
  EXPECT_EQ(name_of(register_type_name<decltype(work)>()), "Names_TypesAreReadable_Test::TestBody()::lambda#1");
}

int planted_function(int n) { return n; }
struct planted {
  int member(int n) { return n; }
  virtual int virtual_member() { return 1; }
  virtual ~planted() = default;
};

TEST(Names, CallablesAreNamedAfterTheFunctionTheyCall) {
  EXPECT_EQ(name_of(register_callable_name(&planted_function)), "planted_function(int)");
  EXPECT_EQ(name_of(register_callable_name(planted_function)), "planted_function(int)");
  EXPECT_EQ(register_callable_name(&planted_function), register_callable_name(planted_function));
  EXPECT_NE(name_of(register_callable_name(&planted::member)).find("planted::member"), std::string_view::npos);
  EXPECT_NE(name_of(register_callable_name(&planted::virtual_member)).find("planted::*"), std::string_view::npos);
  EXPECT_NE(name_of(register_callable_name(std::bind(&planted_function, 1))).find("_Bind"), std::string_view::npos);
}

TEST(Names, LambdasOfBothCompilersReadTheSame) {
  EXPECT_EQ(readable_name("main::{lambda()#1}"), "main::lambda#1");
  EXPECT_EQ(readable_name("main::$_0"), "main::lambda#1");
  EXPECT_EQ(readable_name("main::{lambda()#4}::operator()() const::{lambda(std::function<void (int)>)#2}"),
            "main::lambda#4::lambda#2");
  EXPECT_EQ(readable_name("main::$_3::operator()() const::'lambda0'(int)"), "main::lambda#4::lambda#2");
  EXPECT_EQ(readable_name("(anonymous namespace)::f(int)"), "f(int)");
  EXPECT_EQ(readable_name("{lambda("), "lambda");
  EXPECT_EQ(readable_name(""), "");
}

TEST(Names, SignalHandlersMayReadNames) {
  EXPECT_EQ(name_of_at_once(register_name("names_test/a")), "names_test/a");
  EXPECT_EQ(name_of_at_once(~0u), "unnamed");
}

/// In a process of its own, whose names are used up.
TEST(Names, NamesBeyondTheLimitAreUnnamedAndCounted) {
  const auto run = [] {
    const name_id before = name_count();
    for (name_id i = 0; i < max_names; ++i) (void)register_name("step " + std::to_string(i));
    const bool all = name_count() == max_names && names_dropped() == before;
    const bool later = register_name("one more") == unnamed && names_dropped() == before + 1;
    const bool known = name_of(register_name("step 0")) == "step 0" && names_dropped() == before + 1;
    std::_Exit(all && later && known ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
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
