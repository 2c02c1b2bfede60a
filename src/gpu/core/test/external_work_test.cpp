#include "gpu/stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "gpu/buffer.hpp"
#include "gpu/core/device_core.hpp"
#include "gpu/test/each_device_test.hpp"
#include "gpu/test/message_of_test.hpp"
#include "gpu/testing/operations.hpp"

namespace plx::gpu {
namespace {

using plx::testing::message_of;
using plx::testing::on_each_device;
using plx::testing::on_stepped_devices;

TEST(external_work, is_ordered_in_its_stream_and_has_a_future) {
  const auto body = [](plx::runtime& rt, device& d) {
    const int sum = rt.run([&] {
      stream s(d);
      buffer<unsigned char> word(s, 8, memory_kind::pinned);
      s.fill(word.data(), 1, 8);
      const backend& b = d.get_backend();
      plx::future<void> f = async_put(s, named_operation("by hand"), [&] {
        EXPECT_TRUE(b.fill(d.native(), s.native(), word.data(), 2, 4));  // as another library would do
      });
      s.fill(word.data(), 3, 1);
      f.get();
      s.future().get();
      int total = 0;
      for (const unsigned char c : word.span()) total += c;
      return total;
    });
    EXPECT_EQ(sum, 3 + 3 * 2 + 4 * 1);
  };
  on_each_device(body);
  on_stepped_devices(body);
}

TEST(external_work, holds_the_exception_and_the_stream_continues) {
  on_each_device([](plx::runtime& rt, device& d) {
    rt.run([&] {
      stream s(d);
      auto fails = async_put(s, named_operation("throws"), [] { throw std::runtime_error("no handle"); });
      auto works = async_put(s, named_operation("works"), [] {});
      EXPECT_EQ(message_of([&] { fails.get(); }), "no handle");
      EXPECT_EQ(message_of([&] { works.get(); }), "");
    });
  });
}

TEST(external_work, names_the_operation_when_the_device_is_lost) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, b.get());
  stream s(d);
  b.hold(true);
  auto pending = async_put(s, named_operation("solve"), [] {});
  b.lose(0);
  b.hold(false);
  EXPECT_THAT(message_of([&] { pending.get(); }), ::testing::HasSubstr("solve"));
  bool called = false;
  EXPECT_NE(message_of([&] { async_put(s, named_operation("later"), [&] { called = true; }).get(); }), "");
  EXPECT_FALSE(called);
}

TEST(external_work, is_refused_during_a_capture) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 2, .bind = false});
  device d(rt, b.get());
  stream s(d);
  bool called = false;
  std::string message;
  const graph g = s.capture([&] {
    s.launch(testing::empty, testing::empty_item{});
    message = message_of([&] { async_put(s, named_operation("solve"), [&] { called = true; }).get(); });
  });
  EXPECT_THAT(message, ::testing::HasSubstr("a future was requested during the capture of a graph"));
  EXPECT_FALSE(called);
  EXPECT_EQ(d.core().counts().launches, 0u);
  s.launch(g);
  s.wait();
  EXPECT_EQ(d.core().counts().launches, 1u);
}

TEST(external_work, has_one_operation_per_name) {
  EXPECT_EQ(&named_operation("gemm"), &named_operation(std::string("gemm")));
  EXPECT_NE(&named_operation("gemm"), &named_operation("gemv"));
  EXPECT_STREQ(named_operation("gemm").name, "gemm");
}

}  // namespace
}  // namespace plx::gpu
