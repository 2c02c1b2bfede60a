// Merged traces of localities with different clocks: one clock, unique numbers, every parcel once.
#include "trace/file/job_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "trace/critical_path.hpp"
#include "trace/trace_graph.hpp"

namespace {

using namespace plx;
using namespace plx::probe;

constexpr task_id id(unsigned worker, unsigned serial) { return (task_id{worker} + 1) << 40 | serial; }

/// The clock of locality 1 is twice as fast, and started 1000 ticks of locality 0 later.
clock_map twice_as_fast() {
  clock_map m(1e9, 2e9);
  m.add({.there = 0, .here = 1000, .uncertainty = 1});
  m.add({.there = 2'000'000'000, .here = 1'000'001'000, .uncertainty = 1});
  return m;
}
constexpr ticks there(ticks here) { return (here - 1000) * 2; }

trace_data two_workers(task_id a, ticks a_begin, ticks a_end) {
  trace_data d;
  d.workers.resize(2);
  d.worker_names = {"worker 0"};
  d.workers[1].push_back({.begin = a_begin, .end = a_end, .id = a, .name = register_name("f")});
  d.records = 1;
  return d;
}

TEST(JobTrace, KeepsDeviceRows) {
  trace_data zero = two_workers(id(1, 1), 1500, 2100), one = two_workers(id(1, 1), there(1500), there(2100));
  one.devices = {0, 1};
  one.worker_names = {"", "gpu 0, stream 1"};
  one.workers[1][0].key = 640;
  trace_data two = two_workers(id(1, 1), 1500, 2100);
  job_trace job(3);
  ASSERT_TRUE(job.add(0, "a", std::move(zero), {}, {}));
  ASSERT_TRUE(job.add(1, "b", std::move(one), {}, twice_as_fast()));
  ASSERT_TRUE(job.add(2, "c", std::move(two), {}, {}));
  const trace_data d = job.finish().data;
  EXPECT_EQ(d.devices, (std::vector<std::uint32_t>{0, 0, 0, 1, 0, 0}));
  EXPECT_EQ(d.worker_names[3], "gpu 0, stream 1");
  EXPECT_EQ(d.workers[3].at(0).key, 640u);
  EXPECT_EQ(d.workers[3].at(0).begin, 1500u);
  EXPECT_EQ(d.workers[3].at(0).id, id(3, 1));
}

TEST(JobTrace, MergesTimesNumbersAndParcels) {
  const name_id f = register_name("f");
  // The task on locality 0 sends parcel 7 at 2000. It arrives at 2500 and makes the task on locality 1 ready at 2600,
  // which answers at 3000; the answer arrives at 3400 and resumes the first task at 3500.
  const task_id sender = id(1, 5), same_number = id(1, 5), came = id(0, 1) | join_bit, answered = id(0, 9) | join_bit;
  trace_data zero = two_workers(sender, 1500, 2100);
  zero.origin = 1100;
  zero.workers[1][0].finished = false;
  zero.workers[1].push_back({.begin = 3500, .end = 3600, .id = sender, .ready = 3450, .name = f, .resumed = true});
  zero.edges.push_back({.from = answered, .to = sender, .when = 3450});
  zero.records = 3;
  trace_data one = two_workers(same_number, there(2700), there(3100));
  one.origin = there(1050);
  one.edges.push_back({.from = came, .to = same_number, .when = there(2600)});
  one.samples.push_back({there(2800), "/x", 4});
  one.marks.push_back({there(2900), "mark", "text"});

  job_trace job(3);
  trace_parcels of_zero, of_one;
  of_zero.sent.push_back({.when = 2000, .task = sender, .number = 7, .bytes = 40, .peer = 1, .name = f});
  of_zero.sent.push_back(
      {.when = 2050, .task = sender, .number = 8, .bytes = 41, .peer = 2, .name = f});  // to the lost locality
  of_zero.received.push_back({.when = 3400, .task = answered, .number = 1, .bytes = 30, .peer = 1});
  of_one.received.push_back({.when = there(2500), .task = came, .number = 7, .bytes = 40, .peer = 0});
  of_one.received.push_back(
      {.when = there(2550), .task = came, .number = 3, .bytes = 40, .peer = 2});  // from the lost locality
  of_one.sent.push_back({.when = there(3000), .task = same_number, .number = 1, .bytes = 30, .peer = 0, .name = f});
  ASSERT_TRUE(job.add(0, "here", std::move(zero), std::move(of_zero), {}));
  ASSERT_TRUE(job.add(1, "there", std::move(one), std::move(of_one), twice_as_fast()));
  job.missing(2, "it is lost");
  const job_trace_data whole = job.finish();
  const trace_data& d = whole.data;
  const trace_job& j = whole.job;

  EXPECT_EQ(d.origin, 1050u);
  ASSERT_EQ(d.workers.size(), 4u);
  EXPECT_EQ(d.workers[3][0].begin, 2700u);
  EXPECT_EQ(d.workers[3][0].end, 3100u);
  EXPECT_EQ(j.locality_of(1), 0u);
  EXPECT_EQ(j.locality_of(2), 1u);
  EXPECT_NE(d.workers[1][0].id, d.workers[3][0].id);
  EXPECT_EQ(d.samples.at(0).when, 2800u);
  EXPECT_EQ(j.sample_at.at(0), 1u);
  EXPECT_EQ(j.mark_at.at(0), 1u);
  EXPECT_NEAR(j.localities[1].offset_s, 1e-6, 1e-12);
  EXPECT_EQ(j.localities[1].host, "there");
  EXPECT_EQ(j.localities[2].missing, "it is lost");
  EXPECT_EQ(j.localities[2].workers, 0u);
  EXPECT_EQ(j.localities[0].unmatched, 1u);
  EXPECT_EQ(j.localities[1].unmatched, 1u);

  ASSERT_EQ(j.messages.size(), 3u);
  EXPECT_EQ(j.messages[0].sent, 2000u);
  EXPECT_EQ(j.messages[0].received, 2500u);
  EXPECT_EQ(j.messages[0].from, 0u);
  EXPECT_EQ(j.messages[0].to, 1u);
  EXPECT_EQ(j.messages[0].bytes, 40u);
  EXPECT_EQ(j.messages[0].name, f);
  EXPECT_EQ(j.messages[1].received, 0u);
  EXPECT_EQ(j.messages[2].sent, 3000u);
  EXPECT_EQ(j.messages[2].received, 3400u);

  // The sender is the parent of the slice that its parcel started, and the answering task that of the resumed slice.
  const trace_graph g(d);
  EXPECT_EQ(g.missing().unknown_edges, 0u);
  EXPECT_EQ(g.missing().against_time, 0u);
  const auto remote = g.inputs(g.piece_of(3, 0));
  ASSERT_EQ(remote.size(), 1u);
  EXPECT_EQ(remote[0].from, g.piece_of(1, 0));
  const auto resumed = g.inputs(g.piece_of(1, 1));
  ASSERT_EQ(resumed.size(), 1u);
  EXPECT_EQ(resumed[0].from, g.piece_of(3, 0));
  // The longest path: 500 before the call is sent, 300 until the answer is sent, 100 after it has arrived.
  EXPECT_EQ(find_critical_path(g).span, 900);
}

TEST(JobTrace, EachParcelHasOnePartner) {
  constexpr unsigned n = 4;
  job_trace job(n);
  std::vector<trace_parcels> of(n);
  std::uint64_t parcels = 0;
  for (std::uint32_t from = 0; from < n; ++from)
    for (std::uint64_t number = 1; number <= 1000; ++number) {
      const std::uint32_t to = (from + 1 + static_cast<unsigned>(number * 7 % (n - 1))) % n;
      of[from].sent.push_back({.when = 100 * number + from, .number = number, .bytes = number, .peer = to});
      of[to].received.push_back({.when = 100 * number + from + 50, .number = number, .bytes = number, .peer = from});
      ++parcels;
    }
  std::swap(of[1].received[3], of[1].received[700]);
  of[2].received.pop_back();
  for (std::uint32_t l = 0; l < n; ++l) ASSERT_TRUE(job.add(l, "", {}, std::move(of[l]), {}));
  const trace_job j = job.finish().job;
  ASSERT_EQ(j.messages.size(), parcels);
  unsigned unmatched = 0;
  for (const trace_message& m : j.messages) {
    EXPECT_EQ(m.bytes, m.number);
    if (m.received == 0)
      ++unmatched;
    else
      EXPECT_EQ(m.received, m.sent + 50);
  }
  EXPECT_EQ(unmatched, 1u);
}

TEST(JobTrace, MessagesOfMpiArePairedByReceiverCommunicatorTagAndNumber) {
  job_trace job(3);
  std::vector<trace_parcels> of(3);
  std::uint64_t bytes = 0;
  for (std::uint32_t to = 0; to < 3; ++to)  // also to the sender itself
    for (const std::uint32_t channel : {1u, 77u})
      for (const std::int32_t tag : {0, 5})
        for (std::uint64_t number = 1; number <= 2; ++number) {
          ++bytes;
          const auto end = [&](ticks when, std::uint32_t peer) {
            return trace_parcel{
                .when = when, .number = number, .bytes = bytes, .peer = peer, .channel = channel, .tag = tag};
          };
          of[0].sent.push_back(end(100 * bytes, to));
          of[to].received.push_back(end(100 * bytes + 50, 0));
        }
  std::reverse(of[1].received.begin(), of[1].received.end());
  of[2].received.front().bytes += 1;  // the receiver of the first message to 2 has seen another one
  for (std::uint32_t l = 0; l < 3; ++l) ASSERT_TRUE(job.add(l, "", {}, std::move(of[l]), {}));
  const trace_job j = job.finish().job;
  EXPECT_TRUE(j.of_mpi);
  ASSERT_EQ(j.messages.size(), bytes);
  for (const trace_message& m : j.messages) {
    const bool wrong = m.bytes == 17;
    EXPECT_EQ(m.received, wrong ? 0 : m.sent + 50) << m.bytes;
    EXPECT_EQ(m.sent, 100 * m.bytes);
    EXPECT_EQ(m.to, (m.bytes - 1) / 8);
    EXPECT_EQ(m.channel, (m.bytes - 1) % 8 < 4 ? 1u : 77u);
    EXPECT_EQ(m.tag, (m.bytes - 1) % 4 < 2 ? 0 : 5);
  }
  EXPECT_EQ(j.localities[0].unmatched, 1u);
  EXPECT_EQ(j.localities[1].unmatched, 0u);
  EXPECT_EQ(j.localities[2].unmatched, 1u);
}

TEST(JobTrace, TooManyWorkersAreReportedAsMissing) {
  job_trace job(2);
  trace_data d;
  d.workers.resize(job_trace::most_workers + 1);
  EXPECT_FALSE(job.add(1, "", std::move(d), {}, {}));
  EXPECT_NE(job.finish().job.localities[1].missing, "");
}

}  // namespace
