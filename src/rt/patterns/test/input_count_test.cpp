#include "rt/patterns/input_count.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "probe/record/recorder.hpp"
#include "rt/latch.hpp"
#include "rt/test/every_schedule_test.hpp"

namespace {

using plx::testing::on_every_schedule;

// Three cells in a row, each of which needs itself and its neighbours of the previous step: the last arrival posts.
TEST(input_count, the_last_arrival_sees_all_writes) {
  on_every_schedule([] {
    constexpr int cells = 3, steps = 20;
    struct row {
      std::array<std::array<plx::input_count, cells>, steps + 1> count;
      std::array<std::array<int, cells>, steps + 1> value{};
      plx::latch end{cells};

      void advance(int step, int i) {
        const auto& old = value[step];
        value[step + 1][i] = old[i] + (i > 0 ? old[i - 1] : 0) + (i + 1 < cells ? old[i + 1] : 0);
        if (step + 1 == steps) return end.count_down();
        for (int j = std::max(i - 1, 0); j <= std::min(i + 1, cells - 1); ++j)
          if (count[step + 1][j].arrive()) count[step + 1][j].post({}, [this, step, j] { advance(step + 1, j); });
      }
    } r;
    for (auto& step : r.count)
      for (int i = 0; i < cells; ++i) step[i].reset(i == 1 ? 3 : 2);
    r.value[0] = {1, 1, 1};
    for (int i = 0; i < cells; ++i) plx::post([&r, i] { r.advance(0, i); });
    r.end.wait();
    std::array<int, cells> expected{1, 1, 1};
    for (int s = 0; s < steps; ++s)
      expected = {expected[0] + expected[1], expected[0] + expected[1] + expected[2], expected[1] + expected[2]};
    EXPECT_EQ(r.value[steps], expected);
  });
}

TEST(input_count, all_inputs_are_parents_in_the_trace) {
  static const plx::probe::name_id name = plx::probe::register_name("input_count_test");
  plx::runtime rt({.workers = 2, .bind = false});
  rt.recorder().trace(true);
  rt.run(plx::task_info{name, 0}, [] {
    plx::input_count two(2), end(1);
    plx::latch done(1);
    const auto arrive = [&] {
      if (two.arrive())
        two.post({name, 3}, [&] {
          if (end.arrive()) done.count_down();
        });
    };
    plx::post({name, 1}, arrive);
    plx::post({name, 2}, arrive);
    done.wait();
    end.passed();
  });
  std::set<std::uint64_t> keys_of_three, keys_of_zero;
  for (bool complete = false; !complete;) {  // a result is visible a moment before the end of its task
    const plx::probe::trace_data t = rt.recorder().collect_trace();
    std::map<plx::probe::task_id, std::uint64_t> key;
    std::size_t ended = 0;
    for (const auto& slices : t.workers)
      for (const auto& s : slices) key[s.id] = s.key, ended += s.finished;
    complete = ended == 4;
    const auto parents = [&](auto self, plx::probe::task_id to, std::set<std::uint64_t>& found) -> void {
      for (const auto& e : t.edges) {
        if (e.to != to) continue;
        if (plx::probe::is_join(e.from))
          self(self, e.from, found);
        else if (key.contains(e.from))
          found.insert(key[e.from]);
      }
    };
    for (const auto& [id, k] : key)
      if (k == 3 || k == 0) parents(parents, id, k == 3 ? keys_of_three : keys_of_zero);
  }
  EXPECT_EQ(keys_of_three, (std::set<std::uint64_t>{1, 2}));
  EXPECT_EQ(keys_of_zero, (std::set<std::uint64_t>{3}));
}

}  // namespace
