// Input and output of the kernels: plain structs and constants without the standard library, because every instruction
// set's translation unit includes this file (see kernel_table).
//
// Thread safety: values. Cost: none.
// Example: star/hydro/test/stage_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>

// PLX_DEVICE: functions that a GPU compiler must generate for host and device.
#if defined(__CUDACC__) || defined(__HIPCC__)
#define PLX_DEVICE __host__ __device__
#else
#define PLX_DEVICE
#endif

namespace plx::star {

// Conserved variables of a cell, in this order in every tile and block; see state.hpp for their meaning.
inline constexpr int i_density = 0;
inline constexpr int i_momentum = 1;  ///< + axis
inline constexpr int i_energy = 4;    ///< internal + kinetic, per volume
inline constexpr int i_tracer = 5;
inline constexpr int i_species = 6;  ///< + species
inline constexpr int max_species = 16;

constexpr int variable_count(int n_species) { return i_species + n_species; }
inline constexpr int spin_variables = 3;  ///< after the species, with hydro_parameters::spin

inline constexpr int ghost_layers = 3;

/// N may be 8, 16, 24, ... 64.
constexpr bool is_block_size(int n) { return n >= 8 && n <= 64 && n % 8 == 0; }

/// faces: values at six face centres, one flux per face. full3d: values at 26 points of the cell's surface, along 13
/// axes, and nine fluxes per face; always PPM and the central-upwind (HLL) flux.
enum class hydro_scheme : int { faces, full3d };
enum class reconstruction : int { ppm, plm, mp5 };
enum class riemann_solver : int { hllc, hll, lax_friedrichs, hllc_lm };

/// The equations of state of star/hydro/eos.hpp.
enum class eos_kind : int { ideal, stiffened, white_dwarf, radiation };

struct eos_parameters {
  double gamma = 1.4;  ///< adiabatic index of the thermal part
  eos_kind kind = eos_kind::ideal;
  double p_inf = 0.0;               ///< stiffened: p = (gamma - 1) e - gamma p_inf
  double electron_pressure = 1.0;   ///< white_dwarf: A
  double electron_density = 1.0;    ///< white_dwarf: B
  double gas_constant = 1.0;        ///< radiation: R of p = rho R T + a T^4 / 3
  double radiation_constant = 1.0;  ///< radiation: a
};

/// Parameters of the kernels other than the block.
struct hydro_parameters {
  eos_parameters eos;
  reconstruction reconstruct = reconstruction::ppm;
  riemann_solver riemann = riemann_solver::hllc;
  int n_species = 0;
  double density_floor = 1e-12;
  double pressure_floor = 1e-14;     ///< of the thermal pressure (star/hydro/eos.hpp)
  double dual_energy_switch = 1e-3;  ///< pressure from the tracer below this ratio of thermal to total energy
  double dual_energy_reset = 0.1;    ///< tracer reset above this ratio of thermal energy to the largest total energy
                                     ///< of neighbours
  hydro_scheme scheme = hydro_scheme::faces;
  bool contact_steepening = false;  ///< full3d: densities at contact discontinuities are reconstructed steeper
  /// Angular velocity of the mesh about the z axis. States are those of an inertial frame; what flows through a face,
  /// and the signal rate, are relative to the mesh.
  double omega = 0.0;
  /// The angular momentum of each cell about its centre is evolved: kernel_spin.hpp. `faces` only.
  bool spin = false;
};

constexpr int variable_count(const hydro_parameters& p) {
  return variable_count(p.n_species) + (p.spin ? spin_variables : 0);
}
/// The first of the variables of the spin, or -1.
constexpr int spin_variable(const hydro_parameters& p) { return p.spin ? variable_count(p.n_species) : -1; }

/// The place of a block. The same cell has the same place, bit by bit, seen from any block of its level.
struct block_place {
  double dx = 1.0;  ///< width of a cell, the same along each axis
  // For hydro_parameters::omega and spin:
  double lower[3] = {};  ///< corner of the domain
  double first[3] = {};  ///< number of cells of this width from there to the block

  PLX_DEVICE block_place() {}
  PLX_DEVICE block_place(double width) : dx(width) {}
  PLX_DEVICE double face(int axis, int i) const { return lower[axis] + (first[axis] + i) * dx; }
  PLX_DEVICE double centre(int axis, int i) const { return lower[axis] + ((first[axis] + i) + 0.5) * dx; }
};

/// Input of a stage. Shapes: n_var = variable_count(parameters), M = n + 2 * ghost_layers.
struct stage_input {
  const double* tile = nullptr;  ///< [n_var][M][M][M] (k, j, i), conserved; `faces` uses ghost cells at edges only with
                                 ///< spin and at corners never, `full3d` uses all
  const double* u_old = nullptr;  ///< [n_var][n][n][n], the state at the start of the time step
  int n = 8;
  block_place place;
  double dt = 0.0;      ///< of the whole step
  double weight = 1.0;  ///< of this stage: integrator::weight
  /// The potential of gravity, or nullptr: [n + 4][n + 4][n + 4] (k, j, i), the cells and two layers around them,
  /// without edges and corners. Across a face without cells of the same level, the first layer has the value whose mean
  /// with that of the cell is the potential at the face, and the second layer is NaN. Only stage_output::work depends
  /// on it.
  const double* potential = nullptr;
};

/// A sum of doubles in the form of num/exact_sum.hpp, with the same number of limbs.
struct exact_limbs {
  static constexpr int count = 70;
  std::int64_t limb[count] = {};
};

/// The sums to which kernels add what floors change: of each variable the integral over the floored cells, of the
/// angular momentum about the origin in place of the spin.
struct floor_sums {
  exact_limbs* sums = nullptr;        ///< [n_var]; nullptr: not requested
  double weight = 1.0;                ///< integrator::state_weight()
  const double* potential = nullptr;  ///< stage_input::potential: the energy is then with that of added mass
};

/// Output of a stage.
struct stage_output {
  double* u_new = nullptr;  ///< [n_var][n][n][n]; may be u_old
  /// Fluxes through the block's faces, nullptr if not requested: by face x-, x+, y-, y+, z-, z+; [n_var][n][n]: (k, j)
  /// on x faces, (k, i) on y faces, (j, i) on z faces.
  /// Per area and time, positive along the axis. u_new changes by -weight * dt / dx * (F+ - F-).
  double* face_flux[6] = {};
  /// With a potential, [axis][n][n][n]: the sum over the two faces of a cell along the axis of its share of the mass
  /// flux times the difference of the potential. The energy changes by -weight * dt / dx times the sum over the axes.
  double* work = nullptr;
  floor_sums added;  ///< requested sums; with several blocks that share them: one thread at a time

  double max_signal_rate = 0.0;      ///< of u_new: largest sum over axes of (|v| + c) / dx; dt = cfl / rate
  std::int64_t density_floors = 0;   ///< cells of u_new raised to the floor
  std::int64_t pressure_floors = 0;  ///< cells of u_new whose internal energy was raised
  std::int64_t input_floors = 0;     ///< cells of the tile, ghost cells included, floored before reconstruction
  std::int64_t added_terms = 0;      ///< number of terms added to `added`
  int first_bad_cell = -1;           ///< (k * n + j) * n + i of the first cell not finite or not positive, or -1
};

/// A box of cells [lower, upper) of a block, (i, j, k).
struct cell_box {
  int lower[3];
  int upper[3];
};

enum class isa : int;  // star/hydro/stage.hpp

/// The kernels of one instruction set. kernel/kernel_table.hpp is compiled once per instruction set, with PLX_HYDRO_ISA
/// set to its namespace and its own -march.
///
/// Code for a wider instruction set must not be linked into the rest of the program: everything in those translation
/// units except the table is in an unnamed namespace, and they include no inline functions that the linker could share
/// (the test star_hydro.weak_symbols searches for such).
struct kernel_table {
  void (*advance)(const hydro_parameters&, const stage_input&, stage_output&, double* scratch);
  void (*check)(const hydro_parameters&, double* u, int n, const block_place&, const cell_box&, stage_output&);
  std::size_t (*scratch_doubles)(const hydro_parameters&, int n);
  double (*power)(double x, double y);  ///< x^y as computed by the kernels, x > 0

  /// nullptr if this build does not have them; see available_isas() for what the machine supports.
  static const kernel_table* of(isa which) noexcept;
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

}  // namespace plx::star
