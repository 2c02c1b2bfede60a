#include "net/names.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "base/test/timeout_test.hpp"
#include "net/archive.hpp"
#include "net/continuation.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/test/threads_test.hpp"
#include "rt/thread.hpp"

namespace names_test {

using namespace plx;

std::atomic<int> alive{0}, noted{0};
struct thing {
  thing() { ++alive; }
  ~thing() { --alive; }
  int add(int n) { return value += n; }
  int get() { return value; }
  future<int> later(int n) {
    return async([n] {
      this_thread::sleep_for(std::chrono::milliseconds(2));
      return n;
    });
  }
  void set(int n) { value = n; }
  int refuse(int) { throw std::invalid_argument("no"); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
  int value = 0;
};
struct other {};

int triple(int x) { return 3 * x; }
int minus_one(int x) { return x - 1; }
void nothing() {}
locality_id where() { return find_here(); }
void note(int x) { noted = x; }
int refuse(int) { throw std::invalid_argument("no"); }
std::atomic<bool> has_moved{false};
bool once_it_has_moved(int) {
  for (int i = 0; i < 300'000 && !has_moved; ++i) this_thread::sleep_for(std::chrono::milliseconds(1));
  return has_moved;
}
std::string what_comes_of(future<int> f) {
  try {
    return std::to_string(f.get());
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace names_test

namespace {

using namespace names_test;

TEST(Names, FindRegisteredObjectsAndKeepThemAlive) {
  net::test::localities all(3);
  all.run(0, [] {
    for (int i = 0; i < 10; ++i) {
      const auto t = new_<thing>(static_cast<locality_id>(i) % 3).get();
      EXPECT_TRUE(register_as("things/" + std::to_string(i), t).get());
      EXPECT_FALSE(register_as("things/" + std::to_string(i), t).get());
    }
    EXPECT_EQ(names_with("things/").size(), 10u);
    EXPECT_EQ(names_with("things/3"), std::vector<std::string>{"things/3"});
    EXPECT_TRUE(names_with("x").empty());
  });
  EXPECT_EQ(alive, 10);
  all.run(2, [] {
    EXPECT_EQ(async<&thing::add>(find<thing>("things/4").get(), 4).get(), 4);
    EXPECT_FALSE(find<thing>("things/44").get());
    EXPECT_THROW(find<other>("things/4").get(), std::invalid_argument);
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(unregister("things/" + std::to_string(i)).get());
    EXPECT_FALSE(unregister("things/4").get());
    EXPECT_TRUE(comes_true([] { return alive == 0; }, this_thread::yield));
  });
}

TEST(Names, FindWaitsForRegistration) {
  net::test::localities all(2);
  all.run_all([] {
    if (find_here() == 0) {
      EXPECT_EQ(async<&thing::add>(find<thing>("late", if_absent::wait).get(), 1).get(), 1);
      EXPECT_TRUE(unregister("late").get());
    } else {
      this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_TRUE(register_as("late", new_<thing>(1).get()).get());
    }
  });
}

TEST(Names, NamesOnALostLocalityAreLost) {
  net::test::localities all(2);
  all.run(0, [&all] {
    all.lose(1);
    EXPECT_TRUE(comes_true([] { return find_all_localities().size() == 1; }, this_thread::yield));
    int lost = 0, here = 0;
    const auto t = new_<thing>(0).get();
    for (int i = 0; i < 40; ++i) {
      try {
        EXPECT_TRUE(register_as(std::to_string(i), t).get());
        ++here;
      } catch (const locality_lost&) {
        ++lost;
      }
    }
    EXPECT_GT(lost, 5);
    EXPECT_EQ(names_with("").size(), static_cast<std::size_t>(here));
  });
}

TEST(Continuation, TheResultIsPassedOnWithoutTheCaller) {
  net::test::localities all(3);
  all.run(0, [] {
    EXPECT_EQ((async_then<&triple, &minus_one>(1, 2, 5).get()), 14);
    EXPECT_EQ((async_then<&triple, &minus_one>(0, 0, 5).get()), 14);
    EXPECT_EQ((async_then<&nothing, &where>(1, 2).get()), 2u);
    const auto t = new_<thing>(2).get();
    EXPECT_EQ((async_then<&triple, &thing::add>(1, t, 5).get()), 15);
    post_then<&triple, &note>(1, 2, 7);
    EXPECT_TRUE(comes_true([] { return noted == 21; }, this_thread::yield));
    try {
      async_then<&refuse, &minus_one>(1, 2, 5).get();
      FAIL();
    } catch (const std::exception& e) {
      EXPECT_STREQ(e.what(), "on locality 1: no");
    }
    try {
      async_then<&triple, &refuse>(1, 2, 5).get();
      FAIL();
    } catch (const std::exception& e) {
      EXPECT_STREQ(e.what(), "on locality 2: no");
    }
  });
}

TEST(Continuation, TheFirstFunctionMayBeAMember) {
  net::test::localities all(3);
  all.run(0, [] {
    for (const locality_id at : {0u, 1u, 2u}) {
      const auto a = new_<thing>(at).get(), b = new_<thing>(2).get();
      EXPECT_EQ((async_then<&thing::add, &minus_one>(a, 2, 5).get()), 4);
      EXPECT_EQ((async_then<&thing::add, &thing::add>(a, b, 1).get()), 6);
      EXPECT_EQ((async_then<&thing::set, &where>(a, 1, 3).get()), 1u);
      EXPECT_EQ((async_then<&thing::later, &thing::add>(a, b, 4).get()), 10);
      EXPECT_EQ((async_then<&thing::get, &triple>(a, at).get()), 9);
      EXPECT_EQ((async_then<&thing::add, &thing::add>(a, a, 1).get()), 8);  // the same object twice
      post_then<&thing::get, &note>(a, 1);
      EXPECT_TRUE(comes_true([] { return noted == 8; }, this_thread::yield));
      noted = 0;
      EXPECT_EQ(what_comes_of(async_then<&thing::refuse, &minus_one>(a, 2, 5)),
                at == 0 ? "no" : "on locality " + std::to_string(at) + ": no");
      EXPECT_EQ(what_comes_of(async_then<&thing::get, &refuse>(a, 2)), "on locality 2: no");
    }
  });
}

// The object of the first call may move while the second call still runs.
TEST(Continuation, TheObjectOfTheFirstCallIsReleased) {
  net::test::localities all(2);
  all.run(0, [] {
    has_moved = false;
    const auto a = new_<thing>(1).get();
    auto second = async_then<&thing::get, &once_it_has_moved>(a, 0);
    migrate(a, 0).get();
    has_moved = true;
    EXPECT_TRUE(second.get());
  });
}

}  // namespace
