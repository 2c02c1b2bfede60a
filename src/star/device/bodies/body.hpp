// A kernel written once for CPUs and GPUs, as a body with phases. Within a phase the threads of a group are
// independent; between two phases there is a barrier. On a GPU a group is a thread block; on the CPU its threads are a
// loop, one phase after the other.
//
//   struct body {
//     static constexpr int threads, phases, groups_per_unit;
//     struct/using arguments;
//     static std::size_t shared_bytes(const arguments&);
//     template <int phase> static void run(const arguments&, int group, int thread, double* shared);
//   };
//
// Thread safety: groups run concurrently; they change shared data by the functions below.
// Example: star/device/bodies/stage_body.hpp
#pragma once

// The bodies use the kernels of star/hydro with one lane, because each lane is a thread.
#ifndef PLX_HYDRO_ONE_LANE
#define PLX_HYDRO_ONE_LANE
#endif

#include <cstddef>
#include <cstdint>

#include "star/hydro/kernel/kernel_simd.hpp"

// For loops whose arrays must be in registers, and for one that must not be unrolled.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PLX_UNROLL _Pragma("unroll")
#define PLX_NO_UNROLL _Pragma("unroll 1")
#else
#define PLX_UNROLL
#define PLX_NO_UNROLL
#endif

namespace plx::star::PLX_HYDRO_ISA {
namespace {

PLX_INLINE void add_to(std::uint64_t* sum, std::uint64_t term) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(term));
#else
  *sum += term;
#endif
}

PLX_INLINE void lower_to(std::uint64_t* smallest, std::uint64_t value) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicMin(reinterpret_cast<unsigned long long*>(smallest), static_cast<unsigned long long>(value));
#else
  if (value < *smallest) *smallest = value;
#endif
}

PLX_INLINE void raise_to(std::uint64_t* largest_of_all, std::uint64_t value) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicMax(reinterpret_cast<unsigned long long*>(largest_of_all), static_cast<unsigned long long>(value));
#else
  if (value > *largest_of_all) *largest_of_all = value;
#endif
}

PLX_INLINE void set_bits(std::uint32_t* of, std::uint32_t bits) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  atomicOr(reinterpret_cast<unsigned*>(of), static_cast<unsigned>(bits));
#else
  *of |= bits;
#endif
}

/// raise_to() by all threads of a group together. Requires: value not negative.
PLX_INLINE void raise_together(std::uint64_t* largest_of_all, double value) {
#if defined(__CUDA_ARCH__)  // elsewhere the number of threads that run in lockstep differs
  for (int step = 16; step > 0; step /= 2) value = vmax(__shfl_xor_sync(0xffffffffu, value, step), value);
  if (threadIdx.x % 32 != 0) return;
#endif
  raise_to(largest_of_all, as_bits(value));
}

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
