#include "mesh/athdf.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "mesh/hdf5_file.hpp"
#include "mesh/test_meshes.hpp"

namespace {

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

  // Each cell tells where it is.
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
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 2);  // and the .xdmf
}

TEST_F(Athdf, ErrorsNameThePath) {
  const auto r = write_athdf(folder_ / "no" / "such.athdf", mesh_, info_, fill);
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("such.athdf"));
  EXPECT_THAT(r.error().message, HasSubstr("No such file or directory"));
}

// A full disk, played by a limit on the size of files.
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
