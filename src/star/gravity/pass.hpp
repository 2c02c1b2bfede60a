// One struct for all passes of gravity, shared by the code for workers (passes.cpp) and for devices (passes.cu).
//
// Thread safety: values. Cost: none. Example: star/gravity/passes.cpp
#pragma once

#include <cstdint>

#include "star/gravity/passes.hpp"

namespace plx::gpu {
struct launch;
}

namespace plx::star::gravity {

/// Threads of a node on a device. Those of node_sums compute one sum each, those of energy and corrections all numbers.
constexpr int threads_of(pass_kind kind) {
  if (kind == pass_kind::node_sums) return node_sum_count;
  return kind == pass_kind::corrections || kind == pass_kind::energy ? 1 : 128;
}

/// `order`: of expansions; 0 for passes that have none.
template <pass_kind kind, int order>
struct pass {
  static constexpr const char* name = name_of(kind);
  static constexpr int threads = threads_of(kind);
  layout l;

  void operator()(const pass_view& v, std::int32_t node, int thread) const;
  void on_worker(const pass_view& v, std::int32_t node) const;
  static void launch_cuda(const gpu::launch& where, const void* items, unsigned count);
  static void launch_hip(const gpu::launch& where, const void* items, unsigned count);
};

}  // namespace plx::star::gravity
