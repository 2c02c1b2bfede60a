// How many exchanges of data the start of a job takes, and which locality reports why it does not start. Localities are
// threads; tests/net/test_job.py has separate processes.
#include "net/start/job_start.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "net/job.hpp"
#include "net/start/job_info.hpp"
#include "net/start/test/table_bootstrap_test.hpp"
#include "net/transport/transport.hpp"
#if __has_include(<ucp/api/ucp.h>)
#define PLX_TEST_UCX
#include "net/transport/ucx/ucx_transport.hpp"
#endif

namespace {

using namespace plx;
using namespace plx::net;
using testing::HasSubstr;

/// The error of each locality, and how many exchanges there have been in all.
struct outcome {
  struct failure {
    std::string text;
    bool speaks = false;
  };
  std::vector<std::optional<failure>> failures;
  std::size_t exchanges = 0;
};

/// Starts n localities. `change` may change what a locality passes to the others; `started` is called on each that
/// starts.
outcome start(unsigned n, const std::function<void(locality_id, locality_properties&)>& change,
              const std::function<void(locality_id, job_start&)>& started) {
  test::table t(n);
  outcome o;
  o.failures.resize(n);
  std::vector<std::thread> threads;
  for (locality_id i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      std::unique_ptr<bootstrap> b = std::make_unique<test::table_bootstrap>(t, i);
      locality_properties mine = properties_here("", "");
      change(i, mine);
      try {
        job_start s = start_together("ucx", b, mine, 300);
        EXPECT_EQ(b->exchanges(), n == 1 ? 1u : 2u);
        started(i, s);
      } catch (const job_error& e) {
        o.failures[i] = {e.what(), e.speaks()};
      }
    });
  for (auto& each : threads) each.join();
  o.exchanges = t.sent.size();
  return o;
}

void unchanged(locality_id, locality_properties&) {}
void never_starts(locality_id i, job_start&) { ADD_FAILURE() << "locality " << i << " has started"; }

TEST(JobStart, AProcessAloneHasNoTransport) {
  const outcome o = start(1, unchanged, [](locality_id, job_start& s) {
    EXPECT_EQ(s.carrier, nullptr);
    EXPECT_EQ(s.hosts.size(), 1u);
  });
  EXPECT_FALSE(o.failures[0]);
}

#ifdef PLX_TEST_UCX
TEST(JobStart, TakesTwoExchanges) {
#ifdef PLX_TSAN  // not even loaded: its hooks for memory crash threads that end
  GTEST_SKIP() << "ThreadSanitizer does not see the synchronization in UCX's queues";
#endif
  if (const auto l = net::detail::load_ucx(); !l) GTEST_SKIP() << l.error().message;
  const auto with_measures = [](locality_id i, locality_properties& p) { p.measures = "of " + std::to_string(i); };
  const outcome o = start(3, with_measures, [](locality_id, job_start& s) {
    ASSERT_EQ(s.properties.size(), 3u);
    for (locality_id k = 0; k < 3; ++k) EXPECT_EQ(s.properties[k].measures, "of " + std::to_string(k));
    EXPECT_EQ(s.hosts, std::vector<std::string>(3, net::detail::host_key()));
    EXPECT_TRUE(s.carrier->stop(300));
  });
  for (const auto& f : o.failures) EXPECT_FALSE(f) << f->text;
  EXPECT_EQ(o.exchanges, 2u);
}
#endif

// No addresses are exchanged; the second exchange is the wait for the report.
TEST(JobStart, AnInvalidArgumentIsReportedByTheFirstThatHasIt) {
  const auto wrong = [](locality_id i, locality_properties& p) {
    if (i != 0) p.problem = "expected a number, found 'many'\n" + std::to_string(i);
  };
  const outcome o = start(3, wrong, never_starts);
  EXPECT_EQ(o.exchanges, 2u);
  for (locality_id i = 0; i < 3; ++i) {
    ASSERT_TRUE(o.failures[i]) << i;
    EXPECT_THAT(o.failures[i]->text, HasSubstr("found 'many'"));
    EXPECT_EQ(o.failures[i]->text.find('\n'), std::string::npos);
    EXPECT_EQ(o.failures[i]->speaks, i == 1) << i;
  }
}

// It dies between the two exchanges.
TEST(JobStart, AllReportAnInvalidArgumentIfTheFirstThatHasItIsMissing) {
  test::table t(3);
  std::vector<std::thread> threads;
  for (locality_id i = 0; i < 3; ++i)
    threads.emplace_back([&t, i] {
      std::unique_ptr<bootstrap> b = std::make_unique<test::table_bootstrap>(t, i);
      const locality_properties mine = properties_here("", i == 1 ? "found 'many'" : "");
      if (i == 1) {
        EXPECT_TRUE(net::detail::exchange_job_info(*b, mine.bytes(), 300));
        return t.die();
      }
      try {
        static_cast<void>(start_together("ucx", b, mine, 300));
        ADD_FAILURE() << "locality " << i << " has started";
      } catch (const job_error& e) {
        EXPECT_THAT(e.what(), HasSubstr("found 'many'"));
        EXPECT_TRUE(e.speaks()) << i;
      }
    });
  for (auto& each : threads) each.join();
}

// Their descriptions take the place of the addresses, before the wait for the report.
TEST(JobStart, DifferentProgramsTakeTwoExchangesAsWell) {
  const auto other = [](locality_id i, locality_properties& p) {
    if (i == 2) p.program += " of another build";
  };
  const outcome o = start(3, other, never_starts);
  EXPECT_EQ(o.exchanges, 2u + 1u);
  for (locality_id i = 0; i < 3; ++i) {
    ASSERT_TRUE(o.failures[i]) << i;
    EXPECT_THAT(o.failures[i]->text, HasSubstr("localities 0 and 2 run different programs"));
    EXPECT_EQ(o.failures[i]->speaks, i == 0) << i;
  }
}

TEST(JobStart, PropertiesAreReadAsWritten) {
  locality_properties p{"a program", "host 1,2", "trace,summary", "two\nlines", 3};
  const locality_properties read = locality_properties::read(p.bytes());
  EXPECT_EQ(read.program, p.program);
  EXPECT_EQ(read.cores, p.cores);
  EXPECT_EQ(read.measures, p.measures);
  EXPECT_EQ(read.spares, p.spares);
  EXPECT_EQ(read.problem.find('\n'), std::string::npos);
  EXPECT_THAT(read.problem, HasSubstr("lines"));
  for (std::size_t n = 0; n < p.bytes().size(); ++n)  // of another process, and incomplete
    EXPECT_TRUE(locality_properties::read(p.bytes().substr(0, n)).problem.empty()) << n;
}

}  // namespace
