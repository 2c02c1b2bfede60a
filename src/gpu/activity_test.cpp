// Timelines by a library's own records, with those of the cpu backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/buffer.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/detail/activity_book.hpp"
#include "gpu/stream.hpp"
#include "gpu/testing/operations.hpp"
#include "probe/recorder.hpp"
#include "rt/async.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu {
namespace {

using detail::activity_book;
using probe::device_lanes;
using probe::trace_data;
using testing::empty;
using testing::empty_item;

constexpr std::size_t ring_records = std::size_t{1} << 12;

std::vector<std::string> names_of(const trace_data& d) {
  std::vector<std::string> names;
  for (std::size_t w = 0; w < d.workers.size(); ++w) {
    if (!d.is_device(w)) continue;
    ticks last = 0;
    for (const probe::trace_slice& s : d.workers[w]) {
      EXPECT_GE(s.begin, std::max(last, s.ready));
      EXPECT_GE(s.end, s.begin);
      last = s.end;
      names.emplace_back(probe::name_of(s.name));
    }
    EXPECT_LE(last, now_ticks());
  }
  return names;
}

TEST(activity, records_tell_of_each_kernel_of_a_graph) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 2, .bind = false});
  rt.recorder().devices().set_source(device_lanes::source::activity);
  rt.recorder().trace(true, ring_records);
  const task_info giver(probe::register_name("giver"));
  {
    device d(rt, b.get());
    rt.run([&] {
      plx::async(giver, [&] {
        stream s(d);
        buffer<std::uint64_t> word(s, 16);
        s.fill(word.data(), 0, 128);
        const graph g = s.capture([&] {
          s.launch(testing::chain, testing::chain_item{word.data(), 2});
          s.copy(word.data() + 1, word.data(), 8);
          s.launch(empty, empty_item{});
        });
        s.launch(g);
        b.fail_call("launch", cpu::invalid);
        EXPECT_THROW(s.launch(testing::spin, testing::spin_item{0, nullptr, 0}), error);
        s.launch(testing::crash, testing::crash_item{});
        EXPECT_THROW(s.wait(), error);
        s.launch(g);
        s.wait();
      }).get();
    });
  }
  const trace_data data = rt.recorder().collect_trace();
  EXPECT_EQ(data.lost, 0u);
  EXPECT_EQ(names_of(data),
            (std::vector<std::string>{"fill", "chain", "copy", "empty", "crash", "chain", "copy", "empty"}));
  std::size_t from_giver = 0;
  for (const probe::trace_edge& e : data.edges)
    for (const auto& row : data.workers)
      for (const probe::trace_slice& s : row)
        from_giver += s.id == e.from && probe::name_of(s.name) == "giver" && (e.to >> 40 & 0xffff) == 3 ? 1 : 0;
  EXPECT_GE(from_giver, 8u);
}

TEST(activity, a_backend_without_records_is_timed_by_events) {
  cpu::testing_backend b({});
  backend without = b.get();
  without.records = nullptr;
  plx::runtime rt({.workers = 1, .bind = false});
  rt.recorder().devices().set_source(device_lanes::source::activity);
  rt.recorder().trace(true, ring_records);
  {
    device d(rt, without);
    rt.run([&] {
      stream s(d);
      const graph g = s.capture([&] { s.launch(empty, empty_item{}); });
      s.launch(g);
      s.wait();
    });
  }
  EXPECT_EQ(names_of(rt.recorder().collect_trace()), (std::vector<std::string>{"graph of 1: empty"}));
}

TEST(activity, what_no_record_comes_of_is_lost) {
  cpu::testing_backend b({});
  plx::runtime rt({.workers = 1, .bind = false});
  rt.recorder().devices().set_source(device_lanes::source::activity);
  rt.recorder().trace(true, ring_records);
  {
    device d(rt, b.get());
    rt.run([&] {
      stream s(d);
      b.hold(true);
      for (int i = 0; i < 7; ++i) s.launch(empty, empty_item{});
      auto f = s.future();
      b.lose(0);
      b.hold(false);
      EXPECT_THROW(f.get(), error);
    });
  }
  EXPECT_EQ(rt.recorder().devices().lost(), 7u);
}

TEST(activity, a_book_puts_records_and_submissions_together_whichever_comes_first) {
  probe::recorder r(1);
  r.trace(true, 16);
  probe::device_lane& lane = *r.devices().take("gpu 0", "stream 1");
  activity_book book;
  const int owner = 0, other = 0;
  const ticks t = now_ticks();
  const auto describe = [&](std::uint64_t tag, probe::device_work kind) {
    book.describe(tag,
                  {.submitted = t, .number = lane.next_number(), .name = probe::register_name("op"), .kind = kind});
  };
  const std::uint64_t a = book.submit(lane, &owner), c = book.submit(lane, &owner), refused = book.submit(lane, &owner);
  book.heard({.tag = c, .begin = t + 20, .end = t + 30, .kernel = "_ZN3plx4star12_GLOBAL__N_17advanceILi8EEEvi"});
  describe(a, probe::device_work::kernel);
  describe(c, probe::device_work::graph);
  book.forget(refused);
  book.heard({.tag = refused, .begin = t, .end = t + 1});
  book.heard({.tag = 0, .begin = t, .end = t + 1});
  book.heard({.tag = c, .begin = t + 40, .end = t + 45, .kernel = "plain"});
  book.heard({.tag = a, .begin = t - 5, .end = t + 10});  // an imprecise clock
  const trace_data d = r.collect_trace();
  EXPECT_EQ(names_of(d), (std::vector<std::string>{"op", "advance", "plain"}));
  EXPECT_EQ(d.workers[1][0].begin, t);
  EXPECT_EQ(d.workers[1][2].id, lane.id_of(2));  // what waited for the graph waited for its last kernel
  EXPECT_EQ(book.leave(&other), 0u);
  const std::uint64_t last = book.submit(lane, &owner);
  describe(last, probe::device_work::copy);
  EXPECT_EQ(book.leave(&owner), 1u);
  book.heard({.tag = last, .begin = t, .end = t + 1});
  EXPECT_EQ(r.collect_trace().workers[1].size(), 3u);
}

}  // namespace
}  // namespace plx::gpu
