#include "mesh/between/prolong.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "mesh/field/symmetric.hpp"

namespace {

using namespace plx::mesh;

constexpr int width = 16;
constexpr std::ptrdiff_t volume = width * width * width;

std::vector<const level_kernels*> all_kernels() {
  std::vector<const level_kernels*> all{&isa_baseline::kernels};
#ifdef __x86_64__
  if (machine_has_avx2()) all.push_back(&isa_avx2::kernels);
#endif
  return all;
}

std::vector<double> random_cells(std::size_t count, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> cells(count);
  for (double& c : cells) c = rng() % 9 == 0 ? 0.25 : uniform(rng);  // some neighbours are equal
  return cells;
}

cell_box random_box(int lo, int hi, std::mt19937_64& rng) {
  cell_box box;
  for (int a = 0; a < 3; ++a) {
    box.lo[a] = lo + static_cast<int>(rng() % (hi - lo));
    box.hi[a] = box.lo[a] + 1 + static_cast<int>(rng() % (hi - box.lo[a]));
  }
  return box;
}

bool inside(const cell_box& b, int i, int j, int k) {
  return i >= b.lo[0] && i < b.hi[0] && j >= b.lo[1] && j < b.hi[1] && k >= b.lo[2] && k < b.hi[2];
}

TEST(LevelKernels, MeansEqualTheSymmetricSumAndNothingElseIsWritten) {
  std::mt19937_64 rng(1);
  for (const level_kernels* kernels : all_kernels())
    for (int round = 0; round < 300; ++round) {
      std::vector<double> fine = random_cells(2 * volume, rng), coarse(2 * volume, -77.0);
      const grid_view f{fine.data(), width, width * width, volume}, c{coarse.data(), width, width * width, volume};
      const cell_box box = random_box(0, width / 2, rng);
      kernels->restrict_box(f, c, box, 2);
      for (int v = 0; v < 2; ++v)
        for (int k = 0; k < width; ++k)
          for (int j = 0; j < width; ++j)
            for (int i = 0; i < width; ++i) {
              const double found = c.at(i, j, k)[v * volume];
              if (!inside(box, i, j, k)) {
                ASSERT_EQ(found, -77.0);
                continue;
              }
              double x[8];
              for (int n = 0; n < 8; ++n)
                x[n] = f.at(2 * i + (n & 1), 2 * j + (n >> 1 & 1), 2 * k + (n >> 2))[v * volume];
              ASSERT_EQ(found, 0.125 * sum8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]));
            }
    }
}

double limited(double l, double u, limiter rule) {
  if (l * u <= 0) return 0;
  const double small = std::min(std::abs(l), std::abs(u));
  return std::copysign(rule == limiter::minmod ? small : std::min(2 * small, 0.5 * std::abs(l + u)), l);
}

// A child by the textbook formula.
double child(const grid_view& c, int i, int j, int k, limiter rule) {
  const double* at = c.at(i >> 1, j >> 1, k >> 1);
  const std::ptrdiff_t step[3] = {1, c.row, c.plane};
  const int f[3] = {i, j, k};
  double offset = 0, low = at[0], high = at[0], most = 0;
  for (int a = 0; a < 3; ++a) {
    const double l = at[0] - at[-step[a]], u = at[step[a]] - at[0];
    const double s = limited(l, u, rule) / 4;
    offset += (f[a] & 1 ? s : -s);
    most += std::abs(s);
    low = std::min({low, at[-step[a]], at[step[a]]});
    high = std::max({high, at[-step[a]], at[step[a]]});
  }
  const double allowed = std::min(high - at[0], at[0] - low);
  if (most > allowed) offset *= allowed / most;
  return at[0] + offset;
}

TEST(LevelKernels, ChildrenFollowTheFormulaAndNothingElseIsWritten) {
  std::mt19937_64 rng(2);
  for (const limiter rule : {limiter::minmod, limiter::central})
    for (const level_kernels* kernels : all_kernels())
      for (int round = 0; round < 300; ++round) {
        std::vector<double> coarse = random_cells(volume, rng), fine(volume, -77.0);
        // Cell 0 is the fourth along each axis; boxes reach from fine cell -6 to 9.
        const std::ptrdiff_t corner = 4 * (1 + width + width * width);
        const grid_view c{coarse.data() + corner, width, width * width, volume};
        const grid_view f{fine.data() + 6 * (1 + width + width * width), width, width * width, volume};
        const cell_box box = random_box(-6, 10, rng);
        kernels->prolong_box(c, f, box, rule);
        for (int k = -6; k < 10; ++k)
          for (int j = -6; j < 10; ++j)
            for (int i = -6; i < 10; ++i) {
              if (inside(box, i, j, k)) {
                ASSERT_NEAR(*f.at(i, j, k), child(c, i, j, k, rule), 1e-15) << i << " " << j << " " << k;
              } else {
                ASSERT_EQ(*f.at(i, j, k), -77.0);
              }
            }
      }
}

TEST(LevelKernels, AllInstructionSetsAgreeBitwise) {
  std::mt19937_64 rng(3);
  const cell_box box{{-6, -5, -6}, {9, 10, 10}};
  for (const limiter rule : {limiter::minmod, limiter::central}) {
    std::vector<double> coarse = random_cells(volume, rng), first;
    const std::ptrdiff_t corner = 4 * (1 + width + width * width);
    for (const level_kernels* kernels : all_kernels()) {
      std::vector<double> fine(volume, 0.0);
      kernels->prolong_box({coarse.data() + corner, width, width * width, volume},
                           {fine.data() + 6 * (1 + width + width * width), width, width * width, volume}, box, rule);
      if (first.empty()) first = fine;
      EXPECT_EQ(std::memcmp(fine.data(), first.data(), fine.size() * sizeof(double)), 0);
    }
  }
}

}  // namespace
