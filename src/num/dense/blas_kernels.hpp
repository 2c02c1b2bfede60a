// The kernels that OpenBLAS uses on this processor.
//
// OpenBLAS chooses them when it is loaded. A version that is older than the processor may not know it and choose those
// of the oldest one: OpenBLAS 0.3.21 does on the fifth generation of Intel Xeons (family 6, model 207), where Monte
// Carlo is then three times slower (533 instead of 1622 measurements per second and core, 2026-11-30).
#pragma once

#include <string_view>

namespace plx::detail {

struct processor_features {
  bool avx2 = false;      // with fused multiply-adds
  bool avx512 = false;    // F, BW, DQ and VL
  bool bfloat16 = false;  // AVX512-BF16
  bool amd = false;
};
processor_features features_of_this_processor();

/// The value of OPENBLAS_CORETYPE for kernels that fit better than the loaded ones; null if those use AVX2 as well, or
/// the processor has none.
const char* better_kernels(std::string_view loaded, const processor_features& has);

/// Starts the program again with that value in its environment, in the same process, if there are better kernels.
/// Does nothing if OPENBLAS_CORETYPE or LD_PRELOAD is set, because a preloaded library has begun to work. Called before
/// main(), when no other thread of the program runs. If the program cannot be started again, it continues with the
/// loaded kernels, which are slower and round in another way. Cost: some milliseconds.
void restart_with_better_kernels();

}  // namespace plx::detail
