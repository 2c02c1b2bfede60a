#include "star/models/self_consistent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "mesh/tree/regrid.hpp"
#include "star/models/first_guess.hpp"
#include "star/models/root.hpp"
#include "star/models/workers.hpp"

namespace plx::star::models {

using mesh::slot_id;

namespace {

// A cell in the region of a star: the enthalpy less the constant is base + omega^2 turn; the potential differs by
// `across` between its sides.
struct cell_depth {
  int cell;
  double base, turn, across;
};

// Sums over the cells of a star.
struct star_sums {
  double mass = 0.0;
  point centre{}, force{};
};

class solver {
 public:
  explicit solver(const request& q)
      : q_(q), count_(q.stars.size()), rows_(count_), stiffness_(count_, 0.0), held_in_place_(count_) {}

  result<model> run() {
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

 private:
  // --- meshes -------------------------------------------------------------------------------------------------------

  void begin() {
    guess_ = guess(q_);
    m_.gravity = q_.gravity.constant, m_.synchronous = q_.synchronous || count_ == 1, m_.omega = guess_.omega;
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
  int first_level() const {
    double radius = guess_.spheres[0].radius;
    for (const sphere& s : guess_.spheres) radius = std::min(radius, s.radius);
    int level = 0;
    while (level < q_.level && radius < 8.0 * q_.box.cell_width(level)) ++level;
    return level;
  }

  // The density of the present model, or of the first guess.
  double density_at(const point& x, int& owner) const {
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
  bool has_sphere(const mesh::block_mesh& mesh, slot_id slot) const {
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
  bool has_star(const mesh::block_mesh& mesh, slot_id slot) const {
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

  mesh::block_mesh refined(int level) const {
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

  result<void> adopt(mesh::block_mesh next) {
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

  std::int8_t* owners_of(slot_id b) { return owners_.data() + cells_ * static_cast<std::size_t>(b); }
  double volume(std::size_t i) const { return std::pow(mesh_->cell_width(blocks_[i]), 3); }

  // --- iterations ---------------------------------------------------------------------------------------------------

  result<void> iterate(int level) {
    const bool last = level == q_.level;
    const double enough = last ? q_.tolerance : std::max(q_.tolerance, 1e-4);
    for (int on_level = 1;; ++on_level) {
      attraction_->solve(*m_.field);
      iteration it;
      it.number = static_cast<int>(m_.iterations.size()) + 1, it.level = level;
      measure(it);
      if (auto fine = rotate(it); !fine) return fine;
      find_regions();
      list_cells();
      for (const bool given : {true, false})
        for (std::size_t s = 0; s < count_; ++s)
          if ((q_.stars[s].filling > 0.0 || q_.radius > 0.0) == given)
            if (auto fine = fit(s); !fine) return fine;
      set_density(it);
      m_.iterations.push_back(it);
      log_info("{}", table_line(it, count_));
      if (!std::isfinite(it.change))
        return error{
            fmt::format("{}: the iteration of the model fails: values that are not finite in iteration {}; "
                        "a higher mesh.max_level may help",
                        q_.section, it.number)};
      if (it.change < enough && overflows_ == 0) return {};
      if (overflows_ > 12)
        return error{fmt::format(
            "{}.masses[{}] = {:g}: the star does not fit into its Roche lobe: up to the point between the stars with "
            "the "
            "largest effective potential its matter has a mass of {:.5g} only; expected a larger {}.separation or a "
            "smaller star",
            q_.section, overflowing_, q_.stars[overflowing_].mass, held_, q_.section)};
      if (on_level >= q_.most_iterations)
        return error{fmt::format(
            "{}: no equilibrium after {} on level {}: the density still changes by {:.2g} per iteration "
            "(virial error {:.2g}); expected below {:g}; try another filling, separation or rotation, or a higher "
            "{}.tolerance",
            q_.section, plural(on_level, "iteration"), level, it.change, it.virial_error, enough, q_.section)};
    }
  }

  // Sums over the present density and its potential.
  void measure(iteration& it) {
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
  result<void> rotate(iteration& it) {
    if (count_ == 2) {
      const double apart = now_[0].centre[0] - now_[1].centre[0];
      const double square = (now_[1].force[0] / now_[1].mass - now_[0].force[0] / now_[0].mass) / apart;
      if (!(square > 0.0))
        return error{
            fmt::format("{}: the stars do not attract each other as an orbit needs; a higher mesh.max_level "
                        "may help",
                        q_.section)};
      m_.omega = std::sqrt(square);
      double wanted = q_.separation;
      const double m0 = q_.stars[0].mass, m1 = q_.stars[1].mass, reduced = m0 * m1 / (m0 + m1);
      if (q_.angular_momentum > 0.0) {
        const double now = reduced * apart * apart * m_.omega, ratio = q_.angular_momentum / now;
        wanted = apart * std::clamp(ratio * ratio, 0.8, 1.25);
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
        m_.stars[s].pull[a] = stiffness_[s] * d + held_in_place_[s][a];
        off += d * d;
      }
      it.displacement[s] = std::sqrt(off);
    }
    return {};
  }

  double potential_on_x(std::size_t s, double x) const {
    const point at{x, 0.0, 0.0};
    return -m_.depth(static_cast<int>(s), at, m_.field->at(at));
  }

  // The largest effective potential on both sides of each star.
  void find_regions() {
    barrier_.assign(count_, std::numeric_limits<double>::infinity());
    for (std::size_t s = 0; s < count_; ++s) {
      star& one = m_.stars[s];
      const double outward = s == 0 ? 1.0 : -1.0, from = one.place[0];
      const auto on_axis = [&](double d) { return potential_on_x(s, from + d); };
      const double edge = outward > 0.0 ? q_.box.upper[0] - from : from - q_.box.lower[0];
      const double size = count_ == 2 ? m_.separation() : std::max(q_.radius, guess_.spheres[0].radius);
      const double out = largest_at(on_axis, 0.0, outward * std::min(edge, 2.0 * size), 96);
      one.reach = std::abs(out);
      barrier_[s] = on_axis(out);
      if (count_ == 1) continue;
      const double in = largest_at(on_axis, 0.0, m_.stars[1 - s].place[0] - from, 96);
      one.side = from + in;
      barrier_[s] = std::min(barrier_[s], on_axis(in));
    }
  }

  void list_cells() {
    for_all("star.models.cells", blocks_.size(), [&](std::size_t i) {
      for (std::size_t s = 0; s < count_; ++s) {
        auto& list = rows_[s][i];
        list.clear();
        const star& one = m_.stars[s];
        const double *phi = m_.field->block(blocks_[i]), width = mesh_->cell_width(blocks_[i]);
        for (std::size_t c = 0; c < cells_; ++c) {
          const point x = m_.field->centre(blocks_[i], static_cast<int>(c));
          if (!m_.contains(static_cast<int>(s), x)) continue;
          double base = -phi[c], slope2 = 0.0;
          for (std::size_t a = 1; a < 4; ++a) slope2 += phi[a * cells_ + c] * phi[a * cells_ + c];
          for (std::size_t a = 0; a < 3; ++a) base += one.pull[a] * (x[a] - one.place[a]);
          const double turn = m_.synchronous ? 0.5 * (x[0] * x[0] + x[1] * x[1]) : one.place[0] * x[0];
          list.push_back({static_cast<int>(c), base, turn, width * std::sqrt(slope2)});
        }
      }
    });
  }

  // The mass of a star with this constant; and of its core, with the part of cells that its surface cuts.
  std::array<double, 2> masses_with(std::size_t s, double constant) const {
    const matter& gas = m_.stars[s].gas;
    const double square = m_.omega * m_.omega;
    return sum_all<2>("star.models.mass", blocks_.size(), [&](std::size_t i) {
      std::array<double, 2> sum{};
      for (const cell_depth& c : rows_[s][i]) {
        const double h = constant + (c.base + square * c.turn);
        if (!(h > 0.0)) continue;
        const double rho = gas.density(h);
        sum[0] += rho;
        if (gas.has_core()) sum[1] += rho * std::clamp(0.5 + (h - gas.enthalpy_unit) / (c.across + 1e-300), 0.0, 1.0);
      }
      for (double& one : sum) one *= volume(i);
      return sum;
    });
  }

  // Largest enthalpy less the constant.
  double largest_depth(std::size_t s) const {
    const double square = m_.omega * m_.omega;
    double largest = -std::numeric_limits<double>::infinity();
    for (const auto& row : rows_[s])
      for (const cell_depth& c : row) largest = std::max(largest, c.base + square * c.turn);
    return largest;
  }

  // The constant, and what follows from it and the mass.
  result<void> fit(std::size_t s) {
    star& one = m_.stars[s];
    if (count_ == 1) return fit_single();
    const bool filled = q_.stars[s].filling > 0.0;
    if (!filled) {
      const double k = m_.stars[1 - s].gas.constant();
      if (one.gas.has_scale()) one.gas.set_constant(k, one.gas.enthalpy_unit);
      if (auto fine = fit_constant(s); !fine) return fine;
      if (one.gas.has_core()) fit_core(s, [&](double unit) { one.gas.set_constant(k, unit); });
      return {};
    }
    const double surface = one.place[0] + q_.stars[s].filling * (one.side - one.place[0]);
    one.constant = potential_on_x(s, surface);
    return fit_scale(s);
  }

  result<void> fit_single() {
    star& one = m_.stars[0];
    const bool by_ratio = q_.omega < 0.0;
    if (!by_ratio) m_.omega = q_.omega;
    if (by_ratio && q_.axis_ratio == 1.0) m_.omega = 0.0;
    const bool is_round = by_ratio && q_.axis_ratio == 1.0;
    const auto polar = [&](double r) { return m_.field->at({0.0, 0.0, q_.axis_ratio * r}); };
    const auto turn_with = [&](double r) {  // sets omega from the axis ratio
      if (is_round || !by_ratio) return;
      const double square = 2.0 * (m_.field->at({r, 0.0, 0.0}) - polar(r)) / (r * r);
      m_.omega = std::sqrt(std::max(square, 0.0));
    };
    if (one.gas.has_scale()) {
      turn_with(q_.radius);
      find_regions();
      if (one.reach < q_.radius)
        return error{
            fmt::format("{}: mass shedding: with the radius {:g} the star would rotate faster ({:.4g}) than gravity "
                        "can hold at its "
                        "equator, beyond {:.4g}; expected a larger axis ratio or a smaller omega",
                        q_.section, q_.radius, m_.omega, one.reach)};
      list_cells();
      one.constant = potential_on_x(0, q_.radius);
      return fit_scale(0);
    }
    if (is_round || !by_ratio) return fit_constant(0);
    // A white dwarf with an axis ratio: the radius for which the mass is right.
    const double guess = one.outer > 0.0 ? one.outer : guess_.spheres[0].radius;
    const auto excess = [&](double r) {
      turn_with(r);
      return masses_with(0, -m_.depth(0, {r, 0.0, 0.0}, m_.field->at({r, 0.0, 0.0})))[0] / one.mass - 1.0;
    };
    const double r = root_between(excess, 0.6 * guess, 1.5 * guess, 1e-12 * guess);
    turn_with(r);
    find_regions();
    list_cells();
    one.constant = potential_on_x(0, r), one.outer = r;
    if (one.reach < r)
      return error{
          fmt::format("{}.axis_ratio = {:g}: mass shedding: gravity holds the star up to {:.4g} of its radius "
                      "{:.4g} only; expected a larger axis ratio",
                      q_.section, q_.axis_ratio, one.reach, r)};
    return {};
  }

  // The constant for which the mass is right; the relation of density and enthalpy is given.
  result<void> fit_constant(std::size_t s) {
    star& one = m_.stars[s];
    const double low = -largest_depth(s), high = barrier_[s];
    const auto excess = [&](double c) { return masses_with(s, c)[0] / one.mass - 1.0; };
    const double most = excess(high);
    if (!(most > 0.0)) {
      one.constant = high;
      ++overflows_, overflowing_ = s, held_ = (1.0 + most) * one.mass;
      factor_[s] = one.mass / held_;  // a star that lost mass would expand and lose more
      return {};
    }
    if (overflowing_ == s) overflows_ = 0;
    factor_[s] = 1.0;
    one.constant = root_between(excess, low, high, 1e-13 * (high - low));
    return {};
  }

  // Sets the enthalpy of the core's surface, by set(enthalpy), so that the core has its part of the mass.
  template <class Set>
  void fit_core(std::size_t s, Set&& set) {
    star& one = m_.stars[s];
    const double central = one.constant + largest_depth(s);
    const auto excess = [&](double unit) {
      set(unit);
      const auto masses = masses_with(s, one.constant);
      return one.gas.core_fraction - masses[1] / masses[0];
    };
    set(root_between(excess, 1e-3 * central, central, 1e-7 * central));
  }

  // The scale of the density for which the mass is right, and the core's surface for which its mass is.
  result<void> fit_scale(std::size_t s) {
    star& one = m_.stars[s];
    matter& gas = one.gas;
    const double central = one.constant + largest_depth(s);
    if (!(central > 0.0))
      return error{
          fmt::format("{}: star {} vanishes: no cell is inside of its surface; a higher mesh.max_level may help",
                      q_.section, s + 1)};
    gas.density_unit = 1.0, gas.enthalpy_unit = central;
    if (gas.has_core()) fit_core(s, [&](double unit) { gas.enthalpy_unit = unit; });
    gas.density_unit = one.mass / masses_with(s, one.constant)[0];
    return {};
  }

  // The new density, with sums over it.
  void set_density(iteration& it) {
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
      it.polytrope_constant[s] = one.gas.constant();
    }
    m_.kinetic = 0.5 * square * whole_inertia, m_.angular_momentum = m_.omega * whole_inertia;
    it.change = sums[change] / total;
    it.omega = m_.omega, it.angular_momentum = m_.angular_momentum;
  }

  // --- the end ------------------------------------------------------------------------------------------------------

  // Distance from the place of a star to its surface, along a direction.
  double surface(std::size_t s, const point& along, double limit) const {
    const star& one = m_.stars[s];
    const auto enthalpy = [&](double d) {
      const point x{one.place[0] + d * along[0], one.place[1] + d * along[1], one.place[2] + d * along[2]};
      return one.constant + m_.depth(static_cast<int>(s), x, m_.field->at(x));
    };
    if (enthalpy(limit) > 0.0) return limit;
    return root_between(enthalpy, 0.0, limit, 1e-10 * limit);
  }

  void finish() {
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

  const request& q_;
  const std::size_t count_;
  first_guess guess_;
  model m_;
  std::unique_ptr<mesh::block_mesh> mesh_;
  std::unique_ptr<attraction> attraction_;
  std::vector<slot_id> blocks_;
  std::size_t cells_ = 0;
  std::vector<std::int8_t> owners_;                         // by slot and cell: the star, or -1
  std::vector<std::vector<std::vector<cell_depth>>> rows_;  // by star and position of the block
  std::vector<star_sums> now_;
  std::vector<double> stiffness_, barrier_;
  std::array<double, 2> factor_{1.0, 1.0};  // of the density of a star that does not fit into its lobe
  std::vector<point> held_in_place_;        // the part of star::pull that has come together over the iterations
  int overflows_ = 0;                       // iterations in a row in which a star did not fit into its lobe
  std::size_t overflowing_ = 0;
  double held_ = 0.0;
};

}  // namespace

result<model> solve(const request& q) {
  PLX_ASSERT(q.stars.size() == 1 || q.stars.size() == 2, q.stars.size());
  if (auto fine = check(q); !fine) return fine.error();
  if (worker_index()) return solver(q).run();
  runtime rt{runtime_options{}};
  return rt.run([&] { return solver(q).run(); });
}

}  // namespace plx::star::models
