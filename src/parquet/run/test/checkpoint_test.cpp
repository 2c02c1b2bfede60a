// States of the solver in files: continued on other numbers of localities with the same bits; damage.
#include "parquet/run/checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "base/file.hpp"
#include "net/collectives.hpp"
#include "net/simulation.hpp"
#include "net/team.hpp"
#include "parquet/run/checkpoint_keeper.hpp"
#include "parquet/run/output.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

class ParquetCheckpoint : public testing::Test {
 protected:
  ParquetCheckpoint() {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  ~ParquetCheckpoint() override { std::filesystem::remove_all(folder); }
  const std::string folder = testing::TempDir() + "plx_parquet_" +
                             testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
                             std::to_string(getpid());
  const hubbard_model model = test::plaquette(2, 0.2, 1);
  const std::shared_ptr<const vertex_grid> grid = std::make_shared<const vertex_grid>(model.lattice, 2, 3);

  // Iterates until `stop_after`, with a checkpoint there; 0: to the end.
  parquet_solution solve_here(const team& members, int stop_after, const saved_solver_state* from, int iterations = 9) {
    struct watch : solver_observer {
      const vertex_grid* grid;
      checkpoint_keeper* keeper;
      int stop_after, done = 0;
      void iterated(const iteration_report& r) override { done = r.iteration + 1; }
      bool stop_requested() override { return done == stop_after; }
      void save(const solver_state& s) override { EXPECT_TRUE(keeper->save(*grid, s)); }
    } observer;
    checkpoint_keeper keeper(folder, members, members.rank() == 0 ? tables() : nullptr, {}, 0);
    observer.grid = grid.get();
    observer.keeper = &keeper;
    observer.stop_after = stop_after;
    solver_settings s;
    s.iterations = iterations;
    s.history = 3;
    s.sigma_frequencies = 32;
    s.gather = true;
    return solve(model, grid, s, observer, members, from).value();
  }
  // The tables of an empty run.
  parquet_output* tables() {
    static parquet_options o;
    if (!tables_) tables_ = *parquet_output::create(folder, "", o);
    return &*tables_;
  }
  parquet_solution solve_on(unsigned localities, int stop_after) {
    const auto c = read_parquet_checkpoint(folder);
    std::optional<checkpoint_reader> from;
    if (c) from.emplace(folder, *c, *grid);
    parquet_solution out;
    const auto solve_one = [&](const team& members) {
      auto s = solve_here(members, stop_after, from ? &*from : nullptr);
      if (members.rank() == 0) out = std::move(s);
    };
    if (localities == 1) {
      runtime rt({.workers = 2, .bind = false});
      rt.run([&] { solve_one({}); });
    } else {
      net::simulation job({.localities = localities, .seed = 5});
      job.run([&] { solve_one(team(communicator("parquet"))); });
    }
    return out;
  }
  std::optional<parquet_output> tables_;
};

// Four localities stop before the history is full, two after it wraps, and one ends.
TEST_F(ParquetCheckpoint, AnyNumberOfLocalitiesContinuesWithTheSameBits) {
  const auto whole = solve_on(1, 0);
  ASSERT_FALSE(std::filesystem::exists(checkpoint_file(folder)));
  EXPECT_TRUE(solve_on(4, 2).stopped);
  EXPECT_TRUE(std::filesystem::exists(checkpoint_part_file(folder, 1, 3)));
  EXPECT_TRUE(solve_on(2, 6).stopped);
  const auto continued = solve_on(1, 0);
  EXPECT_EQ(continued.last.iteration, whole.last.iteration);
  EXPECT_EQ(continued.last.residual, whole.last.residual);
  EXPECT_EQ(continued.sigma, whole.sigma);
  ASSERT_EQ(continued.phi.size(), whole.phi.size());
  EXPECT_EQ(std::memcmp(continued.phi.data(), whole.phi.data(), whole.phi.size() * sizeof(complex)), 0);
}

TEST_F(ParquetCheckpoint, DamageIsNamed) {
  solve_on(2, 4);
  auto c = *read_parquet_checkpoint(folder);
  const std::string part = checkpoint_part_file(folder, c.parts.mark, 1), good = *read_file(part);
  const auto message = [&](const parquet_checkpoint& from, const vertex_grid& g) {
    std::vector<std::vector<complex>> values(7, std::vector<complex>(g.size()));
    std::vector<std::span<complex>> spans(values.begin(), values.end());
    const auto r = checkpoint_reader(folder, from, g).read(0, g.n_slabs(), spans);
    return r ? std::string() : r.error().message;
  };
  EXPECT_EQ(message(c, *grid), "");
  EXPECT_NE(message(c, vertex_grid(model.lattice, 2, 2)).find("12 slabs, expected 8"), std::string::npos);
  EXPECT_NE(message(c, vertex_grid(model.lattice, 3, 3)).find("another checkpoint"), std::string::npos);
  std::string bad = good;
  bad[bad.size() / 2] ^= 1;
  ASSERT_TRUE(write_file(part, bad));
  EXPECT_NE(message(c, *grid).find("the checksum of slab"), std::string::npos);
  ASSERT_TRUE(write_file(part, good.substr(0, good.size() - 64)));
  EXPECT_NE(message(c, *grid).find("truncated"), std::string::npos);
  std::filesystem::remove(part);
  EXPECT_NE(message(c, *grid).find("-1.h5': No such file"), std::string::npos);
  ASSERT_TRUE(write_file(part, good));
  c.parts.checksums[1] ^= 1;
  EXPECT_NE(message(c, *grid).find("another checkpoint"), std::string::npos);
  c.parts.firsts[1] = 13;
  EXPECT_NE(message(c, *grid).find("its parts overlap"), std::string::npos);
}

// A part that cannot be written: the previous checkpoint stays.
TEST_F(ParquetCheckpoint, AFailureKeepsTheLastOne) {
  solve_on(1, 2);
  const auto before = *read_parquet_checkpoint(folder);
  checkpoint_keeper keeper(folder, {}, tables(), before, 0);
  std::filesystem::create_directory(checkpoint_part_file(folder, before.parts.mark + 1, 0));
  std::vector<complex> values(grid->size());
  EXPECT_FALSE(keeper.save(*grid, {{1, 2}, 0, grid->n_slabs(), {values, values, values}}));
  EXPECT_EQ(read_parquet_checkpoint(folder)->parts.mark, before.parts.mark);
  EXPECT_TRUE(std::filesystem::exists(checkpoint_part_file(folder, before.parts.mark, 0)));
  EXPECT_TRUE(solve_on(1, 0).last.iteration > 2);
}

TEST_F(ParquetCheckpoint, NumbersAreReadBack) {
  parquet_checkpoint c{"plx-parquet 1", "",
                       {1, 2},          {{4, 20, true, 1e-9, 1.1, {channel::singlet, 3, 0.75}, {0.5, 0.25}}, {}},
                       {3, 4},          {}};
  c.parts = {7, {0, 2, 5}, {0xfedcba9876543210, 1}};
  ASSERT_TRUE(write_parquet_checkpoint(folder, c));
  const auto r = *read_parquet_checkpoint(folder);
  EXPECT_EQ(r.present, c.present);
  EXPECT_EQ(r.parts.mark, 7u);
  EXPECT_EQ(r.parts.firsts, c.parts.firsts);
  EXPECT_EQ(r.parts.checksums, c.parts.checksums);
  ASSERT_EQ(r.finished.size(), 2u);
  EXPECT_EQ(r.finished[0].values, c.finished[0].values);
  EXPECT_TRUE(r.finished[0].converged);
  EXPECT_EQ(r.finished[0].iterations, 20);
  EXPECT_EQ(r.finished[0].largest.of, channel::singlet);
  EXPECT_EQ(r.finished[0].largest.momentum, 3);
  EXPECT_EQ(r.finished[0].largest.eigenvalue, 0.75);
}

TEST_F(ParquetCheckpoint, ASolutionBeyondAnInstabilityIsWarnedOf) {
  finished_run run{6, 20, true, 1e-9, 1, {channel::magnetic, 3, 1.25}, {}};
  const std::string text = warning_of(run, *model.lattice);
  EXPECT_EQ(
      text.find("warning: grid.frequencies 6: expected eigenvalues below 1, found 1.25, magnetic, at (3.14, 3.14)"), 0u)
      << text;
  run.largest.eigenvalue = 1;
  EXPECT_EQ(warning_of(run, *model.lattice), "");
  run.largest.eigenvalue = 1.25;
  run.converged = false;
  EXPECT_EQ(warning_of(run, *model.lattice), "");
}

}  // namespace
}  // namespace plx::parquet
