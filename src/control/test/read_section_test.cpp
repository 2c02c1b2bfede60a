#include "control/read_section.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace plx::probe {
namespace {

// Without the wait, readers see the -1 written before an object is freed; ThreadSanitizer also reports the race.
TEST(read_section, objects_are_not_freed_while_read) {
  std::atomic<int*> shared{new int(1)};
  std::atomic<bool> end{false};
  std::atomic<int> wrong{0}, reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!end.load()) {
        const read_section here;
        const int* p = shared.load(std::memory_order_seq_cst);
        for (int k = 0; k < 20; ++k)
          if (*p < 0) ++wrong;
        ++reads;
      }
    });
  while (reads.load() < 100) std::this_thread::yield();
  for (int i = 2; i < 500; ++i) {
    int* old = shared.exchange(new int(i), std::memory_order_seq_cst);
    wait_for_readers();
    *old = -1;
    delete old;
  }
  end = true;
  for (auto& r : readers) r.join();
  delete shared.load();
  EXPECT_EQ(wrong, 0);
}

TEST(read_section, reports_whether_the_thread_is_in_a_section) {
  EXPECT_FALSE(in_read_section());
  {
    const read_section here;
    EXPECT_TRUE(in_read_section());
    std::thread([] { EXPECT_FALSE(in_read_section()); }).join();
  }
  EXPECT_FALSE(in_read_section());
  wait_for_readers();
}

TEST(read_section, slots_of_ended_threads_are_reused) {
  for (int i = 0; i < 200; ++i) std::thread([] { const read_section here; }).join();
  wait_for_readers();
}

}  // namespace
}  // namespace plx::probe
