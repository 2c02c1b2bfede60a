#include "star/device/data/large_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "gpu/backend.hpp"
#include "gpu/buffer.hpp"
#include "gpu/core/memory_pool.hpp"
#include "gpu/cpu/cpu_backend.hpp"
#include "rt/runtime.hpp"

namespace plx::star::device {
namespace {

/// Runs on every backend that has a device.
class LargeCopies : public ::testing::TestWithParam<const gpu::backend*> {};
INSTANTIATE_TEST_SUITE_P(Backends, LargeCopies, ::testing::ValuesIn(gpu::backends()),
                         [](const auto& one) { return std::string(one.param->name); });

TEST_P(LargeCopies, ThereAndBackAreTheSameValues) {
  int devices = 0;
  const gpu::backend& b = *GetParam();
  if (const gpu::outcome o = b.count(b, devices); !o) GTEST_SKIP() << gpu::make_error(b, o, "", "").what();
  runtime rt({.workers = 3, .bind = false});
  gpu::device device(rt, b, 0);
  machine on(device);
  const struct {
    std::size_t rows, row;
  } shapes[] = {{3, 2}, {1, large_copy_bytes / 8}, {1, large_copy_bytes / 8 + 1}, {12800, 341}, {5, 3'000'000}};
  for (const auto [rows, row] : shapes) {
    SCOPED_TRACE(rows);
    const std::size_t gap = 3;  // between rows, which must stay as it is
    std::vector<double> from(rows * (row + gap)), to(from.size(), -1);
    std::iota(from.begin(), from.end(), 0.0);
    std::vector<const double*> sources;
    std::vector<double*> targets;
    for (std::size_t i = 0; i < rows; ++i) {
      sources.push_back(from.data() + (rows - 1 - i) * (row + gap));  // in another order
      targets.push_back(to.data() + (rows - 1 - i) * (row + gap));
    }
    rt.run([&] {
      auto* there = static_cast<double*>(on.allocate(rows * row * sizeof(double)));
      copy_to_device(on, there, sources, row);
      copy_from_device(on, targets, there, row);
      on.release(there);
    });
    for (std::size_t i = 0; i < rows; ++i) {
      const auto begin = static_cast<std::ptrdiff_t>(i * (row + gap)), end = begin + static_cast<std::ptrdiff_t>(row);
      ASSERT_TRUE(std::equal(from.begin() + begin, from.begin() + end, to.begin() + begin)) << i;
      ASSERT_EQ(to[static_cast<std::size_t>(end)], -1) << i;
    }
  }
}

// Without pinned memory, with one buffer of 16 MiB, and with enough; from a task and from an external thread.
TEST(LargeCopy, ContinuesWithThePinnedMemoryThatIsLeft) {
  constexpr std::size_t mib = std::size_t{1} << 20, rows = 1100, row = 8000;  // 67 MiB
  for (const std::size_t left : {std::size_t{1}, 20 * mib, 200 * mib})
    for (const bool in_task : {true, false}) {
      SCOPED_TRACE(testing::Message() << left << " bytes, " << (in_task ? "in a task" : "external"));
      const gpu::cpu::testing_backend b({.memory_bytes = 68 * mib + left});
      const auto on = make_machine(b.get());
      std::vector<double> from(rows * row), to(rows * row, -1);
      std::iota(from.begin(), from.end(), 0.0);
      std::vector<const double*> sources;
      std::vector<double*> targets;
      for (std::size_t i = 0; i < rows; ++i) {
        sources.push_back(from.data() + (rows - 1 - i) * row);
        targets.push_back(to.data() + (rows - 1 - i) * row);
      }
      auto* there = static_cast<double*>(on->allocate(68 * mib));
      std::size_t pinned_bytes = 0;
      const auto copy = [&] {
        copy_to_device(*on, there, sources, row);
        pinned_bytes = gpu::memory_counts_of(on->device(), gpu::memory_kind::pinned).reserved_bytes;
        copy_from_device(*on, targets, there, row);
      };
      if (in_task)
        on->device().get_runtime().run(copy);
      else
        copy();
      on->release(there);
      EXPECT_TRUE(from == to);
      if (left < mib)
        EXPECT_EQ(pinned_bytes, 0u);
      else
        EXPECT_EQ(pinned_bytes >= 32 * mib, left > 100 * mib) << pinned_bytes;
    }
}

}  // namespace
}  // namespace plx::star::device
