#include "star/output/series/variables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "num/symmetric.hpp"
#include "star/hydro/state.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

std::vector<output_variable> all_variables(const species_list& species) {
  using k = variable_kind;
  namespace d = dimensions;
  constexpr dimension per_time{0, 0, -1}, speed2{2, 0, -2};
  std::vector<output_variable> all;
  const auto add = [&](const std::string& name, const std::string& in_mesh, dimension unit, k kind, int index = 0) {
    all.push_back({name, in_mesh.empty() ? name : in_mesh, unit, kind, index});
  };
  const auto add_axes = [&](const std::string& name, const std::string& in_mesh, dimension unit, k kind) {
    for (int a = 0; a < 3; ++a)
      add(name + "_" + "xyz"[a], in_mesh.empty() ? "" : fmt::format("{}{}", in_mesh, a + 1), unit, kind, a);
  };
  add("density", "rho", d::density, k::density);
  add_axes("velocity", "vel", d::velocity, k::velocity);
  add("pressure", "press", d::pressure, k::pressure);
  const species_list numbered = species_list::numbered(static_cast<int>(species.names.size()));
  for (std::size_t s = 0; s < species.names.size(); ++s) {
    const std::string& name = species.names[s];
    add(name, name == numbered.names[s] ? fmt::format("s{}", s) : name, d::none, k::species, static_cast<int>(s));
  }
  add_axes("momentum", "", d::momentum, k::momentum);
  add("energy", "", d::pressure, k::energy);
  add("internal_energy", "", d::pressure, k::internal_energy);
  add("kinetic_energy", "", d::pressure, k::kinetic_energy);
  add("speed", "", d::velocity, k::speed);
  add("p_over_rho", "", speed2, k::p_over_rho);
  add("sound_speed", "", d::velocity, k::sound_speed);
  add("mach", "", d::none, k::mach);
  add_axes("vorticity", "", per_time, k::vorticity);
  add("level", "", d::none, k::level);
  add("temperature", "", speed2, k::temperature);
  if (!species.weights.empty()) all.back().mixture = species;
  add("potential", "", speed2, k::potential);
  add_axes("acceleration", "", {1, 0, -2}, k::acceleration);
  return all;
}

result<std::vector<output_variable>> find_variables(std::span<const std::string> names, const species_list& species) {
  const std::vector<output_variable> known = all_variables(species);
  std::vector<output_variable> found;
  for (const std::string& name : names) {
    const auto v = std::find_if(known.begin(), known.end(), [&](const output_variable& x) { return x.name == name; });
    if (v != known.end()) {
      found.push_back(*v);
      continue;
    }
    std::vector<std::string> all;
    std::string list;
    for (const output_variable& x : known) {
      all.push_back(x.name);
      list += (list.empty() ? "" : ", ") + x.name;
    }
    std::string hint = did_you_mean(name, all);
    if (hint.empty()) hint = "; known are " + list;
    return error{fmt::format("unknown variable '{}'{}", name, hint)};
  }
  return found;
}

bool need_gravity(std::span<const output_variable> variables) {
  return std::any_of(variables.begin(), variables.end(), [](const output_variable& v) { return v.needs_gravity(); });
}

bool is_column_of_series(std::string_view name) {
  constexpr std::string_view fixed[] = {"x",       "y",       "z",       "step",  "time",   "tracer", "star",
                                        "species", "r_inner", "r_outer", "cells", "volume", "mass"};
  constexpr std::string_view ends[] = {"_edges", "_min", "_max"};  // of images and profiles
  return std::find(std::begin(fixed), std::end(fixed), name) != std::end(fixed) ||
         std::any_of(std::begin(ends), std::end(ends), [&](std::string_view end) { return name.ends_with(end); });
}

std::vector<output_variable> variables_of_mesh_files(const species_list& species) {
  std::vector<output_variable> all = all_variables(species);
  all.resize(5 + species.names.size());
  return all;
}

namespace {

double value_of(const output_variable& v, const equation_of_state& eos, const primitive& w, const double* u,
                std::ptrdiff_t stride) {
  const auto speed = [&] { return std::sqrt(symmetric_norm2(w.velocity[0], w.velocity[1], w.velocity[2])); };
  switch (v.kind) {
    case variable_kind::density:
      return w.density;
    case variable_kind::momentum:
      return u[(i_momentum + v.index) * stride];
    case variable_kind::energy:
      return u[i_energy * stride];
    case variable_kind::velocity:
      return w.velocity[v.index];
    case variable_kind::speed:
      return speed();
    case variable_kind::pressure:
      return w.pressure;
    case variable_kind::p_over_rho:
      return w.pressure / w.density;
    case variable_kind::internal_energy:
      return eos.internal_energy(w.density, w.pressure);
    case variable_kind::kinetic_energy:
      return 0.5 * w.density * symmetric_norm2(w.velocity[0], w.velocity[1], w.velocity[2]);
    case variable_kind::sound_speed:
      return eos.sound_speed(w.density, w.pressure);
    case variable_kind::mach:
      return speed() / eos.sound_speed(w.density, w.pressure);
    case variable_kind::species:
      return w.fraction[v.index];
    case variable_kind::temperature: {
      const double per_particle =
          eos.gas_temperature(w.density, eos.thermal_energy(w.density, eos.internal_energy(w.density, w.pressure)));
      return v.mixture.weights.empty() ? per_particle : per_particle * v.mixture.mean_weight(w.fraction.data());
    }
    case variable_kind::vorticity:
    case variable_kind::level:
    case variable_kind::potential:
    case variable_kind::acceleration:
      break;
  }
  return 0.0;
}

/// Component `c` of the velocity and its differences in a block.
class velocity_field {
 public:
  velocity_field(const gas& g, mesh::slot_id slot)
      : u_(g.now.block(slot)), n_(g.mesh.block_size()), cells_(g.now.cells()), width_(g.mesh.cell_width(slot)) {}

  /// d v_c / d x_axis.
  double slope(int c, int axis, std::array<int, 3> at) const {
    const int i = at[axis];
    const auto v = [&](int offset) {
      std::array<int, 3> x = at;
      x[axis] += offset;
      const std::ptrdiff_t cell = (static_cast<std::ptrdiff_t>(x[2]) * n_ + x[1]) * n_ + x[0];
      return u_[(i_momentum + c) * cells_ + cell] / u_[i_density * cells_ + cell];
    };
    const double twice = i == 0        ? 4.0 * v(1) - 3.0 * v(0) - v(2)
                         : i == n_ - 1 ? 3.0 * v(0) - 4.0 * v(-1) + v(-2)
                                       : v(1) - v(-1);
    return twice / (2.0 * width_);
  }

 private:
  const double* u_;
  int n_;
  std::ptrdiff_t cells_;
  double width_;
};

void fill_vorticity(int component, const gas& g, mesh::slot_id slot, double* out) {
  const velocity_field v(g, slot);
  const int n = g.mesh.block_size(), a = (component + 1) % 3, b = (component + 2) % 3;
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) *out++ = v.slope(b, a, {i, j, k}) - v.slope(a, b, {i, j, k});
}

}  // namespace

void fill_variables(std::span<const output_variable> variables, const gas& g, const hydro_parameters& p,
                    mesh::slot_id slot, double* out, const gravity_field* gravity) {
  PLX_ASSERT(gravity != nullptr || !need_gravity(variables));
  const std::ptrdiff_t cells = g.now.cells();
  const double* u = g.now.block(slot);
  for (std::ptrdiff_t c = 0; c < cells; ++c) {
    const primitive w = to_primitive(p.eos, u + c, cells, p.n_species, p.dual_energy_switch);
    double* to = out + c;
    for (const output_variable& v : variables) {
      *to = value_of(v, p.eos, w, u + c, cells);
      to += cells;
    }
  }
  for (std::size_t v = 0; v < variables.size(); ++v) {
    double* to = out + static_cast<std::ptrdiff_t>(v) * cells;
    if (variables[v].kind == variable_kind::vorticity) fill_vorticity(variables[v].index, g, slot, to);
    if (variables[v].kind == variable_kind::level) std::fill_n(to, cells, static_cast<double>(g.mesh.level(slot)));
    if (!variables[v].needs_gravity()) continue;
    const int component = variables[v].kind == variable_kind::potential ? 0 : 1 + variables[v].index;
    std::copy_n(gravity->values(slot) + component * cells, cells, to);
  }
}

}  // namespace plx::star
