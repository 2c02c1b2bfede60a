#include "star/hydro/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/config.hpp"
#include "star/hydro/state.hpp"

namespace plx::star {

void hydro_options::describe(config_table& table) {
  table.section("hydro", "Hydrodynamics");
  table.add("hydro.gamma", gamma,
            {.unit = "1", .help = "adiabatic index of the gas, or of its thermal part", .max = 10.0, .above = 1.0});
  table.add(
      "hydro.cfl", cfl,
      {.unit = "1",
       .help = "Courant number: dt = cfl / max over cells of sum over axes of (|v| + c) / dx; 0: 0.9 for rk3, 0.6 "
               "for rk2",
       .min = 0.0,
       .max = 0.9});
  table.add("hydro.scheme", scheme,
            {.help = "faces: one flux per face; full3d: values along 13 axes and nine fluxes per face, a fifth as fast",
             .choices = {"faces", "full3d"}});
  table.add("hydro.reconstruction", reconstruction,
            {.help = "reconstruction of the primitive variables; full3d: ppm", .choices = {"ppm", "plm", "mp5"}});
  table.add("hydro.flux", flux,
            {.help = "Riemann solver; auto: hllc for faces, hll (central-upwind) for full3d; hllc_lm: hllc without the "
                     "carbuncle instability of strong shocks along the grid, and less diffusive at low Mach numbers",
             .choices = {"auto", "hllc", "hllc_lm", "hll", "lax_friedrichs"}});
  table.add("hydro.contact_steepening", contact_steepening,
            {.help = "full3d only: keep contact discontinuities of the density steep"});
  table.add("hydro.spin", spin,
            {.help = "evolve the angular momentum of each cell about its centre: the total is conserved to rounding; "
                     "faces only"});
  table.add("hydro.integrator", integrator,
            {.help = "strong-stability-preserving Runge-Kutta scheme; rk2 requires hydro.reconstruction plm or mp5",
             .choices = {"rk3", "rk2"}});
  table.add("hydro.density_floor", density_floor,
            {.unit = "density", .help = "smaller densities are raised to it, and counted", .min = 0.0});
  table.add("hydro.pressure_floor", pressure_floor,
            {.unit = "pressure", .help = "smaller thermal pressures are raised to it, and counted", .min = 0.0});
  table.add("hydro.dual_energy_switch", dual_energy_switch,
            {.unit = "1",
             .help = "below this ratio of thermal to total energy the pressure is computed from the entropy tracer",
             .min = 0.0,
             .max = 1.0});
  table.add(
      "hydro.dual_energy_reset", dual_energy_reset,
      {.unit = "1",
       .help =
           "above this ratio of thermal energy to the largest total energy of neighbours the entropy tracer is reset",
       .min = 0.0,
       .max = 1.0});
  eos.describe(table);
}

void eos_options::describe(config_table& table) {
  table.section("eos", "Equation of state");
  table.add("eos.kind", kind,
            {.help = "ideal: p = (gamma - 1) e; stiffened: p = (gamma - 1) e - gamma p_inf; white_dwarf: degenerate "
                     "electrons at zero temperature and ideal ions; radiation: ideal gas and radiation of the same "
                     "temperature; gamma is hydro.gamma",
             .choices = {"ideal", "stiffened", "white_dwarf", "radiation"}});
  table.add("eos.p_inf", p_inf, {.unit = "pressure", .help = "stiffened: p_inf, above 0", .min = 0.0});
  table.add("eos.electron_pressure", electron_pressure,
            {.unit = "pressure",
             .help = "white_dwarf: A of P = A (x (2 x^2 - 3) sqrt(x^2 + 1) + 3 asinh x), 6.002e22 dyn/cm^2; 0: that "
                     "value in [units]",
             .min = 0.0});
  table.add("eos.electron_density", electron_density,
            {.unit = "density",
             .help = "white_dwarf: B of x = (rho / B)^(1/3), 9.739e5 mu_e g/cm^3, with mu_e nucleons per electron; 0: "
                     "that value in [units]",
             .min = 0.0});
  table.add("eos.gas_constant", gas_constant,
            {.unit = "pressure/(density temperature)",
             .help = "radiation: R of p = rho R T + a T^4 / 3, 8.314e7 / mu erg/(g K), with mu nucleons per particle; "
                     "0: that value in [units], for eos.molecular_weight",
             .min = 0.0});
  table.add("eos.radiation_constant", radiation_constant,
            {.unit = "pressure/temperature^4",
             .help = "radiation: a, 7.566e-15 erg/(cm^3 K^4); 0: that value in [units]",
             .min = 0.0});
  table.add("eos.molecular_weight", molecular_weight,
            {.unit = "1",
             .help = "mu, atomic masses per particle of the gas (of a white dwarf: per ion), 0.6 for ionized solar "
                     "matter; requires [units], and gives temperatures in kelvin; 0: unknown",
             .min = 0.0,
             .max = 300.0});
  table.add("eos.electron_weight", electron_weight,
            {.unit = "1",
             .help = "white_dwarf: mu_e, nucleons per electron, for the eos.electron_density that [units] give",
             .min = 1.0,
             .max = 4.0});
}

namespace {

/// Index of `value` in `choices`, or -1.
template <std::size_t N>
int index_of(const std::string& value, const char* const (&choices)[N]) {
  for (std::size_t c = 0; c < N; ++c)
    if (value == choices[c]) return static_cast<int>(c);
  return -1;
}

error wrong(const char* key, const std::string& found, const char* expected) {
  return error{std::string(key) + " is " + found + ": expected " + expected};
}

/// The options from which the constants of an equation of state follow, for messages.
std::string source_of(eos_kind kind) {
  if (kind == eos_kind::white_dwarf) return ", or [units], from which it follows";
  if (kind == eos_kind::radiation) return ", or [units] and eos.molecular_weight, from which it follows";
  return "";
}

}  // namespace

result<eos_parameters> eos_options::parameters(double gamma) const {
  constexpr eos_kind kinds[] = {eos_kind::ideal, eos_kind::stiffened, eos_kind::white_dwarf, eos_kind::radiation};
  const auto* const chosen =
      std::find_if(std::begin(kinds), std::end(kinds), [&](eos_kind k) { return name_of(k) == kind; });
  if (chosen == std::end(kinds))
    return wrong("eos.kind", "'" + kind + "'", "'ideal', 'stiffened', 'white_dwarf' or 'radiation'");
  const eos_kind of_kind = *chosen;
  const struct {
    const char* key;
    double value;
    eos_kind used_by;
  } all[] = {{"eos.p_inf", p_inf, eos_kind::stiffened},
             {"eos.electron_pressure", electron_pressure, eos_kind::white_dwarf},
             {"eos.electron_density", electron_density, eos_kind::white_dwarf},
             {"eos.gas_constant", gas_constant, eos_kind::radiation},
             {"eos.radiation_constant", radiation_constant, eos_kind::radiation}};
  for (const auto& [key, value, used_by] : all) {
    const std::string found = fmt::format("{:g}", value), name = "eos.kind = \"" + kind + "\"";
    if (used_by == of_kind && !(value > 0.0 && std::isfinite(value)))
      return wrong(key, found, ("a value above 0, which " + name + " requires" + source_of(of_kind)).c_str());
    if (used_by != of_kind && value != 0.0)
      return wrong(key, found, ("0, because " + name + " does not use it").c_str());
  }
  eos_parameters p;
  p.gamma = gamma, p.kind = of_kind;
  if (of_kind == eos_kind::stiffened) p.p_inf = p_inf;
  if (of_kind == eos_kind::white_dwarf) p.electron_pressure = electron_pressure, p.electron_density = electron_density;
  if (of_kind == eos_kind::radiation) p.gas_constant = gas_constant, p.radiation_constant = radiation_constant;
  return p;
}

result<hydro_parameters> hydro_options::parameters(int n_species) const {
  const int shape = index_of(scheme, {"faces", "full3d"});
  const int line = index_of(reconstruction, {"ppm", "plm", "mp5"});
  const int solver = index_of(flux, {"hllc", "hll", "lax_friedrichs", "hllc_lm", "auto"});
  if (shape < 0) return wrong("hydro.scheme", "'" + scheme + "'", "'faces' or 'full3d'");
  if (line < 0) return wrong("hydro.reconstruction", "'" + reconstruction + "'", "'ppm', 'plm' or 'mp5'");
  if (solver < 0) return wrong("hydro.flux", "'" + flux + "'", "'auto', 'hllc', 'hllc_lm', 'hll' or 'lax_friedrichs'");
  const bool full = scheme == "full3d";
  if (full && reconstruction != "ppm")
    return wrong("hydro.reconstruction", "'" + reconstruction + "'", "'ppm', the only choice for hydro.scheme full3d");
  if (full && flux != "auto" && flux != "hll")
    return wrong("hydro.flux", "'" + flux + "'", "'auto' or 'hll', the only choices for hydro.scheme full3d");
  if (!full && contact_steepening)
    return wrong("hydro.contact_steepening", "true", "false: it requires hydro.scheme full3d");
  if (full && spin) return wrong("hydro.spin", "true", "false: it requires hydro.scheme faces");
  if (index_of(integrator, {"rk3", "rk2"}) < 0)
    return wrong("hydro.integrator", "'" + integrator + "'", "'rk3' or 'rk2'");
  if (integrator == "rk2" && reconstruction == "ppm")
    return wrong(
        "hydro.integrator", "'rk2' with PPM, which steepens smooth waves",
        "'rk3', or hydro.reconstruction = \"plm\" or \"mp5\" with hydro.scheme = \"faces\"; a run that began with it "
        "continues with --resume RUN --set hydro.integrator=rk3 --allow-change hydro.integrator");
  if (!(gamma > 1.0)) return wrong("hydro.gamma", std::to_string(gamma), "a value above 1");
  const double most = integrator == "rk2" ? 0.6 : 0.9;
  if (!(cfl >= 0.0 && cfl <= most))
    return wrong("hydro.cfl", std::to_string(cfl), integrator == "rk2" ? "0 to 0.6 for rk2" : "0 to 0.9");
  if (!(density_floor >= 0.0)) return wrong("hydro.density_floor", std::to_string(density_floor), "at least 0");
  if (!(pressure_floor >= 0.0)) return wrong("hydro.pressure_floor", std::to_string(pressure_floor), "at least 0");
  if (n_species < 0 || n_species > max_species)
    return wrong("the number of species", std::to_string(n_species), ("0 to " + std::to_string(max_species)).c_str());
  const auto gas = eos.parameters(gamma);
  if (!gas) return gas.error();
  const riemann_solver of_scheme = full ? riemann_solver::hll : riemann_solver::hllc;
  return hydro_parameters{*gas,
                          static_cast<star::reconstruction>(line),
                          flux == "auto" ? of_scheme : static_cast<riemann_solver>(solver),
                          n_species,
                          density_floor,
                          pressure_floor,
                          dual_energy_switch,
                          dual_energy_reset,
                          static_cast<hydro_scheme>(shape),
                          contact_steepening,
                          0.0,
                          spin};
}

double hydro_options::courant_number() const { return cfl > 0.0 ? cfl : integrator == "rk2" ? 0.6 : 0.9; }

star::integrator hydro_options::time_integrator() const { return integrator == "rk2" ? ssp_rk2 : ssp_rk3; }

}  // namespace plx::star
