// The follower on model programs: a memory-bound program keeps few workers, others keep all.
#include "control/worker_cap_follower.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "control/tuning_search.hpp"

namespace plx::probe {
namespace {

/// Throughput of n workers, without noise.
using model = double (*)(unsigned n);
double computes(unsigned n) { return n; }
double saturates_at_3(unsigned n) { return std::min(n, 3u); }
double gets_worse_beyond_4(unsigned n) { return n <= 4 ? n : 4.0 * std::pow(0.97, n - 4); }
double is_serial(unsigned) { return 1; }

struct played {
  unsigned kept;
  double work_share;  // relative to the throughput of all workers
};

/// Measures `spans` times; the noise is a factor of 1 +- noise, and some spans are disturbed.
played play(model m, unsigned workers, int spans, double noise, std::uint64_t seed, worker_cap_follower* f = nullptr) {
  worker_cap_follower own({.workers = workers});
  if (f == nullptr) f = &own;
  detail::tuning_random random(seed);
  double work = 0;
  for (int i = 0; i < spans; ++i) {
    const double disturbed = random.uniform() < 0.05 ? 0.6 : 1;
    const double throughput = m(f->cap()) * (1 + noise * (2 * random.uniform() - 1)) * disturbed;
    work += throughput / disturbed;
    f->measured(throughput);
    EXPECT_GE(f->cap(), 1u);
    EXPECT_LE(f->cap(), workers);
  }
  return {f->kept(), work / spans / m(workers)};
}

TEST(worker_cap_follower, keeps_all_workers_if_they_help) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    for (const unsigned workers : {1u, 2u, 8u, 64u}) {
      const played p = play(computes, workers, 3000, 0.05, seed);
      EXPECT_EQ(p.kept, workers) << "seed " << seed;
      EXPECT_GT(p.work_share, 0.98) << "trying fewer workers costs too much, seed " << seed;
    }
  }
}

TEST(worker_cap_follower, finds_where_the_throughput_saturates) {
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const played p = play(saturates_at_3, 16, 3000, 0.02, seed);
    right += p.kept == 3;
    EXPECT_GE(p.kept, 3u) << "slower, seed " << seed;
    EXPECT_LE(p.kept, 5u) << "seed " << seed;
    EXPECT_GT(p.work_share, 0.97) << "seed " << seed;
  }
  EXPECT_GE(right, 80);
}

TEST(worker_cap_follower, one_of_two_is_enough_for_a_serial_program) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const played p = play(is_serial, 2, 1000, 0.02, seed);
    EXPECT_EQ(p.kept, 1u) << "seed " << seed;
  }
}

TEST(worker_cap_follower, improves_throughput_where_too_many_workers_interfere) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const played p = play(gets_worse_beyond_4, 16, 3000, 0.02, seed);
    EXPECT_LE(p.kept, 6u) << "seed " << seed;
    EXPECT_GE(p.kept, 4u) << "seed " << seed;
    EXPECT_GT(p.work_share, 1.2) << "seed " << seed;
  }
}

TEST(worker_cap_follower, small_losses_do_not_add_up) {
  // Each halving costs 2 %, less than the tolerance; all together cost more.
  const model slowly = [](unsigned n) { return std::pow(0.98, 6 - std::log2(n)); };
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const played p = play(slowly, 64, 3000, 0.005, seed);
    EXPECT_GE(slowly(p.kept), 0.96) << p.kept << " workers, seed " << seed;
  }
}

TEST(worker_cap_follower, raises_the_cap_when_the_program_scales_again) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    worker_cap_follower f({.workers = 8});
    EXPECT_LE(play(is_serial, 8, 1500, 0.02, seed, &f).kept, 1u);
    // One worker now does slightly more than before: only the change is detectable.
    const played p = play([](unsigned n) { return 1.5 * n; }, 8, 1500, 0.02, seed, &f);
    EXPECT_EQ(p.kept, 8u) << "seed " << seed;
  }
}

TEST(worker_cap_follower, spans_without_progress_are_ignored) {
  worker_cap_follower f({.workers = 4});
  const unsigned before = f.cap();
  for (int i = 0; i < 1000; ++i) f.measured(i % 2 == 0 ? 0.0 : std::nan(""));
  EXPECT_EQ(f.cap(), before);
  EXPECT_EQ(f.kept(), 4u);
}

TEST(worker_cap_follower, reports_the_reason) {
  worker_cap_follower f({.workers = 2});
  play(is_serial, 2, 60, 0.0, 3, &f);
  EXPECT_NE(f.why().find("the throughput of 1 worker is 1.000 x that of 2"), std::string::npos) << f.why();
}

}  // namespace
}  // namespace plx::probe
