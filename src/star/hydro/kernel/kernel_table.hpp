// The functions of kernel_table for one instruction set, and the table. Compiled once per instruction set (plx_kernels
// in cmake/plx_library.cmake) with PLX_ISA set to its namespace.
//
// Thread safety: pure functions of their arguments. Cost: kernel_block.hpp.
// Example: star/hydro/test/isa_test.cpp
#pragma once

#define PLX_HYDRO_ISA PLX_ISA

#include "star/hydro/kernel/kernel_full3d.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star::PLX_HYDRO_ISA {
namespace {

using box_function = void (*)(const box_task&, tally&);

template <reconstruction scheme, class Eos>
box_function choose_solver(riemann_solver solver) {
  switch (solver) {
    case riemann_solver::hll:
      return advance_box<scheme, riemann_solver::hll, Eos>;
    case riemann_solver::lax_friedrichs:
      return advance_box<scheme, riemann_solver::lax_friedrichs, Eos>;
    case riemann_solver::hllc_lm:
      return advance_box<scheme, riemann_solver::hllc_lm, Eos>;
    case riemann_solver::hllc:
      break;
  }
  return advance_box<scheme, riemann_solver::hllc, Eos>;
}

template <class Eos>
box_function choose(const hydro_parameters& p) {
  switch (p.reconstruct) {
    case reconstruction::plm:
      return choose_solver<reconstruction::plm, Eos>(p.riemann);
    case reconstruction::mp5:
      return choose_solver<reconstruction::mp5, Eos>(p.riemann);
    case reconstruction::ppm:
      break;
  }
  return choose_solver<reconstruction::ppm, Eos>(p.riemann);
}

/// Number of cells of the tile that need a floor, among those that the scheme uses. Slow: called only if there are any.
template <class Eos>
std::int64_t count_input_floors(const hydro_parameters& p, const stage_input& in) {
  const int m = in.n + 2 * g, n_var = variable_count(0);
  const std::ptrdiff_t cells = std::ptrdiff_t{m} * m * m;
  const bool whole = p.scheme == hydro_scheme::full3d;
  auto outside = [&](int x) { return x < g || x >= m - g ? 1 : 0; };
  std::int64_t found = 0;
  for (int k = 0; k < m; ++k)
    for (int j = 0; j < m; ++j)
      for (int i = 0; i < m; ++i) {
        if (!whole && outside(i) + outside(j) + outside(k) > 1) continue;
        double u[i_species * lanes], w[i_species * lanes];
        const double* cell = in.tile + (std::ptrdiff_t{k} * m + j) * m + i;
        for (int v = 0; v < n_var; ++v) store(u + v * lanes, all(cell[v * cells]));
        found += to_primitive<Eos>(p, n_var, u, lanes, w, lanes) ? 1 : 0;
      }
  return found;
}

void report(const tally& sums, double dx, stage_output& out) {
  out.max_signal_rate = largest(sums.signal_speed) / dx;
  out.density_floors = sums.density_floors;
  out.pressure_floors = sums.pressure_floors;
  out.added_terms = sums.added_terms;
  out.first_bad_cell = sums.first_bad;
}

/// Returns true if a cell of the tile needed a floor.
template <class Eos>
bool advance_faces(const hydro_parameters& p, const stage_input& in, stage_output& out, double* scratch, tally& sums) {
  const box_shape b = shape_for(in.n);
  const int n_var = variable_count(p);
  const workspace s = divide_scratch(scratch, p, b);
  const box_function advance_one = choose<Eos>(p);
  bool floored = false;
  for (int z = 0; z < in.n; z += b.z)
    for (int y = 0; y < in.n; y += b.y)
      for (int x = 0; x < in.n; x += b.x) {
        const box_task task{p, in, out, s, b, x, y, z, n_var};
        floored |= convert_box<Eos>(task);
        copy_potential(task);
        if (p.spin) find_spin(task);
        advance_one(task, sums);
      }
  return floored;
}

void advance(const hydro_parameters& p, const stage_input& in, stage_output& out, double* scratch) {
  tally sums;
  with_eos(p.eos.kind, [&]<class Eos>() {
    const bool floored = p.scheme == hydro_scheme::full3d ? advance_block_full3d<Eos>(p, in, out, scratch, sums)
                                                          : advance_faces<Eos>(p, in, out, scratch, sums);
    out.input_floors = floored ? count_input_floors<Eos>(p, in) : 0;
  });
  report(sums, in.place.dx, out);
}

/// Checks up to `lanes` cells of a row, through a small copy: rows of a box may be shorter than a vector.
template <class Eos>
void check_row(const hydro_parameters& p, double* u, std::ptrdiff_t variable, int count, int index,
               const vd (&centre)[3], const floor_target& to, tally& sums) {
  double copy[(i_species + max_species + spin_variables) * lanes];
  const int n_var = variable_count(p);
  vd finite = all(0.0);
  for (int v = 0; v < n_var; ++v) {
    for (int l = 0; l < lanes; ++l) copy[v * lanes + l] = u[v * variable + (l < count ? l : 0)];
    finite = finite + load(copy + v * lanes) * all(0.0);
  }
  settle<Eos>(
      p, copy, lanes, finite, all(0.0), index,
      (1u << count) - 1, [&](int axis) __attribute__((always_inline)) { return centre[axis]; },
      [&]() __attribute__((always_inline)) { return to; }, sums);
  for (int v = 0; v < n_var; ++v)
    for (int l = 0; l < count; ++l) u[v * variable + l] = copy[v * lanes + l];
}

void check(const hydro_parameters& p, double* u, int n, const block_place& place, const cell_box& box,
           stage_output& out) {
  const std::ptrdiff_t variable = std::ptrdiff_t{n} * n * n;
  tally sums;
  with_eos(p.eos.kind, [&]<class Eos>() {
    for (int k = box.lower[2]; k < box.upper[2]; ++k)
      for (int j = box.lower[1]; j < box.upper[1]; ++j)
        for (int i = box.lower[0]; i < box.upper[0]; i += lanes) {
          const int index = (k * n + j) * n + i, rest = box.upper[0] - i;
          double x[lanes];
          for (int l = 0; l < lanes; ++l) x[l] = place.centre(0, i + (l < rest ? l : 0));  // as check_row
          const vd centre[3] = {load(x), all(place.centre(1, j)), all(place.centre(2, k))};
          check_row<Eos>(p, u + index, variable, rest < lanes ? rest : lanes, index, centre,
                         target_of(out.added, p, place.dx, n, i, j, k), sums);
        }
  });
  report(sums, place.dx, out);
  out.input_floors = 0;
}

std::size_t scratch_doubles(const hydro_parameters& p, int n) {
  double* base = nullptr;
  const int n_var = variable_count(p);
  const double* end =
      p.scheme == hydro_scheme::full3d ? divide_planes(base, n_var).end : divide_scratch(base, p, shape_for(n)).end;
  return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(end) / sizeof(double));
}

double scalar_power(double x, double y) { return lane(power(all(x), all(y)), 0); }

}  // namespace

const kernel_table table{advance, check, scratch_doubles, scalar_power};

}  // namespace plx::star::PLX_HYDRO_ISA
