#include "gpu/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/log.hpp"
#include "gpu/buffer.hpp"
#include "gpu/test/each_device_test.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu {
namespace {

using plx::testing::on_each_device;
using plx::testing::on_stepped_devices;

TEST(executor, a_chain_of_futures_stays_ordered_across_streams) {
  const auto body = [](plx::runtime& rt, device& d) {
    rt.run([&] {
      stream s(d);
      buffer<std::uint64_t> word(s, 1, memory_kind::pinned);
      word.span()[0] = 0;
      const executor on(d);
      plx::future<void> last = plx::make_ready_future();
      std::uint64_t expected = 0;
      for (std::uint64_t i = 1; i <= 30; ++i) {
        last = plx::async(on, testing::chain, testing::chain_item{word.data(), i}, std::move(last));
        expected = expected * 31 + i;
      }
      last.get();
      EXPECT_EQ(word.span()[0], expected);
    });
  };
  on_each_device(body);
  on_stepped_devices(body);
}

TEST(executor, an_item_may_be_a_future) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      stream s(d);
      buffer<std::uint64_t> word(s, 1, memory_kind::pinned);
      word.span()[0] = 2;
      plx::future<testing::chain_item> item = plx::async([&] { return testing::chain_item{word.data(), 5}; });
      plx::shared_future<int> other = plx::async([] { return 1; }).share();
      plx::async(executor(d), testing::chain, std::move(item), other, other).get();
      EXPECT_EQ(word.span()[0], 67u);
    });
  });
}

TEST(executor, dependents_of_a_failed_launch_fail_with_its_error) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      stream s(d);
      buffer<std::uint64_t> word(s, 1, memory_kind::pinned);
      word.span()[0] = 1;
      plx::future<int> wrong = plx::async([]() -> int { throw std::runtime_error("not today"); });
      auto a = plx::async(executor(d), testing::chain, testing::chain_item{word.data(), 5}, std::move(wrong));
      auto b = plx::async(executor(d), testing::chain, testing::chain_item{word.data(), 6}, std::move(a));
      EXPECT_THROW(b.get(), std::runtime_error);
      d.wait();
      EXPECT_EQ(word.span()[0], 1u);
    });
  });
}

TEST(executor, launches_are_distributed_over_streams) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      constexpr std::size_t n = 300;
      stream s(d);
      buffer<std::uint64_t> words(s, n, memory_kind::pinned);
      std::vector<plx::future<void>> all;
      for (std::size_t i = 0; i < n; ++i) {
        words.span()[i] = i;
        all.push_back(plx::async(executor(d), testing::chain, testing::chain_item{words.data() + i, 1}));
      }
      for (auto& f : all) f.get();
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(words.span()[i], i * 31 + 1);
    });
  });
}

TEST(executor, an_exception_of_an_item_on_the_cpu_is_in_its_future) {
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, cpu::table());
  rt.run([&] {
    auto bad = plx::async(executor(d), testing::crash, testing::crash_item{});
    auto good = plx::async(executor(d), testing::empty, testing::empty_item{});
    EXPECT_THROW(bad.get(), std::runtime_error);
    good.get();
  });
}

TEST(executor, an_error_of_a_posted_launch_is_logged) {
  std::string message;
  log_to_function([](void* to, log_level, std::string_view text) { *static_cast<std::string*>(to) += text; }, &message,
                  log_level::warning);
  {
    plx::runtime rt({.workers = 1, .bind = false});
    device d(rt, cpu::table());
    rt.run([&] {
      plx::post(executor(d), testing::crash, testing::crash_item{});
      d.wait();
    });
  }
  log_to_function(nullptr, nullptr, log_level::none);
  EXPECT_THAT(message, ::testing::HasSubstr("a posted launch of 'crash' failed: crashed as asked"));
}

TEST(executor, several_devices_work_independently) {
  for (const backend* b : backends()) {
    const int n = b->name == "cpu" ? 0 : device_count(*b);
    cpu::testing_backend two({.devices = 2});
    const backend& used = n == 0 && b->name == "cpu" ? two.get() : *b;
    const int count = device_count(used);
    if (count == 0) continue;
    plx::runtime rt({.workers = 2, .bind = false});
    std::vector<std::unique_ptr<device>> devices;
    for (int i = 0; i < count; ++i) devices.push_back(std::make_unique<device>(rt, used, i));
    rt.run([&] {
      std::vector<stream> streams;
      std::vector<buffer<std::uint64_t>> words;
      std::vector<plx::future<void>> last(devices.size());
      for (auto& d : devices) {
        streams.emplace_back(*d);
        words.emplace_back(streams.back(), 1, memory_kind::pinned);
        words.back().span()[0] = 0;
      }
      for (std::size_t d = 0; d < devices.size(); ++d) last[d] = plx::make_ready_future();
      for (std::uint64_t i = 1; i <= 20; ++i)
        for (std::size_t d = 0; d < devices.size(); ++d)
          last[d] = plx::async(executor(*devices[d]), testing::chain, testing::chain_item{words[d].data(), i},
                               std::move(last[d]));
      std::uint64_t expected = 0;
      for (std::uint64_t i = 1; i <= 20; ++i) expected = expected * 31 + i;
      for (std::size_t d = 0; d < devices.size(); ++d) {
        last[d].get();
        EXPECT_EQ(words[d].span()[0], expected) << d;
      }
    });
  }
}

}  // namespace
}  // namespace plx::gpu
