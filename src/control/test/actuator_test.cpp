#include "control/actuator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "base/file.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(actuator, sets_the_value_calls_apply_and_logs) {
  actuator_registry all;
  std::vector<std::int64_t> values;
  auto streams =
      all.add<std::int64_t>({"streams", "1", "Streams"}, 4, {1, 32}, [&](std::int64_t n) { values.push_back(n); });
  EXPECT_EQ(streams->get(), 4);
  EXPECT_EQ(streams->set(8, "me", "because").value(), 1u);
  EXPECT_EQ(streams->get(), 8);
  EXPECT_EQ(streams->set(8, "me", "again").value(), 0u) << "an unchanged value is not a decision";
  EXPECT_EQ(streams->reset("me", "enough").value(), 2u);
  EXPECT_THAT(values, ElementsAre(8, 4));
  const auto log = all.log()->all();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].who + "|" + log[0].what + "|" + log[0].from + "|" + log[0].to + "|" + log[0].why,
            "me|streams|4|8|because");
  EXPECT_GE(log[1].when, log[0].when);
}

TEST(actuator, refuses_values_out_of_bounds) {
  actuator_registry all;
  auto n = all.add<std::int64_t>({"n"}, 4, {1, 32}, [](std::int64_t) {});
  auto x = all.add<double>({"x"}, 0.5, {0, 1}, [](double) {});
  EXPECT_EQ(n->set(33, "me", "").error().message, "actuator 'n': expected 1 to 32, found 33");
  EXPECT_EQ(x->set(std::nan(""), "me", "").error().message, "actuator 'x': expected 0 to 1, found nan");
  EXPECT_FALSE(x->set(-std::numeric_limits<double>::infinity(), "me", "").has_value());
  EXPECT_EQ(n->get(), 4);
  EXPECT_EQ(all.log()->count(), 0u);
  EXPECT_EQ(n->nearest(99), 32);
  EXPECT_EQ(x->nearest(-1), 0);
  EXPECT_EQ(x->nearest(std::nan("")), 0.5);
}

TEST(actuator, parses_every_type) {
  actuator_registry all;
  auto n = all.add<std::int64_t>({"n"}, 4, {-5, 32}, [](std::int64_t) {});
  auto x = all.add<double>({"x"}, 0.5, {0, 1}, [](double) {});
  auto f = all.add_flag({"f"}, false, [](bool) {});
  auto c = all.add_choice({"c"}, {"fast", "small"}, [](choice) {});
  EXPECT_TRUE(n->set_text("-3", "me", "").has_value());
  EXPECT_TRUE(x->set_text("0.25", "me", "").has_value());
  EXPECT_TRUE(f->set_text("true", "me", "").has_value());
  EXPECT_TRUE(c->set_text("small", "me", "").has_value());
  EXPECT_EQ(n->text() + x->text() + f->text() + c->text(), "-30.25truesmall");
  EXPECT_EQ(c->set_text("smal", "me", "").error().message,
            "actuator 'c': expected one of fast, small, found 'smal'; did you mean 'small'?");
  EXPECT_EQ(n->set_text("3 ", "me", "").error().message, "actuator 'n': expected -5 to 32, found '3 '");
  EXPECT_FALSE(f->set_text("2", "me", "").has_value());
  EXPECT_FALSE(c->set({7}, "me", "").has_value());
}

TEST(actuator, is_found_by_name_and_type) {
  actuator_registry all;
  auto n = all.add<std::int64_t>({"worker-cap"}, 4, {1, 4}, [](std::int64_t) {});
  EXPECT_EQ(all.find_as<std::int64_t>("worker-cap").value()->get(), 4);
  EXPECT_EQ(all.find("worker-cup").error().message, "no actuator 'worker-cup'; did you mean 'worker-cap'?");
  EXPECT_THAT(all.find_as<double>("worker-cap").error().message, HasSubstr("a different type"));
  EXPECT_EQ(all.list().size(), 1u);
}

TEST(actuator, decisions_are_undone_in_reverse_order) {
  actuator_registry all;
  auto n = all.add<std::int64_t>({"n"}, 1, {1, 9}, [](std::int64_t) {});
  const auto first = n->set(3, "a", "").value();
  const auto second = n->set(7, "b", "").value();
  EXPECT_EQ(all.undo(first, "me", "").error().message, "actuator 'n': decision 1 is not the newest, which is 2 by 'b'");
  EXPECT_TRUE(all.undo(second, "me", "it did not help").has_value());
  EXPECT_EQ(n->get(), 3);
  EXPECT_EQ(n->changed_by(), "a");
  EXPECT_TRUE(all.undo(first, "me", "").has_value());
  EXPECT_EQ(n->get(), 1);
  EXPECT_FALSE(all.undo(first, "me", "").has_value()) << "cannot be undone twice";
  EXPECT_FALSE(all.undo(99, "me", "").has_value());
  EXPECT_EQ(all.log()->count(), 4u) << "an undo is also a decision";
}

TEST(actuator, an_exception_in_apply_refuses_the_change) {
  actuator_registry all;
  auto n = all.add<std::int64_t>({"n"}, 1, {1, 9}, [](std::int64_t v) {
    if (v == 5) throw std::runtime_error("five is taken");
  });
  EXPECT_EQ(n->set(5, "me", "").error().message, "actuator 'n' cannot be set to 5: five is taken");
  EXPECT_EQ(n->get(), 1);
  EXPECT_EQ(all.log()->count(), 0u);
}

TEST(actuator, a_removed_actuator_refuses_changes) {
  std::shared_ptr<actuator_of<std::int64_t>> kept;
  int calls = 0;
  {
    actuator_registry all;
    {
      auto n = all.add<std::int64_t>({"n"}, 1, {1, 9}, [&](std::int64_t) { ++calls; });
      kept = n.shared();
      EXPECT_TRUE(kept->set(2, "me", "").has_value());
    }
    EXPECT_EQ(kept->set(3, "me", "").error().message, "actuator 'n' was removed");
    EXPECT_FALSE(all.find("n").has_value());
    auto again = all.add<std::int64_t>({"n"}, 1, {1, 9}, [](std::int64_t) {});
    EXPECT_EQ(again->get(), 1);
  }
  EXPECT_FALSE(kept->set(4, "me", "").has_value()) << "the registry is destroyed";
  EXPECT_EQ(calls, 1);
}

TEST(actuator, concurrent_changes_are_logged_without_gaps) {
  actuator_registry all;
  std::int64_t applied = 0;  // not atomic: changes are serialized
  auto n = all.add<std::int64_t>({"n"}, 0, {0, 1000}, [&](std::int64_t v) { applied = v; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) EXPECT_TRUE(n->set((i * 7 + t * 250) % 1001, "t", "").has_value());
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(applied, n->get());
  const auto log = all.log()->all();
  for (std::size_t i = 1; i < log.size(); ++i) {
    EXPECT_EQ(log[i].number, log[i - 1].number + 1);
    EXPECT_EQ(log[i].from, log[i - 1].to);
  }
}

TEST(decision_log, is_written_as_csv_and_to_the_trace) {
  recorder r(1);
  r.trace(true, 64);
  actuator_registry all(&r);
  auto n = all.add<std::int64_t>({"n"}, 1, {1, 9}, [](std::int64_t) {});
  EXPECT_TRUE(n->set(5, "a, b", "said \"so\"").has_value());
  const auto marks = r.collect_trace().marks;
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].category + ": " + marks[0].text, "policy: a, b: n from 1 to 5: said \"so\"");
  const std::string path = temporary_path("decision_log.csv");
  ASSERT_TRUE(all.log()->write_csv(path).has_value());
  const std::string text = read_file(path).value();
  EXPECT_THAT(text, HasSubstr("number,time_s,who,what,from,to,why\n1,"));  // words: ok
  EXPECT_THAT(text, HasSubstr(",\"a, b\",n,1,5,\"said \"\"so\"\"\"\n"));
  EXPECT_FALSE(all.log()->write_csv("/nowhere/at/all.csv").has_value());
}

}  // namespace
}  // namespace plx::probe
