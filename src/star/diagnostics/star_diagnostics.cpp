#include "star/diagnostics/star_diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "base/assert.hpp"
#include "base/config.hpp"
#include "star/diagnostics/star_finder.hpp"
#include "star/hydro/state.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr double pc_cm = 3.0856775814913673e18;

std::size_t pair_count(std::size_t stars) { return stars * (stars - 1) / 2; }

/// An angle as that in (-pi, pi] that differs from it by turns.
double wrapped(double angle) {
  return angle - 2.0 * std::numbers::pi * std::floor(angle / (2.0 * std::numbers::pi) + 0.5);
}

constexpr int species_of_star = 16;  // first index of the species in the sums of a star

}  // namespace

void diagnostics_options::describe(config_table& t) {
  t.section("diagnostics", "Diagnostics of stars; does not affect the physics");
  t.add("diagnostics.stars", stars,
        {.help = "number of stars whose masses, orbits, spins and energies are written to diagnostics.csv; 0: none; "
                 "requires gravity.self",
         .min = 0,
         .max = 8});
  t.add("diagnostics.interval", interval,
        {.unit = "steps", .help = "between rows, for which a device copies its values to the host", .min = 1});
  t.add("diagnostics.star_density", star_density,
        {.unit = "1", .help = "least density of a star's cells over its largest density", .max = 1, .above = 0});
  t.add("diagnostics.star_reach", star_reach,
        {.unit = "Roche radii", .help = "largest distance of a star's cells from its centre", .max = 10, .above = 0});
  t.add("diagnostics.disrupted_below", disrupted_below,
        {.unit = "1",
         .help = "share of its mass in the first row below which a star counts as disrupted",
         .min = 0,
         .max = 1});
  t.add("diagnostics.distance_pc", distance_pc,
        {.unit = "pc", .help = "distance of the observer of gravitational waves; requires [units]", .above = 0});
}

struct star_diagnostics::star_sums {
  double kinetic = 0, internal = 0, potential = 0, in_lobe = 0;
  vector spin{}, torque{};
  double moments[6] = {};  // xx yy zz xy yz zx
  std::vector<double> species;
  double density_max = 0, pressure_max = 0, temperature_max = 0;
};

struct star_diagnostics::whole_sums {
  double mass = 0, unbound = 0, unbound_bernoulli = 0;
  double waves[3] = {};  // xx, yy, xy
};

star_diagnostics::star_diagnostics(const gas& g, const input& options, const setup& s, unsigned workers)
    : g_(g),
      o_(options.diagnostics),
      setup_(s),
      star_of_species_(options.problem->star_of_species()),
      workers_(workers),
      stars_(static_cast<std::size_t>(o_.stars)),
      first_mass_(stars_.size(), unknown),
      angle_(pair_count(stars_.size()), 0.0),
      phase_(angle_.size(), unknown),
      disrupted_at_(unknown) {
  PLX_ASSERT(star_of_species_.size() <= static_cast<std::size_t>(s.hydro.n_species), star_of_species_.size());
  list_columns();
}

void star_diagnostics::list_columns() {
  const units& u = setup_.code_units;
  namespace d = dimensions;
  const dimension time{0, 0, 1}, energy{2, 1, -2}, angular_momentum{2, 1, -1}, inertia{2, 1, 0}, rate{0, 1, -1};
  const auto add = [&](std::string name, dimension unit, std::string help) {
    columns_.push_back({std::move(name), unit == d::none ? "1" : u.name_of(unit), std::move(help), u.cgs_of(unit)});
  };
  const auto add_axes = [&](const std::string& name, dimension unit, const std::string& help) {
    for (const char axis : {'x', 'y', 'z'}) add(name + "_" + axis, unit, help);
  };
  for (std::size_t s = 1; s <= stars_.size(); ++s) {
    const std::string star = fmt::format("star_{}_", s);
    add(star + "mass", d::mass, "of the cells of the star; 0: it has none");
    add(star + "mass_rate", rate, "change of the mass since the row before");
    add_axes(star + "centre", d::length, "centre of mass");
    add_axes(star + "velocity", d::velocity, "momentum over mass");
    add_axes(star + "spin", angular_momentum, "angular momentum about the centre of mass");
    add_axes(star + "torque", energy, "of gravity about the centre of mass: the tidal torque");
    add(star + "kinetic_energy", energy, "in the inertial frame");
    add(star + "internal_energy", energy, "");
    add(star + "potential_energy", energy, "half the sum of mass times potential of all gas");
    add(star + "roche_radius", d::length, "Eggleton (1983)");
    add(star + "lobe_mass", d::mass, "of the star's cells within the Roche radius of its centre");
    for (const char* ij : {"xx", "yy", "zz", "xy", "yz", "zx"})
      add(star + "inertia_" + ij, inertia, "tensor of inertia about the centre of mass");
    add(star + "density_max", d::density, "");
    add(star + "pressure_max", d::pressure, "");
    if (setup_.kelvin > 0.0)
      columns_.push_back({star + "temperature_max", "K", "largest temperature", setup_.kelvin});
    else
      add(star + "temperature_max", {2, 0, -2}, "largest k T / (mu m_u): the thermal pressure over the density");
    for (const std::string& name : setup_.species.names)
      add(star + (name.starts_with("species_") ? name : "species_" + name), d::mass, "of this species in the star");
  }
  for (std::size_t a = 1; a <= stars_.size(); ++a)
    for (std::size_t b = a + 1; b <= stars_.size(); ++b) {
      const std::string pair = fmt::format("_{}_{}", a, b);
      add("separation" + pair, d::length, "of the centres of mass");
      add("orbital_frequency" + pair, {0, 0, -1}, "angular velocity of the line of centres");
      add("orbital_period" + pair, time, "2 pi over the frequency");
      add("orbits" + pair, d::none, "turns of the line of centres about the z axis since the first row");
      add("orbital_angular_momentum" + pair, angular_momentum, "z component of the relative motion");
      add("semi_major_axis" + pair, d::length, "of the orbit of two point masses");
      add("eccentricity" + pair, d::none, "of the same orbit");
    }
  add("other_mass", d::mass, "of gas that belongs to no star");
  add("unbound_mass", d::mass, "of cells with v^2 / 2 + phi > 0");
  add("unbound_mass_bernoulli", d::mass, "of cells with v^2 / 2 + phi + enthalpy > 0");
  add("wave_plus", energy, "h_+ along z times distance times c^4 / G");
  add("wave_cross", energy, "h_x in the same way");
  if (u.known) {
    add("strain_plus", d::none, "h_+ along z at diagnostics.distance_pc");
    add("strain_cross", d::none, "h_x in the same way");
  }
  add("disrupted_star", d::none, "number of the star; 0: none so far");
  add("disruption_time", time, "nan: none so far");
}

// Moves the stars of the last row to their places at another time, in the directions of the mesh then.
std::vector<star_state> star_diagnostics::estimate(double time) const {
  std::vector<star_state> all = stars_;
  const double dt = time - time_, turn = -setup_.hydro.omega * dt;
  for (star_state& s : all) {
    if (!s.exists()) continue;
    s.centre = turned(s.centre + dt * s.velocity, turn);
    s.velocity = turned(s.velocity, turn);
    s.acceleration = turned(s.acceleration, turn);
  }
  return all;
}

void star_diagnostics::sum_all(const found_stars& found, const gravity_field& gravity, std::vector<star_sums>& each,
                               whole_sums& whole) const {
  const std::size_t stars = found.stars.size(), n_species = static_cast<std::size_t>(setup_.hydro.n_species);
  const std::size_t per_star = species_of_star + n_species, of_whole = per_star * stars;
  const int cells = g_.now.cells();
  const hydro_parameters& hydro = setup_.hydro;
  const equation_of_state eos(hydro.eos);
  const species_list& species = setup_.species;
  const auto of_block = [&](mesh::slot_id slot, block_sums& to) {
    const double width = g_.mesh.cell_width(slot), volume = width * width * width;
    const double *u = g_.now.block(slot), *field = gravity.values(slot);
    for_each_cell(g_.mesh, slot, [&](int c, const vector& x) {
      const vector g{field[cells + c], field[2 * cells + c], field[3 * cells + c]};
      const double phi = field[c], mass = u[c] * volume;
      const primitive w = to_primitive(eos, u + c, cells, hydro.n_species, hydro.dual_energy_switch);
      const vector& v = w.velocity;
      const double half_v2 = 0.5 * dot(v, v), e = eos.internal_energy(w.density, w.pressure);
      to.add(of_whole, mass);
      if (half_v2 + phi > 0.0) to.add(of_whole + 1, mass);
      if (half_v2 + phi + (e + w.pressure) / w.density > 0.0) to.add(of_whole + 2, mass);
      to.add(of_whole + 3, 2.0 * mass * (v[0] * v[0] + x[0] * g[0]));
      to.add(of_whole + 4, 2.0 * mass * (v[1] * v[1] + x[1] * g[1]));
      to.add(of_whole + 5, mass * (2.0 * v[0] * v[1] + x[0] * g[1] + x[1] * g[0]));
      const int s = found.shapes.star_of(x, g, u[c], width);
      if (s < 0) return;
      const auto star = static_cast<std::size_t>(s);
      const std::size_t at = per_star * star;
      const vector from = x - found.stars[star].centre;
      to.add(at, mass * half_v2);
      to.add(at + 1, volume * e);
      to.add(at + 2, 0.5 * mass * phi);
      if (dot(from, from) < found.shapes.roche_radius(s) * found.shapes.roche_radius(s)) to.add(at + 3, mass);
      to.add_vector(at + 4, mass * cross(from, v - found.stars[star].velocity));
      to.add_vector(at + 7, mass * cross(from, g));
      for (std::size_t a = 0; a < 3; ++a) {
        to.add(at + 10 + a, mass * from[a] * from[a]);
        to.add(at + 13 + a, mass * from[a] * from[(a + 1) % 3]);
      }
      for (std::size_t i = 0; i < n_species; ++i)
        to.add(at + species_of_star + i, volume * u[(i_species + static_cast<int>(i)) * cells + c]);
      to.raise(3 * star, w.density);
      to.raise(3 * star + 1, w.pressure);
      const double weight = species.weights.empty() ? 1.0 : species.mean_weight(w.fraction.data());
      to.raise(3 * star + 2, weight * eos.gas_temperature(w.density, eos.thermal_energy(w.density, e)));
    });
  };
  const cell_sums all = sum_over_cells(g_, workers_, of_whole + 6, 3 * stars, of_block);
  each.resize(stars);
  for (std::size_t s = 0; s < stars; ++s) {
    const double* sum = &all.sums[per_star * s];
    star_sums& to = each[s];
    to.kinetic = sum[0], to.internal = sum[1], to.potential = sum[2], to.in_lobe = sum[3];
    to.spin = {sum[4], sum[5], sum[6]}, to.torque = {sum[7], sum[8], sum[9]};
    std::copy_n(sum + 10, 6, to.moments);
    to.species.assign(sum + species_of_star, sum + per_star);
    to.density_max = all.largest[3 * s], to.pressure_max = all.largest[3 * s + 1];
    to.temperature_max = all.largest[3 * s + 2];
  }
  const double* sum = &all.sums[of_whole];
  whole = {sum[0], sum[1], sum[2], {sum[3], sum[4], sum[5]}};
}

void star_diagnostics::star_columns(const star_state& star, const star_sums& sums, double roche_radius, double rate) {
  const std::size_t first = row_.size();
  const double* m = sums.moments;
  const auto& [c, v, spin, torque] = std::tie(star.centre, star.velocity, sums.spin, sums.torque);
  add_to_row({star.mass,
              rate,
              c[0],
              c[1],
              c[2],
              v[0],
              v[1],
              v[2],
              spin[0],
              spin[1],
              spin[2],
              torque[0],
              torque[1],
              torque[2],
              sums.kinetic,
              sums.internal,
              sums.potential,
              roche_radius,
              sums.in_lobe,
              m[1] + m[2],
              m[2] + m[0],
              m[0] + m[1],
              -m[3],
              -m[4],
              -m[5],
              sums.density_max,
              sums.pressure_max,
              sums.temperature_max});
  add_to_row(sums.species);
  if (!star.exists()) std::fill(row_.begin() + static_cast<std::ptrdiff_t>(first) + 2, row_.end(), unknown);
}

void star_diagnostics::pair_columns(std::size_t pair, const star_state& a, const star_state& b, double time) {
  if (!a.exists() || !b.exists()) {
    phase_[pair] = unknown;
    return add_to_row(std::vector<double>(7, unknown));
  }
  const vector d = b.centre - a.centre, v = b.velocity - a.velocity, turn = cross(d, v);
  const double r = norm(d), total = a.mass + b.mass, reduced = a.mass * b.mass / total;
  const double frequency = norm(turn) / (r * r), attraction = setup_.gravitational_constant * total;
  const double axis = 1.0 / (2.0 / r - dot(v, v) / attraction);
  const double eccentricity = std::sqrt(std::max(0.0, 1.0 - dot(turn, turn) / (attraction * axis)));
  const double phase = std::atan2(d[1], d[0]) + setup_.hydro.omega * time;
  if (!std::isnan(phase_[pair])) angle_[pair] += wrapped(phase - phase_[pair]);
  phase_[pair] = phase;
  const double orbits = angle_[pair] / (2.0 * std::numbers::pi);
  add_to_row({r, frequency, 2.0 * std::numbers::pi / frequency, orbits, reduced * turn[2], axis, eccentricity});
}

// The components in inertial axes, which the mesh is rotated against by omega t.
void star_diagnostics::wave_columns(const whole_sums& whole, double time) {
  const double angle = 2.0 * setup_.hydro.omega * time, c = std::cos(angle), s = std::sin(angle);
  const double plus = whole.waves[0] - whole.waves[1], cross = 2.0 * whole.waves[2];
  const double inertial_plus = c * plus - s * cross, inertial_cross = s * plus + c * cross;
  add_to_row({inertial_plus, inertial_cross});
  const units& u = setup_.code_units;
  if (!u.known) return;
  const double distance = o_.distance_pc * pc_cm / u.length_cm;
  const double strain = u.gravitational_constant() / (std::pow(u.speed_of_light(), 4) * distance);
  add_to_row({strain * inertial_plus, strain * inertial_cross});
}

// The first star whose mass has fallen below the share of its mass in the first row; the time by linear interpolation.
void star_diagnostics::look_for_disruption(const std::vector<star_state>& stars, double time) {
  if (disrupted_star_ != 0) return;
  for (std::size_t s = 0; s < stars.size(); ++s) {
    const double limit = o_.disrupted_below * first_mass_[s], before = stars_[s].mass, now = stars[s].mass;
    if (!(now < limit) || disrupted_star_ != 0) continue;
    disrupted_star_ = static_cast<int>(s) + 1;
    disrupted_at_ = before > now ? time_ + (time - time_) * std::min(1.0, (before - limit) / (before - now)) : time;
  }
}

std::vector<double> star_diagnostics::row(double time, const gravity_field& field) {
  const star_finder finder(g_, field, o_, workers_);
  const found_stars found = has_row_ ? finder.near(estimate(time)) : finder.from_nothing(star_of_species_);
  std::vector<star_sums> each;
  whole_sums whole;
  sum_all(found, field, each, whole);
  row_.clear();
  double in_stars = 0.0;
  for (std::size_t s = 0; s < stars_.size(); ++s) {
    const star_state& star = found.stars[s];
    if (!has_row_) first_mass_[s] = star.mass;
    const double rate = has_row_ && time > time_ ? (star.mass - stars_[s].mass) / (time - time_) : unknown;
    star_columns(star, each[s], found.shapes.roche_radius(static_cast<int>(s)), rate);
    in_stars += star.mass;
  }
  std::size_t pair = 0;
  for (std::size_t a = 0; a < stars_.size(); ++a)
    for (std::size_t b = a + 1; b < stars_.size(); ++b) pair_columns(pair++, found.stars[a], found.stars[b], time);
  add_to_row({whole.mass - in_stars, whole.unbound, whole.unbound_bernoulli});
  wave_columns(whole, time);
  if (has_row_) look_for_disruption(found.stars, time);
  add_to_row({static_cast<double>(disrupted_star_), disrupted_at_});
  stars_ = found.stars, time_ = time, has_row_ = true;
  return row_;
}

// Shapes: [1 + 1 + 2 + 11 stars + stars + 2 pairs], after the number of stars.
std::vector<double> star_diagnostics::state() const {
  std::vector<double> all{static_cast<double>(stars_.size()), has_row_ ? 1.0 : 0.0, time_, disrupted_at_,
                          static_cast<double>(disrupted_star_)};
  for (const star_state& s : stars_) {
    all.insert(all.end(), {s.mass, s.largest_density});
    for (const vector* v : {&s.centre, &s.velocity, &s.acceleration}) all.insert(all.end(), v->begin(), v->end());
  }
  for (const std::vector<double>* list : {&first_mass_, &angle_, &phase_})
    all.insert(all.end(), list->begin(), list->end());
  return all;
}

bool star_diagnostics::restore(std::span<const double> numbers) {
  if (numbers.size() != state().size() || numbers[0] != static_cast<double>(stars_.size())) return false;
  std::size_t next = 1;
  const auto take = [&] { return numbers[next++]; };
  has_row_ = take() != 0.0, time_ = take(), disrupted_at_ = take(), disrupted_star_ = static_cast<int>(take());
  for (star_state& s : stars_) {
    s.mass = take(), s.largest_density = take();
    for (vector* v : {&s.centre, &s.velocity, &s.acceleration})
      for (double& x : *v) x = take();
  }
  for (std::vector<double>* list : {&first_mass_, &angle_, &phase_})
    for (double& x : *list) x = take();
  return true;
}

}  // namespace plx::star
