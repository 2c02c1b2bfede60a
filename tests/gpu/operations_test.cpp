// Each row of the table of operations on each backend that has a device, compared with the operation's CPU function.
//
//   gpu_operations_test [--backend NAME] [--only TEXT] [--guard BYTES]   the test; --guard 0 under compute-sanitizer
//   gpu_operations_test --perf [--backend NAME] [--only TEXT]            times, as shares of the device's limits
//   gpu_operations_test --list
#include <gtest/gtest.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "gpu/device.hpp"
#include "gpu/testing/operation_table.hpp"
#include "ladder/block_rows.hpp"
#include "parquet/device/rows/operation_rows.hpp"
#include "star/device/test/operation_rows.hpp"

namespace {

using namespace plx::gpu;
using namespace plx::gpu::testing;

struct {
  std::string backend, only;
  check_options check;
  bool perf = false, list = false;
} wanted;

std::vector<operation_row> all_rows() {
  std::vector<operation_row> all = plx::gpu::testing::operation_rows();
  for (operation_row& r : plx::star::device::operation_rows()) all.push_back(std::move(r));
  for (operation_row& r : plx::star::device::block_rows()) all.push_back(std::move(r));
  for (operation_row& r : plx::parquet::device::operation_rows()) all.push_back(std::move(r));
  std::erase_if(all, [](const operation_row& r) { return r.name.find(wanted.only) == std::string::npos; });
  return all;
}

class each_backend : public ::testing::TestWithParam<const backend*> {};

TEST_P(each_backend, agrees_with_the_reference) {
  const backend& b = *GetParam();
  int n = 0;
  if (const outcome o = b.count(b, n); !o) GTEST_SKIP() << make_error(b, o, "", "").what();
  if (!wanted.backend.empty() && wanted.backend != b.name) GTEST_SKIP() << "another backend was requested";
  unsigned checked = 0;
  for (const operation_row& r : all_rows()) {
    if (r.use == row_use::time || !plx::gpu::testing::is_written_for(b, *r.op)) continue;
    EXPECT_EQ(check_row(r, b, wanted.check), "") << r.name;
    ++checked;
  }
  EXPECT_GT(checked, 0u) << "no row has '" << wanted.only << "' in its name";
  std::printf("%u rows on %s\n", checked, std::string(b.name).c_str());
}

INSTANTIATE_TEST_SUITE_P(operation_table, each_backend, ::testing::ValuesIn(backends()),
                         [](const auto& i) { return std::string(i.param->name); });

int print_times() {
  const backend& b = wanted.backend.empty() ? best_backend() : find_backend(wanted.backend);
  const device_limits most = measure_limits(b);
  std::printf("backend %s: copies %.0f GB/s (read and written), additions and multiplications %.0f GFLOP/s\n%s\n",
              std::string(b.name).c_str(), 1e-9 * most.bytes_per_s, 1e-9 * most.flops_per_s, row_time_title().c_str());
  for (const operation_row& r : all_rows()) {
    if (r.use == row_use::check) continue;
    std::printf("%s\n", row_time_line(r, time_row(r, b), most).c_str());
    std::fflush(stdout);
  }
  return 0;
}

int wrong_use(const char* word) {
  std::fprintf(stderr, "'%s': expected --backend NAME, --only TEXT, --guard BYTES, --perf or --list\n", word);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--perf")
      wanted.perf = true;
    else if (word == "--list")
      wanted.list = true;
    else if (word == "--backend" && more)
      wanted.backend = argv[++i];
    else if (word == "--only" && more)
      wanted.only = argv[++i];
    else if (word == "--guard" && more) {
      const std::string_view bytes = argv[++i];
      const auto [end, wrong] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), wanted.check.guard_bytes);
      if (wrong != std::errc() || end != bytes.data() + bytes.size()) return wrong_use(argv[i]);
    } else
      return wrong_use(argv[i]);
  }
  try {
    if (!wanted.backend.empty()) static_cast<void>(find_backend(wanted.backend));
    if (wanted.list) {
      for (const operation_row& r : all_rows()) std::printf("%s\n", r.name.c_str());
      return 0;
    }
    return wanted.perf ? print_times() : RUN_ALL_TESTS();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
