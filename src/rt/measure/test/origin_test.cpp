// The graph recorded in a trace is the graph that the program built.
#include "rt/measure/origin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "probe/record/recorder.hpp"
#include "rt/async.hpp"
#include "rt/channel.hpp"
#include "rt/core/worker.hpp"
#include "rt/coroutine.hpp"
#include "rt/dataflow.hpp"
#include "rt/task_group.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"
#include "trace/trace_graph.hpp"

namespace {

using keys = std::set<std::uint64_t>;
using plx::testing::with_every_runtime;
namespace probe = plx::probe;

plx::task_info with_key(std::uint64_t key) {
  static const probe::name_id name = probe::register_name("origin_test");
  return {name, key};
}

/// Predecessors by the tasks' keys; tasks without a key, and joins, are skipped.
class graph {
 public:
  explicit graph(const probe::trace_data& trace) : trace_(trace) {
    for (const auto& slices : trace.workers)
      for (const probe::trace_slice& s : slices)
        if (s.key != probe::no_key) key_of_[s.id] = s.key;
    for (const probe::trace_edge& e : trace.edges) before_[e.to].insert(e.from);
  }

  keys parents(std::uint64_t key) const {
    keys found;
    for (const auto& [id, k] : key_of_)
      if (k == key) collect(id, found);
    return found;
  }

  /// The invariants of every trace.
  void check() const {
    EXPECT_EQ(trace_.lost, 0u);
    std::map<probe::task_id, plx::ticks> first_begin, last_end;
    std::map<probe::task_id, unsigned> finished;
    for (const auto& slices : trace_.workers) {
      plx::ticks last = 0;
      for (const probe::trace_slice& s : slices) {
        EXPECT_GE(s.begin, last);
        EXPECT_GE(s.end, s.begin);
        EXPECT_LE(s.ready, s.begin);
        EXPECT_NE(s.id, 0u);
        last = s.end;
        const auto [at, is_new] = first_begin.try_emplace(s.id, s.begin);
        if (!is_new) at->second = std::min(at->second, s.begin);
        last_end[s.id] = std::max(last_end[s.id], s.end);
        finished[s.id] += s.finished ? 1 : 0;
      }
    }
    for (const auto& [id, times] : finished) EXPECT_LE(times, 1u) << id;
    for (const probe::trace_edge& e : trace_.edges) {
      EXPECT_NE(e.from, e.to);
      if (!probe::is_join(e.from) && first_begin.contains(e.from)) {
        EXPECT_GE(e.when, first_begin[e.from]);
      }
      if (!probe::is_join(e.to) && last_end.contains(e.to)) {
        EXPECT_LE(e.when, last_end[e.to]);
      }
    }
  }

 private:
  void collect(probe::task_id to, keys& found) const {
    const auto it = before_.find(to);
    if (it == before_.end()) return;
    for (const probe::task_id from : it->second) {
      if (const auto known = key_of_.find(from); known != key_of_.end())
        found.insert(known->second);
      else if (probe::is_join(from))
        collect(from, found);
    }
  }

  const probe::trace_data& trace_;
  std::map<probe::task_id, std::uint64_t> key_of_;
  std::map<probe::task_id, std::set<probe::task_id>> before_;
};

/// The trace once all tasks in it have ended: a result is visible a moment before the end of its task is recorded.
probe::trace_data trace_of_all(probe::recorder& r) {
  for (;;) {
    probe::trace_data trace = r.collect_trace();
    std::set<probe::task_id> begun, ended;
    for (const probe::trace_edge& e : trace.edges)
      for (const probe::task_id id : {e.from, e.to})
        if (!probe::is_join(id)) begun.insert(id);
    for (const auto& slices : trace.workers)
      for (const probe::trace_slice& s : slices) (s.finished ? ended : begun).insert(s.id);
    if (!ended.empty() && std::includes(ended.begin(), ended.end(), begun.begin(), begun.end())) return trace;
    std::this_thread::yield();
  }
}

/// Runs `body()` as the task with key 0, traced, on every schedule, and checks the graph.
template <class Body, class Look>
void trace_on_every_schedule(Body body, Look look) {
  with_every_runtime([&](plx::runtime& rt) {
    rt.recorder().trace(true, 1u << 12);
    rt.run(with_key(0), body);
    const probe::trace_data trace = trace_of_all(rt.recorder());
    const graph g(trace);
    g.check();
    look(g);
    rt.recorder().trace(false);
  });
}

keys with(keys some, const keys& more) {
  some.insert(more.begin(), more.end());
  return some;
}

TEST(origin, a_task_comes_from_its_creator_and_its_reader_from_it) {
  trace_on_every_schedule(
      [] {
        auto a = plx::async(with_key(1), [] { return 1; });
        auto b = plx::async(with_key(2), [] { return plx::async(with_key(3), [] { return 2; }).get(); });
        EXPECT_EQ(a.get() + b.get(), 3);
      },
      [](const graph& g) {
        EXPECT_EQ(g.parents(1), keys({0}));
        EXPECT_EQ(g.parents(2), keys({0, 3}));
        EXPECT_EQ(g.parents(3), keys({2}));
        EXPECT_EQ(g.parents(0), keys({1, 2}));
      });
}

TEST(origin, a_continuation_comes_from_what_it_continues) {
  trace_on_every_schedule(
      [] {
        auto f = plx::async(with_key(1), [] {}).then(with_key(2), [](auto&&) {}).then(with_key(3), [](auto&&) {});
        f.get();
      },
      [](const graph& g) {
        // The attaching task is a parent, too, if the input was ready already.
        EXPECT_EQ(with(g.parents(2), {0}), keys({0, 1}));
        EXPECT_EQ(with(g.parents(3), {0}), keys({0, 2}));
        EXPECT_EQ(g.parents(0), keys({3}));
      });
}

TEST(origin, all_inputs_of_when_all_and_dataflow_are_parents) {
  trace_on_every_schedule(
      [] {
        plx::shared_future<int> a = plx::async(with_key(1), [] { return 1; });
        plx::shared_future<int> b = plx::async(with_key(2), [] { return 2; });
        // None of the bodies reads its inputs: they are inputs all the same.
        auto c = plx::when_all(a, b).then(with_key(3), [](auto&&) { return 3; });
        auto d = plx::dataflow(
            with_key(4), [](auto&&, auto&&, int) { return 4; }, b, std::move(c), 7);
        std::vector<plx::future<int>> many;
        for (std::uint64_t i = 0; i < 5; ++i) many.push_back(plx::async(with_key(10 + i), [] { return 0; }));
        auto e = plx::dataflow(
            with_key(5), [](auto&&, auto&&) {}, std::move(many), std::move(d));
        e.get();
      },
      [](const graph& g) {
        EXPECT_EQ(with(g.parents(3), {0}), keys({0, 1, 2}));
        EXPECT_EQ(with(g.parents(4), {0}), keys({0, 2, 3}));
        EXPECT_EQ(with(g.parents(5), {0}), keys({0, 4, 10, 11, 12, 13, 14}));
      });
}

TEST(origin, inline_continuations_are_part_of_the_completing_task) {
  trace_on_every_schedule(
      [] {
        auto a = plx::async(with_key(1), [] { return 1; });
        // A continuation in the completing task's frame that waits, and creates tasks of its own.
        auto b = std::move(a).then(plx::launch::sync,
                                   [](auto&& f) { return f.get() + plx::async(with_key(2), [] { return 1; }).get(); });
        EXPECT_EQ(b.get(), 2);
        auto ready = plx::make_ready_future(5);
        auto c = std::move(ready).then(plx::launch::sync, [](auto&& f) {
          plx::this_thread::yield();
          return f.get();
        });
        plx::async(plx::launch::sync, [] { plx::async(with_key(3), [] {}).get(); }).get();
        plx::async(with_key(4), [] {}).get();
        EXPECT_EQ(c.get(), 5);
      },
      [](const graph& g) {
        EXPECT_EQ(with(g.parents(2), {0, 1}), keys({0, 1}));
        EXPECT_EQ(g.parents(3), keys({0}));
        EXPECT_EQ(g.parents(4), keys({0}));
        EXPECT_EQ(with(g.parents(0), {1, 2}), keys({1, 2, 3, 4}));
      });
}

TEST(origin, a_parent_resumes_after_all_its_children) {
  trace_on_every_schedule(
      [] {
        for (int round = 0; round < 2; ++round) {
          plx::task_group group;
          for (std::uint64_t i = 1; i <= 6; ++i) group.run(with_key(10 * round + i), [] {});
          group.wait();
        }
      },
      [](const graph& g) {
        EXPECT_EQ(g.parents(0), keys({1, 2, 3, 4, 5, 6, 11, 12, 13, 14, 15, 16}));
        for (std::uint64_t key : {1, 6, 11, 16}) EXPECT_EQ(g.parents(key), keys({0})) << key;
      });
}

TEST(origin, a_waiter_resumes_after_the_task_that_woke_it) {
  trace_on_every_schedule(
      [] {
        plx::channel<int> to, back;
        auto a = plx::async(with_key(1), [&] { back.send(*to.receive() + 1); });
        to.send(1);
        EXPECT_EQ(*back.receive(), 2);
        a.get();
      },
      [](const graph& g) {
        EXPECT_EQ(with(g.parents(1), {0}), keys({0}));
        EXPECT_TRUE(g.parents(0).contains(1));
      });
}

TEST(origin, the_parts_of_a_coroutine_are_one_task) {
  with_every_runtime([](plx::runtime& rt) {
    rt.recorder().trace(true, 1u << 12);
    const auto body = []() -> plx::task<int> {
      const int a = co_await plx::async(with_key(1), [] { return 1; });
      const int b = co_await plx::async(with_key(2), [] { return 2; });
      co_return a + b;
    };
    EXPECT_EQ(rt.run(with_key(0), [&] { return plx::sync_wait(body()); }), 3);
    const probe::trace_data trace = trace_of_all(rt.recorder());
    const graph g(trace);
    g.check();
    std::map<probe::task_id, unsigned> ends;
    for (const auto& slices : trace.workers)
      for (const probe::trace_slice& s : slices) ends[s.id] += s.finished ? 1 : 0;
    for (const auto& [id, n] : ends) EXPECT_EQ(n, 1u);
    rt.recorder().trace(false);
  });
}

TEST(origin, tasks_of_a_thread_descend_from_those_that_it_waited_for) {
  with_every_runtime([](plx::runtime& rt) {
    rt.recorder().trace(true, 1u << 12);
    rt.run(with_key(1), [] { plx::async(with_key(2), [] {}).get(); });
    rt.run(with_key(3), [] {});
    rt.run(with_key(4), [] { plx::async(with_key(5), [] {}).get(); });
    const probe::trace_data trace = trace_of_all(rt.recorder());
    const graph g(trace);
    g.check();
    EXPECT_EQ(g.parents(1), keys({2}));
    EXPECT_EQ(g.parents(3), keys({1}));
    EXPECT_EQ(g.parents(4), keys({3, 5}));
    rt.recorder().trace(false);
  });
}

/// As if the task had become ready by the clock of a core that is ahead of this one.
void begin_later() {
  plx::detail::worker& w = *plx::detail::this_worker();
  w.boundary = std::max(w.boundary, plx::now_ticks()) + plx::ticks_from(1e-3);
}

TEST(origin, a_core_whose_clock_is_behind_loses_no_edge) {
  with_every_runtime([](plx::runtime& rt) {
    rt.recorder().trace(true, 1u << 12);
    rt.run(with_key(1), [] {
      begin_later();
      plx::shared_future<void> first = plx::async(with_key(2), [] { begin_later(); }).share();
      plx::future<void> second = first.then(with_key(3), [](auto&&) { begin_later(); });
      plx::future<void> third = plx::async(with_key(4), [] { begin_later(); });
      plx::dataflow(
          with_key(5), [](auto&&...) { begin_later(); }, first, std::move(second), std::move(third))
          .get();
    });
    rt.run(with_key(6), [] { plx::async(with_key(7), [] {}).get(); });
    const probe::trace_data trace = trace_of_all(rt.recorder());
    const graph g(trace);
    g.check();
    EXPECT_EQ(probe::trace_graph(trace).missing().against_time, 0u);
    EXPECT_EQ(g.parents(1), keys({5}));
    EXPECT_EQ(g.parents(6), keys({1, 7}));
    rt.recorder().trace(false);
  });
}

TEST(origin, the_span_is_the_longest_chain) {
  plx::runtime rt({.workers = 2, .bind = false});
  rt.recorder().paths(true);
  const auto busy = [](double s) {
    const plx::ticks end = plx::now_ticks() + plx::ticks_from(s);
    while (plx::now_ticks() < end) {
    }
  };
  const plx::ticks begin = plx::now_ticks();
  rt.run([&] {
    auto beside = plx::async(with_key(9), [&] { busy(1e-3); });
    auto chain = plx::async(with_key(1), [&] { busy(2e-3); });
    for (int i = 0; i < 4; ++i) chain = std::move(chain).then(with_key(2), [&](auto&&) { busy(2e-3); });
    chain.get();
    beside.get();
  });
  ASSERT_TRUE(plx::comes_true([&] { return rt.recorder().span_s() >= 10e-3; }));  // accounted after run()
  const double span_s = rt.recorder().span_s();
  EXPECT_LE(span_s, plx::seconds(plx::now_ticks() - begin));
  rt.recorder().paths(false);
}

TEST(origin, ready_tasks_are_sampled_by_default) {
  plx::runtime rt({.workers = 1, .bind = false});
  rt.run([] {
    std::vector<plx::future<void>> all;
    for (int i = 0; i < 1000; ++i) all.push_back(plx::async([] {}));
    for (auto& f : all) f.get();
  });
  const probe::ready_wait w = rt.recorder().ready_wait();
  EXPECT_GE(w.samples, 1000 / plx::detail::ready_sample - 1);
  EXPECT_LE(w.samples, 1000 / plx::detail::ready_sample + 2);
  EXPECT_GT(w.max_s, 0);
  EXPECT_LE(w.mean_s, w.max_s);
  EXPECT_LE(w.p50_s, w.p99_s);
}

struct counting_observer final : probe::task_observer {
  void on_event(const probe::task_event& e) noexcept override {
    if (e.name == with_key(0).name) ++seen[static_cast<unsigned>(e.kind)];
  }
  std::array<std::atomic<unsigned>, 5> seen{};
};

TEST(origin, an_observer_gets_each_event) {
  using kind = probe::task_event_kind;
  counting_observer observer;  // outlives the runtimes
  unsigned runs = 0;
  const auto seen = [&](kind k) { return observer.seen[static_cast<unsigned>(k)].load(); };
  with_every_runtime([&](plx::runtime& rt) {
    rt.recorder().observe(&observer);
    rt.run(with_key(0), [] {
      plx::task_group group;
      for (std::uint64_t i = 1; i <= 3; ++i) group.run(with_key(i), [] { plx::this_thread::yield(); });
      group.wait();
    });
    ++runs;
    while (seen(kind::stop) < 4 * runs)
      std::this_thread::yield();  // the end of the last task is recorded after its result is visible
    rt.recorder().observe(nullptr);
    EXPECT_EQ(seen(kind::start), 4 * runs);
    EXPECT_EQ(seen(kind::stop), 4 * runs);
    EXPECT_GE(seen(kind::suspend), 3 * runs);
    EXPECT_GE(seen(kind::create), 3 * runs);
  });
}

}  // namespace
