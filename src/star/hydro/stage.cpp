#include "star/hydro/stage.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "star/hydro/parameters.hpp"

namespace plx::star {

std::string_view name_of(isa which) {
  switch (which) {
    case isa::avx2:
      return "avx2";
    case isa::avx512:
      return "avx512";
    case isa::baseline:
      break;
  }
  return "baseline";
}

const kernel_table* kernel_table::of(isa which) noexcept {
#if defined(__x86_64__)
  if (which == isa::avx2) return &isa_avx2::table;
  if (which == isa::avx512) return &isa_avx512::table;
#endif
  return which == isa::baseline ? &isa_baseline::table : nullptr;
}

namespace {

bool machine_has(isa which) {
#if defined(__x86_64__)
  // The features of the x86-64-v3 and -v4 levels that the kernels may use.
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return which == isa::baseline || (which == isa::avx2 && v3) || (which == isa::avx512 && v4);
#else
  return which == isa::baseline;
#endif
}

std::string names_of(const std::vector<isa>& all) {
  std::string text;
  for (isa which : all) text += (text.empty() ? "" : ", ") + std::string(name_of(which));
  return text;
}

}  // namespace

std::vector<isa> available_isas() {
  std::vector<isa> found;
  for (isa which : {isa::baseline, isa::avx2, isa::avx512})
    if (kernel_table::of(which) && machine_has(which)) found.push_back(which);
  return found;
}

result<isa> select_isa() {
  const std::vector<isa> all = available_isas();
  const char* wanted = std::getenv("PLX_ISA");
  if (!wanted || *wanted == '\0') return all.back();
  const auto found = std::find_if(all.begin(), all.end(), [&](isa which) { return name_of(which) == wanted; });
  if (found != all.end()) return *found;
  return error{"PLX_ISA is '" + std::string(wanted) + "': expected one that this machine and this build support (" +
               names_of(all) + "), or an empty value for the best of them"};
}

isa active_isa() noexcept {
  static const isa chosen = select_isa().value_or(available_isas().back());
  return chosen;
}

std::size_t stage_scratch_bytes(const hydro_parameters& parameters, int n) {
  PLX_ASSERT(is_block_size(n), n);
  return isa_baseline::table.scratch_doubles(parameters, n) * sizeof(double);
}

stage_work work_of_stage(const hydro_parameters& p, int n) {
  PLX_ASSERT(is_block_size(n), n);
  const bool full3d = p.scheme == hydro_scheme::full3d;
  const double edge = n, cells = edge * edge * edge, ghosts = 3;  // on each side
  // The tile has the ghosts of edges and corners for full3d alone. The lines of the new state are read before.
  const double with_ghosts = (edge + 2 * ghosts) / edge;
  const double tile = full3d ? with_ghosts * with_ghosts * with_ghosts : 1 + 6 * ghosts / edge;
  stage_work work{.flops = 0,
                  .bytes = cells * static_cast<double>(sizeof(double)) * variable_count(p) * (tile + 1 + 2)};
  if (p.eos.kind != eos_kind::ideal || p.n_species != 0 || p.spin) return work;
  if (p.reconstruct != reconstruction::ppm) return work;
  if (full3d) {
    work.flops = 5900 * cells;  // of each box of 8^3
  } else if (p.riemann == riemann_solver::hllc) {
    // Boxes of x, x and 8 cells, each with its ghosts: kernel/kernel_block.hpp.
    const double x = n % 16 == 0 ? 16 : 8, sides = 2 / x + 1.0 / 8;
    const double primitives = 36 * (1 + 2 * ghosts * sides), ppm = 29 * 6 * (3 + 2 * sides), hllc = 78 * (3 + sides);
    work.flops = (primitives + ppm + hllc + 220) * cells;
  }
  return work;
}

void advance_block(const hydro_parameters& parameters, const stage_input& in, stage_output& out, void* scratch,
                   isa which) {
  PLX_ASSERT(is_block_size(in.n), in.n);
  PLX_ASSERT(parameters.n_species >= 0 && parameters.n_species <= max_species, parameters.n_species);
  PLX_ASSERT(reinterpret_cast<std::uintptr_t>(scratch) % 64 == 0);
  const kernel_table* kernels = kernel_table::of(which);
  PLX_ASSERT(kernels != nullptr, static_cast<int>(which));
  kernels->advance(parameters, in, out, static_cast<double*>(scratch));
}

void check_cells(const hydro_parameters& parameters, double* u, int n, const block_place& place, const cell_box& box,
                 stage_output& out) {
  for (int axis = 0; axis < 3; ++axis)
    PLX_ASSERT(0 <= box.lower[axis] && box.upper[axis] <= n, axis, box.lower[axis], box.upper[axis]);
  const kernel_table* kernels = kernel_table::of(active_isa());
  PLX_ASSERT(kernels != nullptr);
  kernels->check(parameters, u, n, place, box, out);
}

void add_limbs(const exact_limbs& sum, exact_sum& to) {
  std::array<std::int64_t, exact_limbs::count + 3> numbers{0, exact_limbs::count, 0};
  std::copy(std::begin(sum.limb), std::end(sum.limb), numbers.begin() + 3);
  std::span<const std::int64_t> from = numbers;
  to.add_from(from);
}

}  // namespace plx::star
