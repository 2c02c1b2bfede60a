// Timelines from activity records of the device library, with those of the cpu backend.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gpu/buffer.hpp"
#include "gpu/core/timeline.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/executor.hpp"
#include "gpu/stream.hpp"
#include "gpu/testing/operations.hpp"
#include "probe/record/recorder.hpp"
#include "rt/async.hpp"
#include "rt/runtime.hpp"

namespace plx::gpu {
namespace {

using detail::activity_matcher;
using probe::device_lanes;
using probe::device_work;
using probe::trace_data;
using testing::empty;
using testing::empty_item;

/// Keeps the thread busy for that many seconds.
void work_for(double s) {
  for (const ticks end = now_ticks() + ticks_from(s); now_ticks() < end;) {
  }
}
struct busy_item {
  double s;
};
void be_busy(const busy_item& item) { work_for(item.s); }
constexpr auto busy = cpu_operation<busy_item, be_busy>("busy");

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

TEST(activity, each_kernel_of_a_graph_has_a_record) {
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

TEST(activity, operations_without_a_record_count_as_lost) {
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

TEST(activity, a_matcher_matches_records_and_submissions_in_any_order) {
  probe::recorder r(1);
  r.trace(true, 16);
  probe::device_lane& lane = *r.devices().take("gpu 0", "stream 1");
  activity_matcher matcher;
  detail::stream_path owner, other;
  const ticks t = now_ticks();
  const auto describe = [&](std::uint64_t tag, probe::device_work kind) {
    matcher.describe(tag,
                     {.submitted = t, .number = lane.next_number(), .name = probe::register_name("op"), .kind = kind});
  };
  const std::uint64_t a = matcher.submit(lane, owner), c = matcher.submit(lane, owner),
                      refused = matcher.submit(lane, owner);
  matcher.add_record(
      {.tag = c, .begin = t + 20, .end = t + 30, .kernel = "_ZN3plx4star12_GLOBAL__N_17advanceILi8EEEvi"});
  describe(a, probe::device_work::kernel);
  describe(c, probe::device_work::graph);
  matcher.forget(refused);
  matcher.add_record({.tag = refused, .begin = t, .end = t + 1});
  matcher.add_record({.tag = 0, .begin = t, .end = t + 1});
  matcher.add_record({.tag = c, .begin = t + 40, .end = t + 45, .kernel = "plain"});
  matcher.add_record({.tag = a, .begin = t - 5, .end = t + 10});  // an imprecise clock
  const trace_data d = r.collect_trace();
  EXPECT_EQ(names_of(d), (std::vector<std::string>{"op", "advance", "plain"}));
  EXPECT_EQ(d.workers[1][0].begin, t);
  EXPECT_EQ(d.workers[1][2].id, lane.id_of(2));  // a task that waited for the graph waited for its last kernel
  EXPECT_EQ(matcher.leave(other), 0u);
  const std::uint64_t last = matcher.submit(lane, owner);
  describe(last, probe::device_work::copy);
  EXPECT_EQ(matcher.leave(owner), 1u);
  matcher.add_record({.tag = last, .begin = t, .end = t + 1});
  EXPECT_EQ(r.collect_trace().workers[1].size(), 3u);
}

TEST(activity, a_matcher_counts_the_records_of_an_async_put_as_one_call) {
  probe::recorder r(1);
  r.trace(true, 16);
  probe::device_lane& lane = *r.devices().take("gpu 0", "stream 1");
  activity_matcher matcher;
  detail::stream_path owner;
  const ticks t = now_ticks();
  const auto call = [&](std::vector<activity> parts) {
    const std::uint64_t tag = matcher.submit(lane, owner);
    matcher.describe(tag, {.submitted = t,
                           .number = lane.next_number(),
                           .bytes = 64,
                           .name = probe::register_name("gemm"),
                           .items = 1,
                           .kind = device_work::kernel});
    for (activity& a : parts) {
      a.tag = tag;
      matcher.add_record(a);
    }
  };
  call({{.begin = t, .end = t + 100}, {.begin = t + 100, .end = t + 300}, {.begin = t + 350, .end = t + 400}});
  call({{.begin = t + 400, .end = t + 500}, {.begin = t + 500, .end = t + 550}});
  const auto rows = r.devices().work();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].calls, 2u);
  EXPECT_EQ(rows[0].items, 2u);
  EXPECT_EQ(rows[0].bytes, 128u);
  EXPECT_DOUBLE_EQ(rows[0].total_s, seconds(500));
  EXPECT_DOUBLE_EQ(rows[0].min_s, seconds(150));
  EXPECT_DOUBLE_EQ(rows[0].max_s, seconds(350));
  EXPECT_EQ(r.devices().times().at(0).operations, 2u);
  EXPECT_EQ(r.collect_trace().workers[1].size(), 5u);
}

TEST(activity, a_matcher_computes_the_longest_path_through_a_stream) {
  probe::recorder r(1);
  probe::device_lane& lane = *r.devices().take("gpu 0", "stream 1");
  activity_matcher matcher;
  detail::stream_path owner;
  const std::uint64_t a = matcher.submit(lane, owner, 10), b = matcher.submit(lane, owner, 12),
                      c = matcher.submit(lane, owner, 100), d = matcher.submit(lane, owner, 0);
  EXPECT_EQ(matcher.path_behind(owner, d), 0u);  // no record has arrived: the caller knows the path to it
  matcher.add_record({.tag = a, .begin = 1000, .end = 1005});
  EXPECT_EQ(matcher.path_behind(owner, a), 15u);
  EXPECT_EQ(matcher.path_behind(owner, d), 15u);
  matcher.add_record({.tag = c, .begin = 1020, .end = 1023});  // from 100 on
  matcher.add_record({.tag = b, .begin = 1006, .end = 1010});  // late: a path that is too short is permitted
  EXPECT_EQ(matcher.path_behind(owner, a), 15u);
  EXPECT_EQ(matcher.path_behind(owner, b), 12u);
  EXPECT_EQ(matcher.path_behind(owner, c), 103u);
  matcher.add_record({.tag = d, .begin = 1023, .end = 1030});
  matcher.add_record({.tag = d, .begin = 1025, .end = 1033});  // two concurrent kernels of a graph
  EXPECT_EQ(matcher.path_behind(owner, d), 113u);
  EXPECT_EQ(matcher.leave(owner), 0u);
}

TEST(activity, the_longest_path_leads_through_a_device) {
  for (const auto source : {device_lanes::source::activity, device_lanes::source::events}) {
    cpu::testing_backend b({});
    plx::runtime rt({.workers = 2, .bind = false});
    rt.recorder().devices().set_source(source);
    rt.recorder().trace(true, ring_records);
    constexpr double each_s = 2e-3;
    const task_info giver(probe::register_name("giver")), taker(probe::register_name("taker"));
    {
      device d(rt, b.get());
      const executor on(d);
      rt.run([&] {
        plx::future<void> done = plx::async(giver, [&] {
                                   work_for(each_s);
                                   return plx::async(on, busy, busy_item{each_s});
                                 }).get();
        done.then(taker,
                  [&](auto f) {
                    f.get();
                    work_for(each_s);
                  })
            .get();
      });
    }
    EXPECT_GE(rt.recorder().span_s(), 3 * each_s);
  }
}

}  // namespace
}  // namespace plx::gpu
