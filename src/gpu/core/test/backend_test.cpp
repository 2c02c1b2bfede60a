// Every function of the table, on every backend with a device.
#include "gpu/backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu {
namespace {

using ::testing::HasSubstr;

void expect_ok(const outcome& o) { EXPECT_EQ(o.code, 0) << o.call; }

class each_backend : public ::testing::TestWithParam<const backend*> {
 protected:
  void SetUp() override {
    int n = 0;
    if (const outcome o = b.count(b, n); !o) GTEST_SKIP() << make_error(b, o, "", "").what();
    ASSERT_GT(n, 0);
    expect_ok(b.open(b, 0, d));
    expect_ok(b.make_stream(d, s));
  }
  void TearDown() override {
    if (d == nullptr) return;
    expect_ok(b.synchronize(d, s));
    b.free_stream(d, s);
    b.close(d);
  }
  const backend& b = *GetParam();
  native_device d = nullptr;
  native_stream s = nullptr;
};

TEST_P(each_backend, describes_its_device) {
  device_info info;
  expect_ok(b.describe(d, info));
  EXPECT_FALSE(info.name.empty());
  EXPECT_GT(info.memory_bytes, 0u);
}

TEST_P(each_backend, copies_fills_and_computes_in_order) {
  constexpr std::size_t n = 1000, bytes = n * sizeof(double);
  void *host = nullptr, *x = nullptr, *z = nullptr;
  expect_ok(b.allocate(d, memory_kind::pinned, 2 * bytes, host));
  expect_ok(b.allocate(d, memory_kind::device, bytes, x));
  expect_ok(b.allocate(d, memory_kind::device, bytes, z));
  auto* h = static_cast<double*>(host);
  for (std::size_t i = 0; i < n; ++i) h[i] = static_cast<double>(i), h[n + i] = -1;
  expect_ok(b.copy(d, s, x, h, bytes));
  expect_ok(b.fill(d, s, z, 0xff, bytes));
  const testing::add_item item{static_cast<double*>(x), static_cast<double*>(x), static_cast<double*>(z), n};
  expect_ok(b.launch(d, testing::add, {s, nullptr, nullptr}, &item, 1, nullptr));
  expect_ok(b.copy(d, s, h + n, z, bytes));
  expect_ok(b.synchronize(d, s));
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(h[n + i], 2.0 * static_cast<double>(i));
  b.release(d, memory_kind::pinned, host);
  b.release(d, memory_kind::device, x);
  b.release(d, memory_kind::device, z);
}

TEST_P(each_backend, events_are_not_ready_before_earlier_work) {
  native_event e = nullptr, end = nullptr;
  expect_ok(b.make_event(d, true, e));
  expect_ok(b.make_event(d, true, end));
  void* word = nullptr;
  expect_ok(b.allocate(d, memory_kind::pinned, 64, word));
  std::memset(word, 0, 64);
  // The kernel may already have ended at the first query if this thread was preempted: then a longer one is used.
  bool done = true, was_open = false;
  std::uint64_t nanoseconds = 1'000'000;
  while (!was_open && nanoseconds < 4'000'000'000) {
    nanoseconds *= 2;
    const testing::spin_item spin{nanoseconds, static_cast<std::uint32_t*>(word), 7};
    expect_ok(b.record(d, e, s));
    expect_ok(b.launch(d, testing::spin, {s, nullptr, nullptr}, &spin, 1, nullptr));
    expect_ok(b.record(d, end, s));
    for (;;) {
      expect_ok(b.query(d, end, done));
      if (done) break;
      was_open = true;
    }
  }
  EXPECT_TRUE(was_open);
  EXPECT_EQ(std::atomic_ref(*static_cast<std::uint32_t*>(word)).load(), 7u);
  double seconds = 0;
  expect_ok(b.elapsed(d, e, end, seconds));
  // For SYCL the kernel counts iterations: the standard has no device clock.
  EXPECT_GE(seconds, b.name == "sycl" ? 0 : 0.95e-9 * static_cast<double>(nanoseconds));
  EXPECT_TRUE(comes_true([&] {
    expect_ok(b.query_stream(d, s, done));
    return done;
  }));
  b.free_event(d, e);
  b.free_event(d, end);
  b.release(d, memory_kind::pinned, word);
}

TEST_P(each_backend, one_stream_waits_for_another) {
  native_stream other = nullptr;
  native_event e = nullptr;
  expect_ok(b.make_stream(d, other));
  expect_ok(b.make_event(d, false, e));
  void* p = nullptr;
  expect_ok(b.allocate(d, memory_kind::pinned, 64, p));
  std::memset(p, 0, 64);
  auto* word = static_cast<std::uint64_t*>(p);
  const testing::spin_item spin{1'000'000, nullptr, 0};
  const testing::chain_item first{word, 1}, second{word, 2};
  expect_ok(b.launch(d, testing::spin, {s, nullptr, nullptr}, &spin, 1, nullptr));
  expect_ok(b.launch(d, testing::chain, {s, nullptr, nullptr}, &first, 1, nullptr));
  expect_ok(b.record(d, e, s));
  expect_ok(b.wait(d, other, e));
  expect_ok(b.launch(d, testing::chain, {other, nullptr, nullptr}, &second, 1, nullptr));
  expect_ok(b.synchronize(d, other));
  EXPECT_EQ(*word, 31u * 1 + 2);
  b.free_event(d, e);
  b.free_stream(d, other);
  b.release(d, memory_kind::pinned, p);
}

TEST_P(each_backend, notifies_the_host_by_call_and_by_flag) {
  void* p = nullptr;
  expect_ok(b.allocate(d, memory_kind::pinned, 64, p));
  std::memset(p, 0, 64);
  auto* flag = static_cast<std::uint32_t*>(p);
  std::atomic<int> called{0};
  expect_ok(b.call(
      d, s, [](void* c) { static_cast<std::atomic<int>*>(c)->fetch_add(1); }, &called));
  expect_ok(b.write_flag(d, s, flag, 42));
  expect_ok(b.synchronize(d, s));
  EXPECT_EQ(called.load(), 1);
  EXPECT_EQ(std::atomic_ref(*flag).load(), 42u);
  b.release(d, memory_kind::pinned, p);
}

TEST_P(each_backend, graphs_run_repeatedly) {
  void* p = nullptr;
  expect_ok(b.allocate(d, memory_kind::pinned, 64, p));
  std::memset(p, 0, 64);
  auto* word = static_cast<std::uint64_t*>(p);
  if (const outcome o = b.begin_capture(d, s); b.kind_of(o.code) == failure::unsupported) {
    b.release(d, memory_kind::pinned, p);
    GTEST_SKIP() << make_error(b, o, "", "").what();
  } else {
    expect_ok(o);
  }
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const testing::chain_item item{word, i};
    expect_ok(b.launch(d, testing::chain, {s, nullptr, nullptr}, &item, 1, nullptr));
  }
  native_graph g = nullptr;
  expect_ok(b.end_capture(d, s, g));
  ASSERT_NE(g, nullptr);
  expect_ok(b.synchronize(d, s));
  EXPECT_EQ(*word, 0u);  // captured, not run
  std::uint64_t expected = 0;
  for (int n = 0; n < 4; ++n) {
    expect_ok(b.launch_graph(d, g, s));
    for (std::uint64_t i = 1; i <= 3; ++i) expected = expected * 31 + i;
  }
  expect_ok(b.synchronize(d, s));
  EXPECT_EQ(*word, expected);
  b.free_graph(d, g);
  b.release(d, memory_kind::pinned, p);
}

TEST_P(each_backend, reports_errors) {
  native_device none = nullptr;
  const outcome o = b.open(b, 99, none);
  ASSERT_FALSE(o);
  EXPECT_EQ(b.kind_of(o.code), failure::no_device);
  void* p = nullptr;
  const outcome m = b.allocate(d, memory_kind::device, std::size_t{1} << 46, p);
  ASSERT_FALSE(m);
  EXPECT_EQ(b.kind_of(m.code), failure::out_of_memory);
  EXPECT_THAT(make_error(b, m, "k", "0").what(), HasSubstr("out of memory"));
}

INSTANTIATE_TEST_SUITE_P(all, each_backend, ::testing::ValuesIn(backends()),
                         [](const auto& i) { return std::string(i.param->name); });

TEST(backends_test, reasons_why_there_is_no_device_are_distinct) {
  for (const auto& [code, text] : {std::pair(cpu::no_driver, "no driver"),
                                   {cpu::driver_too_old, "driver too old"},
                                   {cpu::no_device, "no device"}}) {
    cpu::testing_backend b({.count_fails = code});
    int n = 5;
    const outcome o = b.get().count(b.get(), n);
    EXPECT_EQ(n, 0);
    const std::string message = make_error(b.get(), o, "", "").what();
    EXPECT_THAT(message, HasSubstr(text));
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

// The last entry of a lost device may still read or write memory, its own or that of another device.
TEST(backends_test, memory_is_freed_after_the_entries_that_run_on_lost_devices) {
  for (const int owner : {0, 1}) {
    cpu::testing_backend made({.devices = 2});
    const backend& b = made.get();
    native_device devices[2];
    native_stream s;
    void* memory = nullptr;
    for (const int i : {0, 1}) expect_ok(b.open(b, i, devices[i]));
    expect_ok(b.make_stream(devices[0], s));
    expect_ok(b.allocate(devices[owner], memory_kind::device, 64, memory));
    struct entry {
      std::atomic<bool> runs = false, may_end = false, ended = false;
    } it;
    expect_ok(b.call(
        devices[0], s,
        [](void* arg) {
          auto& e = *static_cast<entry*>(arg);
          e.runs = true;
          while (!e.may_end) std::this_thread::yield();
          e.ended = true;
        },
        &it));
    while (!it.runs) std::this_thread::yield();
    made.lose(0);
    std::thread freeing([&] {
      b.release(devices[owner], memory_kind::device, memory);
      EXPECT_TRUE(it.ended);
    });
    for (int i = 0; i < 100; ++i) std::this_thread::yield();
    it.may_end = true;
    freeing.join();
    b.free_stream(devices[0], s);
    for (const native_device d : devices) b.close(d);
  }
}

TEST(backends_test, a_backend_without_a_device_reports_why_in_one_line) {
  for (const backend* b : backends()) {
    int n = 0;
    const outcome o = b->count(*b, n);
    if (o) continue;
    const std::string message = make_error(*b, o, "", "").what();
    const failure kind = b->kind_of(o.code);
    EXPECT_TRUE(kind == failure::no_driver || kind == failure::driver_too_old || kind == failure::no_device) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.rfind(std::string(b->name) + ": ", 0), 0u) << message;
    EXPECT_TRUE(b->name == "cuda" || message.find("cuda") == std::string::npos) << message;  // hip has the same source
  }
}

TEST(backends_test, an_unknown_backend_is_an_error_with_the_known_ones) {
  try {
    static_cast<void>(find_backend("opencl"));
    FAIL();
  } catch (const error& e) {
    EXPECT_THAT(e.what(), HasSubstr("'opencl'"));
    EXPECT_THAT(e.what(), HasSubstr("cpu"));
  }
}

}  // namespace
}  // namespace plx::gpu
