#include "mesh/tree/regrid.hpp"

#include <gtest/gtest.h>

#include "mesh/test/test_meshes.hpp"

namespace {

using namespace plx::mesh;

std::vector<location> leaves_of(const block_mesh& mesh) {
  std::vector<location> l;
  for (const slot_id s : mesh.blocks()) l.push_back(mesh.where(s));
  return l;
}

std::vector<flag> all(const block_mesh& mesh, flag f) { return std::vector<flag>(mesh.slot_count(), f); }

std::array<double, 2> totals(const block_mesh& mesh, const arena& u, int v) {
  long double sum = 0, size = 0;
  for (const slot_id s : mesh.blocks()) {
    const double width = mesh.cell_width(s);
    for (int i = 0; i < u.cells(); ++i) {
      const long double x = u.block(s)[v * u.cells() + i] * width * width * width;
      sum += x;
      size += std::abs(x);
    }
  }
  return {static_cast<double>(sum), static_cast<double>(size)};
}

// The same mesh, built without its predecessor.
block_mesh rebuilt(const block_mesh& mesh) {
  std::vector<leaf> leaves;
  for (const slot_id s : mesh.blocks()) leaves.push_back({mesh.where(s), s, mesh.coarsen_votes(s)});
  return block_mesh(mesh.box(), leaves);
}

template <class T>
bool same(std::span<const T> a, std::span<const T> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void expect_equal(const block_mesh& a, const block_mesh& b) {
  ASSERT_TRUE(same(a.blocks(), b.blocks()));
  EXPECT_EQ(a.deepest(), b.deepest());
  for (const slot_id s : a.blocks()) {
    ASSERT_EQ(a.where(s), b.where(s));
    ASSERT_EQ(a.position(s), b.position(s));
    ASSERT_EQ(a.coarsen_votes(s), b.coarsen_votes(s));
    ASSERT_EQ(a.finer_face_count(s), b.finer_face_count(s));
    ASSERT_EQ(a.coarser_face_neighbours(s).size(), b.coarser_face_neighbours(s).size());
    ASSERT_TRUE(same(a.touching(s), b.touching(s)));
    ASSERT_EQ(a.coarse_boxes(s, false).size(), b.coarse_boxes(s, false).size());
    for (int d = 0; d < direction_count; ++d) {
      ASSERT_EQ(a.around(s, d).kind, b.around(s, d).kind);
      ASSERT_EQ(a.around(s, d).slots, b.around(s, d).slots);
    }
  }
}

class RandomRegrids : public testing::TestWithParam<std::tuple<std::array<int, 3>, boundary, limiter>> {};

TEST_P(RandomRegrids, StayBalancedAndConserveTotals) {
  const auto [roots, sides, rule] = GetParam();
  std::mt19937_64 rng(2);
  domain d = test::box(roots, 8, 3, sides);
  d.prolongation = rule;
  block_mesh mesh(d);
  const auto grouped = [](const char* name) { return field_info{.name = name, .limiter_group = 0}; };
  arena u({grouped("rho"), {"mx", field_kind::polar, 0}, grouped("s0"), grouped("s1")}, 8);
  u.resize(mesh.slot_count());
  test::fill_random(u, rng);
  tile_scratch scratch;
  int merges = 0, splits = 0;
  for (int round = 0; round < 32; ++round) {
    std::vector<flag> flags(mesh.slot_count());
    const double ask = round % 8 < 4 ? 0.15 : 0.005;
    std::uniform_real_distribution<double> uniform(0, 1);
    for (flag& f : flags) f = uniform(rng) < ask ? flag::refine : uniform(rng) < 0.99 ? flag::coarsen : flag::keep;
    regrid_plan plan = plan_regrid(mesh, flags, 2);
    std::array<std::array<double, 2>, 4> before;
    for (int v = 0; v < 4; ++v) before[v] = totals(mesh, u, v);
    move_values(plan, mesh, u, {}, scratch);
    expect_equal(plan.next, rebuilt(plan.next));
    for (const slot_id s : mesh.blocks()) {
      if (flags[s] == flag::refine && mesh.level(s) < 3) {
        EXPECT_FALSE(plan.next.is_live(s) && plan.next.where(s) == mesh.where(s));
      }
    }
    merges += static_cast<int>(plan.merged.size());
    splits += static_cast<int>(plan.refined.size());
    mesh = std::move(plan.next);
    EXPECT_TRUE(test::balanced(d, leaves_of(mesh)));
    for (int v = 0; v < 4; ++v) {
      const auto after = totals(mesh, u, v);
      EXPECT_NEAR(after[0], before[v][0], 1e-14 * before[v][1]);
    }
  }
  EXPECT_GT(merges, 3);
  EXPECT_GT(splits, 10);
}

INSTANTIATE_TEST_SUITE_P(Boxes, RandomRegrids,
                         testing::Combine(testing::Values(std::array{1, 1, 1}, std::array{2, 1, 1}),
                                          testing::Values(boundary::periodic, boundary::outflow),
                                          testing::Values(limiter::minmod, limiter::central)));

// The smallest mesh that satisfies the requests: splits come from requests or from balance only.
TEST(Regrid, RefinesNoMoreThanBalanceNeeds) {
  std::mt19937_64 rng(8);
  const domain d = test::box({2, 2, 1}, 8, 4);
  for (int round = 0; round < 10; ++round) {
    const block_mesh mesh = test::random_mesh(d, 6, rng);
    std::vector<flag> flags = all(mesh, flag::keep);
    std::vector<location> expected = leaves_of(mesh);
    for (const slot_id s : mesh.blocks()) {
      if (rng() % 5 != 0 || mesh.level(s) == 4) continue;
      flags[s] = flag::refine;
      test::split(expected, static_cast<std::size_t>(std::find(expected.begin(), expected.end(), mesh.where(s)) -
                                                     expected.begin()));
    }
    test::balance(d, expected);
    const regrid_plan plan = plan_regrid(mesh, flags, 1);
    const auto key_order = [](const location& a, const location& b) { return key_of(a) < key_of(b); };
    std::sort(expected.begin(), expected.end(), key_order);
    EXPECT_EQ(leaves_of(plan.next), expected);
  }
}

// The rules of a regrid by brute force: pairs of leaves that meet, no tables of the mesh.
class slow_regrid {
 public:
  slow_regrid(const domain& d, const block_mesh& mesh) : mesh_(mesh), leaves_(leaves_of(mesh)) {
    for (std::size_t i = 0; i < leaves_.size(); ++i)
      for (std::size_t j = 0; j < leaves_.size(); ++j)
        if (i != j && test::meet(d, leaves_[i], leaves_[j])) meeting_.emplace_back(i, j);
  }

  // By position: the level of the block that covers its place in the next mesh. Sets `ready`: do eight siblings request
  // to be merged?
  std::vector<int> next_levels(const std::vector<flag>& flags, int coarsen_after, bool& ready) const {
    std::vector<int> next;
    for (const slot_id s : mesh_.blocks()) {
      const int level = mesh_.where(s).level;
      const bool finer = flags[s] == flag::refine && level < mesh_.box().max_level;
      const bool coarser = flags[s] == flag::coarsen && mesh_.coarsen_votes(s) + 1 >= coarsen_after && level > 0;
      next.push_back(level + (finer ? 1 : coarser ? -1 : 0));
    }
    ready = false;
    for (bool first = true, raised = true; raised; first = false) {
      raised = false;
      const auto raise = [&](std::size_t i, int level) {
        raised = raised || next[i] < level;
        next[i] = std::max(next[i], level);
      };
      for (std::size_t i = 0; i < leaves_.size(); ++i)
        if (next[i] < leaves_[i].level) {
          if (merging_siblings(i, next) < 8)
            raise(i, leaves_[i].level);
          else
            ready = ready || first;
        }
      for (const auto& [i, j] : meeting_) raise(i, next[j] - 1);
    }
    return next;
  }

 private:
  int merging_siblings(std::size_t i, const std::vector<int>& next) const {
    int count = 0;
    for (std::size_t j = 0; j < leaves_.size(); ++j)
      if (leaves_[j].level == leaves_[i].level && parent_of(leaves_[j]) == parent_of(leaves_[i]) &&
          next[j] < leaves_[j].level)
        ++count;
    return count;
  }

  const block_mesh& mesh_;
  const std::vector<location> leaves_;
  std::vector<std::pair<std::size_t, std::size_t>> meeting_;
};

// Random requests on random meshes, from hardly any to nearly all: the quick decision, the plan and brute force agree,
// and requests are counted as in the plan.
TEST(Regrid, TheQuickDecisionIsThatOfThePlan) {
  std::mt19937_64 rng(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  int changed = 0, kept = 0, blocked = 0;
  for (int m = 0; m < 80; ++m) {
    const boundary sides = m % 2 == 0 ? boundary::periodic : boundary::outflow;
    const domain d = test::box(m % 3 == 0 ? std::array{2, 1, 1} : std::array{1, 1, 1}, 8, 3, sides);
    block_mesh mesh = test::random_mesh(d, 3 + static_cast<int>(rng() % 12), rng);
    const slow_regrid slow(d, mesh);
    for (int round = 0; round < 40; ++round) {
      const double refine = std::array{0.0, 0.0, 0.0, 0.01}[rng() % 4];
      const double coarsen = std::array{0.2, 0.9, 0.97, 1.0}[rng() % 4];
      const int after = static_cast<int>(rng() % 4);
      std::vector<flag> flags(mesh.slot_count());
      std::vector<std::int32_t> votes(mesh.slot_count());
      const bool full = rng() % 2 == 0;
      for (flag& f : flags)
        f = uniform(rng) < refine ? flag::refine : uniform(rng) < coarsen ? flag::coarsen : flag::keep;
      for (std::int32_t& v : votes) v = full ? 3 : static_cast<std::int32_t>(rng() % 4);
      mesh = mesh.with_votes(votes);
      const regrid_plan plan = plan_regrid(mesh, flags, after);
      bool ready = false;
      const std::vector<int> expected = slow.next_levels(flags, after, ready);
      bool differs = false;
      for (std::size_t p = 0; p < expected.size(); ++p) {
        const slot_id s = mesh.blocks()[p], found = plan.next.find_covering(mesh.where(s));
        ASSERT_EQ(found == no_slot ? mesh.level(s) + 1 : plan.next.level(found), expected[p]) << m << ' ' << round;
        differs = differs || expected[p] != mesh.level(s);
      }
      ASSERT_EQ(plan.changed(), differs);
      ASSERT_EQ(changes_mesh(mesh, flags, after), differs) << m << ' ' << round;
      block_mesh counted = mesh;
      ASSERT_EQ(count_requests(counted, flags, after), !differs);
      expect_equal(counted, differs ? mesh : plan.next);
      ++(differs ? changed : kept);
      blocked += ready && !differs ? 1 : 0;
    }
  }
  EXPECT_GT(changed, 500);
  EXPECT_GT(kept, 500);
  EXPECT_GT(blocked, 20);  // a family that all blocks want to merge, beside finer blocks
}

// The tables of the quick decision stay right in a mesh that many regrids have made, with free slots.
TEST(Regrid, TheQuickDecisionIsThatOfThePlanAfterManyRegrids) {
  std::mt19937_64 rng(12);
  std::uniform_real_distribution<double> uniform(0, 1);
  block_mesh mesh(test::box({2, 2, 1}, 8, 3));
  int changed = 0, kept = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<flag> flags(mesh.slot_count());
    for (const slot_id s : mesh.blocks()) {
      const double x = mesh.centre(s, 0, 0) + 0.3 * mesh.centre(s, 1, 0) - 0.01 * round;
      flags[s] = std::abs(x - std::floor(x) - 0.5) < 0.1 && mesh.level(s) < 3 ? flag::refine
                 : uniform(rng) < 0.97                                        ? flag::coarsen
                                                                              : flag::keep;
    }
    for (slot_id s = 0; s < static_cast<slot_id>(flags.size()); ++s)
      if (!mesh.is_live(s)) flags[s] = flag{static_cast<std::int8_t>(round % 3 - 1)};  // ignored
    regrid_plan plan = plan_regrid(mesh, flags, 3);
    block_mesh counted = mesh;
    ASSERT_EQ(count_requests(counted, flags, 3), !plan.changed()) << round;
    expect_equal(counted, plan.changed() ? mesh : plan.next);
    ++(plan.changed() ? changed : kept);
    mesh = std::move(plan.next);
  }
  EXPECT_GT(changed, 100);
  EXPECT_GT(kept, 30);
}

TEST(Regrid, MergesOnlyAfterEnoughRequestsOfAllEight) {
  const domain d = test::box({1, 1, 1}, 8, 2);
  block_mesh mesh(d);
  mesh = plan_regrid(mesh, all(mesh, flag::refine), 1).next;
  ASSERT_EQ(mesh.block_count(), 8u);
  auto flags = all(mesh, flag::coarsen);
  for (int check = 0; check < 2; ++check) {
    regrid_plan plan = plan_regrid(mesh, flags, 3);
    EXPECT_FALSE(plan.changed());
    mesh = std::move(plan.next);
    EXPECT_EQ(mesh.coarsen_votes(mesh.blocks()[3]), check + 1);
  }
  flags[mesh.blocks()[5]] = flag::keep;  // one block changes its request and starts again
  mesh = plan_regrid(mesh, flags, 3).next;
  EXPECT_EQ(mesh.coarsen_votes(mesh.blocks()[5]), 0);
  EXPECT_EQ(mesh.coarsen_votes(mesh.blocks()[4]), 3);
  flags[mesh.blocks()[5]] = flag::coarsen;
  for (int check = 0; check < 2; ++check) mesh = plan_regrid(mesh, flags, 3).next;
  ASSERT_EQ(mesh.block_count(), 8u);
  mesh = plan_regrid(mesh, flags, 3).next;
  EXPECT_EQ(mesh.block_count(), 1u);
}

TEST(Regrid, KeptBlocksKeepTheirSlotAndNewOnesTakeTheLowestFree) {
  const domain d = test::box({2, 1, 1}, 8, 3);
  block_mesh mesh(d);
  std::vector<flag> flags{flag::refine, flag::keep};
  regrid_plan plan = plan_regrid(mesh, flags, 1);
  ASSERT_EQ(plan.refined.size(), 1u);
  EXPECT_EQ(plan.refined[0].parent, 0);
  EXPECT_EQ(plan.refined[0].children, (std::array<slot_id, 8>{2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(plan.next.where(1), mesh.where(1));
  EXPECT_FALSE(plan.next.is_live(0));
  mesh = std::move(plan.next);
  plan = plan_regrid(mesh, all(mesh, flag::coarsen), 1);
  ASSERT_EQ(plan.merged.size(), 1u);
  EXPECT_EQ(plan.merged[0].parent, 0);
  EXPECT_EQ(plan.next.slot_count(), 2u);
}

TEST(Regrid, DoesNotPassTheDeepestLevelNorTheRoot) {
  const domain d = test::box({1, 1, 1}, 8, 1);
  block_mesh mesh(d);
  for (int n = 0; n < 3; ++n) mesh = plan_regrid(mesh, all(mesh, flag::refine), 1).next;
  EXPECT_EQ(mesh.block_count(), 8u);
  for (int n = 0; n < 3; ++n) mesh = plan_regrid(mesh, all(mesh, flag::coarsen), 1).next;
  EXPECT_EQ(mesh.block_count(), 1u);
}

TEST(Regrid, LinearFieldsStayExactAndPositiveOnesPositive) {
  const domain d = test::box({2, 2, 2}, 8, 1, boundary::reflecting);
  const block_mesh mesh(d);
  arena u({{"f"}, {"jump"}}, 8);
  const auto f = [](double x, double y, double z) { return 1 + x + 2 * y - 0.5 * z; };
  test::fill_with(mesh, u, [&](double x, double y, double z, int v) {
    return v == 0 ? f(x, y, z) : (x + y + z < 2.7 ? 1e-12 : 1.0);
  });
  tile_scratch scratch;
  for (const limiter rule : {limiter::minmod, limiter::central}) {
    domain with_rule = d;
    with_rule.prolongation = rule;
    const block_mesh old(with_rule);
    arena copy(u.fields(), 8);
    copy.resize(u.slots());
    std::copy_n(u.base(), u.slots() * u.stride(), copy.base());
    const regrid_plan plan = plan_regrid(old, all(old, flag::refine), 1);
    move_values(plan, old, copy, {}, scratch);
    for (const slot_id s : plan.next.blocks())
      for (int k = 0; k < 8; ++k)
        for (int j = 0; j < 8; ++j)
          for (int i = 0; i < 8; ++i) {
            const double x = plan.next.centre(s, 0, i), y = plan.next.centre(s, 1, j), z = plan.next.centre(s, 2, k);
            const double* cell = copy.block(s) + (k * 8 + j) * 8 + i;
            const double edge = std::min({x, y, z, 2 - x, 2 - y, 2 - z});
            if (edge > 1.0 / 8) {
              ASSERT_NEAR(cell[0], f(x, y, z), 1e-14);
            }
            ASSERT_GT(cell[512], 0.0);
            ASSERT_LE(cell[512], 1.0);
          }
  }
}

// Species sum to the density before, so they do afterwards, whatever the limiter does to each.
TEST(Regrid, SharedLimitersKeepSums) {
  std::mt19937_64 rng(6);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const limiter rule : {limiter::minmod, limiter::central}) {
    domain d = test::box({2, 1, 1}, 8, 1);
    d.prolongation = rule;
    const block_mesh mesh(d);
    const auto grouped = [](const char* name) { return field_info{.name = name, .limiter_group = 3}; };
    arena u({grouped("rho"), {"other"}, grouped("s0"), grouped("s1"), grouped("s2")}, 8);
    u.resize(2);
    for (const slot_id s : mesh.blocks())
      for (int i = 0; i < 512; ++i) {
        double* c = u.block(s) + i;
        for (int v = 1; v < 5; ++v) c[v * 512] = (i % 8) * (i / 64) * 0.1 + uniform(rng);
        c[0] = c[2 * 512] + c[3 * 512] + c[4 * 512];
      }
    tile_scratch scratch;
    const regrid_plan plan = plan_regrid(mesh, all(mesh, flag::refine), 1);
    move_values(plan, mesh, u, {}, scratch);
    int moved = 0;
    for (const slot_id s : plan.next.blocks())
      for (int i = 0; i < 512; ++i) {
        const double* c = u.block(s) + i;
        ASSERT_NEAR(c[0], c[2 * 512] + c[3 * 512] + c[4 * 512], 2e-14);
        for (int v = 2; v < 5; ++v) ASSERT_GE(c[v * 512], 0.0);
        if (i % 2 == 1 && c[0] != c[-1]) ++moved;
      }
    EXPECT_GT(moved, 100);  // some slopes are nonzero
  }
}

}  // namespace
