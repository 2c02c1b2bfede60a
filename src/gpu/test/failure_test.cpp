// Failures: each gives a message of one line, fails the work that depends on it, and hangs nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/aggregating_executor.hpp"
#include "gpu/buffer.hpp"
#include "gpu/test/each_device_test.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The error that f() throws; of kind none if it does not throw.
template <class F>
error error_by(F&& f) {
  try {
    f();
  } catch (const error& e) {
    return e;
  }
  return error({failure::none, 0, "", "", "no error"});
}
/// The error that `f` holds.
error error_of(plx::future<void>& f) {
  return error_by([&] { f.get(); });
}

void launch_empty(stream& s) { s.launch(testing::empty, testing::empty_item{}); }
template <class On, class... After>
plx::future<void> async_empty(const On& on, After... after) {
  return plx::async(on, testing::empty, testing::empty_item{}, std::move(after)...);
}

constexpr completion_way ways[] = {completion_way::poll, completion_way::callback, completion_way::flag};

TEST(failure, a_refused_launch_throws_and_the_stream_continues) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, b.get());
  rt.run([&] {
    stream s(d);
    b.fail_call("launch", cpu::invalid);
    const error e = error_by([&] { launch_empty(s); });
    EXPECT_EQ(e.kind(), failure::wrong_use);
    EXPECT_THAT(e.what(), AllOf(HasSubstr("cpu: launch: "), HasSubstr("kernel 'empty'"), HasSubstr("device 0 (cpu)"),
                                Not(HasSubstr("\n"))));
    launch_empty(s);
    s.wait();
    b.fail_call("launch", cpu::invalid);
    auto f = async_empty(executor(d));
    auto after = async_empty(executor(d), std::move(f));
    EXPECT_EQ(error_of(after).kernel(), "empty");
  });
}

TEST(failure, a_failed_kernel_fails_only_the_next_future) {
  for (const completion_way way : ways) {
    cpu::testing_backend b({});
    plx::runtime rt({.workers = 2, .bind = false});
    device d(rt, b.get(), 0, {.way = way});
    SCOPED_TRACE(static_cast<int>(way));
    rt.run([&] {
      stream s(d), other(d);
      launch_empty(s);
      auto before = s.future(way);
      before.get();
      s.launch(testing::crash, testing::crash_item{});
      auto behind = s.future(way);
      const error e = error_of(behind);
      EXPECT_EQ(e.code(), cpu::item_failed);
      EXPECT_THAT(e.what(), HasSubstr("kernel 'crash'"));
      launch_empty(other);
      other.wait();
      launch_empty(s);
      s.wait();
      // Each failure is reported once, at the first completion behind it, whenever that is queried.
      b.hold(true);
      s.launch(testing::crash, testing::crash_item{});
      auto first = s.future(way);
      s.launch(testing::crash, testing::crash_item{});
      auto second = s.future(way);
      b.hold(false);
      bool done = false;
      while (!done) ASSERT_TRUE(b.get().query_stream(d.native(), s.native(), done));
      EXPECT_EQ(error_of(first).code(), cpu::item_failed);
      EXPECT_EQ(error_of(second).code(), cpu::item_failed);
      s.wait();
    });
  }
}

TEST(failure, all_futures_of_a_lost_device_fail) {
  for (const completion_way way : ways) {
    SCOPED_TRACE(static_cast<int>(way));
    cpu::testing_backend b({.devices = 2});
    plx::runtime rt({.workers = 2, .bind = false});
    device d(rt, b.get(), 0, {.way = way}), other(rt, b.get(), 1, {.way = way});
    rt.run([&] {
      b.hold(true);
      std::vector<plx::future<void>> open;
      std::vector<stream> streams;
      const aggregating_executor together(d);
      for (int i = 0; i < 5; ++i) {
        streams.emplace_back(d);
        for (int k = 0; k < 4; ++k) {
          launch_empty(streams.back());
          open.push_back(streams.back().future());
          open.push_back(async_empty(executor(d)));
          open.push_back(async_empty(together));
          open.push_back(async_empty(together, std::move(open.back())));
        }
      }
      b.lose(0);
      b.hold(false);
      for (auto& f : open) {
        if (!f.valid()) continue;  // passed to a continuation
        const error e = error_of(f);
        EXPECT_EQ(e.kind(), failure::device_lost);
        EXPECT_THAT(e.what(), HasSubstr("device 0 (cpu)"));
      }
      EXPECT_NE(d.lost(), nullptr);
      EXPECT_THROW(launch_empty(streams[0]), error);
      EXPECT_THROW(streams[0].future().get(), error);
      EXPECT_THROW(buffer<int>(streams[0], 1000), error);
      auto late = async_empty(together);
      EXPECT_EQ(error_of(late).kind(), failure::device_lost);
      stream s(other);
      launch_empty(s);
      s.wait();
    });
  }
}

TEST(failure, a_failed_completion_is_an_error_of_its_future_only) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 1, .bind = false});
  device d(rt, b.get());
  rt.run([&] {
    stream s(d);
    for (const auto& [way, call] : {std::pair(ways[0], "record"), {ways[1], "call"}, {ways[2], "write_flag"}}) {
      b.fail_call(call, cpu::invalid);
      auto f = s.future(way);
      EXPECT_EQ(error_of(f).call(), call);
      s.future(way).get();
    }
  });
}

TEST(failure, opening_a_device_reports_driver_errors) {
  plx::runtime rt({.workers = 1, .bind = false});
  for (const auto& [code, kind] : {std::pair(cpu::no_driver, failure::no_driver),
                                   {cpu::driver_too_old, failure::driver_too_old},
                                   {cpu::no_device, failure::no_device}}) {
    cpu::testing_backend b({.count_fails = code});
    const error e = error_by([&] { device d(rt, b.get()); });
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_THAT(e.what(), Not(HasSubstr("\n")));
  }
}

TEST(failure, a_device_number_that_is_too_large_is_named_with_the_numbers_that_exist) {
  plx::runtime rt({.workers = 1, .bind = false});
  for (const auto& [devices, index, text] :
       {std::tuple(1, 1, "cpu: device 1 does not exist; the machine has 1 (number 0)"),
        {2, -1, "cpu: device -1 does not exist; the machine has 2 (numbers 0 to 1)"},
        {0, 0, "; the driver finds no device (check that it is visible to this process)"}}) {
    cpu::testing_backend b({.devices = devices});
    const error e = error_by([&] { device d(rt, b.get(), index); });
    EXPECT_EQ(e.kind(), failure::no_device);
    EXPECT_THAT(e.what(), HasSubstr(text));
  }
  for (const backend* b : backends()) {  // those whose machine has devices
    const int n = device_count(*b);
    if (n == 0) continue;
    EXPECT_THAT(error_by([&] { device d(rt, *b, n); }).what(),
                HasSubstr(fmt::format("{}: device {} does not exist; the machine has {} (number", b->name, n, n)));
  }
}

// Behaves like backends whose kernels read items from device-accessible memory.
backend stages_items(const backend& of) {
  backend b = of;
  b.launch = [](native_device d, const any_operation& op, const launch& where, const void* items, unsigned n,
                item_errors errors) -> outcome {
    const void* there = where.stage(where, items, std::size_t{op.item_bytes} * n);
    if (there == nullptr) return {};
    return cpu::table().launch(d, op, where, there, n, errors);
  };
  return b;
}

TEST(failure, out_of_memory_for_items_is_an_error_of_that_launch) {
  cpu::testing_backend b({});
  const backend staged = stages_items(b.get());
  plx::runtime rt({.workers = 1, .bind = false});
  device d(rt, staged);
  rt.run([&] {
    stream s(d);
    b.fail_call("allocate", cpu::out_of_memory, 0, 2);
    const error e = error_by([&] { launch_empty(s); });
    EXPECT_EQ(e.kind(), failure::out_of_memory);
    EXPECT_EQ(e.kernel(), "empty");
    EXPECT_EQ(b.launches(), 0u);
    launch_empty(s);
    b.fail_call("record", cpu::invalid);  // the completion that frees the items fails: they are freed by the next one
    launch_empty(s);
    launch_empty(s);
    s.wait();
    EXPECT_EQ(b.launches(), 3u);
  });
}

/// An item that counts how often it ran.
struct counted_item {
  std::atomic<unsigned>* runs;
};
void count_run(const counted_item& c) { c.runs->fetch_add(1); }
constexpr auto counted = cpu_operation<counted_item, count_run>("counted");

TEST(failure, free_memory_is_released_when_items_or_flags_need_it) {
  cpu::testing_backend b({});
  const backend staged = stages_items(b.get());
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, staged);
  rt.run([&] {
    stream s(d), other(d);
    const auto free_buffers = [&] {
      for (stream* of : {&s, &other}) buffer<char> x(*of, 1 << 20);
    };
    free_buffers();
    b.fail_call("allocate", cpu::out_of_memory);
    launch_empty(s);
    EXPECT_LT(b.allocated_bytes(), std::size_t{1} << 20);
    free_buffers();
    b.fail_call("allocate", cpu::out_of_memory);
    s.future(completion_way::flag).get();
    EXPECT_LT(b.allocated_bytes(), std::size_t{1} << 20);
    EXPECT_EQ(b.launches(), 1u);
  });
}

TEST(failure, items_of_a_graph_are_freed_after_its_last_run) {
  cpu::testing_backend b({});
  const backend staged = stages_items(b.get());
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, staged);
  rt.run([&] {
    stream s(d), other(d);
    std::vector<std::atomic<unsigned>> runs(20);
    std::size_t after_the_first = 0;
    for (unsigned i = 0; i < runs.size(); ++i) {
      graph g = s.capture([&] { s.launch(counted, counted_item{&runs[i]}); });
      s.launch(g);
      if (i % 2 == 0) other.launch(g);
      g = graph();
      other.wait();
      s.wait();
      EXPECT_EQ(runs[i], i % 2 == 0 ? 2u : 1u);
      if (i == 0) after_the_first = b.allocated_bytes();
    }
    EXPECT_EQ(b.allocated_bytes(), after_the_first);
    static_cast<void>(s.capture([&] { s.launch(counted, counted_item{&runs[0]}); }));  // never launched
    EXPECT_EQ(b.allocated_bytes(), after_the_first);
  });
}

TEST(failure, items_of_a_graph_destroyed_during_a_capture_are_freed_afterwards) {
  cpu::testing_backend b({});
  const backend staged = stages_items(b.get());
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, staged);
  rt.run([&] {
    stream s(d);
    std::atomic<unsigned> runs{0};
    std::size_t after_the_first = 0;
    for (unsigned i = 1; i <= 20; ++i) {
      graph first = s.capture([&] { s.launch(counted, counted_item{&runs}); });
      graph second = s.capture([&] { s.launch(counted, counted_item{&runs}); });
      s.launch(first);
      s.launch(second);
      s.wait();
      const graph last = s.capture([&] {
        first = graph();
        second = graph();
      });
      s.wait();
      EXPECT_EQ(runs, 2 * i);
      if (i == 1) after_the_first = b.allocated_bytes();
    }
    EXPECT_EQ(b.allocated_bytes(), after_the_first);
  });
}

TEST(failure, an_error_in_a_graph_names_its_kernel) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 1, .bind = false});
  device d(rt, b.get());
  rt.run([&] {
    stream s(d);
    const graph g = s.capture([&] { s.launch(testing::crash, testing::crash_item{}); });
    launch_empty(s);
    s.launch(g);
    auto f = s.future();
    EXPECT_EQ(error_of(f).kernel(), "crash");
  });
}

TEST(failure, a_device_that_never_finishes_is_abandoned_after_the_deadline) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 2, .bind = false});
  plx::future<void> f;
  {
    device d(rt, b.get(), 0, {.shutdown_deadline_s = 0.05});
    b.hold(true);
    stream s(d), other(d);
    launch_empty(s);
    f = s.future();
    const auto by_callback = s.future(completion_way::callback), by_flag = s.future(completion_way::flag);
    const buffer<int> x(s, 10), pinned(other, 10, memory_kind::pinned);
    launch_empty(other);
  }
  EXPECT_THAT(error_of(f).what(), HasSubstr("was closed with pending work"));
  b.hold(false);
}

TEST(failure, a_launch_without_a_future_does_not_extend_the_shutdown_deadline) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 1, .bind = false});
  {
    device d(rt, b.get(), 0, {.shutdown_deadline_s = 0.05});
    b.hold(true);
    stream s(d);
    launch_empty(s);
  }
  EXPECT_EQ(b.launches(), 1u);
}

TEST(failure, a_launch_whose_completion_fails_runs_once) {
  for (const auto& [way, call] : {std::pair(ways[0], "record"),
                                  {ways[0], "make_event"},
                                  {ways[1], "call"},
                                  {ways[2], "write_flag"},
                                  {ways[2], "allocate"}}) {
    SCOPED_TRACE(call);
    cpu::testing_backend b({.delay_s = 1e-3});
    plx::runtime rt({.workers = 2, .bind = false});
    device d(rt, b.get(), 0, {.way = way});
    std::vector<std::atomic<unsigned>> runs(11);
    b.fail_call(call, cpu::invalid, 0, 2);
    rt.run([&] {
      const aggregating_executor on(d, {.most = 10, .deadline_s = 3600});
      std::vector<plx::future<void>> all;
      for (unsigned i = 0; i < 10; ++i) all.push_back(plx::async(on, counted, counted_item{&runs[i]}));
      all.push_back(plx::async(executor(d), counted, counted_item{&runs[10]}));
      for (auto& f : all) f.get();
    });
    for (auto& n : runs) EXPECT_EQ(n, 1u);
    EXPECT_EQ(b.items(), 11u);
  }
}

// Any call may fail, and the device may be lost at any time: every future becomes ready, with the same result for each
// seed.
TEST(failure, random_failures_never_hang) {
  for (std::uint64_t seed = 1; seed <= plx::testing::seed_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 rng(seed);
    cpu::testing_backend b({.stepped = true, .seed = seed});
    plx::runtime rt({.workers = 3, .deterministic = true, .seed = seed});
    device d(rt, b.get());
    const char* calls[] = {"launch", "record", "query", "make_event", "make_stream", "wait", "copy", "allocate"};
    for (int i = 0; i < 3; ++i)
      b.fail_call(calls[rng() % 8], rng() % 4 == 0 ? cpu::device_lost : cpu::invalid, static_cast<unsigned>(rng() % 40),
                  static_cast<unsigned>(1 + rng() % 3));
    unsigned answered = 0;
    std::vector<std::atomic<unsigned>> runs(96);
    rt.run([&] {
      const aggregating_executor on(d, {.most = 4});
      std::vector<plx::future<void>> all;
      for (unsigned t = 0; t < 8; ++t)
        all.push_back(plx::async([&, t] {
          for (unsigned i = 0; i < 6; ++i) {
            try {
              stream s(d);
              buffer<std::uint64_t> word(s, 1 + i);
              s.fill(word.data(), 0, 8);
              auto& mine = runs[2 * (t * 6 + i)];
              auto& then = runs[2 * (t * 6 + i) + 1];
              auto f = plx::async(on, counted, counted_item{&mine}, s.future());
              if (t % 2 == 0) f = plx::async(executor(d), counted, counted_item{&then}, std::move(f));
              f.get();
              EXPECT_EQ(mine, 1u);
              EXPECT_EQ(then, t % 2 == 0 ? 1u : 0u);
            } catch (const error&) {
            }
            ++answered;
          }
        }));
      for (auto& f : all) f.get();
    });
    ASSERT_EQ(answered, 48u);
    for (auto& n : runs) ASSERT_LE(n, 1u);
  }
}

// Runs in a separate process, where the device is unusable afterwards.
void crash_and_tell(const backend& b) {
  plx::runtime rt({.workers = 2, .bind = false});
  int right = 0;
  {
    device d(rt, b);
    rt.run([&] {
      stream s(d), other(d);
      other.launch(testing::spin, testing::spin_item{1'000'000, nullptr, 0});
      s.launch(testing::crash, testing::crash_item{});
      auto behind = s.future();
      const error e = error_of(behind);
      right += e.kind() == failure::device_lost && e.kernel() == "crash";
      auto later = other.future();
      right += error_of(later).kind() == failure::device_lost;
      std::fprintf(stderr, "%s\n", e.what());
    });
  }
  std::fprintf(stderr, "right: %d\n", right);
  std::exit(0);
}

TEST(failure, a_crash_on_the_device_names_the_kernel) {
  bool any = false;
  for (const backend* b : backends()) {
    if (b->name == "cpu" || device_count(*b) == 0) continue;
    if (b->name == "sycl" && std::getenv("PLX_SYCL_DEVICES") == std::string("cpu"))
      continue;  // the crash ends the process
    any = true;
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(crash_and_tell(*b), ::testing::ExitedWithCode(0), "kernel 'crash'(.|\n)*right: 2");
  }
  if (!any) GTEST_SKIP() << "no device whose kernels can crash";
}

}  // namespace
}  // namespace plx::gpu
