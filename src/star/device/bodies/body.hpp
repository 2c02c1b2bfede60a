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
// run_body() runs all groups one after the other on the CPU, launch_body() as one launch.
//
// Thread safety: groups run concurrently; they change shared data by the functions below. Cost: on the CPU, that of a
// scalar loop; a launch, that of a kernel launch.
// Example: star/device/bodies/stage_body.hpp; star/device/operations_cpu.cpp, star/device/operations.cu
#pragma once

// The bodies use the kernels of star/hydro with one lane, because each lane is a thread.
#ifndef PLX_HYDRO_ONE_LANE
#define PLX_HYDRO_ONE_LANE
#endif

#include <cstddef>
#include <cstdint>

#include "star/hydro/kernel/kernel_simd.hpp"
#include "star/hydro/kernel/kernel_sums.hpp"
#include "star/hydro/parameters.hpp"

#if defined(__CUDACC__) || defined(__HIPCC__)
#include "gpu/cuda/kernel.hpp"
#else
#include <vector>
#endif

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

namespace plx::star::device {

#if defined(__CUDACC__) || defined(__HIPCC__)

template <class Body, int phase>
__device__ __forceinline__ void run_phases(const typename Body::arguments& a, int group, double* shared) {
  if constexpr (phase < Body::phases) {
    if constexpr (phase > 0) __syncthreads();
    Body::template run<phase>(a, group, static_cast<int>(threadIdx.x), shared);
    run_phases<Body, phase + 1>(a, group, shared);
  }
}

namespace {  // a kernel of the same name, from another compiler for devices, may be in the program

template <class Body>
__global__ void __launch_bounds__(Body::threads, Body::groups_per_unit)
    body_kernel(const __grid_constant__ typename Body::arguments a) {
  extern __shared__ double shared[];
  run_phases<Body, 0>(a, static_cast<int>(blockIdx.x), shared);
}

/// Errors: those of the launch are reported by cudaGetLastError().
template <class Body>
void launch_body(cudaStream_t stream, const typename Body::arguments& a) {
  const int groups = Body::groups(a);
  if (groups == 0) return;
  const std::size_t shared = Body::shared_bytes(a);
  if (!gpu::allow_shared_memory(body_kernel<Body>, shared)) return;
  body_kernel<Body><<<static_cast<unsigned>(groups), Body::threads, shared, stream>>>(a);
}

}  // namespace

#else

template <class Body, int phase>
void run_phases(const typename Body::arguments& a, int group, double* shared) {
  if constexpr (phase < Body::phases) {
    for (int thread = 0; thread < Body::threads; ++thread) Body::template run<phase>(a, group, thread, shared);
    run_phases<Body, phase + 1>(a, group, shared);
  }
}

template <class Body>
void run_body(const typename Body::arguments& a) {
  std::vector<double> shared(Body::shared_bytes(a) / sizeof(double) + 1);
  for (int group = 0; group < Body::groups(a); ++group) run_phases<Body, 0>(a, group, shared.data());
}

#endif

// ---- selects the instance of a body template by the options of the hydrodynamics

template <reconstruction scheme, class F>
void with_solver(const hydro_parameters& p, F&& f) {
  switch (p.riemann) {
    case riemann_solver::hllc:
      return f.template operator()<scheme, riemann_solver::hllc>();
    case riemann_solver::hll:
      return f.template operator()<scheme, riemann_solver::hll>();
    case riemann_solver::lax_friedrichs:
      return f.template operator()<scheme, riemann_solver::lax_friedrichs>();
    case riemann_solver::hllc_lm:
      return f.template operator()<scheme, riemann_solver::hllc_lm>();
  }
}

/// Calls f.operator()<reconstruction, riemann_solver>() with those of the parameters.
template <class F>
void with_scheme(const hydro_parameters& p, F&& f) {
  switch (p.reconstruct) {
    case reconstruction::ppm:
      return with_solver<reconstruction::ppm>(p, f);
    case reconstruction::plm:
      return with_solver<reconstruction::plm>(p, f);
    case reconstruction::mp5:
      return with_solver<reconstruction::mp5>(p, f);
  }
}

}  // namespace plx::star::device
