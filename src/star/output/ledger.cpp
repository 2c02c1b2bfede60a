#include "star/output/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "probe/live/live_json.hpp"
#include "star/hydro/state.hpp"
#include "star/step/gas_step.hpp"

namespace plx::star {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

double half_width(const mesh::domain& box) {
  double most = 0.0;
  for (int a = 0; a < 3; ++a) most = std::max(most, 0.5 * (box.upper[a] - box.lower[a]));
  return most;
}

/// Are all boundaries across this axis open, so that thin gas leaves there and no wall or inflow exerts a force?
bool is_open(const mesh::domain& box, int axis) {
  const auto open = [&](int face) {
    return box.sides[face] == mesh::boundary::outflow || box.sides[face] == mesh::boundary::zero_gradient;
  };
  return open(2 * axis) && open(2 * axis + 1);
}

std::string text_of(double x) {
  if (std::isnan(x)) return "-";
  return x == 0.0 ? "0" : fmt::format("{:.3e}", x);
}

const char* name_of(ledger_row::rule r) {
  constexpr const char* names[] = {"exact", "order", "open"};
  return names[static_cast<int>(r)];
}

}  // namespace

ledger::ledger(const input& in, const setup& s)
    : in_(in),
      setup_(s),
      fields_(fields_of(s.hydro, s.species.names)),
      sums_(sum_names(s.modules)),
      has_gravity_(in.gravity.self),
      has_point_mass_(in.point_mass.mass > 0.0),
      rotation_{unknown, unknown} {}

int ledger::sum_at(std::string_view name) const {
  const auto at = std::find(sums_.begin(), sums_.end(), name);
  return at == sums_.end() ? -1 : static_cast<int>(at - sums_.begin());
}

// 0 without the column.
double ledger::sum_of(const values& v, std::string_view name) const {
  const int at = sum_at(name);
  return at < 0 ? 0.0 : v.totals[v.left.size() + static_cast<std::size_t>(at)];
}

double ledger::potential(const values& v) const { return sum_of(v, "gravity_energy") + sum_of(v, "point_mass_energy"); }
double ledger::driven_energy(const values& v) const { return sum_of(v, "driving_work") + sum_of(v, "driving_heat"); }

void ledger::take(const values& v) {
  PLX_ASSERT(v.totals.size() == v.left.size() + sums_.size(), v.totals.size());
  PLX_ASSERT_EQ(v.added.size(), v.left.size());
  if (!has_start()) start_ = v;
  now_ = v;
  if (!has_gravity_ && !has_point_mass_) return;
  const double potential_now = potential(v), step = static_cast<double>(v.step);
  if (std::isnan(potential_now)) return;
  const double gravity_before = sum_of(v, "gravity_energy_start");
  if (energy_.step < 0.0) {
    // The sums of modules are those of a step. Without a point mass the first step knows the start.
    const bool knows_start = has_gravity_ && !has_point_mass_ && v.step == start_.step + 1;
    const values& from = knows_start ? start_ : v;
    energy_ = {from.totals[i_energy],
               knows_start ? gravity_before : potential_now,
               from.left[i_energy],
               driven_energy(from),
               static_cast<double>(from.step),
               from.added[i_energy]};
  } else if (has_gravity_ && step == last_step_ + 1.0) {
    regrids_.add(gravity_before - last_gravity_);
  } else if (has_gravity_ && step > last_step_ && setup_.domain.max_level > 0) {
    all_regrids_known_ = false;
  }
  last_gravity_ = sum_of(v, "gravity_energy"), last_step_ = step;
}

void ledger::take_rotation(double z) {
  if (!has_rotation()) rotation_[0] = z;
  rotation_[1] = z;
}

std::array<std::int64_t, 3> ledger::floors() const {
  std::array<std::int64_t, 3> count{};
  for (std::size_t i = 0; i < 3; ++i) count[i] = now_.floors[i] - start_.floors[i];
  return count;
}

double ledger::energy_scale() const {
  const double potential = energy_.step < 0.0 ? 0.0 : energy_.potential;
  return std::abs(start_.totals[i_energy]) + std::abs(potential);
}

double ledger::momentum_scale() const { return std::sqrt(2.0 * std::abs(start_.totals[i_density]) * energy_scale()); }

// Why the component of a momentum along an axis, or if it `turns` of an angular momentum, is not conserved; "" if it
// is.
std::string ledger::why_open(int axis, bool turns) const {
  const auto& at = in_.point_mass.position;
  const bool is_central = turns && at[(axis + 1) % 3] == 0.0 && at[(axis + 2) % 3] == 0.0;
  if (!in_.problem->modules().empty()) return "source terms of the problem";
  if (turns && (setup_.domain.is_periodic((axis + 1) % 3) || setup_.domain.is_periodic((axis + 2) % 3)))
    return "periodic boundaries";
  if (setup_.hydro.omega != 0.0 && axis < 2) return "along an axis that rotates with the mesh";
  if (has_point_mass_ && !is_central) return "the point mass does not move";
  if (in_.driving.present() && in_.driving.angular_momentum != 0.0 && axis < 2)
    return "the part of driving is not known";
  return "";
}

ledger_row ledger::row_of(int field, double scale, std::string_view relative_to) const {
  const auto v = static_cast<std::size_t>(field);
  ledger_row r;
  r.quantity = fields_[v].total;
  r.start = start_.totals[v], r.change = now_.totals[v] - start_.totals[v];
  r.boundaries = start_.left[v] - now_.left[v];
  r.floors = now_.added[v] - start_.added[v];
  r.scale = scale > 0.0 ? scale : 1.0, r.relative_to = scale > 0.0 ? relative_to : "1";
  return r;
}

ledger_row ledger::momentum_row(int axis) const {
  ledger_row r = row_of(i_momentum + axis, momentum_scale(), "sqrt(2 M E)");
  r.note = why_open(axis, false);
  if (!r.note.empty()) r.conserved = ledger_row::rule::open;
  return r;
}

ledger_row ledger::energy_row() const {
  const bool has_potential = has_gravity_ || has_point_mass_;
  ledger_row r = row_of(i_energy, energy_scale(), has_potential ? "|gas| + |potential|" : "start");
  if (has_potential) {
    const double start = static_cast<double>(start_.step), now = static_cast<double>(now_.step);
    const bool at_one_step = energy_.step == now && now > start;  // the change over no step is not that of the run
    const bool known = energy_.step >= 0.0 && !at_one_step;
    r.start = known ? energy_.gas + energy_.potential : unknown;
    r.change = now_.totals[i_energy] + potential(now_) - r.start;
    r.boundaries = energy_.left - now_.left[i_energy];
    r.floors = now_.added[i_energy] - energy_.added;
    r.regrids = all_regrids_known_ ? regrids_.value() : unknown;
    if (!known)
      r.note = !at_one_step      ? "the potential is not known before the first step"
               : now > start + 1 ? "the potential is known at one step only: output.history_interval is too long"
                                 : "the potential is known after the first step only: a longer run shows the change";
    if (known && !all_regrids_known_) r.note = "regrids are not known: output.history_interval above 1";
  }
  r.sources = driven_energy(now_) - (has_potential ? energy_.sources : driven_energy(start_));
  if (!in_.problem->modules().empty()) r.note = "source terms of the problem";
  if (has_point_mass_ && setup_.hydro.omega != 0.0) r.note = "the point mass rotates with the mesh";
  if (!r.note.empty()) {
    r.conserved = ledger_row::rule::open;
  } else if (has_point_mass_) {
    r.conserved = ledger_row::rule::order;
    r.note = "to the order of the scheme";
  }
  return r;
}

ledger_row ledger::rotation_row() const {
  ledger_row r;
  r.quantity = "angular_momentum_z";
  r.start = rotation_[0], r.change = rotation_[1] - rotation_[0];
  const double largest = momentum_scale() * half_width(setup_.domain);
  const bool turns = std::abs(r.start) > 1e-9 * largest;
  r.scale = turns ? std::abs(r.start) : largest > 0.0 ? largest : 1.0;
  r.relative_to = turns ? "start" : "sqrt(2 M E) R";
  r.boundaries = unknown;
  r.sources = sum_of(now_, "driving_angular_momentum") - sum_of(start_, "driving_angular_momentum");
  r.note = why_open(2, true);
  if (r.note.empty() && !(is_open(setup_.domain, 0) && is_open(setup_.domain, 1))) r.note = "walls or inflow";
  r.conserved = r.note.empty() ? ledger_row::rule::order : ledger_row::rule::open;
  if (r.note.empty()) r.note = "to the order of the scheme, outflow unknown";
  return r;
}

ledger_row ledger::spin_row(int axis) const {
  const int first = spin_variable(setup_.hydro);
  const double own = std::abs(start_.totals[static_cast<std::size_t>(first + axis)]);
  const double largest = momentum_scale() * half_width(setup_.domain);
  const bool turns = own > 1e-9 * largest;
  ledger_row r = row_of(first + axis, turns ? own : largest, turns ? "start" : "sqrt(2 M E) R");
  if (axis == 2) r.sources = sum_of(now_, "driving_angular_momentum") - sum_of(start_, "driving_angular_momentum");
  r.note = why_open(axis, true);
  if (!r.note.empty()) r.conserved = ledger_row::rule::open;
  return r;
}

std::vector<ledger_row> ledger::rows() const {
  PLX_ASSERT(has_start());
  const auto& modules = setup_.modules;
  const bool keeps_mass =
      std::all_of(modules.begin(), modules.end(), [](const step_module* m) { return m->keeps_mass(); });
  const double mass = std::abs(start_.totals[i_density]);
  std::vector<ledger_row> all;
  const auto add_mass = [&](int field, std::string_view relative_to) {
    ledger_row& r = all.emplace_back(row_of(field, mass, relative_to));
    if (keeps_mass) return;
    r.conserved = ledger_row::rule::open;
    r.note = "source terms of the problem";
  };
  add_mass(i_density, "start");
  for (int axis = 0; axis < 3; ++axis) all.push_back(momentum_row(axis));
  if (has_rotation()) all.push_back(rotation_row());
  for (int axis = 0; axis < 3 && setup_.hydro.spin; ++axis) all.push_back(spin_row(axis));
  all.push_back(energy_row());
  for (int s = 0; s < setup_.hydro.n_species; ++s) add_mass(i_species + s, "the mass");
  return all;
}

std::string ledger::text() const {
  if (!has_start()) return "";
  const std::vector<ledger_row> all = rows();
  const auto is_used = [&](double ledger_row::*part) {
    return std::any_of(all.begin(), all.end(), [&](const ledger_row& r) { return r.*part != 0.0; });
  };
  const bool by_floors = is_used(&ledger_row::floors), sources = is_used(&ledger_row::sources),
             regrids = is_used(&ledger_row::regrids);
  const std::string title = start_.step > 0 ? fmt::format("since step {}", start_.step) : "conservation";
  std::string lines = fmt::format("{:<24}{:>13}{:>12}{:>12}", title, "start", "change", "boundaries");
  if (by_floors) lines += fmt::format("{:>12}", "floors");
  if (sources) lines += fmt::format("{:>12}", "sources");
  if (regrids) lines += fmt::format("{:>12}", "regrids");
  lines += fmt::format("{:>12}  relative to\n", "remainder");
  for (const ledger_row& r : all) {
    lines += fmt::format("{:<24}{:>13.6g}{:>12}{:>12}", r.quantity, r.start, text_of(r.change), text_of(r.boundaries));
    if (by_floors) lines += fmt::format("{:>12}", text_of(r.floors));
    if (sources) lines += fmt::format("{:>12}", text_of(r.sources));
    if (regrids) lines += fmt::format("{:>12}", text_of(r.regrids));
    const bool judged = r.conserved != ledger_row::rule::open;
    lines += fmt::format("{:>12}  {}{}{}\n", judged ? text_of(r.relative()) : "-", judged ? r.relative_to : "",
                         judged && !r.note.empty() ? "; " : "", r.note);
  }
  const auto [density, pressure, input] = floors();
  if (density + pressure > 0)
    lines += fmt::format("floors raised the density of {} and the pressure of {}\n", plural(density, "cell"), pressure);
  return lines;
}

std::string ledger::json() const {
  if (!has_start()) return "\"floors\": {}, \"conservation_since_step\": null, \"conservation\": []";
  const auto [density, pressure, input] = floors();
  std::string list;
  for (const ledger_row& r : rows()) {
    const bool judged = r.conserved != ledger_row::rule::open;
    const double remainder = judged ? r.remainder() : unknown;
    fmt::format_to(
        std::back_inserter(list),
        "{}\n    {{\"quantity\": {}, \"start\": {}, \"change\": {}, \"boundaries\": {}, \"floors\": {}, \"sources\": "
        "{}, "
        "\"regrids\": {}, \"remainder\": {}, \"scale\": {}, \"relative_to\": {}, \"relative\": {}, \"conserved\": {}, "
        "\"note\": {}}}",
        list.empty() ? "" : ",", json_text(r.quantity), probe::json_number(r.start), probe::json_number(r.change),
        probe::json_number(r.boundaries), probe::json_number(r.floors), probe::json_number(r.sources),
        probe::json_number(r.regrids), probe::json_number(remainder), probe::json_number(r.scale),
        json_text(std::string(r.relative_to)), probe::json_number(remainder / r.scale), json_text(name_of(r.conserved)),
        json_text(r.note));
  }
  return fmt::format(
      "\"floors\": {{\"density\": {}, \"pressure\": {}, \"input\": {}}},\n  \"conservation_since_step\": {},\n"
      "  \"conservation\": [{}\n  ]",
      density, pressure, input, start_.step, list);
}

std::vector<double> ledger::state() const {
  if (!has_start()) return {};
  std::vector<double> all{static_cast<double>(start_.totals.size()),
                          has_gravity_ ? 1.0 : 0.0,
                          has_point_mass_ ? 1.0 : 0.0,
                          static_cast<double>(start_.step),
                          static_cast<double>(start_.floors[0]),
                          static_cast<double>(start_.floors[1]),
                          static_cast<double>(start_.floors[2]),
                          energy_.gas,
                          energy_.potential,
                          energy_.left,
                          energy_.sources,
                          energy_.step,
                          regrids_.sum,
                          regrids_.lost,
                          last_gravity_,
                          last_step_,
                          all_regrids_known_ ? 1.0 : 0.0,
                          rotation_[0],
                          rotation_[1]};
  all.insert(all.end(), start_.totals.begin(), start_.totals.end());
  all.insert(all.end(), start_.left.begin(), start_.left.end());
  all.insert(all.end(), start_.added.begin(), start_.added.end());
  all.push_back(energy_.added);
  return all;
}

bool ledger::restore(std::span<const double> state) {
  constexpr std::size_t head = 19;
  const auto n_left = static_cast<std::size_t>(variable_count(setup_.hydro));
  const std::size_t n_totals = n_left + sums_.size();
  if (state.size() != head + n_totals + 2 * n_left + 1 || state[0] != static_cast<double>(n_totals) ||
      state[1] != (has_gravity_ ? 1.0 : 0.0) || state[2] != (has_point_mass_ ? 1.0 : 0.0))
    return false;
  start_.step = static_cast<std::int64_t>(state[3]);
  for (std::size_t i = 0; i < 3; ++i) start_.floors[i] = static_cast<std::int64_t>(state[4 + i]);
  energy_ = {state[7], state[8], state[9], state[10], state[11], state.back()};
  regrids_.sum = state[12], regrids_.lost = state[13];
  last_gravity_ = state[14], last_step_ = state[15], all_regrids_known_ = state[16] != 0.0;
  rotation_ = {state[17], state[18]};
  const auto totals = state.subspan(head, n_totals), left = state.subspan(head + n_totals, n_left);
  const auto added = state.subspan(head + n_totals + n_left, n_left);
  start_.totals.assign(totals.begin(), totals.end());
  start_.left.assign(left.begin(), left.end());
  start_.added.assign(added.begin(), added.end());
  now_ = start_;
  return true;
}

}  // namespace plx::star
