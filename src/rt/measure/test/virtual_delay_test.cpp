// Accounts of virtual time on a simulated machine with a simulated clock: no thread, no real time.
#include "rt/measure/virtual_delay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "control/tuning_search.hpp"

namespace plx::detail {
namespace {

using random = probe::detail::tuning_random;

constexpr probe::name_id faster_type = 7, other_type = 8;

/// A slice with a fixed worker and a fixed place in that worker's order. An input is a slice, and the share of its
/// length after which it is delivered, in percent.
struct slice {
  struct input {
    std::size_t from;
    unsigned percent;
  };
  unsigned worker;
  bool faster;
  ticks length;
  ticks pause;  // after its last input, before it is ready: a sleep, which takes its time whatever is faster
  std::vector<input> inputs;
};

struct machine_end {
  std::vector<ticks> ends;                                   // virtual, by slice, without the start of the clock
  std::vector<ticks> idle, inserted, own, excused, account;  // by worker
  ticks required = 0, real = 0;
};

ticks scaled(ticks length, unsigned percent) { return length - length * percent / 100; }

/// When each slice ends if slices of the faster type really take less time.
std::vector<ticks> really_faster(const std::vector<slice>& program, unsigned workers, unsigned percent) {
  std::vector<ticks> free(workers, 0), begins(program.size()), ends(program.size());
  for (std::size_t i = 0; i < program.size(); ++i) {  // inputs come before
    const slice& s = program[i];
    ticks ready = 0;
    for (const slice::input& in : s.inputs) {
      const slice& from = program[in.from];
      const ticks until = from.length * in.percent / 100;
      ready = std::max(ready, begins[in.from] + (from.faster ? scaled(until, percent) : until) + s.pause);
    }
    begins[i] = std::max(free[s.worker], ready);
    ends[i] = free[s.worker] = begins[i] + (s.faster ? scaled(s.length, percent) : s.length);
  }
  return ends;
}

/// The same program with its real lengths, and delays. Time passes from event to event.
/// `late`: by how much delays end late, at most.
machine_end delayed(const std::vector<slice>& program, unsigned workers, unsigned percent, ticks late = 0) {
  random lateness(workers);
  constexpr ticks start = 1'000'000;  // of the clock
  delay_pool pool;
  pool.make_faster(faster_type, percent);
  std::vector<std::unique_ptr<delay_account>> accounts;
  std::vector<std::vector<std::size_t>> orders(workers);
  for (std::size_t i = 0; i < program.size(); ++i) orders[program[i].worker].push_back(i);
  for (unsigned w = 0; w < workers; ++w) accounts.push_back(std::make_unique<delay_account>(pool));
  constexpr ticks never = ~ticks{0};
  std::vector<ticks> begun(program.size(), never);
  std::vector<std::vector<ticks>> delivered(program.size()), at(program.size());  // virtual and real, by input
  for (std::size_t i = 0; i < program.size(); ++i)
    delivered[i].resize(program[i].inputs.size(), never), at[i].resize(program[i].inputs.size(), never);
  std::vector<std::size_t> next(workers, 0);
  std::vector<bool> runs(workers, false);
  std::vector<ticks> free_since(workers, start), wait_began(workers, never);
  machine_end end;
  end.ends.resize(program.size());
  end.idle.resize(workers);
  ticks now = start;
  for (bool left = true; left;) {
    bool changed = true;
    while (changed) {  // deliveries and ends before beginnings
      changed = false;
      for (std::size_t i = 0; i < program.size(); ++i)
        for (std::size_t k = 0; k < program[i].inputs.size(); ++k) {
          const slice::input& in = program[i].inputs[k];
          const slice& from = program[in.from];
          if (at[i][k] != never || begun[in.from] == never) continue;
          const ticks when = begun[in.from] + from.length * in.percent / 100;
          if (when != now) continue;
          at[i][k] = now;
          delivered[i][k] = accounts[from.worker]->at(now);
          changed = true;
        }
      for (unsigned w = 0; w < workers; ++w) {
        if (!runs[w] || begun[orders[w][next[w]]] + program[orders[w][next[w]]].length != now) continue;
        const std::size_t i = orders[w][next[w]++];
        end.ends[i] = accounts[w]->end(now) - start;
        runs[w] = false;
        free_since[w] = now;
        wait_began[w] = never;
        changed = true;
      }
    }
    ticks soon = never;
    left = false;
    for (unsigned w = 0; w < workers; ++w) {
      if (next[w] == orders[w].size()) continue;
      left = true;
      const std::size_t i = orders[w][next[w]];
      const slice& s = program[i];
      if (runs[w]) {
        soon = std::min(soon, begun[i] + s.length);
        for (std::size_t j = 0; j < program.size(); ++j)
          for (const slice::input& in : program[j].inputs)
            if (in.from == i && begun[i] + s.length * in.percent / 100 > now)
              soon = std::min(soon, begun[i] + s.length * in.percent / 100);
        continue;
      }
      ticks ready = start, real_ready = start;
      for (std::size_t k = 0; k < s.inputs.size(); ++k) {
        ready = at[i][k] == never ? never : std::max(ready, delivered[i][k] + s.pause);  // never: not delivered yet
        real_ready = at[i][k] == never ? never : std::max(real_ready, at[i][k] + s.pause);
        if (ready == never) break;
      }
      if (ready == never) continue;
      if (real_ready > now) {
        soon = std::min(soon, real_ready);
        continue;
      }
      if (wait_began[w] == never) {
        wait_began[w] = now;
        end.idle[w] += now - free_since[w];
      }
      const ticks begins = accounts[w]->begins_at(wait_began[w], ready, real_ready);
      if (const ticks due = accounts[w]->due(begins); due > now) {
        soon = std::min(soon, due + lateness.below(late + 1));
        continue;
      }
      accounts[w]->begin(s.faster ? faster_type : other_type, now, begins, now - wait_began[w]);
      begun[i] = now;
      runs[w] = true;
      soon = now;  // its inputs at 0 %
    }
    EXPECT_TRUE(!left || soon != never) << "nothing can happen";
    if (soon == never) break;
    now = soon;
  }
  end.real = now - start;
  for (unsigned w = 0; w < workers; ++w) {  // a last slice of no length: each worker takes what it owes
    const ticks begins = accounts[w]->begins_at(now, 0, 0), last = std::max(now, accounts[w]->due(begins));
    accounts[w]->begin(other_type, last, begins, last - now);
    end.idle[w] += now - free_since[w];
    end.inserted.push_back(accounts[w]->inserted());
    end.own.push_back(accounts[w]->own());
    end.excused.push_back(accounts[w]->excused());
    end.account.push_back(accounts[w]->account());
  }
  end.required = pool.required.load();
  return end;
}

std::vector<slice> random_program(random& r, unsigned workers, bool pauses) {
  std::vector<slice> program;
  const std::size_t n = 5 + r.below(40);
  const unsigned fast_of_8 = 1 + static_cast<unsigned>(r.below(6));
  for (std::size_t i = 0; i < n; ++i) {
    slice s{static_cast<unsigned>(r.below(workers)), r.below(8) < fast_of_8, 100 * (1 + r.below(90)), 0, {}};
    for (std::size_t k = i == 0 ? 0 : r.below(4); k > 0; --k)
      s.inputs.push_back({r.below(i), r.below(3) == 0 ? static_cast<unsigned>(r.below(101)) : 100});
    if (pauses && !s.inputs.empty() && r.below(4) == 0) s.pause = 100 * r.below(50);
    program.push_back(std::move(s));
  }
  return program;
}

TEST(virtual_delay, virtual_time_is_the_time_of_the_faster_program) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    random r(seed);
    const auto workers = static_cast<unsigned>(1 + r.below(5));
    const auto percent = static_cast<unsigned>(5 * r.below(20));
    const std::vector<slice> program = random_program(r, workers, seed % 2 == 0);
    for (const ticks late : {0, 3000})
      EXPECT_EQ(delayed(program, workers, percent, late).ends, really_faster(program, workers, percent))
          << "seed " << seed << ": " << workers << " workers, " << percent << " % less, delays up to " << late
          << " late";
    if (HasFailure()) return;
  }
}

// A worker's debt is inserted, its own gain, or excused because it was idle meanwhile: no delay is lost or made twice.
TEST(virtual_delay, each_account_adds_up_to_what_is_required) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    random r(seed);
    const auto workers = static_cast<unsigned>(1 + r.below(5));
    const machine_end end = delayed(random_program(r, workers, false), workers, 50);
    for (unsigned w = 0; w < workers; ++w) {
      EXPECT_EQ(end.account[w], end.required) << "seed " << seed << ", worker " << w;
      EXPECT_EQ(end.inserted[w] + end.own[w] + end.excused[w], end.required) << "seed " << seed << ", worker " << w;
      EXPECT_LE(end.excused[w], end.idle[w]) << "seed " << seed << ", worker " << w;
    }
    if (HasFailure()) return;
  }
}

TEST(virtual_delay, one_worker_is_never_delayed) {
  random r(3);
  const std::vector<slice> program = random_program(r, 1, false);
  const machine_end end = delayed(program, 1, 75);
  EXPECT_EQ(end.inserted[0], 0u);
  EXPECT_EQ(end.ends.back(), really_faster(program, 1, 75).back());
}

TEST(virtual_delay, a_type_on_all_workers_at_once_delays_none) {
  std::vector<slice> program;
  for (unsigned i = 0; i < 12; ++i) program.push_back({i % 3, true, 1000, 0, {}});
  const machine_end end = delayed(program, 3, 50);
  EXPECT_EQ(end.inserted, (std::vector<ticks>{0, 0, 0}));
  EXPECT_EQ(end.ends.back(), 2000u);
  EXPECT_EQ(end.real, 4000u);
}

TEST(virtual_delay, the_shorter_of_two_inputs_brings_nothing) {
  // Slices 0 and 1 run side by side, 2 needs both. Faster is the shorter one.
  const std::vector<slice> program = {
      {0, false, 4000, 0, {}}, {1, true, 3000, 0, {}}, {1, false, 1000, 0, {{0, 100}, {1, 100}}}};
  const machine_end end = delayed(program, 2, 50);
  EXPECT_EQ(end.ends[2], 5000u);
  EXPECT_EQ(end.excused[1], 0u) << "the delivering worker's debt is the receiving one's";
}

TEST(virtual_delay, a_chain_over_two_workers_is_delayed_nowhere) {
  const std::vector<slice> program = {{0, true, 1000, 0, {}},
                                      {1, true, 1000, 0, {{0, 100}}},
                                      {0, false, 1000, 0, {{1, 100}}},
                                      {1, true, 1000, 0, {{2, 100}}}};
  const machine_end end = delayed(program, 2, 50);
  EXPECT_EQ(end.inserted, (std::vector<ticks>{0, 0}));
  EXPECT_EQ(end.ends.back(), 2500u);
}

TEST(virtual_delay, a_slice_that_is_split_gains_in_all_its_parts) {
  delay_pool pool;
  pool.make_faster(faster_type, 50);
  delay_account a(pool);
  a.begin(faster_type, 1000, a.begins_at(1000, 1000, 1000));
  EXPECT_EQ(a.end(2000), 1500u);
  EXPECT_EQ(a.at(2200), 1600u);
  EXPECT_EQ(pool.required.load(), 600u);
  EXPECT_EQ(a.end(3000), 2000u);
  EXPECT_EQ(pool.required.load(), 1000u);
}

TEST(virtual_delay, polling_within_a_slice_gains_nothing) {
  delay_pool pool;
  pool.make_faster(faster_type, 50);
  delay_account a(pool);
  a.begin(faster_type, 1000, a.begins_at(1000, 1000, 1000));
  EXPECT_EQ(a.end(2000), 1500u);
  a.pause_until(2600);
  EXPECT_EQ(a.at(2600), 2100u);
  EXPECT_EQ(a.end(3000), 2300u);
  EXPECT_EQ(a.own(), 700u);
  EXPECT_EQ(a.account(), 700u);
  EXPECT_EQ(pool.required.load(), 700u);
}

TEST(virtual_delay, a_delay_that_ends_late_delays_no_other_worker) {
  delay_pool pool;
  pool.make_faster(faster_type, 50);
  delay_account a(pool), b(pool);
  a.begin(faster_type, 1000, a.begins_at(1000, 1000, 1000));
  b.begin(other_type, 1000, b.begins_at(1000, 1000, 1000));
  a.end(2000);
  b.end(2000);
  const ticks begins = b.begins_at(2000, 1000, 1000);
  EXPECT_EQ(begins, 2000u);
  EXPECT_EQ(b.due(begins), 2500u);
  b.begin(faster_type, 2800, begins, 800);
  EXPECT_EQ(b.end(3800), 2500u);
  EXPECT_EQ(b.account(), 1300u);
  EXPECT_EQ(pool.required.load(), 1000u) << "without the surplus of 300";
  EXPECT_EQ(b.due(b.begins_at(3800, 1000, 1000)), 3500u) << "no delay: the surplus";
}

TEST(virtual_delay, the_search_for_a_ready_task_takes_its_time) {
  delay_pool pool;
  delay_account a(pool);
  a.begin(other_type, 1000, a.begins_at(1000, 1000, 1000));
  a.end(2000);
  EXPECT_EQ(a.begins_at(2600, 2100, 2500), 2200u) << "found 100 ticks after it was ready";
  EXPECT_EQ(a.begins_at(2600, 1500, 1500), 2600u) << "ready before the worker was free";
}

}  // namespace
}  // namespace plx::detail
