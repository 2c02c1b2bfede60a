// Selects the instruction set of the kernels: the best that this machine and this build support, or the one in PLX_ISA.
//
// Thread safety: pure functions. Cost: active_isa() reads a static after the first call.
// Example: star/hydro/test/isa_test.cpp
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace plx::star {

enum class isa : int {
  baseline,  ///< the compiler's default: x86-64 (SSE2), or NEON on aarch64
  avx2,      ///< x86-64-v3
  avx512,    ///< x86-64-v4
};

std::string_view name_of(isa which);

/// Built and supported by this machine, slowest first. Never empty.
std::vector<isa> available_isas();

/// The best available one, or the one that environment variable PLX_ISA names ("baseline", "avx2", "avx512"). Errors:
/// an unknown or unsupported name: one line with the available ones. Call it where options are read.
result<isa> select_isa();

/// The instruction set of the kernels: the result of select_isa(), once per process; the best one if PLX_ISA is
/// invalid.
isa active_isa() noexcept;

}  // namespace plx::star
