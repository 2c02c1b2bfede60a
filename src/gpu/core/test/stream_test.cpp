#include "gpu/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <vector>

#include "gpu/core/device_core.hpp"
#include "gpu/test/each_device_test.hpp"
#include "gpu/testing/operations.hpp"
#include "rt/core/scheduler.hpp"
#include "rt/when.hpp"

namespace plx::gpu {
namespace {

using plx::testing::on_each_device;
using plx::testing::on_stepped_devices;

/// Pinned memory, zeroed.
template <class T>
struct words {
  words(device& d, std::size_t n) : home(d) {
    void* p = nullptr;
    EXPECT_TRUE(d.get_backend().allocate(d.native(), memory_kind::pinned, n * sizeof(T), p));
    at = static_cast<T*>(p);
    std::fill_n(at, n, T{});
  }
  ~words() { home.get_backend().release(home.native(), memory_kind::pinned, at); }
  device& home;
  T* at;
};

std::uint64_t chained(std::uint64_t n) {
  std::uint64_t w = 0;
  for (std::uint64_t i = 1; i <= n; ++i) w = w * 31 + i;
  return w;
}

TEST(stream, a_future_is_ready_when_the_work_before_it_is_done) {
  const auto body = [](plx::runtime& rt, device& d) {
    words<std::uint64_t> word(d, 1);
    const auto seen = rt.run([&] {
      stream s(d);
      for (std::uint64_t i = 1; i <= 20; ++i) s.launch(testing::chain, testing::chain_item{word.at, i});
      s.future().get();
      return *word.at;
    });
    EXPECT_EQ(seen, chained(20));
  };
  on_each_device(body);
  on_stepped_devices(body);
}

TEST(stream, continuations_run_once_after_their_work_outside_the_poll) {
  const auto body = [](plx::runtime& rt, device& d) {
    constexpr std::uint64_t n = 50;
    words<std::uint64_t> number(d, n);
    std::atomic<unsigned> runs{0}, too_early{0}, in_poll{0};
    rt.run([&] {
      stream s(d);
      std::vector<plx::future<void>> all;
      for (std::uint64_t i = 0; i < n; ++i) {
        s.launch(testing::chain, testing::chain_item{number.at + i, i + 1});
        // sync: runs in the completing task's frame
        all.push_back(s.future().then(plx::launch::sync, [&, i](plx::future<void> f) {
          f.get();
          for (std::uint64_t before = 0; before <= i; ++before)
            if (number.at[before] != before + 1) ++too_early;
          const plx::detail::worker* w = plx::detail::this_worker();
          if (w == nullptr || w->polling) ++in_poll;
          ++runs;
        }));
      }
      for (auto& f : all) f.get();
    });
    EXPECT_EQ(runs, n);
    EXPECT_EQ(too_early, 0u);
    EXPECT_EQ(in_poll, 0u);
  };
  on_each_device(body);
  on_stepped_devices(body);
}

TEST(stream, one_worker_completes_futures_in_order) {
  for (const backend* b : backends()) {
    if (device_count(*b) == 0) continue;
    plx::runtime rt({.workers = 1, .bind = false});
    device d(rt, *b);
    std::vector<unsigned> order;
    rt.run([&] {
      stream s(d);
      std::vector<plx::future<void>> all;
      for (unsigned i = 0; i < 50; ++i) {
        s.launch(testing::empty, testing::empty_item{});
        all.push_back(s.future().then(plx::launch::sync, [&order, i](plx::future<void> f) {
          f.get();
          order.push_back(i);
        }));
      }
      for (auto& f : all) f.get();
    });
    std::vector<unsigned> expected(50);
    std::iota(expected.begin(), expected.end(), 0u);
    EXPECT_EQ(order, expected) << b->name;
  }
}

// A sync continuation may wait, even for later work of its stream.
TEST(stream, a_continuation_may_wait_for_its_own_stream) {
  const auto body = [](plx::runtime& rt, device& d) {
    words<std::uint64_t> word(d, 1);
    rt.run([&] {
      stream s(d);
      s.launch(testing::chain, testing::chain_item{word.at, 1});
      auto f = s.future().then(plx::launch::sync, [&](plx::future<void> done) {
        done.get();
        s.launch(testing::chain, testing::chain_item{word.at, 2});
        s.wait();
      });
      s.future().get();
      f.get();
    });
    EXPECT_EQ(*word.at, chained(2));
  };
  on_each_device(body);
  on_stepped_devices(body);
}

// The poller detects both at once: the first continuation must not delay the second one, which it waits for.
TEST(stream, a_continuation_may_wait_for_work_detected_with_it) {
  for (const unsigned workers : {1u, 2u}) {
    cpu::testing_backend b({});
    plx::runtime rt({.workers = workers, .bind = false});
    device d(rt, b.get());
    rt.run([&] {
      stream s(d);
      b.hold(true);
      std::vector<plx::future<void>> all;
      for (int i = 0; i < 5; ++i) all.push_back(s.future());
      plx::future<void> waits;
      for (std::size_t i = all.size() - 1; i-- > 0;) {  // each waits for the next
        plx::future<void> behind = i + 2 == all.size() ? std::move(all[i + 1]) : std::move(waits);
        waits = all[i].then(plx::launch::sync, [behind = std::move(behind)](plx::future<void> f) mutable {
          f.get();
          behind.get();
        });
      }
      b.hold(false);
      // Polling starts only after all of it is done.
      bool done = false;
      while (!done) ASSERT_TRUE(b.get().query_stream(d.native(), s.native(), done));
      waits.get();
    });
  }
}

TEST(stream, many_streams_from_many_tasks) {
  on_each_device([](plx::runtime& rt, device& d) {
    constexpr unsigned tasks = 40, each = 25;
    words<std::uint64_t> word(d, tasks);
    rt.run([&] {
      std::vector<plx::future<void>> all;
      for (unsigned t = 0; t < tasks; ++t)
        all.push_back(plx::async([&d, at = word.at + t] {
          stream s(d);
          for (std::uint64_t i = 1; i <= each; ++i) {
            s.launch(testing::chain, testing::chain_item{at, i});
            if (i % 5 == 0) s.future().get();
          }
          s.wait();
        }));
      for (auto& f : all) f.get();
    });
    for (unsigned t = 0; t < tasks; ++t) EXPECT_EQ(word.at[t], chained(each));
  });
}

TEST(stream, an_external_thread_may_wait_for_a_stream) {
  on_each_device([](plx::runtime&, device& d) {
    words<std::uint64_t> word(d, 1);
    stream s(d);
    s.launch(testing::chain, testing::chain_item{word.at, 5});
    s.future().get();
    EXPECT_EQ(*word.at, 5u);
  });
}

TEST(stream, any_number_of_items_reaches_the_kernel) {
  on_each_device([](plx::runtime& rt, device& d) {
    for (const unsigned n : {1u, 3u, 16u, 17u, 250u, 2000u, 2100u, 20000u}) {
      words<std::uint64_t> word(d, 1);
      std::vector<testing::chain_item> items(n);
      for (unsigned i = 0; i < n; ++i) items[i] = {word.at, i + 1};
      rt.run([&] {
        stream s(d);
        s.launch<testing::chain_item>(testing::chain, items);
        std::fill(items.begin(), items.end(), testing::chain_item{nullptr, 0});  // the items were copied
        s.wait();
      });
      EXPECT_EQ(*word.at, chained(n)) << n;
    }
  });
}

TEST(stream, waits_for_another_stream) {
  on_each_device([](plx::runtime& rt, device& d) {
    words<std::uint64_t> word(d, 1);
    rt.run([&] {
      stream a(d), b(d);
      for (std::uint64_t i = 1; i <= 30; ++i) {
        stream& s = i % 2 == 0 ? a : b;
        s.launch(testing::spin, testing::spin_item{20'000, nullptr, 0});
        s.launch(testing::chain, testing::chain_item{word.at, i});
        (i % 2 == 0 ? b : a).wait_for(s);
      }
      a.wait();
      b.wait();
    });
    EXPECT_EQ(*word.at, chained(30));
  });
}

TEST(stream, a_captured_graph_runs_again) {
  on_each_device([](plx::runtime& rt, device& d) {
    if (d.get_backend().name == "sycl") return;  // has no graphs
    words<std::uint64_t> word(d, 1);
    rt.run([&] {
      stream s(d);
      const graph g = s.capture([&] {
        for (std::uint64_t i = 1; i <= 4; ++i) s.launch(testing::chain, testing::chain_item{word.at, i});
      });
      s.wait();
      EXPECT_EQ(*word.at, 0u);
      s.launch(g);
      s.wait();
      EXPECT_EQ(*word.at, chained(4));
      *word.at = 0;
      for (int i = 0; i < 10; ++i) s.launch(g);
      s.wait();
      std::uint64_t expected = 0;
      for (int n = 0; n < 10; ++n)
        for (std::uint64_t i = 1; i <= 4; ++i) expected = expected * 31 + i;
      EXPECT_EQ(*word.at, expected);
    });
  });
}

// A query of a capturing stream, or a wait for it, would invalidate the capture.
TEST(stream, the_poller_and_other_streams_do_not_disturb_a_capture) {
  for (const auto way : {completion_way::poll, completion_way::callback, completion_way::flag}) {
    cpu::testing_backend b({});
    plx::runtime rt({.workers = 1, .bind = false});
    device d(rt, b.get());
    words<std::uint64_t> word(d, 1);
    rt.run([&] {
      stream s(d), other(d);
      b.hold(true);
      auto before = s.future(way);
      const graph g = s.capture([&] {
        s.launch(testing::chain, testing::chain_item{word.at, 7});
        EXPECT_THROW(other.wait_for(s), error);
        EXPECT_THROW(s.wait_for(other), error);
        for (int i = 0; i < 1000; ++i) d.core().poll();  // this is the only worker
      });
      b.hold(false);
      before.get();
      EXPECT_EQ(*word.at, 0u);
      s.launch(g);
      s.wait();
      EXPECT_EQ(*word.at, 7u);
      other.wait_for(s);
      other.wait();
    });
  }
}

TEST(stream, the_destructor_of_a_device_waits_for_its_futures) {
  for (const backend* b : backends()) {
    if (device_count(*b) == 0) continue;
    plx::runtime rt({.workers = 2, .bind = false});
    std::vector<plx::future<void>> left;
    {
      device d(rt, *b);
      stream s(d);
      for (int i = 0; i < 10; ++i) {
        s.launch(testing::spin, testing::spin_item{100'000, nullptr, 0});
        left.push_back(s.future());
      }
    }
    for (auto& f : left) {
      EXPECT_TRUE(f.is_ready());
      f.get();
    }
  }
}

TEST(stream, recycles_native_streams) {
  plx::runtime rt({.workers = 1, .bind = false});
  device d(rt, cpu::table());
  const native_stream first = stream(d).native();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(stream(d).native(), first);
}

TEST(stream, an_operation_without_a_kernel_for_the_backend_is_an_error) {
  struct item {
    int unused;
  };
  static constexpr operation<item> nothing{{"nothing", sizeof(item), alignof(item)}};
  on_each_device([](plx::runtime&, device& d) {
    stream s(d);
    try {
      s.launch(nothing, item{});
      ADD_FAILURE() << "expected an error";
    } catch (const error& e) {
      EXPECT_EQ(e.kernel(), "nothing");
      EXPECT_EQ(e.kind(), failure::unsupported) << e.what();
    }
  });
}

}  // namespace
}  // namespace plx::gpu
