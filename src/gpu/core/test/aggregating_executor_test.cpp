#include "gpu/aggregating_executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "gpu/buffer.hpp"
#include "gpu/test/each_device_test.hpp"
#include "gpu/testing/operations.hpp"
#include "rt/thread.hpp"

namespace plx::gpu {
namespace {

using plx::testing::on_each_device;
using plx::testing::on_stepped_devices;

// Items of a launch may run concurrently, so each has its own word.
template <class On>
void each_word_once(device& d, const On& on, std::size_t n) {
  stream s(d);
  buffer<std::uint64_t> words(s, n, memory_kind::pinned);
  for (std::size_t i = 0; i < n; ++i) words.span()[i] = i;
  std::vector<plx::future<void>> all;
  for (std::size_t i = 0; i < n; ++i)
    all.push_back(plx::async(on, testing::chain, testing::chain_item{words.data() + i, 1}));
  for (auto& f : all) f.get();
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(words.span()[i], i * 31 + 1);
}

TEST(aggregating_executor, every_item_runs_once) {
  const auto body = [](plx::runtime& rt, device& d) {
    rt.run([&] {
      const aggregating_executor on(d, {.most = 16});
      each_word_once(d, on, 200);
      const aggregation_counts c = on.counts();
      EXPECT_EQ(c.items, 200u);
      EXPECT_LE(c.largest, 16u);
      EXPECT_GE(c.launches, 13u);
      EXPECT_EQ(c.launches, c.full + c.idle_device + c.late + c.no_task);
    });
  };
  on_each_device(body);
  on_stepped_devices(body);
}

TEST(aggregating_executor, full_batches_reduce_launches) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 1, .bind = false});
  device d(rt, b.get());
  rt.run([&] {
    const aggregating_executor on(d, {.most = 50, .deadline_s = 3600});
    each_word_once(d, on, 1000);  // one task adds all items without waiting: no batch is launched before it is full
    EXPECT_EQ(on.counts().launches, 20u);
  });
  EXPECT_EQ(b.launches(), 20u);
  EXPECT_EQ(b.items(), 1000u);
}

TEST(aggregating_executor, a_single_item_does_not_wait_for_others) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] { each_word_once(d, aggregating_executor(d, {.most = 1000, .deadline_s = 1e6}), 1); });
  });
}

TEST(aggregating_executor, a_busy_task_does_not_delay_a_batch_beyond_the_deadline) {
  on_each_device([](plx::runtime& rt, device& d) {
    if (rt.worker_count() < 3) return;
    std::atomic<bool> end{false};
    rt.run([&] {
      const aggregating_executor on(d, {.most = 1000, .deadline_s = 1e-3});
      auto busy = plx::async([&] {
        while (!end.load()) plx::this_thread::yield();
      });
      each_word_once(d, on, 3);
      end = true;
      busy.get();
    });
  });
}

struct picky_item {
  int number;
  std::atomic<int>* done;
};
void picky_cpu(const picky_item& i) {
  if (i.number % 7 == 3) throw std::runtime_error("number " + std::to_string(i.number));
  i.done->fetch_add(1);
}
constexpr auto picky = cpu_operation<picky_item, picky_cpu>("picky");

TEST(aggregating_executor, each_item_has_its_own_error) {
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, cpu::table());
  std::atomic<int> done{0};
  rt.run([&] {
    const aggregating_executor on(d, {.most = 32});
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 100; ++i) all.push_back(plx::async(on, picky, picky_item{i, &done}));
    for (int i = 0; i < 100; ++i) {
      try {
        all[static_cast<std::size_t>(i)].get();
        EXPECT_NE(i % 7, 3);
      } catch (const std::runtime_error& e) {
        EXPECT_EQ(e.what(), "number " + std::to_string(i));
      }
    }
  });
  EXPECT_EQ(done.load(), 86);
}

TEST(aggregating_executor, a_refused_batch_is_launched_item_by_item) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 1, .bind = false});
  device d(rt, b.get());
  int failed = 0;
  rt.run([&] {
    const aggregating_executor on(d, {.most = 10, .deadline_s = 3600});
    b.fail_call("launch", cpu::invalid, 0, 2);  // the batch, and the first of its items
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 10; ++i) all.push_back(plx::async(on, testing::empty, testing::empty_item{}));
    for (auto& f : all) {
      try {
        f.get();
      } catch (const error& e) {
        EXPECT_EQ(e.kernel(), "empty");
        ++failed;
      }
    }
  });
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(b.items(), 9u);
}

TEST(aggregating_executor, collected_items_are_launched_when_the_last_handle_is_destroyed) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      stream s(d);
      buffer<std::uint64_t> word(s, 1, memory_kind::pinned);
      word.span()[0] = 1;
      plx::future<void> f;
      {
        const aggregating_executor on(d, {.most = 100, .deadline_s = 1e6});
        f = plx::async(on, testing::chain, testing::chain_item{word.data(), 2});
        plx::post(on, testing::empty, testing::empty_item{});
      }
      f.get();
      EXPECT_EQ(word.span()[0], 33u);
    });
  });
}

// Tasks that call different operations in different orders, spawn other tasks and sometimes wait, as the seed decides:
// nothing may hang, and each item must run exactly once.
class wanderers {
 public:
  wanderers(device& d, std::uint64_t seed) : device_(d), on_(d, {.most = 8, .deadline_s = 20e-6}), seed_(seed) {}

  void run() {
    stream s(device_);
    words_ = buffer<std::uint64_t>(s, tasks * steps, memory_kind::pinned);
    for (auto& w : words_.span()) w = 0;
    std::vector<plx::future<void>> all;
    for (unsigned t = 0; t < tasks; ++t) all.push_back(plx::async([this, t] { wander(t); }));
    for (auto& f : all) f.get();
    for (unsigned i = 0; i < tasks * steps; ++i) ASSERT_EQ(words_.span()[i], i + 1);
    words_ = {};
  }
  static constexpr unsigned tasks = 12, steps = 20;

 private:
  void wander(unsigned t) {
    std::mt19937_64 rng(seed_ * 1000 + t);
    std::vector<plx::future<void>> open;
    for (unsigned i = 0; i < steps; ++i) {
      std::uint64_t* word = words_.data() + t * steps + i;
      const testing::chain_item item{word, t * steps + i + 1};
      switch (rng() % 6) {
        case 0:
          plx::async(on_, testing::empty, testing::empty_item{}).get();
          break;
        case 1:
          open.push_back(plx::async([this, item] { plx::async(on_, testing::chain, item).get(); }));
          continue;
        case 2:
          open.push_back(plx::async(on_, testing::chain, item,
                                    plx::async(on_, testing::spin, testing::spin_item{1000, nullptr, 0})));
          continue;
        case 3:
          plx::this_thread::yield();
          break;
        case 4:
          plx::post(on_, testing::empty, testing::empty_item{});
          break;
        default:
          break;
      }
      open.push_back(plx::async(on_, testing::chain, item));
      if (rng() % 3 == 0) {
        for (auto& f : open) f.get();
        open.clear();
      }
    }
    for (auto& f : open) f.get();
  }

  device& device_;
  aggregating_executor on_;
  std::uint64_t seed_;
  buffer<std::uint64_t> words_;
};

TEST(aggregating_executor, random_control_flow_neither_hangs_nor_loses_an_item) {
  on_stepped_devices([](plx::runtime& rt, device& d) {
    const std::uint64_t seed = rt.options().seed;
    rt.run([&] { wanderers(d, seed).run(); });
  });
  std::uint64_t seed = 0;
  on_each_device([&](plx::runtime& rt, device& d) {
    for (int i = 0; i < 5; ++i) rt.run([&] { wanderers(d, ++seed).run(); });
  });
}

}  // namespace
}  // namespace plx::gpu
