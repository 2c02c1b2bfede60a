#include "probe/counters/counter_registry.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <thread>

#include "base/file.hpp"
#include "probe/counters/counter_name.hpp"

namespace {

using namespace plx::probe;

TEST(CounterName, PartsOfWellFormedNames) {
  const auto full = counter_name::parse("/threads{locality#0/worker-thread#1}/count/steals@x,y");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->object, "threads");
  EXPECT_EQ(full->instance, "locality#0/worker-thread#1");
  EXPECT_EQ(full->name, "count/steals");
  EXPECT_EQ(full->parameters, "x,y");
  const auto bare = counter_name::parse("/machine/memory");
  ASSERT_TRUE(bare);
  EXPECT_EQ(bare->instance, "");
  EXPECT_EQ(bare->parameters, "");
  for (const char* wrong : {"", "threads/x", "/", "/threads", "/threads{a/x", "/threads{}/x", "/threads{a}x", "//x",
                            "/threads/", "/threads/x{y}"})
    EXPECT_FALSE(counter_name::parse(wrong)) << wrong;
}

TEST(CounterName, Wildcards) {
  EXPECT_TRUE(wildcard_match("*", ""));
  EXPECT_TRUE(wildcard_match("a*c", "abbc"));
  EXPECT_TRUE(wildcard_match("*b*d", "abcbcd"));
  EXPECT_FALSE(wildcard_match("a*c", "abcd"));
  EXPECT_FALSE(wildcard_match("", "a"));
}

struct fixture {
  counter_registry r;
  double steals0 = 1, steals1 = 2;
  std::vector<registration> keep;
  fixture() {
    keep.push_back(
        r.add({"/threads{locality#0/total}/count/steals", "1", "", true}, [this] { return steals0 + steals1; }));
    keep.push_back(
        r.add({"/threads{locality#0/worker-thread#0}/count/steals", "1", "", true}, [this] { return steals0; }));
    keep.push_back(
        r.add({"/threads{locality#0/worker-thread#1}/count/steals", "1", "", true}, [this] { return steals1; }));
    keep.push_back(r.add({"/threads{locality#0/worker-thread#1}/time/idle", "s"}, [] { return 0.5; }));
    keep.push_back(r.add({"/machine/memory/resident", "bytes"}, [] { return 4096; }));
  }
  std::size_t count(std::string_view pattern) {
    const auto values = r.query(pattern);
    return values ? values->size() : 0;
  }
};

TEST(CounterRegistry, PatternsSelect) {
  fixture f;
  EXPECT_EQ(f.count("/threads{locality#0/worker-thread#*}/count/steals"), 2u);
  EXPECT_EQ(f.count("/threads{*}/count/steals"), 3u);
  EXPECT_EQ(f.count("/threads{*#1}/*"), 2u);
  EXPECT_EQ(f.count("/*{*}/*"), 5u);
  EXPECT_EQ(f.count("/machine/*"), 1u);
  // Without an instance: the total, not the workers.
  const auto total = f.r.query("/threads/count/steals");
  ASSERT_TRUE(total);
  ASSERT_EQ(total->size(), 1u);
  EXPECT_EQ((*total)[0].value, 3);
}

TEST(CounterRegistry, ValuesArePulledWhenAsked) {
  fixture f;
  f.steals1 = 10;
  const auto v = f.r.query("/threads{locality#0/worker-thread#1}/count/steals").value();
  EXPECT_EQ(v.at(0).value, 10);
  EXPECT_EQ(v.at(0).unit, "1");
}

TEST(CounterRegistry, AFailedLookUpSuggestsTheNearestName) {
  fixture f;
  EXPECT_EQ(f.r.query("/machine/memory/resdent").error().message,
            "no counter matches '/machine/memory/resdent'; did you mean '/machine/memory/resident'?");
  EXPECT_EQ(f.r.query("memory").error().message,
            "'memory' is not a counter name: expected /object{instance}/name@parameters");
}

TEST(CounterRegistry, ResetConcernsMonotonicCountersOnly) {
  fixture f;
  ASSERT_TRUE(f.r.reset("/*{*}/*"));
  f.steals1 += 5;
  EXPECT_EQ(f.r.query("/threads{locality#0/worker-thread#1}/count/steals").value().at(0).value, 5);
  EXPECT_EQ(f.r.query("/machine/memory/resident").value().at(0).value, 4096);
}

TEST(CounterRegistry, RegistrationsEndWithTheirHandle) {
  std::optional<counter_registry> r(std::in_place);
  registration outlives;
  {
    const registration a = r->add({"/a/x"}, [] { return 1; });
    outlives = r->add({"/b/x"}, [] { return 2; });
    EXPECT_EQ(r->list().size(), 2u);
  }
  ASSERT_EQ(r->list().size(), 1u);
  EXPECT_EQ(r->list()[0].name, "/b/x");
  r.reset();  // the handle may outlive the registry
}

TEST(CounterRegistry, CsvHasOneLinePerValue) {
  fixture f;
  const std::string path =
      (std::filesystem::temp_directory_path() / ("plx_counters_" + std::to_string(::getpid()))).string();
  std::filesystem::remove(path);
  ASSERT_TRUE(f.r.append_csv(path, 0.25, "/machine/*"));
  ASSERT_TRUE(f.r.append_csv(path, 0.5, "/threads/count/steals"));
  EXPECT_EQ(plx::read_file(path).value(),
            "time_s,name,value,unit\n0.250000,/machine/memory/resident,4096,bytes\n"
            "0.500000,/threads{locality#0/total}/count/steals,3,1\n");
  std::filesystem::remove(path);
  EXPECT_EQ(f.r.append_csv("/dev/full", 0, "/machine/*").error().message,
            "cannot write '/dev/full': No space left on device");
}

/// A function must not run once its registration has ended; the sanitizers detect it if it does.
TEST(CounterRegistry, QueriesAndRegistrationsFromManyThreads) {
  counter_registry r;
  const registration always = r.add({"/always/x"}, [] { return 1; });
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) ASSERT_GE(r.query("/*{*}/*").value().size(), 1u);
  });
  for (int i = 0; i < 500; ++i) {
    auto value = std::make_unique<double>(i);
    const registration a = r.add({"/short{lived}/x"}, [v = value.get()] { return *v; });
    EXPECT_EQ(r.query("/short{lived}/x").value().at(0).value, i);
  }
  stop = true;
  reader.join();
}

/// Counters of a family are created once, on request, and end with their registration.
TEST(CounterRegistry, FamiliesAreCreatedOnRequest) {
  counter_registry r;
  std::vector<registration> made;
  int asked = 0;
  registration family =
      r.add_family({"/a{locality#0/total}/parts", "1", "parameters: a number"}, [&](std::string_view p) {
        ++asked;
        if (p != "2") return plx::result<void>(plx::error{fmt::format("expected 2, found '{}'", p)});
        if (made.empty())
          for (int i = 0; i < 2; ++i)
            made.push_back(r.add({fmt::format("/a{{locality#0/total}}/parts@2,{}", i)}, [i] { return 10 * i; }));
        return plx::result<void>();
      });
  for (int turn = 0; turn < 2; ++turn) {
    const auto values = r.query("/a/parts@2").value();
    ASSERT_EQ(values.size(), 2u);
    EXPECT_EQ(values[1].name, "/a{locality#0/total}/parts@2,1");
    EXPECT_EQ(values[1].value, 10);
  }
  EXPECT_EQ(r.query("/a{*}/parts@*").value().size(), 2u);
  EXPECT_EQ(r.query("/a/parts@3").error().message, "expected 2, found '3'");
  EXPECT_EQ(r.query("/a/parts").error().message, "expected 2, found ''");
  EXPECT_EQ(asked, 4);
  family = registration();
  made.clear();
  EXPECT_FALSE(r.query("/a/parts@2"));
}

TEST(CounterRegistryDeathTest, NamesAreWellFormedAndUnique) {
  counter_registry r;
  const registration a = r.add({"/a/x"}, [] { return 1; });
  EXPECT_DEATH((void)r.add({"/a/x"}, [] { return 1; }), "name=\"/a/x\"");
  EXPECT_DEATH((void)r.add({"a/x"}, [] { return 1; }), "info.name=\"a/x\"");
  EXPECT_DEATH((void)r.add({"/a/*"}, [] { return 1; }), "info.name");
}

}  // namespace
