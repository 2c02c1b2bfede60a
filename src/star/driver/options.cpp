#include "star/driver/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/config.hpp"
#include "base/file.hpp"
#include "base/text.hpp"
#include "io/run_json.hpp"
#include "star/gravity/self_gravity.hpp"
#include "star/hydro/stage.hpp"
#include "star/output/analysis.hpp"
#include "star/output/series/variables.hpp"
#include "star/problems/registry.hpp"
#include "star/sources/source_terms.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star {

void run_options::describe(config_table& t) {
  t.section("run", "Time steps, end of the run, and hardware");
  t.add("run.time_unit", time_unit,
        {.help = "of the times of [run], [output] and [driving]: code units, or the period of the orbit (of the "
                 "rotation of a single star) at the start, with problems that have one",
         .choices = {"code", "orbit"}});
  t.add("run.t_end", t_end, {.unit = "run.time_unit", .help = "time at which the run ends", .above = 0.0});
  t.add("run.max_steps", max_steps, {.unit = "steps", .help = "maximum number of steps; 0: no limit", .min = 0});
  t.add("run.wall_limit_s", wall_limit_s,
        {.unit = "s", .help = "wall time after which the run writes a checkpoint and stops; 0: no limit", .min = 0});
  t.add("run.dt_first_factor", dt_first_factor,
        {.unit = "1", .help = "factor of the first time step, above 0", .min = 1e-12, .max = 1});
  t.add("run.dt_growth", dt_growth,
        {.unit = "1", .help = "largest ratio of a time step to the one before, above 1; 0: no limit", .min = 0});
  t.add("run.dt_min", dt_min,
        {.unit = "run.time_unit", .help = "a shorter time step ends the run, except for the last ones", .min = 0});
  t.add("run.dt_max", dt_max, {.unit = "run.time_unit", .help = "largest time step; 0: no limit", .min = 0});
  t.add("run.retries", retries,
        {.help = "number of times that a failed step is tried again, each with half the time step",
         .min = 0,
         .max = 10000});
  t.add("run.conservation_limit", conservation_limit,
        {.unit = "1",
         .help = "largest relative amount of mass or energy added by floors plus, where the scheme conserves the "
                 "quantity to rounding (no source terms, no point mass for the energy), the unexplained remainder; "
                 "checked at each row of history.csv; 0: no limit",
         .min = 0});
  t.add(
      "run.device", device,
      {.help = "hardware that runs the solver: the CPU's workers, or one device per locality, with the same results to "
               "the last bit; emulated: the device's kernels on the CPU, slowly, for tests",
       .choices = {"cpu", "cuda", "emulated"}});
}

result<void> run_options::check() const {
  if (dt_growth != 0.0 && !(dt_growth > 1.0))
    return error{fmt::format("run.dt_growth = {:g}: expected a ratio above 1, or 0 for no limit", dt_growth)};
  if (dt_max > 0.0 && dt_min > dt_max)
    return error{fmt::format("run.dt_min = {:g}: expected at most run.dt_max = {:g}", dt_min, dt_max)};
  return {};
}

result<void> output_options::check(double t_end) const {
  for (const std::string& name : analysis) {
    auto known = make_analysis(name);
    if (!known) return known.error();
    if (auto fine = check_columns(name, **known); !fine) return fine.error();
  }
  for (auto a = analysis.begin(); a != analysis.end(); ++a)
    if (std::find(analysis.begin(), a, *a) != a)
      return error{fmt::format("output.analysis: expected each name once, found '{}' twice", *a)};
  constexpr double most = 1e9;
  if (mesh_interval == 0.0 || t_end / mesh_interval <= most) return {};
  return error{
      fmt::format("output.mesh_interval = {:g}: expected at most {:g} mesh files up to run.t_end = {:g}; 0 "
                  "writes only the first and the last",
                  mesh_interval, most, t_end)};
}

std::optional<double> output_options::wait_interval() const {
  double interval = mesh_interval;
  for (const series_options& s : series) {
    if (s.every_time > 0.0 && interval > 0.0 && s.every_time != interval) return std::nullopt;
    if (s.every_time > 0.0) interval = s.every_time;
  }
  return interval;
}

void output_options::describe(config_table& t) {
  t.section("output", "Output; does not affect the physics");
  t.add("output.mesh_interval", mesh_interval,
        {.unit = "run.time_unit", .help = "between mesh files; 0: at the start and the end only", .min = 0});
  t.add("output.mesh_at_start", mesh_at_start, {.help = "write a mesh file of the initial state"});
  t.add("output.history_interval", history_interval,
        {.unit = "steps", .help = "between rows of history.csv", .min = 1});
  std::string names;
  for (const analysis_entry& a : all_analyses())
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", a.name, a.summary);
  t.add("output.analysis", analysis, {.help = "tables analysis_NAME.csv of numbers over all cells: " + names});
  t.add(
      "output.analysis_interval", analysis_interval,
      {.unit = "steps", .help = "between rows of these tables; a device then copies all values to the host", .min = 1});
  t.add("output.counters_interval_s", counters_interval_s,
        {.unit = "s", .help = "wall time between samples in counters.csv; 0: at the end only", .min = 0});
  t.add("output.checkpoint_interval_s", checkpoint_interval_s,
        {.unit = "s", .help = "wall time between checkpoints; 0: none before the end", .min = 0});
  t.add("output.checkpoint_at_end", checkpoint_at_end, {.help = "write a checkpoint when the run has finished"});
  t.add("output.checkpoints_kept", checkpoints_kept,
        {.help = "number of checkpoints to keep; older ones are removed", .min = 1, .max = 1000000});
  t.add("output.precision", precision,
        {.help = "of the values in mesh files; checkpoints are always exact", .choices = {"single", "double"}});
  t.add_list("output.series", series, "Further output: files of chosen variables");
}

namespace {

constexpr std::string_view problem_key = "problem.name";

/// The value of the last "problem.name=..." in `sets`, or "".
std::string assigned_problem(const std::vector<std::string>& sets) {
  std::string name;
  for (const std::string& s : sets) {
    const std::size_t equals = s.find('=');
    if (equals == std::string::npos || std::string_view(s).substr(0, equals) != problem_key) continue;
    name = s.substr(equals + 1);
    if (name.size() >= 2 && name.front() == '"' && name.back() == '"') name = name.substr(1, name.size() - 2);
  }
  return name;
}

result<std::string> chosen_problem(result<std::string> in_file, const std::string& where,
                                   const std::vector<std::string>& sets) {
  if (!in_file) return in_file.error();
  const std::string set = assigned_problem(sets);
  const std::string name = set.empty() ? *in_file : set;
  const std::vector<std::string> known = problem_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return name;
  const std::string expected = fmt::format("expected one of {}", fmt::join(known, ", "));
  if (name.empty()) return error{fmt::format("{}: problem.name is missing; {}", where, expected)};
  const std::string from =
      set.empty() ? fmt::format("{}: problem.name", where) : fmt::format("--set problem.name={}", set);
  return error{fmt::format("{}: {}; found '{}'{}", from, expected, name, did_you_mean(name, known))};
}

}  // namespace

result<std::unique_ptr<input>> input::make(const std::string& problem) {
  auto made = make_problem(problem);
  if (!made) return made.error();
  std::unique_ptr<input> in(new input);
  in->problem_name = problem;
  in->problem = *std::move(made);
  in->describe();
  return in;
}

void input::describe() {
  table.section("problem", "Problem");
  table.add(problem_key, problem_name, {.help = "the initial state", .choices = problem_names()});
  run.describe(table);
  grid.describe(table);
  hydro.describe(table);
  species.describe(table);
  gravity.describe(table);
  point_mass.describe(table);
  driving.describe(table);
  frame.describe(table);
  refinement.describe(table);
  diagnostics.describe(table);
  light.describe(table);
  tracers.describe(table);
  output.describe(table);
  units.describe(table);
  problem->describe(table);
}

result<void> input::apply(const std::vector<std::string>& sets) {
  for (const std::string& s : sets)
    if (auto done = table.set(s); !done) return done.error();
  return {};
}

result<std::unique_ptr<input>> input::from_file(const std::string& path, const std::vector<std::string>& sets) {
  const auto text = read_file(path);  // once: it may be a pipe
  if (!text) return text.error();
  return from_text(*text, path, sets);
}

result<std::unique_ptr<input>> input::from_text(std::string_view text, const std::string& name,
                                                const std::vector<std::string>& sets) {
  auto chosen = chosen_problem(peek_string_in_text(text, name, problem_key), name, sets);
  if (!chosen) return chosen.error();
  auto in = make(*chosen);
  if (!in) return in;
  if (auto loaded = in.value()->table.load_text(text, name); !loaded) return loaded.error();
  if (auto done = in.value()->apply(sets); !done) return done.error();
  return in;
}

result<std::unique_ptr<input>> input::of_problem(const std::string& problem) { return make(problem); }

namespace {

/// The table of all options: those of every problem, each bound to its own object.
struct full_list {
  std::unique_ptr<input> in;
  std::vector<std::unique_ptr<problem>> others;

  full_list() {
    for (const problem_entry& p : all_problems()) {
      if (in == nullptr) {
        in = input::of_problem(std::string(p.name)).value();
        continue;
      }
      others.push_back(p.make());
      others.back()->describe(in->table);
    }
  }
};

}  // namespace

std::string input::text_options() { return full_list().in->table.text_options(); }
std::string input::markdown() { return full_list().in->table.markdown(); }

namespace {

class problem_outside final : public mesh::outside_state {
 public:
  problem_outside(const problem& p, const equation_of_state& eos, int n_species)
      : p_(p), eos_(eos), n_species_(n_species) {}
  bool at(int face, const std::array<double, 3>& x, double time, double* u) const override {
    const std::optional<primitive> w = p_.outside(face, x, time);
    if (w) to_conserved(eos_, *w, n_species_, u, 1);
    return w.has_value();
  }

 private:
  const problem& p_;
  equation_of_state eos_;
  int n_species_;
};

// Errors: a boundary whose state would be that of a mesh at rest.
result<void> check_rotating(const mesh::domain& box) {
  for (int f = 0; f < mesh::face_count; ++f) {
    const mesh::boundary kind = box.sides[f];
    const bool along_z = f >= 4;
    if (!along_z && kind != mesh::boundary::zero_gradient)
      return error{
          fmt::format("frame.omega: expected the boundaries \"zero_gradient\" along x and y, found another kind in "
                      "mesh.sides[{}]",
                      f)};
    if (along_z && (kind == mesh::boundary::inflow || kind == mesh::boundary::problem))
      return error{
          fmt::format("frame.omega: expected a boundary without a given state along z, such as \"outflow\", found "
                      "\"{}\" in mesh.sides[{}]",
                      kind == mesh::boundary::inflow ? "inflow" : "problem", f)};
  }
  return {};
}

// Errors: a period of driving that is not of the order of the orbital period, such as one in seconds.
result<void> check_driving(const driving_options& d, double time_unit, const problem& p) {
  if (!d.present()) return {};
  const auto orbit = p.orbital_period();  // problems without an orbital period are not checked
  constexpr double most = 200.0;
  if (!orbit) return {};
  const double ratio = d.period * time_unit / *orbit;
  if (ratio < most && ratio > 1.0 / most) return {};
  return error{
      fmt::format("driving.period = {:g}: expected a time in run.time_unit of the order of the orbital period, {:.4g}, "
                  "found {:.3g} periods; divide a time in seconds by the unit of [units], or use run.time_unit = "
                  "\"orbit\"",
                  d.period, *orbit / time_unit, ratio)};
}

/// A physical constant of the equation of state, and its value in code units.
struct physical_constant {
  const char* key;
  double* value;
  double physical;
};

// The options with the constants that the input leaves out as [units] give them. Errors: a molecular or electron weight
// without units or use, or a constant that is not of these units.
result<eos_options> in_units(eos_options o, const units& u) {
  if (o.molecular_weight > 0.0 && !u.known)
    return error{
        fmt::format("eos.molecular_weight = {:g}: expected [units], from which kelvin follow, found none; add "
                    "them, or leave the weight out",
                    o.molecular_weight)};
  if (o.molecular_weight > 0.0 && o.kind == "stiffened")
    return error{
        fmt::format("eos.molecular_weight = {:g}: expected 0 with eos.kind = \"stiffened\", whose temperature is not "
                    "defined",
                    o.molecular_weight)};
  if (o.electron_weight != eos_options{}.electron_weight &&
      (o.kind != "white_dwarf" || o.electron_density > 0.0 || !u.known))
    return error{
        fmt::format("eos.electron_weight = {:g}: expected eos.kind = \"white_dwarf\" with [units] and without "
                    "eos.electron_density, which follows from the weight, found {}; leave the weight out",
                    o.electron_weight,
                    o.kind != "white_dwarf"    ? fmt::format("eos.kind = \"{}\"", o.kind)
                    : o.electron_density > 0.0 ? fmt::format("eos.electron_density = {:g}", o.electron_density)
                                               : std::string("no [units]"))};
  if (!u.known) return o;
  std::vector<physical_constant> all;
  if (o.kind == "white_dwarf")
    all = {{"eos.electron_pressure", &o.electron_pressure, u.to_code(cgs::electron_pressure, dimensions::pressure)},
           {"eos.electron_density", &o.electron_density,
            u.to_code(cgs::electron_density * o.electron_weight, dimensions::density)}};
  if (o.kind == "radiation")
    all = {{"eos.radiation_constant", &o.radiation_constant, u.to_code(cgs::radiation, dimensions::pressure)}};
  if (o.kind == "radiation" && o.molecular_weight > 0.0)
    all.push_back({"eos.gas_constant", &o.gas_constant, u.gas_constant(o.molecular_weight)});
  for (const physical_constant& c : all) {
    const double ratio = *c.value / c.physical;
    if (*c.value > 0.0 && !(ratio > 1.0 / 3.0 && ratio < 3.0))
      return error{
          fmt::format("{} = {:g}: expected about {:.5g}, the physical value in the code units of [units]; leave the "
                      "option out to take it",
                      c.key, *c.value, c.physical)};
    if (*c.value == 0.0) *c.value = c.physical;
  }
  return o;
}

// Errors: names or weights that do not fit the problem, names of other columns or variables, weights that no
// temperature takes.
result<species_list> species_of(const species_options& o, int count, const eos_options& eos, const units& u) {
  auto made = o.make(count);
  if (!made) return made.error();
  const std::vector<output_variable> variables = all_variables(*made);
  for (const std::string& name : o.names) {
    const auto same = std::count_if(variables.begin(), variables.end(),
                                    [&](const output_variable& v) { return v.name == name || v.name_in_mesh == name; });
    const bool twice = std::count(o.names.begin(), o.names.end(), "species_" + name) > 0;  // star_1_species_NAME
    if (same > 1 || twice || is_column_of_history(name) || is_column_of_series(name))
      return error{
          fmt::format("species.names: expected names that no other variable, column or dataset of the output has, such "
                      "as *_min, *_max and *_edges, found '{}'",
                      name)};
  }
  if (o.weights.empty()) return made;
  if (!u.known)
    return error{
        "species.weights: expected [units], from which kelvin follow, found none; add them, or leave the "
        "weights out"};
  if (eos.kind == "stiffened" || eos.kind == "radiation")
    return error{
        fmt::format("species.weights: expected eos.kind = \"ideal\" or \"white_dwarf\", found \"{}\", whose "
                    "temperature does not follow from the weights of its particles",
                    eos.kind)};
  return made;
}

}  // namespace

result<setup> input::prepare() {
  auto box = grid.make_domain();
  if (!box) return box.error();
  if (!is_block_size(box->block_size))
    return error{fmt::format("mesh.block_size = {}: the kernels take multiples of 8 from 8 to 64", box->block_size)};
  const auto code_units = units.make();
  if (!code_units) return code_units.error();
  hydro_options gas_options = hydro;
  auto known_eos = in_units(hydro.eos, *code_units);
  if (!known_eos) return known_eos.error();
  gas_options.eos = *known_eos;
  auto parameters = gas_options.parameters(problem->species_count());
  if (!parameters) return parameters.error();
  if (auto fine = run.check(); !fine) return fine.error();
  if (auto fine = refinement.check(); !fine) return fine.error();
  if (auto fine = driving.check(parameters->eos); !fine) return fine.error();
  if (diagnostics.stars > 0 && !gravity.self)
    return error{fmt::format("diagnostics.stars = {}: expected gravity.self = true, found false", diagnostics.stars)};
  if (diagnostics.stars > 0 && box->is_periodic(0))
    return error{fmt::format(
        "diagnostics.stars = {}: expected boundaries of an isolated domain, found periodic ones: stars would "
        "have no single place, distance or orbit",
        diagnostics.stars)};
  if (point_mass.mass > 0.0 && gravity.self && box->is_periodic(0))
    return error{
        fmt::format("gravity.point_mass = {:g}: expected boundaries of an isolated domain with gravity.self = true, "
                    "found periodic ones: the images of the gas attract it, those of the point mass do not",
                    point_mass.mass)};
  if (auto fine = tracers.check(*problem); !fine) return fine.error();
  if (auto fine = output.check(run.t_end); !fine) return fine.error();
  const auto kinds = species_of(species, problem->species_count(), hydro.eos, *code_units);
  if (!kinds) return kinds.error();
  if (auto fine = check_series(output.series, *box, *kinds, run.t_end, gravity.self); !fine) return fine.error();
  for (std::size_t i = 0; i < output.series.size(); ++i)
    if (output.series[i].kind == "tracers" && tracers.number == 0)
      return error{
          fmt::format("output.series, number {} ('{}'): kind = \"tracers\": expected tracers.number above 0, found 0",
                      i + 1, output.series[i].name)};
  if (auto known = select_isa(); !known) return known.error();
  gravity::gravity_options attraction = gravity;
  if (attraction.constant == 0.0) attraction.constant = code_units->known ? code_units->gravitational_constant() : 1.0;
  if (point_mass.mass > 0.0 && !(point_mass.softening > 0.0))
    return error{"gravity.point_mass_softening = 0: expected a length above 0, such as the width of two cells"};
  star::point_mass attractor{attraction.constant * point_mass.mass, {}, point_mass.softening};
  std::copy_n(point_mass.position.begin(), 3, attractor.position);
  const bool has_gravity = gravity.self || gravity.constant > 0.0 || point_mass.mass > 0.0 || code_units->known;
  const double constant = has_gravity ? attraction.constant : 0.0;
  if (auto fine = refinement.check_for(*box, parameters->n_species, constant, gravity.self); !fine) return fine.error();
  if (auto ready =
          problem->prepare({box->lower, box->upper, parameters->eos, box->cell_width(box->max_level), *code_units,
                            gravity.self ? attraction.constant : 0.0, attractor, *box, attraction});
      !ready)
    return ready.error();
  double time_unit = 1.0;
  if (run.time_unit == "orbit") {
    const auto period = problem->orbital_period();
    if (!period) return period.error();
    time_unit = *period;
  }
  if (auto fine = check_driving(driving, time_unit, *problem); !fine) return fine.error();
  double omega = frame.omega;
  if (frame.of_problem) {
    if (omega != 0.0)
      return error{fmt::format("frame.omega = {:g}: expected 0 with frame.of_problem, which sets it", omega)};
    const auto turn = problem->frame_velocity();
    if (!turn) return turn.error();
    omega = *turn;
  }

  setup s{*box,     *parameters, hydro.time_integrator(), hydro.courant_number(), {}, *code_units, problem->modules(),
          constant, time_unit};
  s.species = *kinds;
  if (!kinds->weights.empty())
    s.kelvin = 1.0 / code_units->gas_constant(1.0);
  else if (hydro.eos.molecular_weight > 0.0)
    s.kelvin = 1.0 / code_units->gas_constant(hydro.eos.molecular_weight);
  if (hydro.eos.kind == "radiation" && code_units->known) s.kelvin = 1.0 / parameters->eos.gas_constant;
  if (auto fine = light.check(s.kelvin, *box); !fine) return fine.error();
  if (gravity.self || point_mass.mass > 0.0 || parameters->spin)
    modules_.push_back(std::make_shared<gravity::angular_momentum_module>());
  if (point_mass.mass > 0.0) modules_.push_back(std::make_shared<gravity::point_mass_module>(attractor));
  if (gravity.self) {
    auto module = gravity::self_gravity::make(attraction, *box, omega);
    if (!module) return module.error();
    modules_.push_back(std::move(*module));
  }
  if (driving.present()) {
    driving_options in_code_time = driving;
    in_code_time.period *= time_unit, in_code_time.start *= time_unit;
    modules_.push_back(std::make_shared<driving_module>(in_code_time, parameters->eos));
  }
  if (omega != 0.0) {
    if (auto rotates = check_rotating(*box); !rotates) return rotates.error();
    s.hydro.omega = omega;
    modules_.push_back(std::make_unique<rotating_frame>(omega, spin_variable(s.hydro)));  // the last
  }
  for (const auto& m : modules_) s.modules.push_back(m.get());
  const int n_var = variable_count(*parameters);
  for (int f = 0; f < mesh::face_count; ++f) {
    if (box->sides[f] != mesh::boundary::inflow) continue;
    s.sides.inflow[f].resize(n_var);
    to_conserved(parameters->eos, problem->inflow(f), parameters->n_species, s.sides.inflow[f].data(), 1);
  }
  for (int f = 0; f < mesh::face_count; ++f) {
    if (box->sides[f] != mesh::boundary::problem) continue;
    if (parameters->spin)
      return error{
          fmt::format("mesh.sides[{}] = \"problem\": expected hydro.spin = false, found true; the spin beyond this "
                      "boundary is not known",
                      f)};
    if (!problem->gives_outside(f, run.t_end * time_unit))
      return error{
          fmt::format("mesh.sides[{}] = \"problem\": expected a problem that knows the state beyond this boundary "
                      "up to run.t_end, found {}; choose \"inflow\" or \"zero_gradient\"",
                      f, problem_name)};
    s.sides.outside = std::make_shared<problem_outside>(*problem, parameters->eos, parameters->n_species);
  }
  if (s.sides.outside != nullptr && run.device != "cpu" && parameters->scheme == hydro_scheme::full3d)
    return error{
        fmt::format("run.device = \"{}\": expected no boundary \"problem\" in mesh.sides with hydro.scheme full3d, "
                    "found one; run.device = \"cpu\" takes them",
                    run.device)};
  if (auto fine = check_modules(s.scheme, s.modules); !fine)
    return error{fmt::format("problem \"{}\": {}", problem_name, fine.error().message)};
  for (const std::string& sum : sum_names(s.modules))
    if (std::find(s.species.names.begin(), s.species.names.end(), sum) != s.species.names.end())
      return error{fmt::format("species.names: expected names that no sum of additional physics has, found '{}'", sum)};
  return s;
}

bool may_change_on_resume(std::string_view key) {
  return key.starts_with("output.") || key.starts_with("run.") || key.starts_with("diagnostics.") ||
         key == "light_curve.interval";
}

std::string identity_of(const config_table& table) {
  std::string lines;
  for (const auto& [key, value] : option_values(table.toml()))
    if (!may_change_on_resume(key)) lines += key + " = " + value + "\n";
  return lines;
}

}  // namespace plx::star
