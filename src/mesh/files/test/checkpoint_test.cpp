#include "mesh/files/checkpoint.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.hpp"
#include "io/hdf5_file.hpp"
#include "mesh/files/athdf.hpp"
#include "mesh/test/test_meshes.hpp"
#include "mesh/tree/regrid.hpp"

namespace {

using namespace plx;
using namespace plx::mesh;
using testing::HasSubstr;
namespace fs = std::filesystem;

class Checkpoint : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / (std::string("plx_") + test->name() + "_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    path_ = folder_ / "a.h5";
    values_.resize(mesh_.slot_count());
    test::fill_random(values_, rng_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  plx::result<void> write() { return write_checkpoint(path_, mesh_, values_, state_); }
  std::string read_error() {
    const auto c = read_checkpoint(path_);
    return c ? "" : c.error().message;
  }
  void overwrite(std::size_t at, const std::string& bytes) {
    std::fstream f(path_, std::ios::binary | std::ios::in | std::ios::out);
    f.seekp(static_cast<std::streamoff>(at));
    f << bytes;
  }

  std::mt19937_64 rng_{3};
  domain box_ = test::box({2, 1, 1}, 8, 3);
  block_mesh mesh_ = test::random_mesh(box_, 10, rng_);
  arena values_{test::gas(), 8};
  checkpoint_state state_{"plx 0.1",
                          "[mesh]\nmax_level = 3\n",
                          "mesh.block_size = 8\nproblem = sedov\n",
                          {{"time", {0.1}}, {"totals", {1.0 / 3, -2.5, 1e-300}}, {"none", {}}}};
  fs::path folder_;
  std::string path_;
};

// The row counts of datasets in the file's structure, made huge one by one.
TEST_F(Checkpoint, DamagedSizesAreFoundBeforeAllocation) {
  ASSERT_TRUE(write());
  const std::string whole = plx::read_file(path_).value();
  int changed = 0;
  for (const std::uint64_t size : {std::uint64_t{mesh_.block_count()}, std::uint64_t{mesh_.block_count() + 1},
                                   std::uint64_t{3}, std::uint64_t{state_.options.size()}}) {
    std::string bytes(sizeof size, '\0');
    std::memcpy(bytes.data(), &size, sizeof size);
    for (std::size_t at = whole.find(bytes); at != std::string::npos; at = whole.find(bytes, at + 1))
      for (const std::size_t byte : {3u, 4u, 7u}) {
        overwrite(at + byte, "\x7f");
        const auto c = read_checkpoint(path_);  // throws nothing
        if (!c) {
          EXPECT_THAT(c.error().message, HasSubstr("there is no earlier one: start the run again"));
        }
        overwrite(at + byte, std::string(1, whole[at + byte]));
        ++changed;
      }
  }
  EXPECT_GT(changed, 10);
  EXPECT_TRUE(read_checkpoint(path_));
}

TEST_F(Checkpoint, ComesBackBitwise) {
  ASSERT_TRUE(write());
  const auto c = read_checkpoint(path_);
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->state.build, state_.build);
  EXPECT_EQ(c->state.options, state_.options);
  EXPECT_EQ(c->state.identity, state_.identity);
  EXPECT_EQ(c->state.numbers, state_.numbers);
  EXPECT_EQ(c->state.find("totals")->at(2), 1e-300);
  EXPECT_EQ(c->state.find("nothing"), nullptr);
  EXPECT_EQ(c->block_size, 8);
  EXPECT_EQ(c->variables[4], "e");
  const auto mesh = block_mesh::from_leaves(box_, c->leaves);
  ASSERT_TRUE(mesh) << mesh.error().message;
  ASSERT_EQ(mesh->block_count(), mesh_.block_count());
  arena values(test::gas(), 8);
  values.resize(mesh->slot_count());
  const auto r = read_values(path_, *mesh, values);
  ASSERT_TRUE(r) << r.error().message;
  for (const slot_id s : mesh_.blocks()) {
    const slot_id other = mesh->find(mesh_.where(s));
    ASSERT_NE(other, no_slot);
    EXPECT_EQ(std::memcmp(values.block(other), values_.block(s), 6 * 512 * 8), 0);
  }
}

TEST_F(Checkpoint, KeepsVotesForCoarsening) {
  mesh_ = plan_regrid(mesh_, std::vector<flag>(mesh_.slot_count(), flag::coarsen), 5).next;
  ASSERT_TRUE(write());
  const auto mesh = block_mesh::from_leaves(box_, read_checkpoint(path_)->leaves);
  EXPECT_EQ(mesh->coarsen_votes(mesh->blocks()[3]), 1);
}

TEST_F(Checkpoint, ManyBatches) {
  box_ = test::box({10, 4, 5}, 8, 0);
  mesh_ = block_mesh(box_);
  values_.resize(mesh_.slot_count());
  test::fill_random(values_, rng_);
  ASSERT_TRUE(write());
  arena values(test::gas(), 8);
  values.resize(mesh_.slot_count());
  ASSERT_TRUE(read_values(path_, mesh_, values));
  EXPECT_EQ(std::memcmp(values.base(), values_.base(), values.slots() * values.stride() * 8), 0);
}

TEST_F(Checkpoint, MissingFile) {
  EXPECT_THAT(read_error(), HasSubstr("No such file"));
  EXPECT_THAT(read_error(), HasSubstr(path_));
}

TEST_F(Checkpoint, NotACheckpoint) {
  std::ofstream(path_) << "a text that is long enough not to be mistaken for an empty file";
  EXPECT_THAT(read_error(), HasSubstr("is not a checkpoint: expected an HDF5 file"));
  athdf_info info;
  info.datasets = {{"prim", {"rho"}}};
  ASSERT_TRUE(write_athdf(path_, mesh_, info, [](slot_id, int, double* out) { std::fill_n(out, 512, 0.0); }));
  EXPECT_THAT(read_error(), HasSubstr("not written as one"));
}

TEST_F(Checkpoint, TruncatedAnywhere) {
  ASSERT_TRUE(write());
  const auto size = fs::file_size(path_);
  for (const std::uintmax_t left : {std::uintmax_t{0}, std::uintmax_t{5}, std::uintmax_t{40}, size / 3, size - 1}) {
    fs::resize_file(path_, left);
    EXPECT_THAT(read_error(), HasSubstr(left == 5 ? "is not a checkpoint" : "is truncated: expected")) << left;
    ASSERT_TRUE(write());
  }
}

TEST_F(Checkpoint, OtherVersion) {
  for (const int version : {1, 99}) {  // 1: without the amounts that floors have added
    ASSERT_TRUE(write());
    {
      const auto lock = hdf5_lock();
      const hdf5_id file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
      const hdf5_id attribute(H5Aopen(file, "Version", H5P_DEFAULT), H5Aclose);
      H5Awrite(attribute, H5T_NATIVE_INT, &version);
    }
    EXPECT_THAT(read_error(), HasSubstr("has version " + std::to_string(version) +
                                        ", expected 2: resume it with the program that wrote it (plx 0.1)"));
  }
}

TEST_F(Checkpoint, NotFinished) {
  ASSERT_TRUE(write());
  {
    const auto lock = hdf5_lock();
    const hdf5_id file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose);
    H5Adelete(file, "Complete");
  }
  EXPECT_THAT(read_error(), HasSubstr("its writer did not finish"));
}

TEST_F(Checkpoint, DamagedValuesAndHeader) {
  ASSERT_TRUE(write());
  // The cells are stored verbatim: find one and change a bit.
  const std::string all = plx::read_file(path_).value();
  const double* block = values_.block(mesh_.blocks()[2]);
  const std::size_t at = all.find(std::string(reinterpret_cast<const char*>(block + 100), 8));
  ASSERT_NE(at, std::string::npos);
  overwrite(at + 3, std::string(1, static_cast<char>(all[at + 3] ^ 1)));
  EXPECT_EQ(read_error(), "");
  EXPECT_THAT(read_values(path_, mesh_, values_).error().message, HasSubstr("the checksum of block 2 does not match"));
  ASSERT_TRUE(write());
  const std::size_t options = all.find("max_level = 3");
  ASSERT_NE(options, std::string::npos);
  overwrite(options, "max_level = 4");
  EXPECT_THAT(read_error(), HasSubstr("the checksum of its header does not match"));
}

TEST_F(Checkpoint, OtherInput) {
  ASSERT_TRUE(write());
  const auto c = read_checkpoint(path_);
  EXPECT_TRUE(same_input(*c, path_, state_.identity));
  EXPECT_THAT(same_input(*c, path_, "mesh.block_size = 16\nproblem = sedov\n").error().message,
              HasSubstr("belongs to another input: expected \"mesh.block_size = 16\", found \"mesh.block_size = 8\""));
  EXPECT_FALSE(same_input(*c, path_, "mesh.block_size = 8\n"));
  const std::string newer = state_.identity + "hydro.gamma = 1.4\n";  // a program with an additional option
  EXPECT_FALSE(same_input(*c, path_, newer));
  EXPECT_TRUE(same_input(*c, path_, newer, {"hydro.gamma = 1.4\n", {}}));
  EXPECT_FALSE(same_input(*c, path_, newer, {"hydro.gamma = 1.6\n", {}}));
  EXPECT_TRUE(same_input(*c, path_, newer, {"hydro.gamma = 1.6\n", {"hydro.gamma"}}));
  EXPECT_TRUE(same_input(*c, path_, "problem = sedov\nmesh.block_size = 8\n"));  // in another order
  EXPECT_TRUE(same_input(*c, path_, "mesh.block_size = 16\nproblem = sedov\n", {"", {"mesh.block_size"}}));
  const block_mesh other(test::box({2, 2, 1}, 8, 0));
  values_.resize(4);
  EXPECT_THAT(read_values(path_, other, values_).error().message, HasSubstr("expected 4, 6 and 8^3"));
}

// Written by localities whose parts of the curve end at `ends`.
class CheckpointOfParts : public Checkpoint {
 protected:
  plx::result<void> write_parts(const std::vector<std::size_t>& ends, std::uint64_t mark = 77) {
    checkpoint_parts parts{mark, {}};
    std::size_t begin = 0;
    for (const std::size_t end : ends) {
      parts.all.push_back({"a.part" + std::to_string(parts.all.size()), end - begin});
      begin = end;
    }
    for (std::size_t k = 0; k < ends.size(); ++k) {
      // Each locality has its own blocks only.
      arena own(test::gas(), 8);
      const auto blocks = mesh_.blocks().subspan(ends[k] - parts.all[k].blocks, parts.all[k].blocks);
      own.hold(mesh_.slot_count(), blocks);
      for (const slot_id s : blocks) std::copy_n(values_.block(s), 6 * 512, own.block(s));
      if (parts.all[k].blocks == 0) continue;
      if (auto r = write_checkpoint_part(folder_ / parts.all[k].file, mesh_, own, parts, k); !r) return r;
    }
    return write_checkpoint_of_parts(path_, mesh_, arena(test::gas(), 8), state_, parts);
  }
  std::string values_error() {
    const auto r = read_values(path_, mesh_, values_);
    return r ? "" : r.error().message;
  }
  std::string part(int k) const { return folder_ / ("a.part" + std::to_string(k)); }
};

TEST_F(CheckpointOfParts, ComesBackBitwise) {
  const std::size_t blocks = mesh_.block_count();
  for (const auto& ends : std::vector<std::vector<std::size_t>>{{blocks}, {1, blocks}, {0, 5, 5, 20, blocks, blocks}}) {
    ASSERT_TRUE(write_parts(ends));
    const auto c = read_checkpoint(path_);
    ASSERT_TRUE(c) << c.error().message;
    EXPECT_EQ(c->state.numbers, state_.numbers);
    ASSERT_EQ(c->parts.all.size(), ends.size());
    const auto mesh = block_mesh::from_leaves(box_, c->leaves);
    ASSERT_TRUE(mesh) << mesh.error().message;
    arena values(test::gas(), 8);
    values.resize(mesh->slot_count());
    const auto r = read_values(path_, *mesh, values);
    ASSERT_TRUE(r) << r.error().message;
    for (const slot_id s : mesh_.blocks())
      EXPECT_EQ(std::memcmp(values.block(mesh->find(mesh_.where(s))), values_.block(s), 6 * 512 * 8), 0);
  }
}

TEST_F(CheckpointOfParts, OpensOnlyPartsOfBlocksThatAreHeld) {
  ASSERT_TRUE(write_parts({5, 9, mesh_.block_count()}));
  fs::remove(part(0));
  fs::remove(part(2));
  arena some(test::gas(), 8);
  some.hold(mesh_.slot_count(), mesh_.blocks().subspan(6, 2));
  const auto r = read_values(path_, mesh_, some);
  ASSERT_TRUE(r) << r.error().message;
  for (const slot_id s : mesh_.blocks().subspan(6, 2))
    EXPECT_EQ(std::memcmp(some.block(s), values_.block(s), 6 * 512 * 8), 0);
  some.hold(mesh_.slot_count(), mesh_.blocks().subspan(4, 1));
  EXPECT_THAT(read_values(path_, mesh_, some).error().message, HasSubstr("its part 'a.part0': No such file"));
}

TEST_F(CheckpointOfParts, NamesTheErrorOfAPart) {
  const std::size_t blocks = mesh_.block_count();
  ASSERT_TRUE(write_parts({5, blocks}, 1));
  fs::copy(part(1), folder_ / "other");
  ASSERT_TRUE(write_parts({5, blocks}, 2));
  EXPECT_EQ(values_error(), "");
  fs::rename(folder_ / "other", part(1));
  EXPECT_THAT(values_error(), HasSubstr("a.h5' is damaged: its part 'a.part1': it belongs to another checkpoint"));
  fs::copy_file(part(0), part(1), fs::copy_options::overwrite_existing);
  EXPECT_THAT(values_error(), HasSubstr("it belongs to another checkpoint"));
  fs::copy_file(path_, part(1), fs::copy_options::overwrite_existing);
  EXPECT_THAT(values_error(), HasSubstr("it is not a part of a checkpoint"));
  fs::resize_file(part(0), fs::file_size(part(0)) - 1);
  EXPECT_THAT(values_error(), HasSubstr("its part 'a.part0': it is truncated: expected"));
  fs::resize_file(part(0), 100);
  EXPECT_THAT(values_error(), HasSubstr("its part 'a.part0': it is truncated: expected"));
  fs::remove(part(0));
  EXPECT_THAT(values_error(),
              HasSubstr("its part 'a.part0': No such file or directory; there is no earlier one: start the run again"));
  std::ofstream(folder_ / "Z.h5") << "an earlier one";
  EXPECT_THAT(values_error(), HasSubstr("remove it to continue from '" + (folder_ / "Z.h5").string() + "'"));
}

TEST_F(CheckpointOfParts, DamagedCellsAndNames) {
  ASSERT_TRUE(write_parts({5, mesh_.block_count()}));
  const std::string cells = plx::read_file(part(1)).value(), head = plx::read_file(path_).value();
  const double* block = values_.block(mesh_.blocks()[7]);
  const std::size_t at = cells.find(std::string(reinterpret_cast<const char*>(block + 100), 8));
  ASSERT_NE(at, std::string::npos);
  std::fstream(part(1), std::ios::binary | std::ios::in | std::ios::out).seekp(at + 3)
      << static_cast<char>(~cells[at + 3]);
  EXPECT_THAT(values_error(), HasSubstr("its part 'a.part1': the checksum of block 7 does not match"));
  overwrite(head.find("a.part1"), "a.part0");
  EXPECT_THAT(read_error(), HasSubstr("the checksum of its header does not match"));
}

// A full disk, simulated by a limit on the size of files.
class size_limit {
 public:
  explicit size_limit(rlim_t bytes) {
    handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit small{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~size_limit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit old_{};
  void (*handler_)(int);
};

TEST_F(Checkpoint, FullDiskLeavesTheOldFileAndNothingElse) {
  state_.build = "the old one";
  ASSERT_TRUE(write());
  state_.build = "the new one";
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{1000}, rlim_t{100000}}) {
    const size_limit limit(bytes);
    const auto r = write();
    ASSERT_FALSE(r);
    EXPECT_THAT(r.error().message, HasSubstr("cannot write"));
    EXPECT_THAT(r.error().message, HasSubstr("File too large"));
  }
  EXPECT_EQ(read_checkpoint(path_)->state.build, "the old one");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

}  // namespace
