// The table detects defects of an operation; and the library's own rows on every backend.
#include "gpu/testing/operation_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/device.hpp"

namespace plx::gpu::testing {
namespace {

using ::testing::HasSubstr;

/// Doubles n values; each of the functions below has one defect.
struct twice_item {
  const double* x;
  double* y;
  std::uint64_t* count;
  std::uint32_t n;
};
void twice_cpu(const twice_item& t) {
  for (std::uint32_t i = 0; i < t.n; ++i) t.y[i] = 2 * t.x[i];
  *t.count += t.n;
}
void writes_behind_cpu(const twice_item& t) {
  twice_cpu(t);
  t.y[t.n] = 0;
}
void writes_before_cpu(const twice_item& t) {
  twice_cpu(t);
  t.y[-2] = 0;
}
void reads_behind_cpu(const twice_item& t) {
  twice_cpu(t);
  t.y[0] += 1e-300 * t.x[t.n];
}
void forgets_cpu(const twice_item& t) {
  const double* x = t.x;
  for (std::uint32_t i = 0; i + 1 < t.n; ++i) t.y[i] = 2 * x[i];
}
void changes_input_cpu(const twice_item& t) {
  twice_cpu(t);
  const_cast<double*>(t.x)[3] = 5;
}
int calls = 0;
void differs_cpu(const twice_item& t) {
  twice_cpu(t);
  if (calls++ % 2 != 0) t.y[7] *= 1 + 4e-16;
}
void miscounts_cpu(const twice_item& t) {
  twice_cpu(t);
  if (calls++ % 2 != 0) ++*t.count;
}

template <void (*f)(const twice_item&)>
std::string message_of_comparison(double bound = 0) {
  static constexpr operation<twice_item> op = cpu_operation<twice_item, f>("twice");
  calls = 0;
  const operation_row r = row(
      op, "n=33",
      [](operation_data& d, std::vector<twice_item>& items) {
        const std::vector<double> x(33, 1.5);
        const std::uint64_t none[1] = {0};
        items.push_back({d.input<double>(x), d.output<double>(33), d.in_out<std::uint64_t>(none), 33});
        return operation_cost{};
      },
      row_use::check, bound);
  return check_row(r, cpu::table());
}

TEST(operation_table, finds_planted_defects) {
  EXPECT_EQ(message_of_comparison<twice_cpu>(), "");
  EXPECT_THAT(message_of_comparison<writes_behind_cpu>(),
              HasSubstr("array 1 (output, 33 of 8 bytes): something was written 0 bytes"));
  EXPECT_THAT(message_of_comparison<writes_before_cpu>(), HasSubstr("written 16 bytes before it"));
  EXPECT_THAT(message_of_comparison<reads_behind_cpu>(), HasSubstr("array 1 (output, 33 of 8 bytes): value 0 is"));
  EXPECT_THAT(message_of_comparison<forgets_cpu>(), HasSubstr("value 32 was not written (1 value wrong)"));
  EXPECT_THAT(message_of_comparison<changes_input_cpu>(), HasSubstr("array 0 (input, 33 of 8 bytes): was changed"));
  EXPECT_THAT(message_of_comparison<differs_cpu>(),
              HasSubstr("value 7 is 3.0000000000000013, expected 3 (1 value wrong)"));
  EXPECT_EQ(message_of_comparison<differs_cpu>(1e-15), "");
  EXPECT_THAT(message_of_comparison<miscounts_cpu>(1e-15),
              HasSubstr("value 0 is 0x0000000000000022, expected 0x0000000000000021"));
}

TEST(operation_table, rows_of_the_library_on_every_backend) {
  for (const backend* b : backends()) {
    if (device_count(*b) == 0) continue;
    for (const operation_row& r : operation_rows()) {
      if (r.use == row_use::time || !is_written_for(*b, *r.op)) continue;
      EXPECT_EQ(check_row(r, *b), "") << r.name << " on " << b->name;
    }
  }
}

}  // namespace
}  // namespace plx::gpu::testing
