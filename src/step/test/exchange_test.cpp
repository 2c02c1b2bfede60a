#include "step/exchange.hpp"
#include "step/round_end.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "net/error.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"

namespace plx::step {
namespace {

// A round in which each other locality sends some messages with round and sequence number.
class round_of_numbers final : public message_handler {
 public:
  round_of_numbers(exchange& net, int per_peer) : net_(net), per_peer_(per_peer), end_((net.count() - 1) * per_peer) {}

  std::vector<double> run(double round) {
    net_.open(*this);
    for (int to = 0; to < net_.count(); ++to)
      for (int i = 0; i < (to == net_.here() ? 0 : per_peer_); ++i) {
        message_tag tag;
        tag.group = static_cast<std::uint32_t>(i);
        const buffer<double> values(3);
        const double numbers[] = {round, double(net_.here()), double(i)};
        std::copy_n(numbers, 3, values.begin());
        net_.send(to, tag, values);
      }
    const bool whole = end_.wait();
    net_.close();
    if (!whole) end_.fail();
    return sums_;
  }
  void arrived(const message& m) override {
    ASSERT_EQ(m.values.size(), 3u);
    EXPECT_EQ(m.values[1], m.tag.from);
    EXPECT_EQ(m.values[2], m.tag.group);
    {
      const std::lock_guard guard(lock_);
      sums_.push_back(m.values[0]);
    }
    end_.arrive();
  }
  void lost(const std::exception_ptr& loss) override { end_.lost(loss); }

 private:
  exchange& net_;
  const int per_peer_;
  round_end end_;
  std::mutex lock_;
  std::vector<double> sums_;
};

// Consecutive rounds, in some of which some localities send nothing: no message is delivered to another round.
void many_rounds(exchange& net) {
  for (int round = 0; round < 40; ++round) {
    const int per_peer = round % 4;
    EXPECT_EQ(round_of_numbers(net, per_peer).run(round),
              std::vector<double>(static_cast<std::size_t>((net.count() - 1) * per_peer), round));
    if (round % 8 == 0) {
      EXPECT_EQ(net.all_gather({double(net.here()), double(round)}).at(1), (std::vector<double>{1.0, double(round)}));
      const auto at_root = net.gather({double(net.here()), double(round)});
      EXPECT_EQ(at_root.size(), net.here() == 0 ? std::size_t(net.count()) : 0);
      if (net.here() == 0) {
        EXPECT_EQ(at_root.at(1), (std::vector<double>{1.0, double(round)}));
      }
    }
  }
}

TEST(Exchange, MessagesBelongToTheirRound) {
  net::test::localities job(3, 2);
  job.run_all([] {
    exchange first(net::node_here()), second(net::node_here());  // two simulations
    many_rounds(first);
    many_rounds(second);
  });
}

TEST(Exchange, MessagesBelongToTheirRoundOnAnyNetwork) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    net::simulation sim({.localities = 3, .seed = seed, .delay_max_s = 500e-6});
    sim.run([] {
      exchange net(net::node_here());
      many_rounds(net);
    });
  }
}

TEST(Exchange, WithOneLocalityOperationsAreLocal) {
  exchange& net = exchange::alone();
  EXPECT_TRUE(net.is_alone());
  EXPECT_EQ(net.all_gather({1.0, 2.0}), (std::vector<std::vector<double>>{{1.0, 2.0}}));
  EXPECT_EQ(net.all_reduce({3.0}, [](const auto& a, const auto&) { return a; }), std::vector<double>{3.0});
}

TEST(Exchange, AWaitingHandlerIsNotifiedOfALoss) {
  net::test::localities job(3, 2);
  std::atomic<int> heard{0};
  job.run_all([&] {
    exchange net(net::node_here());
    if (net.here() == 2) {
      job.lose(2);
      return;
    }
    const auto expect_loss = [&](auto f) {
      try {
        f();
      } catch (const locality_lost& e) {
        heard += e.which() == 2 ? 1 : 0;
      }
    };
    expect_loss([&] { round_of_numbers(net, 1).run(0.0); });  // during its wait
    expect_loss([&] { round_of_numbers(net, 1).run(1.0); });  // which was notified before
    expect_loss([&] { net.all_gather({1.0}); });
  });
  EXPECT_EQ(heard, 6);
}

TEST(Exchange, AnExchangeCreatedAfterALossReportsIt) {
  net::test::localities job(2, 2);
  job.lose(1);
  job.settle();
  job.run(0, [] {
    exchange net(net::node_here());
    EXPECT_THROW(round_of_numbers(net, 1).run(0.0), locality_lost);
  });
}

}  // namespace
}  // namespace plx::step
