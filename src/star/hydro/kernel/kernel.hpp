// The kernels of one instruction set as a table of functions. kernel_table.hpp is compiled once per instruction set,
// with PLX_HYDRO_ISA set to its namespace and its own -march.
//
// Code for a wider instruction set must not be linked into the rest of the program: everything in those translation
// units except the table is in an unnamed namespace, and they include no inline functions that the linker could share
// (the test star_hydro.weak_symbols searches for such).
//
// Thread safety: pure functions. Cost: an indirect call per block.
// Example: star/hydro/test/isa_test.cpp
#pragma once

#include "star/hydro/parameters.hpp"

namespace plx::star {

struct kernel_table {
  void (*advance)(const hydro_parameters&, const stage_input&, stage_output&, double* scratch);
  void (*check)(const hydro_parameters&, double* u, int n, const block_place&, const cell_box&, stage_output&);
  std::size_t (*scratch_doubles)(const hydro_parameters&, int n);
  double (*power)(double x, double y);  ///< x^y as computed by the kernels, x > 0
};

namespace isa_baseline {
extern const kernel_table table;
}
namespace isa_avx2 {
extern const kernel_table table;
}
namespace isa_avx512 {
extern const kernel_table table;
}

enum class isa : int;
/// nullptr if this build does not have them; see available_isas() for what the machine supports.
const kernel_table* kernels_of(isa which) noexcept;

}  // namespace plx::star
