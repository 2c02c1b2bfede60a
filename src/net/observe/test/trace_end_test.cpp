// Traces of real localities, merged from their files: every parcel has both ends, and the task graph is that of the
// program, across localities.
#include "net/observe/trace_end.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <numeric>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "net/action.hpp"
#include "net/locality.hpp"
#include "net/observe/clock_offsets.hpp"
#include "net/observe/trace_end.hpp"
#include "net/parcels/message_log.hpp"
#include "net/test/threads_test.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "rt/task_group.hpp"
#include "rt/thread.hpp"
#include "trace/file/trace_reader.hpp"
#include "trace/file/trace_writer.hpp"
#include "trace/trace_graph.hpp"

using namespace plx;

namespace gather_test {

int twice(int x) { return 2 * x; }
double sum_of(const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 0.0); }

// An answer that arrives before its caller waits for it resumes no task and gives no edge. So a function called by `the
// caller` or by relay() first waits until its caller waits and the caller's locality runs no task.
net::test::localities* traced = nullptr;
void until_all_wait_at(locality_id caller) {
  auto& counters = traced->at(caller).home().counters();
  EXPECT_TRUE(comes_true([&] { return counters.query("/scheduler/tasks/active").value().at(0).value == 0; }))
      << "locality " << caller << " does not become idle";
}
int twice_for(locality_id caller, int x) { return until_all_wait_at(caller), 2 * x; }
int relay(locality_id caller, locality_id to, int x) {
  until_all_wait_at(caller);
  return async<&twice_for>(to, find_here(), x).get() + 1;
}

}  // namespace gather_test

namespace {

using namespace gather_test;
using namespace plx::probe;

/// Localities of one process, with a trace file each.
struct traced_job {
  explicit traced_job(unsigned n, unsigned workers = 1) : all(n, workers), size(n) {
    for (unsigned i = 0; i < n; ++i) {
      paths.push_back(temporary_path("locality" + std::to_string(i) + ".plxt"));
      files.push_back(*trace_writer::create(paths.back()));
      recorder& r = all.at(i).home().recorder();
      r.stream_to(files.back().get(), i, n);
      r.trace(true);
      all.at(i).port().messages().start();
    }
  }
  ~traced_job() {
    for (unsigned i = 0; i < size; ++i) all.at(i).home().recorder().stream_to(nullptr);
    for (const std::string& path : paths) std::filesystem::remove(path);
  }
  void end() {
    for (unsigned i = 0; i < size; ++i) {
      sent.push_back(all.at(i).port().counts().parcels_sent);
      received.push_back(all.at(i).port().counts().parcels_received);
    }
    for (unsigned i = 0; i < size; ++i) all.run(i, [&] { all.at(i).get<net::trace_end>().freeze(); });
    all.run(0, [&] {
      all.at(0).get<net::trace_end>().measure_clocks(300);
      all.at(0).get<net::trace_end>().release();
    });
    for (unsigned i = 0; i < size; ++i) all.at(i).home().recorder().stream_to(nullptr);
  }
  job_trace_data merged() {
    end();
    auto read = load_trace(paths);
    EXPECT_TRUE(read) << read.error().message;
    warnings = read->warnings;
    return std::move(read->trace);
  }
  net::test::localities all;
  unsigned size;
  std::vector<std::string> paths, warnings;
  std::vector<std::unique_ptr<trace_writer>> files;
  std::vector<std::uint64_t> sent, received;
};

trace_graph::index task_named(const trace_graph& g, const std::string& name) {
  trace_graph::index found = trace_graph::none;
  for (trace_graph::index t = 0; t < g.tasks().size(); ++t)
    if (name_of(g.tasks()[t].name).find(name) != std::string_view::npos) {
      EXPECT_EQ(found, trace_graph::none) << "two tasks are called " << name;
      found = t;
    }
  EXPECT_NE(found, trace_graph::none) << "no task is called " << name;
  return found;
}

TEST(TraceEnd, ParentsAreOnOtherLocalities) {
  for (const unsigned workers : {1u, 2u}) {
    job_trace_data d;
    // On a busy machine the uncertainty of the clocks may exceed the distance between these tasks. Edges that
    // contradict the clocks are excluded and counted; the test then repeats the run.
    ASSERT_TRUE(comes_true([&] {
      traced_job job(3, workers);
      traced = &job.all;
      job.all.run(0, [] {
        task_info info(register_name("the caller"));
        async(info, [] { EXPECT_EQ(async<&relay>(1, 0u, 2u, 20).get(), 41); }).get();
      });
      d = job.merged();
      return trace_graph(d.data).missing().against_time == 0;
    }));
    const trace_graph g(d.data);
    const auto caller = task_named(g, "the caller"), relayed = task_named(g, "relay"), twice = task_named(g, "twice");
    EXPECT_EQ(g.parents(relayed), (std::vector{std::min(caller, twice), std::max(caller, twice)}));
    EXPECT_EQ(g.maker(relayed), caller);
    EXPECT_EQ(g.parents(twice), std::vector{relayed});
    const auto before = g.parents(caller);
    EXPECT_NE(std::find(before.begin(), before.end(), relayed), before.end()) << "the answer resumes it";
    EXPECT_EQ(d.job.locality_of(g.pieces_of(g.tasks()[caller])[0].worker), 0u);
    EXPECT_EQ(d.job.locality_of(g.pieces_of(g.tasks()[relayed])[0].worker), 1u);
    EXPECT_EQ(d.job.locality_of(g.pieces_of(g.tasks()[twice])[0].worker), 2u);
  }
}

TEST(TraceEnd, ALocalityThatLeftIsNotAsked) {
  traced_job job(3);
  job.all.run(1, [&] { job.all.at(1).get<net::trace_end>().wait_for_release(0); });
  job.all.run(0, [&] {
    EXPECT_TRUE(comes_true([&] { return job.all.at(0).get<net::trace_end>().timed_out(1); }, plx::this_thread::yield));
  });
  const trace_job d = job.merged().job;
  EXPECT_GT(d.localities.at(2).uncertainty_s, 0);
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_EQ(job.warnings[0].find("locality 1: its clock was not measured"), 0u) << job.warnings[0];
}

TEST(TraceEnd, ContainsEveryCountedParcel) {
  traced_job job(3, 2);
  job.all.run_all([] {
    std::vector<future<int>> small;
    for (int i = 0; i < 500; ++i)
      for (const locality_id to : find_remote_localities()) small.push_back(async<&twice>(to, i));
    for (auto& f : small) f.get();
    for (const locality_id to : find_remote_localities())
      EXPECT_EQ(async<&sum_of>(to, std::vector<double>(20'000, 1.0)).get(), 20'000.0);
  });
  const trace_job d = job.merged().job;
  ASSERT_EQ(d.localities.size(), 3u);
  std::vector<std::uint64_t> sent(3), received(3);
  for (const trace_message& m : d.messages) {
    ASSERT_NE(m.received, 0u);
    EXPECT_NE(m.from, m.to);
    EXPECT_GE(m.bytes, 24u);
    ++sent.at(m.from), ++received.at(m.to);
    const double slack = d.localities[m.from].uncertainty_s + d.localities[m.to].uncertainty_s + 1e-9;
    EXPECT_GE(m.received + ticks_from(slack), m.sent);
  }
  EXPECT_EQ(sent, job.sent);
  EXPECT_EQ(received, job.received);
  for (const trace_locality& l : d.localities) {
    EXPECT_EQ(l.unmatched, 0u);
    EXPECT_EQ(l.missing, "");
    EXPECT_EQ(l.workers, 2u);
    EXPECT_FALSE(l.host.empty());
  }
  EXPECT_GT(d.localities[1].uncertainty_s, 0);
  EXPECT_EQ(d.localities[0].uncertainty_s, 0);
}

TEST(TraceEnd, TheTraceOfALostLocalityIsReadAsFarAsItGoes) {
  traced_job job(3);
  job.all.run(0, [] { EXPECT_EQ(async<&twice>(1, 1).get() + async<&twice>(2, 1).get(), 4); });
  const std::string lost = job.paths[2] + ".lost";
  job.all.at(2).home().recorder().drain();
  job.files[2]->flush();
  std::filesystem::copy_file(job.paths[2], lost, std::filesystem::copy_options::overwrite_existing);
  job.all.lose(2);
  job.all.settle();
  job.end();
  auto read = load_trace({job.paths[0], job.paths[1], lost});
  std::filesystem::remove(lost);
  ASSERT_TRUE(read);
  const trace_job& d = read->trace.job;
  EXPECT_EQ(d.localities[2].missing, "its trace has no end: it was killed, or is still running");
  EXPECT_EQ(d.localities[2].workers, 1u);
  EXPECT_EQ(d.localities[1].missing, "");
  EXPECT_EQ(d.localities[0].unmatched, 0u);
  read = load_trace({job.paths[0], job.paths[1]});
  ASSERT_TRUE(read);
  EXPECT_EQ(read->trace.job.localities[2].missing, "it left no trace");
  EXPECT_EQ(read->warnings.back(), "locality 2 left no trace");
  EXPECT_EQ(read->trace.job.localities[0].unmatched, 2u);  // the call of the lost locality, and its answer
}

TEST(TraceEnd, OthersWaitUntilTheClocksAreMeasured) {
  traced_job job(2);
  std::atomic<bool> released{false};
  std::thread other([&] {
    job.all.at(1).home().run([&] { job.all.at(1).get<net::trace_end>().wait_for_release(30); });
    released = true;
  });
  job.end();
  other.join();
  EXPECT_TRUE(released);
  job.all.run(0, [&] { job.all.at(0).get<net::trace_end>().wait_for_release(0.01); });  // no root measures
}

TEST(TraceEnd, ParcelsAreNotNumberedWithoutTracing) {
  net::test::localities all(2);
  all.run(0, [] { EXPECT_EQ(async<&twice>(1, 1).get(), 2); });
  struct counts final : trace_sink {
    void parcels(bool, std::span<const trace_parcel> some) override { n += some.size(); }
    std::size_t n = 0;
  } seen;
  all.at(0).port().messages().drain(seen);
  EXPECT_EQ(seen.n, 0u);
  EXPECT_EQ(all.at(0).port().counts().bytes_sent, 8u + 16 + 4);
}

}  // namespace
