// when_some, when_each, wait_*, unwrapping, and the forms of when_all and when_any for arrays, ranges and counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <string>
#include <vector>

#include "probe/record/names.hpp"
#include "rt/dataflow.hpp"
#include "rt/mutex.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace {

using plx::testing::on_every_schedule;

std::vector<plx::future<int>> numbers(int n) {
  std::vector<plx::future<int>> all;
  for (int i = 0; i < n; ++i)
    all.push_back(plx::async([i] {
      if (i % 3 == 1) plx::this_thread::yield();
      return i;
    }));
  return all;
}

std::vector<plx::future<int>> ready_numbers(int n) {
  std::vector<plx::future<int>> all;
  for (int i = 0; i < n; ++i) all.push_back(plx::make_ready_future(i));
  return all;
}

TEST(when_all, arrays_tuples_lists_and_counts) {
  on_every_schedule([] {
    auto array = plx::when_all(std::array{plx::async([] { return 1; }), plx::async([] { return 2; })}).get();
    EXPECT_EQ(array[0].get() + array[1].get(), 3);
    auto [a, b] = plx::when_all(std::tuple(plx::async([] { return 1; }), plx::async([] { return 'b'; }))).get();
    EXPECT_EQ(a.get() + b.get(), 1 + 'b');
    std::list<plx::shared_future<int>> list;
    for (auto& f : numbers(5)) list.push_back(f.share());
    EXPECT_EQ(plx::when_all(list.begin(), list.end()).get().size(), 5u);
    EXPECT_EQ(plx::when_all_n(list.begin(), 3).get().size(), 3u);
    for (auto& f : list) EXPECT_TRUE(f.valid()) << "shared futures are copied";
    auto many = ready_numbers(5);
    EXPECT_EQ(plx::when_any_n(many.begin(), 4).get().futures.size(), 4u);
    EXPECT_TRUE(many[4].valid());
    EXPECT_LT(plx::when_any(std::array{plx::make_ready_future(), plx::make_ready_future()}).get().index, 2u);
  });
}

TEST(when_some, as_many_as_were_asked_for) {
  on_every_schedule([] {
    plx::promise<int> never;
    auto inputs = numbers(4);
    inputs.push_back(never.get_future());
    auto r = plx::when_some(3, std::move(inputs)).get();
    ASSERT_EQ(r.indices.size(), 3u);
    ASSERT_EQ(r.futures.size(), 5u);
    std::sort(r.indices.begin(), r.indices.end());
    EXPECT_EQ(std::unique(r.indices.begin(), r.indices.end()), r.indices.end());
    for (auto i : r.indices) {
      ASSERT_LT(i, 4u) << "the fifth was never set";
      EXPECT_TRUE(r.futures[i].is_ready());
      EXPECT_EQ(r.futures[i].get(), static_cast<int>(i));
    }
    never.set_value(4);
    for (auto& f : r.futures)
      if (f.valid()) f.wait();
    EXPECT_EQ(plx::when_some(0, ready_numbers(2)).get().indices.size(), 0u);
    EXPECT_THROW((void)plx::when_some(3, ready_numbers(2)), std::invalid_argument);
    auto tuple = plx::when_some(2, plx::async([] { return 1; }), plx::async([] { return 'c'; })).get();
    EXPECT_EQ(tuple.indices.size(), 2u);
    EXPECT_EQ(std::get<1>(tuple.futures).get(), 'c');
    auto range = numbers(6);
    EXPECT_EQ(plx::when_some(6, range.begin(), range.end()).get().indices.size(), 6u);
  });
}

TEST(when_some, the_order_is_that_of_becoming_ready) {
  on_every_schedule([] {
    std::vector<plx::promise<void>> promises(3);
    std::vector<plx::future<void>> futures;
    for (auto& p : promises) futures.push_back(p.get_future());
    auto some = plx::when_some(2, std::move(futures));
    promises[2].set_value();
    EXPECT_FALSE(some.is_ready());
    promises[0].set_value();
    EXPECT_EQ(some.get().indices, (std::vector<std::size_t>{2, 0}));
  });
}

TEST(when_each, once_for_each_and_one_at_a_time) {
  on_every_schedule([] {
    int inside = 0;
    std::vector<int> seen;
    plx::when_each(
        [&](std::size_t index, plx::future<int> f) {
          EXPECT_EQ(++inside, 1);
          EXPECT_TRUE(f.is_ready());
          const int value = f.get();
          EXPECT_EQ(value, static_cast<int>(index));
          plx::this_thread::yield();  // it may wait
          seen.push_back(value);
          --inside;
        },
        numbers(12))
        .get();
    std::sort(seen.begin(), seen.end());
    for (int i = 0; i < 12; ++i) EXPECT_EQ(seen.at(static_cast<std::size_t>(i)), i);

    int sum = 0;
    plx::when_each([&sum](auto f) { sum += f.get(); }, plx::async([] { return 1; }), plx::make_ready_future('a')).get();
    EXPECT_EQ(sum, 1 + 'a');
    plx::when_each([](plx::future<int>) {}, std::vector<plx::future<int>>{}).get();
  });
}

TEST(when_each, an_exception_ends_the_calls) {
  on_every_schedule([] {
    plx::promise<void> late;
    std::vector<plx::future<void>> inputs;
    inputs.push_back(plx::make_ready_future());
    inputs.push_back(late.get_future());
    int calls = 0;
    auto all = plx::when_each(
        [&calls](auto) {
          ++calls;
          throw std::runtime_error("planned");
        },
        std::move(inputs));
    EXPECT_THROW(all.get(), std::runtime_error);
    late.set_value();
    plx::this_thread::yield();
    EXPECT_EQ(calls, 1);
  });
}

TEST(when_each, may_be_dropped) {
  on_every_schedule([] {
    auto calls = std::make_shared<std::atomic<int>>(0);
    (void)plx::when_each([calls](auto) { calls->fetch_add(1); }, numbers(5));
    while (calls->load() < 5) plx::this_thread::yield();
  });
}

TEST(wait, all_any_some_each_leave_the_futures) {
  on_every_schedule([] {
    auto all = numbers(6);
    plx::wait_all(all);
    for (auto& f : all) EXPECT_TRUE(f.is_ready());
    plx::wait_all(all.begin(), all.end());
    plx::wait_all_n(all.begin(), 2);
    plx::wait_all(all[0], all[1]);

    plx::promise<int> never;
    auto some = numbers(4);
    some.insert(some.begin(), never.get_future());
    const std::size_t first = plx::wait_any(some);
    EXPECT_GE(first, 1u);
    EXPECT_TRUE(some.at(first).is_ready());
    auto ready = plx::wait_some(4, some);
    std::sort(ready.begin(), ready.end());
    EXPECT_EQ(ready, (std::vector<std::size_t>{1, 2, 3, 4}));
    EXPECT_EQ(plx::wait_any(some[0], some[2]), 1u);
    EXPECT_EQ(plx::wait_any_n(some.begin() + 1, 4) + 1, plx::wait_any(some));
    EXPECT_EQ(plx::wait_some(1, some[0], some[3]), std::vector<std::size_t>{1});
    EXPECT_THROW(plx::wait_some(6, some), std::invalid_argument);
    EXPECT_EQ(plx::wait_any(std::vector<plx::future<int>>{}), static_cast<std::size_t>(-1));
    EXPECT_THROW(plx::wait_any(some[1], plx::future<int>()), plx::future_error);

    int sum = 0;
    plx::wait_each([&sum](plx::future<int>& f) { sum += f.get(); }, all);
    EXPECT_EQ(sum, 15);
    EXPECT_FALSE(all[0].valid());
    auto x = plx::async([] { return 1; });
    auto y = plx::async([] { return std::string("y"); });
    std::vector<std::size_t> order;
    plx::wait_each([&order](std::size_t i, auto&) { order.push_back(i); }, x, y);
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(y.get(), "y");
    never.set_value(0);
  });
}

// Futures that were not ready first are unchanged: no node of the waiter remains in their lists.
TEST(wait, forms_with_a_count_use_the_first_ones) {
  on_every_schedule([] {
    plx::promise<int> never;
    auto all = numbers(4);
    all.push_back(never.get_future());
    plx::wait_all_n(all.begin(), 4);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(all[static_cast<std::size_t>(i)].is_ready());
    EXPECT_LT(plx::wait_any_n(all.begin(), 5), 4u);
    EXPECT_EQ(plx::wait_some_n(2, all.begin(), 5).size(), 2u);
    int sum = 0;
    plx::wait_each_n([&](plx::future<int>& f) { sum += f.get(); }, all.begin(), 4);
    EXPECT_EQ(sum, 0 + 1 + 2 + 3);

    auto more = numbers(4);
    more.push_back(std::move(all[4]));
    std::atomic<int> total{0};
    const auto some = plx::when_some_n(3, more.begin(), 4).get();
    EXPECT_EQ(some.indices.size(), 3u);
    EXPECT_EQ(some.futures.size(), 4u);
    EXPECT_TRUE(more[4].valid()) << "only the first ones are moved in";
    for (const auto& f : some.futures) f.wait();  // the fourth task may still run
    auto last = numbers(3);
    last.push_back(std::move(more[4]));
    plx::when_each_n([&](plx::future<int> f) { total += f.get(); }, last.begin(), 3).get();
    EXPECT_EQ(total, 0 + 1 + 2);
    EXPECT_TRUE(last[3].valid());
  });
}

TEST(wait, futures_that_were_not_first_can_still_be_waited_for) {
  on_every_schedule([] {
    std::vector<plx::promise<int>> promises(4);
    std::vector<plx::future<int>> futures;
    for (auto& p : promises) futures.push_back(p.get_future());
    std::vector<plx::future<void>> others;
    for (int i = 0; i < 3; ++i)
      others.push_back(plx::async([&] {
        EXPECT_EQ(plx::wait_any(futures) % 3, 0u);  // the first or the last: both may be ready by then
        plx::wait_some(2, futures);
      }));
    auto setting = plx::async([&] {
      promises[3].set_value(3);
      plx::wait_all(futures);
    });
    plx::wait_any(futures);
    promises[0].set_value(0);
    for (auto& o : others) o.get();
    promises[1].set_value(1);
    promises[2].set_value(2);
    setting.get();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(futures.at(static_cast<std::size_t>(i)).get(), i);
  });
}

TEST(wait, a_call_that_throws_leaves_early) {
  on_every_schedule([] {
    plx::promise<int> late;
    std::vector<plx::future<int>> futures;
    futures.push_back(plx::make_ready_future(1));
    futures.push_back(late.get_future());
    const auto failing = [](auto& f) {
      f.get();
      throw std::runtime_error("planned");
    };
    EXPECT_THROW(plx::wait_each(failing, futures), std::runtime_error);
    late.set_value(2);
    EXPECT_EQ(futures[1].get(), 2);
  });
}

TEST(wait, on_an_external_thread) {
  plx::runtime rt({.workers = 2, .bind = false});
  auto all = numbers(10);
  EXPECT_LT(plx::wait_any(all), 10u);
  EXPECT_EQ(plx::wait_some(10, all).size(), 10u);
  plx::wait_all(all);
}

TEST(unwrapping, calls_with_the_values) {
  on_every_schedule([] {
    auto product =
        plx::dataflow(plx::unwrapping([](int a, const std::string& b, int c) { return b + std::to_string(a * c); }),
                      plx::async([] { return 6; }), plx::async([] { return std::string("x"); }).share(), 7);
    EXPECT_EQ(product.get(), "x42");
    auto no_argument = plx::dataflow(plx::unwrapping([] { return 1; }), plx::async([] {}));
    EXPECT_EQ(no_argument.get(), 1);
    auto sum = plx::dataflow(plx::unwrapping([](std::vector<int> v, int plus) {
                               for (int x : v) plus += x;
                               return plus;
                             }),
                             numbers(5), 100);
    EXPECT_EQ(sum.get(), 110);
    auto pair = plx::when_all(plx::async([] { return 1; }), plx::async([] { return 2.5; }));
    EXPECT_EQ(pair.then(plx::unwrapping([](std::tuple<plx::future<int>, plx::future<double>> t) {
                    return plx::unwrap(std::move(t));
                  }))
                  .get(),
              std::tuple(1, 2.5));
    EXPECT_EQ(plx::async([] { return 1; }).then(plx::unwrapping([](int x) { return x + 1; })).get(), 2);
    auto failed = plx::dataflow(plx::unwrapping([](int) { ADD_FAILURE() << "called without a value"; }),
                                plx::async([]() -> int { throw std::runtime_error("planned"); }));
    EXPECT_THROW(failed.get(), std::runtime_error);
    EXPECT_EQ(plx::unwrap(plx::async([] { return 4; })), 4);
    EXPECT_EQ(plx::unwrap(plx::async([] { return 4; }), numbers(2)), std::tuple(4, std::vector<int>{0, 1}));
  });
}

TEST(dataflow, policies_and_sequences) {
  on_every_schedule([] {
    auto inside = plx::dataflow(
        plx::launch::sync, [](auto a, auto b) { return a.get() + b.get(); }, plx::async([] { return 1; }),
        plx::async([] { return 2; }));
    EXPECT_EQ(inside.get(), 3);
    EXPECT_EQ(plx::dataflow(plx::launch::sync, [] { return 1; }).get(), 1);
    EXPECT_EQ(plx::dataflow(
                  plx::launch::async, [](auto v) { return v.size(); }, numbers(3))
                  .get(),
              3u);
    EXPECT_EQ(
        plx::dataflow(
            {plx::probe::register_name("flow"), 3}, [](auto v) { return v.size(); }, std::vector<plx::future<int>>{})
            .get(),
        0u);
    auto broken = ready_numbers(2);
    broken.emplace_back();
    EXPECT_THROW((void)plx::dataflow([](auto) {}, std::move(broken)), plx::future_error);
    EXPECT_EQ(plx::dataflow([](std::array<plx::future<int>, 2> a) { return a[0].get() + a[1].get(); },
                            std::array{plx::async([] { return 1; }), plx::async([] { return 2; })})
                  .get(),
              3);
  });
}

int sum_of(int a, int b) { return a + b; }

// Profiles show the user's function, not the wrapper.
TEST(unwrapping, is_named_after_the_function) {
  using plx::probe::register_callable_name;
  const auto lambda = [](int a) { return a; };
  EXPECT_EQ(register_callable_name(plx::unwrapping(sum_of)), register_callable_name(&sum_of));
  EXPECT_EQ(register_callable_name(plx::unwrapping(lambda)), register_callable_name(lambda));
}

}  // namespace
