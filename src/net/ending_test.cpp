#include "net/ending.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/locality_lost.hpp"
#include "net/threads_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;

std::atomic<int> ended{0};

// Each call makes the next one on the neighbour, after the program that began it has returned.
void hop(int left) {
  this_thread::sleep_for(std::chrono::microseconds(200));
  if (left > 0) post<&hop>((find_here() + 1) % locality_count(), left - 1);
  if (left == 0) ++ended;
}

TEST(Ending, WaitsForEveryParcelThatIsUnderWay) {
  for (int turn = 0; turn < 5; ++turn) {
    net::test::localities all(3);
    ended = 0;
    all.run_all([] {
      if (find_here() == 1)
        for (int i = 0; i < 4; ++i) post<&hop>(2, 20);
      net::node_here().get<net::ending>().wait_for_all();
      EXPECT_EQ(ended, 4);
      net::node_here().get<net::ending>().wait_for_all();  // and once more
    });
  }
}

TEST(Ending, ALostLocalityIsNotWaitedFor) {
  net::test::localities all(3);
  std::atomic<int> out{0};
  all.run_all([&] {
    if (find_here() == 2) return;  // it never comes
    if (find_here() == 0) all.lose(2);
    net::node_here().get<net::ending>().wait_for_all();
    ++out;
  });
  EXPECT_EQ(out, 2);
}

TEST(Ending, WhoFailsIsLostToTheOthersAndTheyKnowWhy) {
  net::test::localities all(2);
  all.run_all([] {
    auto& end = net::node_here().get<net::ending>();
    if (find_here() == 0) return end.fail("no such file");
    try {
      end.wait_for_all();
      ADD_FAILURE();
    } catch (const locality_lost& e) {
      EXPECT_STREQ(e.what(), "locality 0 is lost: it failed: no such file");
    }
  });
}

TEST(Ending, AloneItReturnsAtOnce) {
  net::test::localities all(1);
  all.run(0, [] { net::node_here().get<net::ending>().wait_for_all(); });
}

}  // namespace
