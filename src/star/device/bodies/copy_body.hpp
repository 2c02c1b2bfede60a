// Copies boxes of cells into or out of a message, as a body, like mesh::pack() and mesh::unpack(). A group copies one
// box.
//
// Thread safety: as bodies; boxes that are written do not overlap, or get the same values. Cost: a read and a write per
// value.
// Example: star/device/test/device_gas_test.cpp
#pragma once

#include "star/device/bodies/body.hpp"
#include "star/device/data/step_data.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

struct copy_body {
  using arguments = device::copy_arguments;
  static constexpr int threads = 128, phases = 1, groups_per_unit = 8;
  static std::size_t shared_bytes(const arguments&) { return 0; }
  static int groups(const arguments& a) { return a.n_items; }

  template <int phase>
  PLX_INLINE static void run(const arguments& a, int group, int thread, double*) {
    const device::copy_item item = a.items[group];
    const int x = item.cells[0], xy = x * item.cells[1], cells = xy * item.cells[2];
    const std::ptrdiff_t row = a.n, plane = row * a.n;
    for (int e = thread; e < cells * a.n_var; e += threads) {
      const int v = e / cells, c = e % cells;
      double* value = a.values + item.values + v * a.variable + c % x + c % xy / x * row + c / xy * plane;
      double* place = a.message + item.message + e;
      if (a.out)
        *place = *value;
      else
        *value = *place;
    }
  }
};

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
