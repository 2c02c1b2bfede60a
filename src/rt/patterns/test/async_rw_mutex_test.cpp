#include "rt/patterns/async_rw_mutex.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rt/dataflow.hpp"
#include "rt/latch.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace {

using plx::testing::on_every_schedule;

// Every access sees exactly the writes that were requested before it.
TEST(async_rw_mutex, keeps_the_order_of_the_program) {
  on_every_schedule([] {
    plx::async_rw_mutex<int> m(0);
    std::atomic<int> writers{0}, readers{0};
    std::vector<plx::future<void>> all;
    int writes = 0;
    for (int i = 0; i < 30; ++i) {
      if (i * i % 7 < 3) {
        all.push_back(m.readwrite().then(plx::unwrapping([&, writes](auto value) {
          EXPECT_EQ(writers.fetch_add(1), 0);
          EXPECT_EQ(readers.load(), 0);
          EXPECT_EQ(*value, writes);
          plx::this_thread::yield();
          ++*value;
          writers.fetch_sub(1);
        })));
        ++writes;
      } else {
        all.push_back(m.read().then(plx::unwrapping([&, writes](auto value) {
          readers.fetch_add(1);
          EXPECT_EQ(writers.load(), 0);
          EXPECT_EQ(*value, writes);
          plx::this_thread::yield();
          readers.fetch_sub(1);
        })));
      }
    }
    plx::wait_all(all);
    for (auto& f : all) f.get();
    EXPECT_EQ(m.read().get().get(), writes);
  });
}

TEST(async_rw_mutex, reads_in_a_row_run_together) {
  on_every_schedule([] {
    plx::async_rw_mutex<std::string> m("value");
    plx::latch both(2);
    const auto meet = plx::unwrapping([&both](auto s) {
      both.arrive_and_wait();
      return s->size();
    });
    auto a = m.read().then(meet);
    auto b = m.read().then(meet);
    auto write = m.readwrite();
    EXPECT_EQ(a.get() + b.get(), 10u);
    auto changing = write.get();
    *changing = "x";
    auto after = m.read();
    EXPECT_FALSE(after.is_ready());
    changing.release();
    EXPECT_FALSE(changing.valid());
    EXPECT_EQ(*after.get(), "x");
  });
}

TEST(async_rw_mutex, copies_of_a_read_hold_the_turn) {
  on_every_schedule([] {
    plx::async_rw_mutex<int> m(3);
    auto read = m.read().get();
    auto copy = read;
    auto write = m.readwrite();
    read.release();
    EXPECT_FALSE(write.is_ready());
    EXPECT_EQ(*copy, 3);
    copy = {};
    EXPECT_TRUE(write.is_ready());
    write.get();
  });
}

TEST(async_rw_mutex, a_dropped_access_gives_its_turn_back) {
  on_every_schedule([] {
    auto m = std::make_unique<plx::async_rw_mutex<std::vector<int>>>(3u, 7);
    auto first = m->readwrite().get();
    for (int i = 0; i < 20000; ++i) (void)(i % 3 == 0 ? m->read().valid() : m->readwrite().valid());  // no deep nesting
    auto last = m->read();
    m.reset();  // pending requests remain
    EXPECT_FALSE(last.is_ready());
    first->push_back(8);
    first.release();
    EXPECT_EQ(last.get()->size(), 4u);
  });
}

TEST(async_rw_mutex, without_a_value) {
  on_every_schedule([] {
    plx::async_rw_mutex<> m;
    std::vector<int> order;
    auto a = m.readwrite().then([&order](auto) { order.push_back(1); });
    auto b = m.readwrite().then([&order](auto) { order.push_back(2); });
    plx::wait_all(a, b);
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
  });
}

TEST(async_rw_mutex, asked_by_many_at_once) {
  on_every_schedule([] {
    plx::async_rw_mutex<int> m(0);
    std::vector<plx::future<void>> all;
    for (int t = 0; t < 4; ++t)
      all.push_back(plx::async([&m] {
        for (int i = 0; i < 5; ++i) {
          { ++*m.readwrite().get(); }
          EXPECT_GE(*m.read().get(), i + 1);
        }
      }));
    for (auto& f : all) f.get();
    EXPECT_EQ(*m.read().get(), 20);
  });
}

TEST(async_rw_mutex, external_threads_and_tasks) {
  plx::runtime rt({.workers = 2, .bind = false});
  plx::async_rw_mutex<int> m(0);
  const auto work = [&m] {
    for (int i = 0; i < 200; ++i) ++*m.readwrite().get();
  };
  std::thread a(work);
  auto b = plx::async(work);
  a.join();
  b.get();
  EXPECT_EQ(*m.read().get(), 400);
}

}  // namespace
