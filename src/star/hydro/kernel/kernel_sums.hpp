// Exact sums in kernels: of the changes that floors make, and of totals. The sums have the same bits for any order of
// the terms, so for any number of workers, localities and threads of a device.
//
// Thread safety: on a device, sums may be shared by all threads; elsewhere, one thread at a time. Cost: 20 instructions
// per term, and on a device three atomic additions.
// Example: star/hydro/kernel/kernel_update.hpp
#pragma once

#include "star/hydro/kernel/kernel_simd.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star::PLX_HYDRO_ISA {

namespace {

PLX_INLINE void add_to(std::uint64_t* sum, std::uint64_t term) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(term));
#else
  *sum += term;
#endif
}

/// As exact_sum::add(), with negative numbers in two's complement. A term that is not finite adds nothing: a state with
/// such values stops the run. Shapes: limbs: those of exact_limbs.
PLX_INLINE void add_exactly(double term, std::uint64_t* limbs) {
  constexpr std::uint64_t low32 = 0xffffffffu;
  const auto bits_of = __builtin_bit_cast(std::uint64_t, term);
  const int exponent = static_cast<int>(bits_of >> 52 & 0x7ff);
  std::uint64_t mantissa = bits_of & ((std::uint64_t{1} << 52) - 1);
  if (exponent != 0) mantissa |= std::uint64_t{1} << 52;
  if (mantissa == 0 || exponent == 0x7ff) return;
  const int position = (exponent > 1 ? exponent : 1) - 1, limb = position / 32, shift = position % 32;
  const std::uint64_t low = (mantissa & low32) << shift, high = ((mantissa >> 32) << shift) + (low >> 32);
  const std::uint64_t part[3] = {low & low32, high & low32, high >> 32};
  for (int i = 0; i < 3; ++i)
    if (part[i] != 0) add_to(&limbs[limb + i], bits_of >> 63 != 0 ? std::uint64_t{0} - part[i] : part[i]);
}

/// Where the changes of cells by floors are added.
struct floor_target {
  exact_limbs* sums = nullptr;        ///< floor_sums::sums
  double scale = 1.0;                 ///< volume of a cell times floor_sums::weight
  int spin = -1;                      ///< spin_variable()
  const double* potential = nullptr;  ///< of the first of the cells, or nullptr
};

/// Cell (i, j, k) in stage_input::potential of a block of n^3 cells.
PLX_INLINE std::ptrdiff_t in_potential(int n, int i, int j, int k) {
  const std::ptrdiff_t edge = n + 4;
  return ((k + 2) * edge + j + 2) * edge + i + 2;
}

/// For cells (i, j, k), (i + 1, j, k), ... of a block.
PLX_INLINE floor_target target_of(const floor_sums& to, const hydro_parameters& p, double dx, int n, int i, int j,
                                  int k) {
  return {to.sums, to.weight * (dx * dx * dx), spin_variable(p),
          to.potential == nullptr ? nullptr : to.potential + in_potential(n, i, j, k)};
}

/// Adds the values of the lanes in `set` times `scale` to a sum.
PLX_NOINLINE void add_lanes(exact_limbs* sum, vd values, double scale, unsigned set) {
  for (int l = 0; l < lanes; ++l)
    if ((set >> l & 1u) != 0) add_exactly(lane(values, l) * scale, reinterpret_cast<std::uint64_t*>(sum->limb));
}

}  // namespace

}  // namespace plx::star::PLX_HYDRO_ISA
