#include "probe/record/device_lanes.hpp"

#include <gtest/gtest.h>

#include "probe/record/recorder.hpp"
#include "probe/record/trace_sink.hpp"
#include "trace/profile.hpp"
#include "trace/trace_graph.hpp"

namespace plx::probe {
namespace {

device_operation operation(device_lane& l, ticks begin, ticks end, task_id from = 0, std::string_view name = "kernel") {
  return {.begin = begin,
          .end = end,
          .submitted = begin - 1,
          .from = from,
          .number = l.next_number(),
          .bytes = 100,
          .name = register_name(name),
          .items = 2};
}

TEST(device_lanes, measure_nothing_until_requested) {
  recorder r(2);
  EXPECT_EQ(r.devices().mode(), 0u);
  r.trace(true, 16);
  EXPECT_EQ(r.devices().mode(), device_lanes::tracing);
  r.devices().set_source(device_lanes::source::none);
  EXPECT_EQ(r.devices().mode(), 0u);
  r.devices().set_source(device_lanes::source::events);
  r.devices().set_statistics(true);
  r.trace(false);
  EXPECT_EQ(r.devices().mode(), device_lanes::statistics);
}

TEST(device_lanes, an_operation_that_ends_before_it_begins_has_no_length) {
  recorder r(1);
  r.trace(true, 16);
  device_lane& lane = *r.devices().take("gpu 0", "stream 1");
  const ticks t = now_ticks();
  lane.add(operation(lane, t + 40, t + 10));
  const trace_data data = r.collect_trace();
  ASSERT_EQ(data.workers.size(), 2u);
  ASSERT_EQ(data.workers[1].size(), 1u);
  EXPECT_EQ(data.workers[1][0].begin, data.workers[1][0].end);
}

TEST(device_lanes, operations_that_a_drain_flushes_are_counted_and_named_once) {
  struct counting final : trace_sink {
    void row(unsigned, std::string_view, std::uint32_t device) override { names += device != 0 ? 1 : 0; }
    void operations(unsigned, std::span<const device_operation> some) override { n += some.size(); }
    std::size_t names = 0, n = 0;
  } sink, other;
  recorder r(1);
  r.stream_to(&sink);
  r.trace(true, 16);
  device_lane& lane = *r.devices().take("gpu 0", "stream 1");
  const auto add = [](void* to) {
    device_lane& l = *static_cast<device_lane*>(to);
    l.add(operation(l, now_ticks() - 10, now_ticks()));
  };
  for (int i = 0; i < 3; ++i) add(&lane), r.drain();
  r.devices().add_flush(add, &lane);
  r.stream_to(&other);
  EXPECT_EQ(sink.n, 4u);
  EXPECT_EQ(sink.names, 1u);
  EXPECT_EQ(r.traced(), 4u);
  r.stream_to(nullptr);
  EXPECT_EQ(other.names, 1u);
  EXPECT_EQ(r.traced(), 4u + other.n);
  r.devices().remove_flush(&lane);
}

TEST(device_lanes, show_their_latest_operations) {
  recorder r(1);
  device_lanes& all = r.devices();
  device_lane& second = *all.take("gpu 1", "stream 1");
  device_lane& first = *all.take("gpu 0", "stream 1");
  static_cast<void>(all.take("gpu 0", "stream 2"));  // has no operations
  const ticks t = now_ticks();
  first.add(operation(first, t, t + 10));
  EXPECT_TRUE(all.recent(0).empty());  // not requested yet
  EXPECT_EQ(all.mode(), 0u);
  all.look();
  EXPECT_EQ(all.mode(), device_lanes::watching);
  first.add(operation(first, t + 20, t + 30));
  first.add(operation(first, t + 50, t + 60, 0, "late"));
  first.add(operation(first, t + 25, t + 40));  // recorded later, with an overlap by clock inaccuracy
  EXPECT_EQ(all.recent(0).size(), 1u);
  second.add(operation(second, t, t + 5));
  const auto lanes = all.recent(t + 30);
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_EQ(lanes[0].lane, "gpu 1, stream 1");
  EXPECT_TRUE(lanes[0].slices.empty());  // none that late
  EXPECT_GE(lanes[0].known_from, t);
  EXPECT_EQ(lanes[1].lane, "gpu 0, stream 1");
  ASSERT_EQ(lanes[1].slices.size(), 2u);
  EXPECT_EQ(lanes[1].slices[0].begin, t + 25);
  EXPECT_EQ(name_of(lanes[1].slices[1].name), "late");
  ASSERT_EQ(all.recent(0)[1].slices.size(), 3u);
  EXPECT_EQ(all.recent(0)[1].slices[1].begin, t + 30);  // none begins before the previous one has ended
  for (ticks i = 0; i < 5000; ++i) first.add(operation(first, t + 100 + i, t + 101 + i));
  EXPECT_EQ(all.recent(0)[1].slices.size(), 4096u);
  EXPECT_EQ(all.recent(0)[1].known_from, std::max(all.recent(0)[0].known_from, t + 100 + 5000 - 4096));
  EXPECT_EQ(r.traced(), 0u);
}

TEST(device_lanes, are_rows_of_the_trace_with_edges_from_submitters_and_in_streams) {
  recorder r(2);
  r.trace(true, 16);
  const ticks t = now_ticks() + 1000;
  const task_id task = r.worker(1).next_id();
  r.worker(1).record({.name = register_name("host"), .begin = t - 10, .end = t + 5, .id = task});
  device_lane& a = *r.devices().take("gpu 0 (x)", "stream 1");
  device_lane& b = *r.devices().take("gpu 1 (x)", "stream 1");
  a.add(operation(a, t, t + 100, task));
  a.add(operation(a, t + 100, t + 150, task));
  b.add(operation(b, t + 20, t + 30));
  EXPECT_EQ(r.traced(), 3u);  // the worker's record was not drained yet
  const trace_data d = r.collect_trace();
  ASSERT_EQ(d.workers.size(), 4u);
  EXPECT_EQ(d.worker_names[2], "gpu 0 (x), stream 1");
  EXPECT_EQ(d.devices, (std::vector<std::uint32_t>{0, 0, 1, 2}));
  ASSERT_EQ(d.workers[2].size(), 2u);
  EXPECT_EQ(d.workers[2][0].key, 100u);
  EXPECT_EQ(d.workers[2][1].ready, t + 99);
  const trace_graph g(d);
  EXPECT_EQ(g.worker_count(), 2u);
  EXPECT_FALSE(g.missing().any());
  const auto first = g.piece_of(2, 0), second = g.piece_of(2, 1);
  ASSERT_EQ(g.inputs(first).size(), 1u);
  EXPECT_EQ(g.tasks()[g.pieces()[g.inputs(first)[0].from].task].id, task);
  EXPECT_EQ(g.inputs(second).size(), 2u);
  EXPECT_EQ(g.maker(g.pieces()[second].task), g.pieces()[g.piece_of(1, 0)].task);  // not the previous operation of its
                                                                                   // stream
  EXPECT_EQ(g.tasks()[g.pieces()[first].task].key, no_key);
}

TEST(device_lanes, operations_submitted_before_tracing_are_not_traced) {
  recorder r(1);
  r.devices().set_statistics(true);
  device_lane& a = *r.devices().take("gpu 0", "stream 1");
  const ticks before = now_ticks();
  a.add(operation(a, before, before + 1));
  r.trace(true, 16);
  a.add(operation(a, before + 1, before + 2));
  const ticks now = now_ticks() + 10;
  a.add(operation(a, now, now + 7));
  r.trace(false);
  a.add(operation(a, now + 10, now + 12));
  trace_data d = r.collect_trace();
  ASSERT_EQ(d.workers[1].size(), 1u);
  EXPECT_EQ(d.workers[1][0].begin, now);
  EXPECT_EQ(r.devices().work().at(0).calls, 4u);
  r.forget_trace();
  EXPECT_EQ(r.traced(), 0u);
  EXPECT_TRUE(r.collect_trace().workers[1].empty());
}

TEST(device_lanes, statistics_are_by_name_and_device) {
  recorder r(1);
  r.devices().set_statistics(true);
  device_lane& a = *r.devices().take("gpu 0", "stream 1");
  device_lane& b = *r.devices().take("gpu 0", "stream 2");
  EXPECT_EQ(r.devices().take("gpu 0", "stream 2")->id_of(1) >> 40, (b.id_of(1) >> 40) + 1);
  const ticks second = ticks_from(1), t = now_ticks();
  a.add(operation(a, t, t + second));
  b.add(operation(b, t + second / 2, t + 2 * second));
  device_operation copy = operation(b, t + 3 * second, t + 4 * second, 0, "copy");
  copy.kind = device_work::copy, copy.failed = true, copy.bytes = 2'000'000'000;
  b.add(copy);
  b.lose(3);
  b.give_back();
  EXPECT_EQ(r.devices().take("gpu 0", "stream 2"), &b);
  const auto rows = r.devices().work();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].calls, 2u);
  EXPECT_EQ(rows[0].items, 4u);
  EXPECT_EQ(rows[0].bytes, 200u);
  EXPECT_NEAR(rows[0].total_s, 2.5, 1e-6);
  EXPECT_NEAR(rows[0].min_s, 1, 1e-6);
  EXPECT_EQ(rows[1].kind, device_work::copy);
  EXPECT_EQ(rows[1].failed, 1u);
  const auto times = r.devices().times();
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].lanes, 3u);
  EXPECT_EQ(times[0].operations, 3u);
  EXPECT_EQ(times[0].lost, 3u);
  EXPECT_NEAR(times[0].busy_s, 3, 1e-6);
  EXPECT_NEAR(times[0].known_s, 4, 1e-6);
  const std::string text = device_profile_text(r);
  EXPECT_NE(text.find("gpu 0: 3 operations in 3 streams"), std::string::npos) << text;
  EXPECT_NE(text.find("3 dropped"), std::string::npos) << text;
}

TEST(device_lanes, busy_time_is_the_union_of_operations) {
  recorder r(1);
  r.devices().set_statistics(true);
  device_lane& a = *r.devices().take("gpu 0", "stream 1");
  device_lane& b = *r.devices().take("gpu 0", "stream 2");
  const ticks step = 1'000'000, t = now_ticks();
  for (ticks i = 0; i < 5000; ++i) {
    a.add(operation(a, t + 4 * i * step, t + (4 * i + 2) * step));
    b.add(operation(b, t + (4 * i + 1) * step, t + (4 * i + 3) * step));
  }
  EXPECT_NEAR(r.devices().times()[0].busy_s, seconds(5000 * 3 * step), 1e-9);
}

}  // namespace
}  // namespace plx::probe
