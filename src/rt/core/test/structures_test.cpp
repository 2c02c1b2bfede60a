// The scheduler's building blocks alone: deque, timers, pool, stacks.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "rt/core/deque.hpp"
#include "rt/core/fiber.hpp"
#include "rt/core/pool.hpp"
#include "rt/core/task.hpp"
#include "rt/core/timer_queue.hpp"
#include "rt/core/topology.hpp"

namespace {
/// Called by the next call of mprotect() on this thread.
constinit thread_local const std::function<void()>* on_mprotect = nullptr;
}  // namespace
#if !defined(PLX_ASAN) && !defined(PLX_TSAN)
/// In place of the C library's.
extern "C" int mprotect(void* at, std::size_t bytes, int how) noexcept {
  if (on_mprotect != nullptr) (*std::exchange(on_mprotect, nullptr))();
  return static_cast<int>(::syscall(SYS_mprotect, at, bytes, how));
}
#endif

namespace {

using namespace plx::detail;

TEST(work_deque, owner_sees_a_stack_and_thieves_a_queue) {
  std::vector<task> tasks(10);
  work_deque d(4);  // grows twice
  for (auto& t : tasks) d.push(&t);
  EXPECT_EQ(d.size(), 10);
  EXPECT_EQ(d.newest(), &tasks[9]);
  EXPECT_EQ(d.pop(), &tasks[9]);
  EXPECT_EQ(d.steal(), &tasks[0]);
  EXPECT_EQ(d.steal(), &tasks[1]);
  for (int i = 8; i >= 2; --i) EXPECT_EQ(d.pop(), &tasks[static_cast<std::size_t>(i)]);
  EXPECT_EQ(d.pop(), nullptr);
  EXPECT_EQ(d.steal(), nullptr);
  EXPECT_TRUE(d.empty());
}

// Each task is handed out exactly once, to the owner or a thief.
TEST(work_deque, owner_and_thieves_share_without_loss) {
  constexpr std::size_t n = 60000;
  std::vector<task> tasks(n);
  std::vector<std::atomic<int>> seen(n);
  work_deque d(8);
  std::atomic<bool> end{false};
  auto take = [&](task* t) { seen[static_cast<std::size_t>(t - tasks.data())].fetch_add(1); };
  std::vector<std::thread> thieves;
  for (int i = 0; i < 3; ++i)
    thieves.emplace_back([&] {
      while (!end.load(std::memory_order_acquire) || !d.empty())
        if (task* t = d.steal()) take(t);
    });
  std::mt19937 random(1);
  for (std::size_t pushed = 0; pushed < n;) {
    for (std::size_t k = random() % 20; k > 0 && pushed < n; --k) d.push(&tasks[pushed++]);
    for (std::size_t k = random() % 12; k > 0; --k)
      if (task* t = d.pop()) take(t);
  }
  while (task* t = d.pop()) take(t);
  end.store(true, std::memory_order_release);
  for (auto& t : thieves) t.join();
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](auto& s) { return s.load() == 1; }));
}

TEST(timer_queue, fires_in_order_and_cancels) {
  timer_queue q;
  static std::vector<plx::ticks> fired;
  fired.clear();
  std::vector<timer> timers(200);
  std::mt19937 random(2);
  std::multiset<plx::ticks> expected;
  for (auto& t : timers) {
    t.deadline = 1 + random() % 1000;
    t.context = &t;
    t.fire = [](void* p) { fired.push_back(static_cast<timer*>(p)->deadline); };
    q.arm(t);
  }
  for (std::size_t i = 0; i < timers.size(); ++i) {
    if (i % 3 == 0)
      EXPECT_TRUE(timer_queue::cancel(timers[i]));
    else
      expected.insert(timers[i].deadline);
  }
  EXPECT_EQ(q.next_deadline(), *expected.begin());
  EXPECT_EQ(q.fire_due(0), 0u);
  q.fire_due(500);
  EXPECT_LE(fired.back(), 500u);
  EXPECT_GT(q.next_deadline(), 500u);
  q.fire_due(1000);
  EXPECT_EQ(q.next_deadline(), timer_queue::never);
  EXPECT_TRUE(std::equal(fired.begin(), fired.end(), expected.begin(), expected.end()));
  EXPECT_FALSE(timer_queue::cancel(timers[1])) << "fired already";
}

TEST(pool, blocks_are_distinct_and_come_back_from_other_threads) {
  for (int round = 0; round < 3; ++round) {
    std::vector<std::pair<char*, std::size_t>> blocks;
    for (std::size_t i = 0; i < 3000; ++i) {
      const std::size_t bytes = 1 + i % 600;
      auto* p = static_cast<char*>(pool_get(bytes));
      std::fill(p, p + bytes, static_cast<char>(i));
      blocks.emplace_back(p, bytes);
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      auto [p, bytes] = blocks[i];
      EXPECT_TRUE(std::all_of(p, p + bytes, [i](char c) { return c == static_cast<char>(i); }));
    }
    std::thread([&blocks] {
      for (auto [p, bytes] : blocks) pool_put(p, bytes);
    }).join();
  }
}

TEST(stack_pool, stacks_are_writable_distinct_and_used_again) {
  stack_pool pool(20000);
  std::vector<stack> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(pool.get());
    EXPECT_GE(all.back().size, 20000u);
    all.back().bottom[0] = std::byte{1};
    all.back().bottom[all.back().size - 1] = std::byte{2};
  }
  std::sort(all.begin(), all.end(), [](const stack& a, const stack& b) { return a.bottom < b.bottom; });
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GE(all[i].bottom, all[i - 1].bottom + all[i - 1].size);
  const std::size_t total = pool.total();
  for (auto& s : all) pool.put(s);
  for (int i = 0; i < 100; ++i) (void)pool.get();
  EXPECT_EQ(pool.total(), total);
}

TEST(stack_pool, several_threads_get_and_put) {
  stack_pool pool(16384, false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool, t] {
      std::vector<stack> mine;
      for (int i = 0; i < 500; ++i) {
        mine.push_back(pool.get());
        mine.back().bottom[0] = static_cast<std::byte>(t);
        if (i % 3 == 0) pool.put(std::exchange(mine[mine.size() / 2], mine.back())), mine.pop_back();
      }
      for (const stack& s : mine) EXPECT_EQ(s.bottom[0], static_cast<std::byte>(t));
      for (const stack& s : mine) pool.put(s);
    });
  for (auto& t : threads) t.join();
  EXPECT_LE(pool.total(), 4096u);
}

// While a pool grows, other threads put stacks into it and take them: they do not wait for system calls.
TEST(stack_pool, others_put_and_get_while_it_grows) {
#if defined(PLX_ASAN) || defined(PLX_TSAN)
  GTEST_SKIP() << "mprotect() is the sanitizer's";
#endif
  stack_pool pool(16384);
  std::vector<stack> mine{pool.get()};
  const std::size_t before = pool.total();
  int calls = 0;
  const std::function<void()> another = [&] {
    ++calls;
    std::thread([&] {
      pool.put(mine.back());
      mine.back() = pool.get();
    }).join();
  };
  on_mprotect = &another;
  for (std::size_t i = mine.size(); i < before + 1; ++i) mine.push_back(pool.get());
  on_mprotect = nullptr;
  EXPECT_GT(pool.total(), before);
  EXPECT_TRUE(calls == 1 || !mine.back().guarded);
  for (const stack& s : mine) pool.put(s);
}

// More stacks than the kernel has map entries for guard pages (65,530 by default, two for each): the pool
// continues without guards.
TEST(stack_pool, works_without_guard_pages) {
  stack_pool pool(16384);
  bool last = pool.get().guarded;
  for (int i = 0; i < 60000; ++i) last = pool.get().guarded;
  if (last) GTEST_SKIP() << "this kernel has map entries for more than 60,000 guard pages";
  std::thread([] {}).join();  // other users of map entries still get one
}

TEST(stack_pool_death, the_guard_page_stops_an_overflow) {
  stack_pool pool(16384);
  const stack s = pool.get();
  if (!s.guarded) GTEST_SKIP() << "the stacks of abandoned tasks have taken all guard pages of this process";
  EXPECT_DEATH(*(static_cast<volatile std::byte*>(s.bottom) - 1) = std::byte{1}, "");
  EXPECT_DEATH(*(static_cast<volatile std::byte*>(s.bottom) - (64 << 10)) = std::byte{1}, "");
}

struct counted {
  int references = 1, freed = 0;
  void add_ref() noexcept { ++references; }
  void release() noexcept {
    if (--references == 0) ++freed;
  }
};

// A class template: there Clang 16 treats `held = {}` differently (see counted_ptr).
template <class Other>
struct counted_member {
  counted_ptr<counted> held;
  Other other{};
  void reset() { held = {}; }
};

TEST(counted_ptr, an_assignment_releases_the_old_object_once) {
  counted a, b;
  {
    counted_member<int> in_template{counted_ptr<counted>(&a)};
    in_template.reset();
    EXPECT_EQ(a.references, 0);
    EXPECT_EQ(a.freed, 1);
    counted_ptr<counted> one(&b), two = one;
    EXPECT_EQ(b.references, 2);
    one = *&one;
    EXPECT_EQ(b.references, 2);
    counted_ptr<counted>& same = one;
    one = std::move(same);
    EXPECT_EQ(b.references, 2);
    EXPECT_EQ(one.get(), &b);
    one = two;
    EXPECT_EQ(b.references, 2);
    one = std::move(two);
    EXPECT_EQ(b.references, 1);
    EXPECT_EQ(two.get(), nullptr);
  }
  EXPECT_EQ(a.freed, 1);
  EXPECT_EQ(b.freed, 1);
}

TEST(topology, names_at_least_one_core) {
  EXPECT_GE(allowed_cores().size(), 1u);
  EXPECT_GE(cgroup_processors(), 1u);
  EXPECT_GE(default_worker_count(allowed_cores().size()), 1u);
}

TEST(task_queue, gives_several_but_one_with_a_place_alone) {
  task tasks[5];
  tasks[2].info.where.stack = 5;
  task_queue q;
  for (task& t : tasks) q.push(&t);
  task* two = q.pop_some(16);
  EXPECT_EQ(two, &tasks[0]);
  EXPECT_EQ(two->next, &tasks[1]);
  EXPECT_EQ(tasks[1].next, nullptr);
  EXPECT_EQ(q.size(), 3u);
  EXPECT_EQ(q.pop_some(1), &tasks[2]);
  EXPECT_EQ(q.pop_some(1), &tasks[3]);
  EXPECT_EQ(q.pop_some(7), &tasks[4]);
  EXPECT_EQ(q.pop_some(7), nullptr);
  q.push(&tasks[0]);
  EXPECT_EQ(q.pop(), &tasks[0]);
}

TEST(deque, offers_what_lies_below) {
  work_deque d;
  task a, b;
  d.push(&a);
  EXPECT_FALSE(d.oldest_is_offered());
  d.offer_all();
  d.push(&b);
  EXPECT_TRUE(d.oldest_is_offered());
  EXPECT_EQ(d.steal(), &a);
  EXPECT_FALSE(d.oldest_is_offered());
  EXPECT_EQ(d.pop(), &b);
}

}  // namespace
