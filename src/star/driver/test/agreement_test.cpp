#include "star/driver/agreement.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "net/test/threads_test.hpp"
#include "num/exact_sum.hpp"
#include "rt/runtime.hpp"

namespace plx::star {
namespace {

using texts = std::vector<std::string>;

/// The result on each of n localities, of which those with a text that is not empty fail.
texts agreed(const texts& failures) {
  net::test::localities job(static_cast<unsigned>(failures.size()), 1);
  texts all(failures.size());
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < failures.size(); ++i)
    threads.emplace_back([&, i] {
      step::exchange net(job.at(i));
      const auto r =
          agree(net, job.at(i).home(), failures[i].empty() ? result<void>() : result<void>(error{failures[i]}));
      all[i] = r ? "fine" : r.error().message;
      const auto numbers = from_root(net, job.at(i).home(), {double(i), 0.5});
      EXPECT_EQ(numbers, (std::vector<double>{0.0, 0.5}));
    });
  for (auto& t : threads) t.join();
  return all;
}

TEST(Agreement, AllGetTheErrorOfTheFirst) {
  EXPECT_EQ(agreed({"", "", ""}), texts(3, "fine"));
  EXPECT_EQ(agreed({"", "no space on '\xc3\xa4'", "other"}), texts(3, "locality 1: no space on '\xc3\xa4'"));
  EXPECT_EQ(agreed({"the root's", "", "other"}), texts(3, "the root's"));
  EXPECT_EQ(agreed({"alone"}), texts(1, "alone"));
}

TEST(ExactSums, OverLocalitiesAreExact) {
  net::test::localities job(3, 1);
  job.run_all([] {
    step::exchange net(net::node_here());
    std::vector<exact_sum> sums(2);
    const double big = net.here() == 0 ? 1e300 : net.here() == 1 ? -1e300 : 0.0;
    sums[0].add(big);
    sums[0].add(std::ldexp(1.0, -60 * net.here()));
    sums[1].add(net.here());
    sum_over_localities(net, sums);
    EXPECT_EQ(sums[0].value(), 1.0 + std::ldexp(1.0, -60));
    EXPECT_EQ(sums[1].value(), 3.0);
  });
}

}  // namespace
}  // namespace plx::star
