// The variables that outputs can have: conserved, primitive and derived ones, by name, with their units.
//
// Thread safety: const; any thread. Cost: some ten ns per cell and variable. Example:
// star/output/series/test/series_test.cpp
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "star/units/units.hpp"

namespace plx::star {

struct gas;
struct hydro_parameters;

enum class variable_kind {
  density,
  momentum,  ///< along `index`, per volume
  energy,    ///< total, per volume
  velocity,  ///< along `index`
  speed,
  pressure,
  p_over_rho,       ///< proportional to the temperature of an ideal gas
  internal_energy,  ///< per volume
  kinetic_energy,   ///< per volume
  sound_speed,
  mach,
  vorticity,  ///< component `index` of curl v
  species,    ///< mass fraction
  level       ///< of the block
};

struct output_variable {
  std::string name;          ///< as in the input
  std::string name_in_mesh;  ///< as in mesh files: rho, vel1, press, ... for yt, otherwise `name`
  dimension unit;
  variable_kind kind = variable_kind::density;
  int index = 0;
};

/// All variables of a gas with this number of species.
std::vector<output_variable> all_variables(int n_species);

/// The variables with these names. Errors: the first unknown name, with the nearest known one.
result<std::vector<output_variable>> find_variables(std::span<const std::string> names, int n_species);

/// The variables of mesh files: density, velocity, pressure, species.
std::vector<output_variable> variables_of_mesh_files(int n_species);

/// The values of a block. Shapes: out: [variable][k][j][i]. The vorticity comes from differences of second order inside
/// the block, one-sided in the cells at its faces. Requires: a local block whose values are on the host.
void fill_variables(std::span<const output_variable> variables, const gas& g, const hydro_parameters& p,
                    mesh::slot_id slot, double* out);

}  // namespace plx::star
