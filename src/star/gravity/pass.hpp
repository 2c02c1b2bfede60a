// One struct for all passes of gravity, shared by the code for workers (passes.cpp) and for devices (passes.cu).
//
// Thread safety: values. Cost: none. Example: star/gravity/passes.cpp
#pragma once

#include <cstdint>

#include "star/gravity/passes.hpp"

namespace plx::star::gravity {

enum class pass_kind {
  masses,
  moments,
  interactions,
  translations,
  accelerations,
  energy,
  node_sums,
  corrections,
  source
};

constexpr const char* name_of(pass_kind kind) {
  switch (kind) {
    case pass_kind::masses:
      return names::masses;
    case pass_kind::moments:
      return names::moments;
    case pass_kind::interactions:
      return names::interactions;
    case pass_kind::translations:
      return names::translations;
    case pass_kind::accelerations:
      return names::accelerations;
    case pass_kind::energy:
      return names::energy;
    case pass_kind::node_sums:
      return names::node_sums;
    case pass_kind::corrections:
      return names::corrections;
    default:
      return names::source;
  }
}

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
