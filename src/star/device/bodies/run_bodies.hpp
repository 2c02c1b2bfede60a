// Runs a body (star/device/bodies/body.hpp): all groups one after the other on the CPU, or as one launch.
//
// Thread safety: that of the body. Cost: on the CPU, that of a scalar loop; a launch, that of a kernel launch.
// Example: star/device/operations_cpu.cpp, star/device/operations.cu
#pragma once

#include <cstddef>

#include "star/hydro/parameters.hpp"

#if defined(__CUDACC__) || defined(__HIPCC__)
#include "gpu/cuda/kernel.hpp"
#else
#include <vector>
#endif

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
#if !defined(__HIPCC__)  // there a group may use all shared memory of the device without a request
  constexpr auto most = cudaFuncAttributeMaxDynamicSharedMemorySize;
  if (shared > std::size_t{48} << 10 &&
      cudaFuncSetAttribute(body_kernel<Body>, most, static_cast<int>(shared)) != cudaSuccess)
    return;
#endif
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

// ---- Selects the instance of a body template by the options of the hydrodynamics.
//
// Cost: two branches.

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
