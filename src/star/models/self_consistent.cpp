#include "star/models/self_consistent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "mesh/tree/regrid.hpp"
#include "star/models/solver.hpp"

namespace plx::star::models {

using mesh::slot_id;

result<model> solver::run() {
  begin();
  log_info("{}: {}", q_.section, table_head(count_));
  for (int level = first_level();; ++level) {
    if (auto fine = adopt(refined(level)); !fine) return fine.error();
    if (auto fine = iterate(level); !fine) return fine.error();
    if (level == q_.level) break;
  }
  finish();
  return std::move(m_);
}

double solver::volume(std::size_t i) const { return std::pow(mesh_->cell_width(blocks_[i]), 3); }

// --- meshes ---------------------------------------------------------------------------------------------------------

void solver::begin() {
  guess_ = guess(q_);
  m_.gravity = q_.gravity.constant, m_.synchronous = q_.synchronous || count_ == 1, m_.omega = guess_.omega;
  m_.fillout = q_.fillout;
  m_.stars.resize(count_);
  for (std::size_t s = 0; s < count_; ++s) {
    star& one = m_.stars[s];
    one.gas = q_.stars[s].gas, one.mass = q_.stars[s].mass, one.place = one.centre = guess_.places[s];
    one.central_density = guess_.spheres[s].central_density;
  }
  mesh::domain box = q_.box;
  box.max_level = q_.level;
  box.sides.fill(mesh::boundary::outflow);
  mesh_ = std::make_unique<mesh::block_mesh>(box);
}

// The first level with some cells per radius.
int solver::first_level() const {
  double radius = guess_.spheres[0].radius;
  for (const sphere& s : guess_.spheres) radius = std::min(radius, s.radius);
  int level = 0;
  while (level < q_.level && radius < 8.0 * q_.box.cell_width(level)) ++level;
  return level;
}

// The density of the present model, or of the first guess.
double solver::density_at(const point& x, int& owner) const {
  owner = -1;
  if (m_.field != nullptr) {
    const model::state s = m_.at(x);
    owner = s.star;
    return s.density;
  }
  for (std::size_t s = 0; s < count_; ++s) {
    double r2 = 0.0;
    for (int a = 0; a < 3; ++a) r2 += (x[a] - guess_.places[s][a]) * (x[a] - guess_.places[s][a]);
    if (const double rho = guess_.spheres[s].density(std::sqrt(r2)); rho > 0.0) {
      owner = static_cast<int>(s);
      return rho;
    }
  }
  return 0.0;
}

// Does a block meet a sphere of the first guess?
bool solver::has_sphere(const mesh::block_mesh& mesh, slot_id slot) const {
  const auto lower = mesh.lower(slot);
  const double width = mesh.cell_width(slot), edge = width * mesh.block_size();
  for (std::size_t s = 0; s < count_; ++s) {
    double r2 = 0.0;
    for (std::size_t a = 0; a < 3; ++a) {
      const double x = guess_.places[s][a], d = x - std::clamp(x, lower[a] - width, lower[a] + edge + width);
      r2 += d * d;
    }
    if (r2 < guess_.spheres[s].radius * guess_.spheres[s].radius) return true;
  }
  return false;
}

// Does a block hold a part of a star, or the layer of cells around one?
bool solver::has_star(const mesh::block_mesh& mesh, slot_id slot) const {
  if (m_.field == nullptr) return has_sphere(mesh, slot);
  const int n = mesh.block_size();
  for (int k = -1; k <= n; ++k)
    for (int j = -1; j <= n; ++j)
      for (int i = -1; i <= n; ++i) {
        int owner = -1;
        if (density_at({mesh.centre(slot, 0, i), mesh.centre(slot, 1, j), mesh.centre(slot, 2, k)}, owner) > 0.0)
          return true;
      }
  return false;
}

mesh::block_mesh solver::refined(int level) const {
  mesh::block_mesh mesh = *mesh_;
  for (;;) {
    std::vector<mesh::flag> flags(mesh.slot_count(), mesh::flag::keep);
    const auto blocks = mesh.blocks();
    for_all("star.models.refine", blocks.size(), [&](std::size_t i) {
      if (mesh.level(blocks[i]) < level && has_star(mesh, blocks[i]))
        flags[static_cast<std::size_t>(blocks[i])] = mesh::flag::refine;
    });
    mesh::regrid_plan plan = mesh::plan_regrid(mesh, flags, 1);
    if (!plan.changed()) break;
    mesh = std::move(plan.next);
  }
  std::vector<mesh::leaf> leaves;  // without free slots
  for (const slot_id b : mesh.blocks()) leaves.push_back({mesh.where(b), mesh::no_slot, 0});
  return mesh::block_mesh(mesh_->box(), std::move(leaves));
}

result<void> solver::adopt(mesh::block_mesh next) {
  auto mesh = std::make_unique<mesh::block_mesh>(std::move(next));
  auto made = attraction::make(*mesh, q_.gravity);
  if (!made) return made.error();
  cells_ = static_cast<std::size_t>(mesh->block_size() * mesh->block_size() * mesh->block_size());
  auto field = std::make_unique<tree_field>(*mesh);
  blocks_.assign(mesh->blocks().begin(), mesh->blocks().end());
  owners_.assign(cells_ * mesh->slot_count(), -1);
  for_all("star.models.adopt", blocks_.size(), [&](std::size_t i) {
    double* rho = (*made)->density(blocks_[i]);
    for (std::size_t c = 0; c < cells_; ++c) {
      int owner = -1;
      rho[c] = density_at(field->centre(blocks_[i], static_cast<int>(c)), owner);
      owners_of(blocks_[i])[c] = static_cast<std::int8_t>(owner);
    }
  });
  mesh_ = std::move(mesh), attraction_ = *std::move(made), m_.field = std::move(field);
  for (auto& rows : rows_) rows.assign(blocks_.size(), {});
  return {};
}

// --- iterations -----------------------------------------------------------------------------------------------------

result<void> solver::iterate(int level) {
  const bool last = level == q_.level;
  const double enough = last ? q_.tolerance : std::max(q_.tolerance, 1e-4);
  for (int on_level = 1;; ++on_level) {
    attraction_->solve(*m_.field);
    iteration it;
    it.number = static_cast<int>(m_.iterations.size()) + 1, it.level = level;
    measure(it);
    if (auto fine = rotate(it); !fine) return fine;
    is_contact() ? find_common_surface() : find_regions();
    list_cells();
    if (!m_.iterations.empty())
      for (std::size_t s = 0; s < count_; ++s) blend_core(s);
    if (is_contact()) {
      if (auto fine = fit_common(); !fine) return fine;
    } else {
      for (const bool given : {true, false})
        for (std::size_t s = 0; s < count_; ++s)
          if ((q_.stars[s].filling > 0.0 || q_.radius > 0.0) == given)
            if (auto fine = fit(s); !fine) return fine;
    }
    set_density(it);
    m_.iterations.push_back(it);
    log_info("{}", table_line(it, count_));
    if (!std::isfinite(it.change))
      return error{
          fmt::format("{}: the iteration of the model fails: values that are not finite in iteration {}; "
                      "a higher mesh.max_level may help",
                      q_.section, it.number)};
    if (it.change < enough && overflows_ == 0) return {};
    if (auto fine = check_masses(); !fine) return fine;
    if (on_level >= q_.most_iterations)
      return error{fmt::format(
          "{}: no equilibrium after {} on level {}: the density still changes by {:.2g} per iteration "
          "(virial error {:.2g}); expected below {:g}; try another filling, separation or rotation, or a higher "
          "{}.tolerance",
          q_.section, plural(on_level, "iteration"), level, it.change, it.virial_error, enough, q_.section)};
  }
}

// A mass that has not fit into its surface for several iterations.
result<void> solver::check_masses() const {
  if (overflows_ <= 12) return {};
  const double mass = q_.stars[overflowing_].mass;
  const std::string key = fmt::format("{}.masses[{}] = {:g}", q_.section, overflowing_, mass);
  if (!is_contact())
    return error{
        fmt::format("{}: the star does not fit into its Roche lobe: up to the point between the stars with the largest "
                    "effective potential its matter has a mass of {:.5g} only; expected a larger {}.separation or a "
                    "smaller star",
                    key, held_, q_.section)};
  const double k = m_.stars[overflowing_].gas.constant();
  if (held_ > mass)
    return error{fmt::format(
        "{}: an envelope with the K of the other star, {:.4g}, has at least a mass of {:.5g} in this surface; expected "
        "a larger mass, or a smaller K: a smaller or less dense core of the other star",
        key, k, held_)};
  return error{
      fmt::format("{0}: with the K of the other star, {1:.4g}, the mass in this surface is at most {2:.5g}, even if "
                  "all of the star is core; expected a larger {3}.density_jump[{4}] or {3}.core_index[{4}], or a "
                  "smaller K: a smaller or less dense core of the other star",
                  key, k, held_, q_.section, overflowing_)};
}

// Sums over the present density and its potential.
void solver::measure(iteration& it) {
  // By star: mass, position, force; then the potential energy, and the sum of x . force.
  const auto sums = sum_all<16>("star.models.sums", blocks_.size(), [&](std::size_t i) {
    std::array<double, 16> sum{};
    const double *rho = attraction_->density(blocks_[i]), *phi = m_.field->block(blocks_[i]), v = volume(i);
    for (std::size_t c = 0; c < cells_; ++c) {
      const int owner = owners_of(blocks_[i])[c];
      if (owner < 0) continue;
      const point x = m_.field->centre(blocks_[i], static_cast<int>(c));
      const double mass = v * rho[c];
      double* to = &sum[static_cast<std::size_t>(7 * owner)];
      to[0] += mass;
      for (std::size_t a = 0; a < 3; ++a) to[1 + a] += mass * x[a], to[4 + a] -= mass * phi[(1 + a) * cells_ + c];
      sum[14] += 0.5 * mass * phi[c];
      for (std::size_t a = 0; a < 3; ++a) sum[15] -= mass * x[a] * phi[(1 + a) * cells_ + c];
    }
    return sum;
  });
  now_.assign(count_, {});
  for (std::size_t s = 0; s < count_; ++s) {
    const double* from = &sums[7 * s];
    now_[s].mass = from[0];
    for (std::size_t a = 0; a < 3; ++a) now_[s].centre[a] = from[1 + a] / from[0], now_[s].force[a] = from[4 + a];
  }
  m_.potential = sums[14];
  m_.virial_error = m_.energy_error = std::numeric_limits<double>::quiet_NaN();
  if (!m_.iterations.empty() && m_.iterations.back().level == it.level) {
    const double rest = 2.0 * m_.kinetic + 3.0 * m_.pressure;
    m_.virial_error = std::abs(1.0 + rest / sums[15]);
    m_.energy_error = std::abs(1.0 + rest / m_.potential);
  }
  it.virial_error = m_.virial_error, it.energy_error = m_.energy_error;
}

// omega of a binary, the places of the stars and what holds them there.
result<void> solver::rotate(iteration& it) {
  if (count_ == 2) {
    const double apart = now_[0].centre[0] - now_[1].centre[0];
    const double push = is_contact() && !m_.iterations.empty() ? neck_force() : 0.0;
    const double square = ((now_[1].force[0] - push) / now_[1].mass - (now_[0].force[0] + push) / now_[0].mass) / apart;
    if (!(square > 0.0))
      return error{
          fmt::format("{}: the stars do not attract each other as an orbit needs; a higher mesh.max_level "
                      "may help",
                      q_.section)};
    // A common envelope overshoots otherwise: faster stars have a smaller surface, which makes them slower.
    m_.omega = std::sqrt(is_contact() ? 0.5 * (square + m_.omega * m_.omega) : square);
    double wanted = q_.separation;
    const double m0 = q_.stars[0].mass, m1 = q_.stars[1].mass, reduced = m0 * m1 / (m0 + m1);
    if (q_.angular_momentum > 0.0) {
      const double now = reduced * apart * apart * m_.omega, ratio = q_.angular_momentum / now;
      wanted = apart * std::clamp(ratio * ratio, 0.8, 1.25);
    }
    if (q_.period > 0.0) {
      const double ratio = q_.period * m_.omega / (2.0 * std::numbers::pi);
      wanted = apart * std::clamp(std::cbrt(ratio * ratio), 0.8, 1.25);
    }
    m_.stars[0].place = {wanted * m1 / (m0 + m1), 0.0, 0.0};
    m_.stars[1].place = {-wanted * m0 / (m0 + m1), 0.0, 0.0};
    it.separation = apart;
  }
  for (std::size_t s = 0; s < count_; ++s) {
    double off = 0.0;
    for (std::size_t a = 0; a < 3; ++a) {
      const double d = m_.stars[s].place[a] - now_[s].centre[a];
      // In proportion to the displacement, and to the sum of the earlier ones, so that none remains.
      held_in_place_[s][a] += 0.3 * stiffness_[s] * d;
      m_.stars[s].pull[a] = (is_contact() ? 0.5 : 1.0) * stiffness_[s] * d + held_in_place_[s][a];
      off += d * d;
    }
    it.displacement[s] = std::sqrt(off);
  }
  return {};
}

// The new density, with sums over it.
void solver::set_density(iteration& it) {
  enum { mass, x, y, z, bend, inertia, pressure, cells, change = 16 };
  const double square = m_.omega * m_.omega;
  std::vector<std::array<double, 2>> peaks(blocks_.size());
  const auto sums = sum_all<17>("star.models.density", blocks_.size(), [&](std::size_t i) {
    std::array<double, 17> sum{};
    double* rho = attraction_->density(blocks_[i]);
    std::vector<double> old(rho, rho + cells_);
    std::fill_n(rho, cells_, 0.0);
    std::fill_n(owners_of(blocks_[i]), cells_, std::int8_t{-1});
    const double v = volume(i);
    for (std::size_t s = 0; s < count_; ++s) {
      const star& one = m_.stars[s];
      double* to = &sum[8 * s];
      peaks[i][s] = 0.0;
      for (const cell_depth& c : rows_[s][i]) {
        const double h = one.constant + (c.base + square * c.turn);
        if (!(h > 0.0)) continue;
        const auto cell = static_cast<std::size_t>(c.cell);
        rho[cell] = factor_[s] * one.gas.density(h);
        owners_of(blocks_[i])[cell] = static_cast<std::int8_t>(s);
        const point at = m_.field->centre(blocks_[i], c.cell);
        double r2 = 0.0;
        for (std::size_t a = 0; a < 3; ++a) {
          to[x + a] += v * rho[cell] * at[a];
          r2 += (at[a] - one.place[a]) * (at[a] - one.place[a]);
        }
        const double step = 1e-3 * h;
        to[mass] += v * rho[cell];
        to[bend] += v * (one.gas.density(h + step) - rho[cell]) / step * r2;
        to[inertia] += v * rho[cell] * (at[0] * at[0] + at[1] * at[1]);
        to[pressure] += v * one.gas.pressure(h);
        to[cells] += v;
        peaks[i][s] = std::max(peaks[i][s], rho[cell]);
      }
    }
    for (std::size_t c = 0; c < cells_; ++c) sum[change] += v * std::abs(rho[c] - old[c]);
    return sum;
  });
  double total = 0.0, whole_inertia = 0.0;
  m_.pressure = m_.kinetic = m_.angular_momentum = 0.0;
  for (std::size_t s = 0; s < count_; ++s) {
    const double* from = &sums[8 * s];
    star& one = m_.stars[s];
    for (std::size_t a = 0; a < 3; ++a) one.centre[a] = from[x + a] / from[mass];
    // How far an acceleration moves the star in the potential that it has now.
    stiffness_[s] = from[bend] > 0.0 ? 3.0 * from[mass] / from[bend] : 0.0;
    one.radius = std::cbrt(0.75 / std::numbers::pi * from[cells]);
    one.central_density = 0.0;
    for (const auto& peak : peaks) one.central_density = std::max(one.central_density, peak[s]);
    m_.pressure += from[pressure], total += from[mass];
    const double arm2 = m_.synchronous ? from[inertia] : from[mass] * one.place[0] * one.place[0];
    whole_inertia += arm2;
    it.constant[s] = one.constant, it.central_density[s] = one.central_density;
    it.polytrope_constant[s] = one.gas.constant(),
    it.core_fraction[s] = one.gas.has_core() ? one.gas.core_fraction : std::numeric_limits<double>::quiet_NaN();
  }
  m_.kinetic = 0.5 * square * whole_inertia, m_.angular_momentum = m_.omega * whole_inertia;
  it.change = sums[change] / total;
  it.omega = m_.omega, it.angular_momentum = m_.angular_momentum;
}

// --- the end --------------------------------------------------------------------------------------------------------

// Distance from the place of a star to its surface, along a direction.
double solver::surface(std::size_t s, const point& along, double limit) const {
  const star& one = m_.stars[s];
  const auto enthalpy = [&](double d) {
    const point x{one.place[0] + d * along[0], one.place[1] + d * along[1], one.place[2] + d * along[2]};
    return one.constant + m_.depth(static_cast<int>(s), x, m_.field->at(x));
  };
  if (enthalpy(limit) > 0.0) return limit;
  return root_between(enthalpy, 0.0, limit, 1e-10 * limit);
}

void solver::finish() {
  const iteration& last = m_.iterations.back();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s < count_; ++s) {
    star& one = m_.stars[s];
    const double out = s == 0 ? 1.0 : -1.0, inner_limit = count_ == 2 ? std::abs(one.side - one.place[0]) : one.reach;
    one.outer = surface(s, {out, 0.0, 0.0}, one.reach);
    one.inner = surface(s, {-out, 0.0, 0.0}, inner_limit);
    one.polar = surface(s, {0.0, 0.0, 1.0}, std::min(one.reach, q_.box.upper[2]));
    one.filling = count_ == 2 ? one.inner / inner_limit : 0.0;
    least = std::min(least, one.polar / q_.box.cell_width(q_.level));
  }
  if (is_contact()) m_.neck = {neck_radius({0.0, 1.0, 0.0}), neck_radius({0.0, 0.0, 1.0})};
  m_.verdict = fmt::format("converged after {}: the density changes by {:.1e}, below {:g}",
                           plural(last.number, "iteration"), last.change, q_.tolerance);
  m_.verdict += fmt::format("; virial error {:.2e}", m_.virial_error);
  if (!(m_.virial_error <= q_.virial_goal))
    m_.verdict += fmt::format(", above {:g}: a lower tolerance, a finer mesh or a higher gravity.order reduces it",
                              q_.virial_goal);
  m_.verdict += fmt::format(
      "; {:.2e} with the potential energy, because the mesh has {:.1f} cells per polar radius: twice as many reduce "
      "it to about a quarter",
      m_.energy_error, least);
}

result<model> solve(const request& q) {
  PLX_ASSERT(q.stars.size() == 1 || q.stars.size() == 2, q.stars.size());
  if (auto fine = check(q); !fine) return fine.error();
  if (worker_index()) return solver(q).run();
  runtime rt{runtime_options{}};
  return rt.run([&] { return solver(q).run(); });
}

}  // namespace plx::star::models
