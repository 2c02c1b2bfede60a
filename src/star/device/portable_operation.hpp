// Makes kernels of the structs that star/step/portable_pass.hpp describes. A file that is compiled for a device too
// (.cu) gives the device's function; one for the host alone runs on workers and on the backend `cpu`. Workers call
// on_worker() if the struct has it.
//
// A struct may be compiled for the host and for devices in separate files: it declares the static functions launch_cuda
// and launch_hip, gpu::launch_functions on items portable_item<F>, and the file for devices defines them with
// PLX_DEFINE_PORTABLE_LAUNCH.
//
// Both give the same bits if they are compiled without contraction to fused multiply-adds.
//
// Thread safety: pure. Cost: that of the pass. Example: star/test/step_module_test.cpp
#pragma once

#include <memory>
#include <utility>

#include "gpu/operation.hpp"
#include "star/device/data/machine.hpp"
#include "star/device/data/step_data.hpp"
#include "star/step/portable_pass.hpp"

#if defined(__CUDACC__) || defined(__HIPCC__)
#include "gpu/cuda/kernel.hpp"
#endif

namespace plx::star::device {

/// A launch of a pass.
template <class F>
struct portable_item {
  F f;
  pass_view view;
  const std::int32_t* nodes = nullptr;
  int count = 0;
  const step_control* control = nullptr;
};

template <class F>
void run_portable(const portable_item<F>& a) {
  if (a.control->stopped != 0) return;
  for (int i = 0; i < a.count; ++i)
    for (int thread = 0; thread < F::threads; ++thread) a.f(a.view, a.nodes[i], thread);
}

#if defined(__CUDACC__) || defined(__HIPCC__)
template <class F>
__global__ void portable_kernel(const __grid_constant__ portable_item<F> a) {
  if (a.control->stopped == 0) a.f(a.view, a.nodes[blockIdx.x], static_cast<int>(threadIdx.x));
}

template <class F>
void launch_portable(const gpu::launch& where, const portable_item<F>* items, unsigned n) {
  for (unsigned i = 0; i < n; ++i)
    if (items[i].count > 0)
      portable_kernel<F><<<static_cast<unsigned>(items[i].count), F::threads, 0, gpu::stream_of(where)>>>(items[i]);
}

// The function that this compiler defines.
#if defined(__HIPCC__)
#define PLX_PORTABLE_LAUNCH launch_hip
#else
#define PLX_PORTABLE_LAUNCH launch_cuda
#endif
#define PLX_DEFINE_PORTABLE_LAUNCH(F)                                                       \
  void F::PLX_PORTABLE_LAUNCH(const gpu::launch& where, const void* items, unsigned n) {    \
    device::launch_portable(where, static_cast<const device::portable_item<F>*>(items), n); \
  }
#endif

template <class F>
constexpr gpu::operation<portable_item<F>> make_portable_operation() {
  gpu::operation<portable_item<F>> op{{F::name, sizeof(portable_item<F>), alignof(portable_item<F>),
                                       gpu::detail::cpu_of<portable_item<F>, run_portable<F>>, nullptr, nullptr,
                                       nullptr}};
#if defined(__HIPCC__)
  op.hip = gpu::detail::launch_of<portable_item<F>, launch_portable<F>>;
#elif defined(__CUDACC__)
  op.cuda = gpu::detail::launch_of<portable_item<F>, launch_portable<F>>;
#endif
#if defined(PLX_GPU_CUDA)
  if constexpr (requires { F::launch_cuda; }) op.cuda = F::launch_cuda;
#endif
#if defined(PLX_GPU_HIP)
  if constexpr (requires { F::launch_hip; }) op.hip = F::launch_hip;
#endif
  return op;
}

template <class F>
inline constexpr gpu::operation<portable_item<F>> portable_operation = make_portable_operation<F>();

/// The code of a pass for gas_passes::portable().
template <class F>
std::unique_ptr<portable_code> portable(F f) {
  struct code final : portable_code {
    explicit code(F&& g) : f(std::move(g)) {}
    void run(const pass_view& view, std::int32_t node) const override {
      if constexpr (requires { f.on_worker(view, node); }) {
        f.on_worker(view, node);
      } else {
        for (int thread = 0; thread < F::threads; ++thread) f(view, node, thread);
      }
    }
    void launch(machine& on, const pass_view& view, const std::int32_t* nodes, int count,
                const step_control* control) const override {
      if (count > 0) on.launch(portable_operation<F>, portable_item<F>{f, view, nodes, count, control});
    }
    F f;
  };
  return std::make_unique<code>(std::move(f));
}

}  // namespace plx::star::device
