#include "mesh/files/athdf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "io/hdf5_file.hpp"
#include "mesh/test/test_meshes.hpp"
#include "mesh/tree/block_mesh.hpp"

namespace {

using namespace plx;
using namespace plx::mesh;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Athdf : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("plx_athdf_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    info_.time = 0.125;
    info_.cycle = 42;
    info_.datasets = {{"prim", {"rho", "press"}}, {"extra", {"level"}}};
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Each cell's value identifies its position.
  static constexpr auto fill = [](slot_id s, int dataset, double* out) {
    const int variables = dataset == 0 ? 2 : 1;
    for (int i = 0; i < variables * 512; ++i) out[i] = s * 10000 + dataset * 5000 + i;
  };

  template <class T>
  std::vector<T> read(const char* name, hid_t type) {
    const auto lock = hdf5_lock();
    const hdf5_id file(H5Fopen(path().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const hdf5_id data(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
    const hdf5_id space(H5Dget_space(data), H5Sclose);
    std::vector<T> values(H5Sget_simple_extent_npoints(space));
    EXPECT_GE(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
    return values;
  }
  std::string path() const { return folder_ / "mesh.00001.athdf"; }

  std::mt19937_64 rng_{5};
  block_mesh mesh_ = test::random_mesh(test::box({10, 5, 5}, 8, 2), 40, rng_);  // more than one batch
  athdf_info info_;
  fs::path folder_;
};

TEST_F(Athdf, HoldsTheBlocksInTheOrderOfTheCurve) {
  std::vector<double> cost(mesh_.block_count());
  for (std::size_t p = 0; p < cost.size(); ++p) cost[p] = 0.5 * static_cast<double>(p);
  info_.cost_s = cost;
  for (const bool single : {false, true}) {
    info_.single_precision = single;
    const auto written = write_athdf(path(), mesh_, info_, fill);
    ASSERT_TRUE(written) << written.error().message;
    const auto prim = read<double>("prim", H5T_NATIVE_DOUBLE);
    const std::size_t blocks = mesh_.block_count();
    ASSERT_EQ(prim.size(), 2 * blocks * 512);
    for (std::size_t v = 0; v < 2; ++v)
      for (std::size_t p = 0; p < blocks; ++p)
        for (std::size_t i = 0; i < 512; i += 13)
          ASSERT_EQ(prim[(v * blocks + p) * 512 + i], mesh_.blocks()[p] * 10000 + v * 512 + i);
    EXPECT_EQ(read<double>("extra", H5T_NATIVE_DOUBLE)[512 * 7 + 3], mesh_.blocks()[7] * 10000 + 5003);
  }
  EXPECT_EQ(read<double>("Cost", H5T_NATIVE_DOUBLE), cost);
  EXPECT_EQ(read<int>("Levels", H5T_NATIVE_INT)[9], mesh_.level(mesh_.blocks()[9]));
  EXPECT_EQ(read<int>("Slot", H5T_NATIVE_INT)[9], mesh_.blocks()[9]);
  const auto x2f = read<double>("x2f", H5T_NATIVE_DOUBLE);
  EXPECT_EQ(x2f[9 * 4], mesh_.lower(mesh_.blocks()[4])[1]);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);  // the .athdf and the .xdmf
}

// The owners in `owner` write their parts, and the first one the whole file.
plx::result<void> write_parts(const std::string& path, const block_mesh& mesh, const athdf_info& info,
                              const curve_parts& owners, block_filler fill) {
  std::vector<athdf_part> parts;
  for (int k = 0; k < owners.count(); ++k) {
    const auto own = owners.blocks(mesh, k);
    parts.push_back({"mesh.part" + std::to_string(k), own.size()});
    if (own.empty()) continue;
    athdf_info mine = info;
    const std::vector<std::int32_t> locality(own.size(), k);
    const std::vector<double> idle(own.size(), 0.125 * k);
    mine.locality = locality;
    mine.locality_idle_rate = idle;
    if (!info.cost_s.empty()) mine.cost_s = info.cost_s.subspan(owners.begin(k), own.size());
    if (auto r = write_athdf_part(fs::path(path).parent_path() / parts[k].file, own, mesh.block_size(), mine, fill); !r)
      return r;
  }
  return write_athdf_of_parts(path, mesh, info, parts);
}

TEST_F(Athdf, PartsOfManyLocalitiesReadAsOne) {
  const int blocks = static_cast<int>(mesh_.block_count());
  std::vector<double> cost(mesh_.block_count());
  for (std::size_t p = 0; p < cost.size(); ++p) cost[p] = 0.5 * static_cast<double>(p);
  info_.cost_s = cost;
  const char* doubles[] = {"prim", "extra", "Cost", "IdleRate", "x1f", "x3v"};
  const char* integers[] = {"Levels", "LogicalLocations", "Slot", "Owner"};
  for (const bool single : {false, true}) {
    info_.single_precision = single;
    ASSERT_TRUE(write_athdf(path(), mesh_, info_, fill));
    std::vector<std::vector<double>> numbers;
    std::vector<std::vector<std::int64_t>> whole;
    for (const char* name : doubles) numbers.push_back(read<double>(name, H5T_NATIVE_DOUBLE));
    for (const char* name : integers) whole.push_back(read<std::int64_t>(name, H5T_NATIVE_INT64));
    // Partitions by numbers of blocks: one part, parts of one block, empty ones at the beginning, inside, at the end.
    for (const std::vector<int>& cuts :
         std::vector<std::vector<int>>{{}, {1}, {7, 7, 100}, {0, 33, blocks - 1}, {5, blocks, blocks}}) {
      std::vector<std::int32_t> owner;
      for (int p = 0; p < blocks; ++p)
        owner.push_back(static_cast<int>(std::upper_bound(cuts.begin(), cuts.end(), p) - cuts.begin()));
      const curve_parts owners(owner, static_cast<int>(cuts.size()) + 1);
      const auto written = write_parts(path(), mesh_, info_, owners, fill);
      ASSERT_TRUE(written) << written.error().message;
      for (std::size_t i = 0; i < numbers.size(); ++i)
        EXPECT_EQ(read<double>(doubles[i], H5T_NATIVE_DOUBLE), numbers[i]) << doubles[i];
      for (std::size_t i = 0; i < whole.size(); ++i)
        EXPECT_EQ(read<std::int64_t>(integers[i], H5T_NATIVE_INT64), whole[i]) << integers[i];
      EXPECT_EQ(read<std::int32_t>("Locality", H5T_NATIVE_INT32), owner);
      EXPECT_EQ(read<double>("LocalityIdleRate", H5T_NATIVE_DOUBLE).back(), 0.125 * owner.back());
      fs::remove(path());
    }
  }
}

TEST_F(Athdf, AMissingPartReadsAsNaN) {
  std::vector<std::int32_t> owner(mesh_.block_count(), 0);
  std::fill(owner.begin() + 9, owner.end(), 1);
  ASSERT_TRUE(write_parts(path(), mesh_, info_, curve_parts(owner, 2), fill));
  fs::remove(folder_ / "mesh.part1");
  const auto extra = read<double>("extra", H5T_NATIVE_DOUBLE);
  EXPECT_EQ(extra[9 * 512 - 1], mesh_.blocks()[8] * 10000 + 5511);
  EXPECT_TRUE(std::isnan(extra[9 * 512]));
  EXPECT_EQ(read<std::int32_t>("Locality", H5T_NATIVE_INT32)[9], -1);
}

TEST_F(Athdf, ErrorsNameThePath) {
  const auto r = write_athdf(folder_ / "no" / "such.athdf", mesh_, info_, fill);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("such.athdf"));
  EXPECT_THAT(r.error().message, HasSubstr("No such file or directory"));
}

// A full disk, simulated by a limit on the size of files.
TEST_F(Athdf, FullDiskLeavesNothingBehind) {
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{200000, old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto r = write_athdf(path(), mesh_, info_, fill);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("mesh.00001.athdf': File too large"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 0);
}

}  // namespace
