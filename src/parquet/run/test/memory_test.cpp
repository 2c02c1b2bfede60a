#include "parquet/run/memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parquet/device/resident_vertices.hpp"
#include "parquet/run/options.hpp"

namespace plx::parquet {
namespace {

using testing::HasSubstr;

TEST(ParquetMemory, IsThatOfTheVectors) {
  parquet_options o;
  o.cluster = "atom";
  o.frequencies = {2, 3};
  o.history = 1;
  // Transfers 0, 1, 2: 7, 6 and 7 rows, four channels; two inputs and two residuals; three matrices of a worker.
  // Sigma has 128 frequencies, and the density is one number more; G, bubbles and what is kept while they are computed.
  EXPECT_EQ(memory_bytes(o, {.workers = 2}), 16.0 * (4 * (4 * (49 + 36 + 49) + 128 + 1) + 16 * 128 + 2 + 2 * 2 * 49));
  o.memory_gb = 1e-5;
  const auto r = check_memory(o, {.workers = 2});
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error().message, HasSubstr("expected at most 1e-05 GB (memory.limit_gb)"));
  o.memory_gb = 0;
  EXPECT_TRUE(check_memory(o, {.workers = 2}).has_value());
  o.cluster = "32x32";
  o.frequencies = {2};
  EXPECT_THAT(check_memory(o, {.workers = 2}).error().message, HasSubstr("available now"));
}

// The number of processes is the least one whose part fits, however many they are.
TEST(ParquetMemory, SaysHowManyProcessesHaveIt) {
  parquet_options o;
  o.cluster = "dimer";
  o.frequencies = {12};
  const auto answer = [&o] { return check_memory(o, {.workers = 1}).error().message; };
  for (const unsigned processes : {2u, 5u, 11u}) {
    o.memory_gb = 1e-9 * memory_bytes(o, {.workers = 1, .localities = processes});
    unsigned least = 1;
    while (memory_bytes(o, {.workers = 1, .localities = least}) > 1e9 * o.memory_gb) ++least;
    EXPECT_LE(least, processes);
    EXPECT_THAT(answer(), HasSubstr(", use " + std::to_string(least) + " processes with that memory each, set a "));
  }
  o.memory_gb *= 0.01;
  EXPECT_THAT(answer(), HasSubstr("; more processes are not enough: each of 24, with one slab, needs 0.00"));

  o.cluster = "16x16";  // some terabytes
  o.frequencies = {2, 3, 4};
  o.memory_gb = 17;
  unsigned least = 1;
  while (memory_bytes(o, {.workers = 1, .localities = least}) > 17e9) ++least;
  EXPECT_GT(least, 64u * 4);
  EXPECT_THAT(answer(), HasSubstr("use " + std::to_string(least) + " processes with"));
  o.vertex = true;  // gathers them on each
  EXPECT_THAT(answer(), HasSubstr("processes with that memory each and output.vertex = false, "));
}

TEST(ParquetMemory, VerticesOnTheDisk) {
  parquet_options o;
  o.cluster = "atom";
  o.frequencies = {2, 3};
  o.bosons = 1;
  EXPECT_EQ(vertices_bytes(o), 2 * 16.0 * 4 * (5 * 5 + 7 * 7));
  EXPECT_EQ(vertices_bytes(o, 1), 2 * 16.0 * 4 * 7 * 7) << "a continued run has written those before";
  EXPECT_EQ(vertices_bytes(o, 2), 0);
  EXPECT_EQ(warning_of_disk(o, "out", 9472), "");
  EXPECT_EQ(warning_of_disk(o, "out", 6272, 1), "");
  EXPECT_EQ(warning_of_disk(o, "out", 9000),
            "warning: the vertices of the run (output.hdf5) take 9.47e-06 GB, the disk of 'out' has 9e-06 GB free; "
            "output.hdf5=false writes none");
  o.hdf5 = false;
  EXPECT_EQ(vertices_bytes(o), 0);
  EXPECT_EQ(warning_of_disk(o, "out", 0), "");
}

TEST(ParquetMemory, HasWhatDevicesNeed) {
  parquet_options o;
  o.cluster = "atom";
  o.frequencies = {3};
  o.history = 1;
  const auto more = [&](const char* device, const memory_share& share) {
    parquet_options with = o;
    with.device = device;
    return memory_bytes(with, share) - memory_bytes(o, share);
  };
  // Pinned memory of four lanes, of two Gamma and two Phi each.
  EXPECT_EQ(more("cuda", {.workers = 2}), 16.0 * 4 * 4 * 49);
  EXPECT_EQ(more("cuda", {.workers = 2, .localities = 2}), 16.0 * 4 * 4 * 49);
  EXPECT_EQ(more("emulated", {.workers = 2, .localities = 2}), 16.0 * 4 * 10 * 49);
  // 7, 6 and 7 rows: two inputs and residuals, six work arrays of a slab, weights; pinned: weights, limits, Gamma at w
  // = 0. Partners of rows, two tables of four rotations; on both sides six numbers of each slab; 24 bytes of each
  // frequency; vertices beyond the largest transfer, at 7 frequencies.
  EXPECT_EQ(more("emulated", {.workers = 2}),
            16.0 * (4 * 4 * (49 + 36 + 49) + 6 * 4 * 49 + 4 * 20 + (4 + 2) * 20 + 4 * 49) + 4 * (2 * 20 + 2 * 4) +
                2 * 8 * 6 * 3 + 24 * 3 + 8 * 2 * 7 * 2);
  o.cluster = "2x2";  // Gamma at w = 0 alone is more than three lanes
  const vertex_grid grid(o.make_model()->lattice, 3, 3);
  EXPECT_EQ(more("cuda", {.workers = 1}), resident_vertices::pinned_bytes(grid));
  EXPECT_GT(more("cuda", {.workers = 1}), 16.0 * 3 * 4 * grid.rows(0) * grid.rows(0));
}

}  // namespace
}  // namespace plx::parquet
