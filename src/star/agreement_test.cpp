#include "star/agreement.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "net/test/threads_test.hpp"
#include "rt/runtime.hpp"

namespace plx::star {
namespace {

using texts = std::vector<std::string>;

/// The result on each of n localities, of which those with a text that is not empty fail.
texts told(const texts& failures) {
  net::test::localities job(static_cast<unsigned>(failures.size()), 1);
  texts all(failures.size());
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < failures.size(); ++i)
    threads.emplace_back([&, i] {
      exchange net(job.at(i));
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
  EXPECT_EQ(told({"", "", ""}), texts(3, "fine"));
  EXPECT_EQ(told({"", "no space on '\xc3\xa4'", "other"}), texts(3, "locality 1: no space on '\xc3\xa4'"));
  EXPECT_EQ(told({"the root's", "", "other"}), texts(3, "the root's"));
  EXPECT_EQ(told({"alone"}), texts(1, "alone"));
}

}  // namespace
}  // namespace plx::star
