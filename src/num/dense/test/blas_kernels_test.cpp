#include "num/dense/blas_kernels.hpp"

#include <cblas.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace plx::detail {
namespace {

TEST(BlasKernels, OldOnesAreReplacedByThoseOfTheProcessor) {
  EXPECT_STREQ(better_kernels("Prescott", {.avx2 = true, .avx512 = true, .bfloat16 = true}), "Cooperlake");
  EXPECT_STREQ(better_kernels("Prescott", {.avx2 = true, .avx512 = true}), "SkylakeX");
  EXPECT_STREQ(better_kernels("Nehalem", {.avx2 = true}), "Haswell");
  EXPECT_STREQ(better_kernels("Barcelona", {.avx2 = true, .amd = true}), "Zen");
  EXPECT_EQ(better_kernels("Sandybridge", {}), nullptr);
}

TEST(BlasKernels, ThoseOfALibraryThatKnowsTheProcessorStay) {
  const processor_features all{.avx2 = true, .avx512 = true, .bfloat16 = true, .amd = true};
  for (const char* loaded : {"Haswell", "Zen", "SKYLAKEX", "Cooperlake", "SapphireRapids"})
    EXPECT_EQ(better_kernels(loaded, all), nullptr) << loaded;
}

TEST(BlasKernels, ThisProgramHasThem) {
  if (std::getenv("LD_PRELOAD") != nullptr) GTEST_SKIP() << "a preloaded library: the program is not started again";
  if (std::string(openblas_get_config()).find("DYNAMIC_ARCH") == std::string::npos)
    GTEST_SKIP() << "OpenBLAS has kernels for one processor only";
  EXPECT_EQ(better_kernels(openblas_get_corename(), features_of_this_processor()), nullptr) << openblas_get_corename();
}

}  // namespace
}  // namespace plx::detail
