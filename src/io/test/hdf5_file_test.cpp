#include "io/hdf5_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "base/sanitizers.hpp"
#include "base/test/memory_limit_test.hpp"

namespace plx {
namespace {

namespace fs = std::filesystem;

class Hdf5File : public testing::Test {
 protected:
  Hdf5File() : path_(fs::temp_directory_path() / ("plx_hdf5_file_" + std::to_string(getpid()) + ".h5")) {}
  ~Hdf5File() override { fs::remove(path_); }
  void write() {
    auto w = hdf5_writer::create(path_, 65536);
    ASSERT_TRUE(w);
    w->attribute("Version", 3);
    w->attribute("Names", std::vector<std::string>{"a", "long name"});
    w->text("Text", "two\nlines");
    const std::vector<double> values = {0.1, -0.0, 1e300};
    w->dataset("Values", {values.size()}, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values.data());
    ASSERT_TRUE(w->commit());
  }
  std::string path_;
};

TEST_F(Hdf5File, IsReadAsWritten) {
  const auto lock = hdf5_lock();
  write();
  const auto size = hdf5_reader::sizes_of(path_);
  ASSERT_TRUE(size);
  EXPECT_TRUE(size->is_hdf5);
  EXPECT_EQ(size->found, size->expected);
  const auto r = hdf5_reader::open(path_);
  ASSERT_TRUE(r);
  int version = 0;
  std::vector<std::string> names;
  std::string text;
  std::vector<double> values;
  EXPECT_TRUE(r->integer("Version", version) && r->texts("Names", names) && r->text("Text", text) &&
              r->whole("Values", values));
  EXPECT_EQ(version, 3);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "long name"}));
  EXPECT_EQ(text, "two\nlines");
  EXPECT_EQ(values, (std::vector<double>{0.1, -0.0, 1e300}));
  EXPECT_FALSE(r->whole("Missing", values));
  EXPECT_FALSE(r->has("Missing"));
}

TEST_F(Hdf5File, ATruncatedFileIsRecognized) {
  const auto lock = hdf5_lock();
  write();
  fs::resize_file(path_, fs::file_size(path_) - 100);
  const auto size = hdf5_reader::sizes_of(path_);
  ASSERT_TRUE(size);
  EXPECT_LT(size->found, size->expected);
  EXPECT_FALSE(hdf5_reader::sizes_of(path_ + ".missing"));
  EXPECT_FALSE(hdf5_reader::sizes_of(fs::temp_directory_path()));
}

#if !defined(PLX_ASAN) && !defined(PLX_TSAN)  // these need address space of their own
// Ends with 0 if std::bad_alloc is thrown where HDF5 would open a file with 4 MB.
template <class F>
[[noreturn]] void open_with_little_memory(F&& open) {
  limit_address_space(std::size_t{4} << 20);
  try {
    static_cast<void>(open());
  } catch (const std::bad_alloc&) {
    std::_Exit(0);
  }
  std::_Exit(1);
}

TEST_F(Hdf5File, LittleMemoryIsAnExceptionBeforeHdf5Crashes) {
  const auto lock = hdf5_lock();
  write();
  EXPECT_EXIT(open_with_little_memory([&] { return hdf5_reader::open(path_); }), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(open_with_little_memory([&] { return hdf5_writer::create(path_, 65536); }), testing::ExitedWithCode(0),
              "");
}
#endif

}  // namespace
}  // namespace plx
