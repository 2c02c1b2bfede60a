// Handles, quotients, functions that throw, wrong names.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <thread>

#include "probe/counters/counter_registry.hpp"

namespace {

using namespace plx::probe;

std::string problem(const counter_registry& r, std::string_view name) {
  const auto v = r.query(name);
  return v ? "" : v.error().message;
}

TEST(CounterHandle, ReadsWithoutTheName) {
  counter_registry r;
  double x = 1;
  registration a = r.add({"/a{locality#0/total}/x", "s", "", true}, [&x] { return x; });
  const auto h = r.find("/a/x");
  ASSERT_TRUE(h);
  EXPECT_EQ(h->about().name, "/a{locality#0/total}/x");
  x = 5;
  EXPECT_EQ(h->value(), 5);
  EXPECT_EQ(h->read(after_reading::reset).value(), 5);
  x = 7;
  EXPECT_EQ(h->value(), 2);  // a reset affects all readers
  EXPECT_EQ(r.query("/a/x").value().at(0).value, 2);
  a = registration();
  EXPECT_TRUE(std::isnan(h->value()));
  EXPECT_EQ(h->read().error().message, "cannot read '/a{locality#0/total}/x': it is no longer registered");
}

TEST(CounterHandle, OutlivesTheRegistry) {
  std::optional<counter_registry> r(std::in_place);
  std::optional<registration> a = r->add({"/a/x"}, [] { return 1; });
  const counter_handle h = r->find("/a/x").value();
  r.reset();
  EXPECT_EQ(h.value(), 1);  // it is still registered
  a.reset();
  EXPECT_TRUE(std::isnan(h.value()));
  EXPECT_TRUE(std::isnan(counter_handle().value()));
}

TEST(CounterHandle, RefersToOneCounter) {
  counter_registry r;
  const registration a = r.add({"/a{b}/x"}, [] { return 1; });
  const registration b = r.add({"/a{c}/x"}, [] { return 1; });
  EXPECT_EQ(r.find("/a{*}/x").error().message,
            "expected the name of one counter, found '/a{*}/x', which matches 2: '/a{b}/x', '/a{c}/x', ...");
}

TEST(CounterRegistry, AQuotientCountsFromTheResetInBothParts) {
  counter_registry r;
  std::pair<double, double> sums(10, 100);
  const registration a = r.add_ratio({"/a/rate"}, [&sums] { return sums; });
  const counter_handle h = r.find("/a/rate").value();
  EXPECT_DOUBLE_EQ(h.value(), 0.1);
  EXPECT_DOUBLE_EQ(r.query("/a/rate", after_reading::reset).value().at(0).value, 0.1);
  EXPECT_EQ(h.value(), 0);  // the denominator is 0
  sums = {20, 120};
  EXPECT_DOUBLE_EQ(h.value(), 0.5);
  ASSERT_TRUE(r.reset("/a/rate"));
  sums = {20, 140};
  EXPECT_EQ(h.value(), 0);
}

TEST(CounterRegistry, AFunctionThatThrowsIsAProblemOfItsCounterAlone) {
  counter_registry r;
  const registration a = r.add({"/a/bad"}, []() -> double { throw std::runtime_error("the sensor is off"); });
  const registration b = r.add({"/a/good"}, [] { return 3; });
  const registration c = r.add({"/a/worse"}, []() -> double { throw 1; });
  const auto all = r.query("/a/*").value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_TRUE(std::isnan(all[0].value));
  EXPECT_EQ(all[0].problem, "the sensor is off");
  EXPECT_EQ(all[1].value, 3);
  EXPECT_EQ(all[1].problem, "");
  EXPECT_EQ(all[2].problem, "its function threw an exception that is not a std::exception");
  EXPECT_EQ(problem(r, "/a/bad"), "cannot read '/a/bad': the sensor is off");
}

TEST(CounterRegistry, AFunctionMayReadOtherCountersButNotItsOwn) {
  counter_registry r;
  const registration a = r.add({"/a/x"}, [] { return 3; });
  const registration b = r.add({"/a/twice"}, [&r] { return 2 * r.query("/a/x").value().at(0).value; });
  EXPECT_EQ(r.query("/a/twice").value().at(0).value, 6);
  const registration c = r.add({"/c/self"}, [&r]() -> double {
    const auto v = r.query("/c/self");
    throw std::runtime_error(v ? "" : v.error().message);
  });
  EXPECT_EQ(problem(r, "/c/self"), "cannot read '/c/self': cannot read '/c/self': its value depends on itself");
}

/// Two threads, each in the function of a counter that reads the other's: one of the inner readings fails, the other
/// waits for it; none waits for ever.
TEST(CounterRegistry, CountersThatReadEachOtherOnTwoThreadsDependOnThemselves) {
  counter_registry r;
  std::atomic<int> inside{0}, refused{0};
  const auto reads = [&](const char* other) {
    return [&, other]() -> double {
      ++inside;
      while (inside < 2) std::this_thread::yield();
      const auto v = r.query(other);
      const bool circular = !v && v.error().message.find("its value depends on itself") != std::string::npos;
      if (circular) ++refused;
      return circular ? 1 : v ? v->at(0).value : -1;
    };
  };
  const registration a = r.add({"/a/x"}, reads("/b/y")), b = r.add({"/b/y"}, reads("/a/x"));
  const counter_handle x = r.find("/a/x").value(), y = r.find("/b/y").value();
  for (int round = 0; round < 50; ++round) {
    inside = refused = 0;
    std::thread second([&] { EXPECT_EQ(y.value(), 1); });
    EXPECT_EQ(x.value(), 1);
    second.join();
    EXPECT_GE(refused, 1);
  }
}

/// The wrong part is determined in order: the object, the name, the instance, the parameters.
TEST(CounterRegistry, TheNearestNameIsSuggestedForAnyWrongPart) {
  counter_registry r;
  std::vector<registration> keep;
  for (const char* name : {"/threads{locality#0/total}/idle-rate", "/threads{locality#0/worker-thread#0}/idle-rate",
                           "/threads{locality#0/worker-thread#1}/idle-rate", "/machine/memory/resident", "/p/x@1"})
    keep.push_back(r.add({name}, [] { return 0; }));
  EXPECT_EQ(problem(r, "/thraeds/idle-rate"),
            "no counter matches '/thraeds/idle-rate'; did you mean '/threads/idle-rate'?");
  EXPECT_EQ(problem(r, "/threads{locality#0/total}/idel-rate"),
            "no counter matches '/threads{locality#0/total}/idel-rate'; did you mean "
            "'/threads{locality#0/total}/idle-rate'?");
  EXPECT_EQ(problem(r, "/threads{locality#0/worker-thread#7}/idle-rate"),
            "no counter matches '/threads{locality#0/worker-thread#7}/idle-rate'; its instances are "
            "{locality#0/total}, {locality#0/worker-thread#0}, {locality#0/worker-thread#1}");
  EXPECT_EQ(problem(r, "/machine{locality#0/total}/memory/resident"),
            "no counter matches '/machine{locality#0/total}/memory/resident'; did you mean "
            "'/machine/memory/resident'?");
  EXPECT_EQ(problem(r, "/machine/memory/resident@5"),
            "no counter matches '/machine/memory/resident@5'; did you mean '/machine/memory/resident'?");
  EXPECT_EQ(problem(r, "/p/x"), "no counter matches '/p/x'; did you mean '/p/x@1'?");
  EXPECT_EQ(problem(r, "/quite/else"), "no counter matches '/quite/else'; --plx:list-counters lists them all");
}

/// Counters are added and removed while others read all of them, through handles and by name.
TEST(CounterRegistry, ReadersAndWritersOfTheListAtOnce) {
  counter_registry r;
  const registration always = r.add({"/always/x", "1", "", true}, [] { return 1; });
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&r, &stop, t] {
      for (int i = 0; !stop; ++i) {
        const std::string name = "/mine{thread#" + std::to_string(t) + "}/x";
        const registration mine = r.add({name}, [i] { return i; });
        ASSERT_EQ(r.find(name)->value(), i);
      }
    });
  threads.emplace_back([&r, &stop] {
    while (!stop) ASSERT_TRUE(r.reset("/*{*}/*"));
  });
  for (int i = 0; i < 300; ++i) {
    ASSERT_GE(r.query("/*{*}/*")->size(), 1u);
    ASSERT_GE(r.list().size(), 1u);
  }
  stop = true;
  for (std::thread& t : threads) t.join();
}

TEST(CounterRegistryDeathTest, AFunctionMustNotEndItsOwnRegistration) {
  counter_registry r;
  registration a;
  a = r.add({"/a/x"}, [&a] { return a = registration(), 1; });
  EXPECT_DEATH((void)r.query("/a/x"), "must not end its own registration");
}

/// Two counters that read each other, read by two threads at once: without a check for cycles both would deadlock.
TEST(CounterHandle, MutuallyDependentCountersHaveNoValueOnAnyThread) {
  counter_registry r;
  std::atomic<int> inside{0};
  const auto other = [&](const char* name) {
    return [&r, &inside, name] {
      if (++inside <= 2)  // both are inside before either reads the other
        for (int i = 0; i < 100'000 && inside < 2; ++i) std::this_thread::yield();
      const auto value = r.find(name).value().read();
      if (!value) throw std::runtime_error(value.error().message);
      return *value;
    };
  };
  const registration a = r.add({"/c/a"}, other("/c/b")), b = r.add({"/c/b"}, other("/c/a"));
  for (int i = 0; i < 100; ++i) {
    inside = 0;
    const counter_handle first = r.find("/c/a").value(), second = r.find("/c/b").value();
    std::jthread beside([&] { EXPECT_FALSE(second.read()); });
    EXPECT_FALSE(first.read());
  }
}

}  // namespace
