// The variables that outputs can have: conserved, primitive and derived ones, by name, with their units.
//
// Thread safety: const; any thread. Cost: some ten ns per cell and variable. Example:
// star/output/series/test/series_test.cpp
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mesh/tree/block_mesh.hpp"
#include "star/hydro/species.hpp"
#include "star/units/units.hpp"

namespace plx::star {

struct gas;
class gravity_field;
struct hydro_parameters;

enum class variable_kind {
  density,
  momentum,  ///< along `index`, per volume
  energy,    ///< total, per volume
  velocity,  ///< along `index`
  speed,
  pressure,
  p_over_rho,       ///< of an ideal gas the same as the temperature
  temperature,      ///< k T / (mu m_u): equation_of_state::gas_temperature()
  internal_energy,  ///< per volume
  kinetic_energy,   ///< per volume
  sound_speed,
  mach,
  vorticity,    ///< component `index` of curl v
  species,      ///< mass fraction
  level,        ///< of the block
  potential,    ///< of self-gravity
  acceleration  ///< of self-gravity, along `index`
};

struct output_variable {
  std::string name;          ///< as in the input
  std::string name_in_mesh;  ///< as in mesh files: rho, vel1, press, ... for yt, otherwise `name`
  dimension unit;
  variable_kind kind = variable_kind::density;
  int index = 0;
  species_list mixture{};  ///< of the temperature of a gas whose species have weights: it is k T / m_u

  /// Whether it needs the field of self-gravity.
  bool needs_gravity() const { return kind == variable_kind::potential || kind == variable_kind::acceleration; }
};
/// Whether any of these needs the field of self-gravity.
bool need_gravity(std::span<const output_variable> variables);

/// All variables of a gas with these species.
std::vector<output_variable> all_variables(const species_list& species = {});

/// The variables with these names. Errors: the first unknown name, with the nearest known one.
result<std::vector<output_variable>> find_variables(std::span<const std::string> names,
                                                    const species_list& species = {});

/// Is this the name of a dataset, or of a column, that the files of a series have beside those of their variables?
bool is_column_of_series(std::string_view name);

/// The variables of mesh files: density, velocity, pressure, species.
std::vector<output_variable> variables_of_mesh_files(const species_list& species);

/// The values of a block. Shapes: out: [variable][k][j][i]. The vorticity comes from differences of second order inside
/// the block, one-sided in the cells at its faces. Requires: a local block whose values are on the host; `gravity` of
/// the same state if need_gravity(variables).
void fill_variables(std::span<const output_variable> variables, const gas& g, const hydro_parameters& p,
                    mesh::slot_id slot, double* out, const gravity_field* gravity = nullptr);

}  // namespace plx::star
