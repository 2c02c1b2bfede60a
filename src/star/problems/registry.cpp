#include "star/problems/registry.hpp"

#include <algorithm>

namespace plx::star {
namespace {

constexpr problem_entry entries[] = {
    {"advection", "a cube and a ball of two species carried through a periodic box", make_advection},
    {"binary", "two stars in equilibrium on a circular orbit, by a self-consistent field", make_binary},
    {"blob", "a cold cloud in a supersonic wind", make_blob},
    {"double_mach", "a strong shock that runs over an inclined wall", make_double_mach},
    {"einfeldt", "two strong rarefactions that leave a near vacuum", make_einfeldt},
    {"evrard", "a cold sphere of gas that collapses under its own gravity", make_evrard},
    {"expressions", "fields that the input gives as expressions of place and time", make_expressions},
    {"gresho", "a vortex whose pressure balances the centrifugal force", make_gresho},
    {"grid", "an initial state on a uniform grid in an HDF5 file", make_grid},
    {"implosion", "shocks and a jet in a closed square", make_implosion},
    {"jeans_wave", "a plane wave in gas that attracts itself: stable, or growing", make_jeans_wave},
    {"kelvin_helmholtz", "the growing mode of a smooth shear layer between walls", make_kelvin_helmholtz},
    {"kepler_disk", "a disk in orbit about a point mass", make_kepler_disk},
    {"linear_wave", "a plane sound, entropy or shear wave in any direction", make_linear_wave},
    {"moving_body", "a dense body in a fast uniform flow", make_moving_body},
    {"noh", "cold gas that flows towards a point or an axis", make_noh},
    {"piecewise", "uniform states that follow each other along x, or outward", make_piecewise},
    {"polytrope", "a star in hydrostatic equilibrium, at rest or moving", make_polytrope},
    {"profile", "a spherical body from a table of density and pressure over radius", make_profile},
    {"riemann_2d", "four uniform states in the quadrants of a square", make_riemann_2d},
    {"rotating_star", "a star in uniform rotation, by a self-consistent field", make_rotating_star},
    {"sedov", "a point explosion in a uniform gas", make_sedov},
    {"sod", "the shock tube, in any direction", make_sod},
    {"spheroid", "a homogeneous sphere or spheroid: its gravity, and its collapse", make_spheroid},
    {"two_stars", "two stars on a circular orbit", make_two_stars},
};

std::vector<problem_entry>& registered() {
  static std::vector<problem_entry> all;  // of the constructors of other files: made when it is first used
  return all;
}

}  // namespace

bool is_identifier(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && std::all_of(name.begin(), name.end(), fits) && !(name[0] >= '0' && name[0] <= '9');
}

bool register_problem(const problem_entry& entry) {
  registered().push_back(entry);
  return true;
}

std::span<const problem_entry> all_problems() {
  static const std::vector<problem_entry> all =
      sorted_entries<problem_entry>("problem", entries, registered());  // several threads may be the first
  return all;
}

std::vector<std::string> problem_names() {
  std::vector<std::string> names;
  for (const problem_entry& p : all_problems()) names.emplace_back(p.name);
  return names;
}

result<std::unique_ptr<problem>> make_problem(std::string_view name) {
  return make_entry<problem>("problem", "problem.name: expected one of", all_problems(), name);
}

}  // namespace plx::star
