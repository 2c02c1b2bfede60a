#include "net/observe/job_counters.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/test/timeout_test.hpp"
#include "net/action.hpp"
#include "net/test/threads_test.hpp"
#include "rt/thread.hpp"

using namespace plx;

namespace job_counters_test {
std::vector<double> back(std::vector<double> v) { return v; }
}  // namespace job_counters_test

namespace {

double value(const std::string& name) {
  const auto v = net::node_here().home().counters().query(name);
  if (!v) ADD_FAILURE() << v.error().message;
  return v ? v->at(0).value : -1;
}

TEST(JobCounters, TheLocalitiesAreCounted) {
  net::test::localities all(2);
  for (unsigned i = 0; i < 2; ++i) all.at(i).get<net::job_counters>();
  all.run(0, [] {
    EXPECT_EQ(value("/localities/count/all"), 2);
    EXPECT_EQ(value("/localities/count/lost"), 0);
    EXPECT_EQ(value("/localities/count/spares"), 0);
  });
}

TEST(JobCounters, CountersOfAllLocalitiesAreReadable) {
  net::test::localities all(3);
  for (unsigned i = 0; i < 3; ++i) all.at(i).get<net::job_counters>();
  all.run(2, [] {
    (void)async<&job_counters_test::back>(1, std::vector<double>(3)).get();
    // The other locality counts the parcel and its task later than it answers.
    for (const char* name : {"/parcels{locality#1/total}/count/received", "/threads{locality#1/total}/count/tasks"})
      EXPECT_TRUE(comes_true([name] { return value(name) >= 1; }, plx::this_thread::yield)) << name;
    const auto everywhere = net::node_here().home().counters().query("/parcels{locality#*/total}/count/sent");
    ASSERT_TRUE(everywhere) << everywhere.error().message;
    std::set<std::string> names;
    for (const auto& v : *everywhere) names.insert(v.name);
    EXPECT_EQ(names,
              (std::set<std::string>{"/parcels{locality#0/total}/count/sent", "/parcels{locality#1/total}/count/sent",
                                     "/parcels{locality#2/total}/count/sent"}));
    EXPECT_EQ(net::node_here().home().counters().list("/localities{locality#*/total}/*").size(), 9u);
    EXPECT_TRUE(net::node_here().home().counters().reset("/parcels{locality#0/total}/count/sent"));
    const auto wrong = net::node_here().home().counters().query("/parcels{locality#0/total}/count/snt");
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().message.find("count/sent"), std::string::npos) << wrong.error().message;
  });
  // An external thread may query as well.
  EXPECT_TRUE(all.at(0).home().counters().query("/parcels{locality#2/total}/count/sent"));
}

TEST(JobCounters, TheErrorNamesALostLocality) {
  net::test::localities all(2);
  for (unsigned i = 0; i < 2; ++i) all.at(i).get<net::job_counters>();
  all.lose(1);
  all.run(0, [&all] {
    EXPECT_TRUE(comes_true([&] { return all.at(0).is_lost(1); }, [] { plx::async([] {}).get(); }));
    EXPECT_EQ(value("/localities/count/lost"), 1);
    const auto gone = net::node_here().home().counters().query("/parcels{locality#1/total}/count/sent");
    ASSERT_FALSE(gone);
    EXPECT_NE(gone.error().message.find("locality#1"), std::string::npos);
  });
}

}  // namespace
