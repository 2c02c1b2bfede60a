// Runs on several localities beside runs on one.
#include <gtest/gtest.h>

#include <cstring>
#include <mutex>

#include "control/actuator.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "net/simulation.hpp"
#include "net/team.hpp"
#include "parquet/solver/solver.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

struct silent : solver_observer {
  void iterated(const iteration_report&) override {}
};

parquet_solution solve_here(const hubbard_model& model, rotation_form form, const team& members) {
  solver_settings s;
  s.iterations = 4;
  s.sigma_frequencies = 32;
  s.rotation = form;
  s.gather = true;
  silent observer;
  return solve(model, std::make_shared<const vertex_grid>(model.lattice, 2, 3), s, observer, members).value();
}

std::vector<parquet_solution> solve_on(unsigned localities, const hubbard_model& model, rotation_form form) {
  std::vector<parquet_solution> out(localities);
  std::mutex lock;
  net::simulation job({.localities = localities, .seed = 3});
  job.run([&] {
    const team members{communicator("parquet")};
    auto r = solve_here(model, form, members);
    const std::lock_guard guard(lock);
    out[members.rank()] = std::move(r);
  });
  return out;
}

template <class Vector>
bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(complex)) == 0;
}

constexpr rotation_form all_forms[] = {rotation_form::packed, rotation_form::coalesced, rotation_form::adaptive,
                                       rotation_form::rows};

TEST(Distributed, SlabsAreDividedEvenly) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 4, 4);
  for (unsigned ranks : {1u, 2u, 3u, 7u, 40u}) {
    EXPECT_EQ(grid.first_slab(0, ranks), 0);
    EXPECT_EQ(grid.first_slab(ranks, ranks), grid.n_slabs());
    for (unsigned r = 0; r < ranks; ++r) {
      const auto begin = grid.slab_offset(grid.first_slab(r, ranks)),
                 end = grid.slab_offset(grid.first_slab(r + 1, ranks));
      EXPECT_LE(begin, end);
      EXPECT_LE(end - begin, grid.size() / ranks + grid.slab_offset(1)) << r << ranks;
    }
  }
}

TEST(Distributed, BitsDoNotDependOnLocalities) {
  const auto model = test::plaquette(2, 0.2, 1);
  runtime rt({.workers = 2, .bind = false});
  const auto alone = rt.run([&] { return solve_here(model, rotation_form::packed, {}); });
  for (const unsigned localities : {2u, 3u})
    for (const rotation_form form : all_forms) {
      const auto all = solve_on(localities, model, form);
      for (const auto& one : all) {
        EXPECT_TRUE(same_bits(one.phi, alone.phi)) << localities << static_cast<int>(form);
        EXPECT_TRUE(same_bits(one.limits, alone.limits));
        EXPECT_EQ(one.sigma, alone.sigma);
        EXPECT_EQ(one.last.residual, alone.last.residual);
        EXPECT_EQ(one.last.eigenvalues, alone.last.eigenvalues);
        EXPECT_GT(one.last.rotation.sent_bytes, 0);
      }
    }
}

TEST(Distributed, MoreLocalitiesThanSlabs) {
  const auto model = test::atom(1, 0.2, 1);
  runtime rt({.workers = 1, .bind = false});
  const auto alone = rt.run([&] { return solve_here(model, rotation_form::packed, {}); });
  for (const rotation_form form : all_forms)
    for (const auto& one : solve_on(5, model, form))
      EXPECT_TRUE(same_bits(one.phi, alone.phi)) << static_cast<int>(form);
}

// The policy exists while rows of the adaptive form may be sent, and has the action of the rows as its target.
TEST(Distributed, APolicyChoosesHowRowsOfTheAdaptiveFormTravel) {
  const auto model = test::atom(1, 0.2, 1);
  net::simulation job({.localities = 2, .seed = 3});
  job.run([&] {
    const team members{communicator("parquet")};
    for (const rotation_form form : {rotation_form::coalesced, rotation_form::adaptive, rotation_form::rows}) {
      solve_here(model, form, members);
      bool found = false;
      for (const auto& a : net::node_here().home().actuators().list())
        found = found || a->info().name == "coalesce-parcels@plx::parquet::parquet_store_row";
      EXPECT_EQ(found, form == rotation_form::adaptive) << static_cast<int>(form);
      members.communicator().barrier().get();
    }
  });
}

TEST(Distributed, MemoryIsDivided) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 24, 24);
  solver_settings s;
  const double one = memory_bytes(grid, s, 0);
  for (unsigned n : {2u, 4u, 8u}) {
    const double ratio = n * memory_bytes(grid, s, 0, n) / one;
    EXPECT_GT(ratio, 1);
    EXPECT_LT(ratio, 1.1) << n;  // messages, Sigma, and slabs that cannot be cut
  }
}

}  // namespace
}  // namespace plx::parquet
