// The iteration of a self-consistent field (self_consistent.hpp): its state, the stages of one iteration, and what they
// use: roots and maxima of functions, loops over blocks.
//
// self_consistent.cpp has meshes, sums and the new density; fit.cpp the regions of stars, and the constants, cores and
// scales of the density that follow from the masses, also those of a common envelope.
//
// Thread safety: one task at a time; loops over blocks on all workers. Cost: self_consistent.hpp. Example:
// star/models/test/contact_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/exact/polytrope.hpp"
#include "star/models/self_consistent.hpp"

namespace plx::star::models {

// ---- roots and maxima: 5 to 60 calls of the function

/// A root of f between a and b, to this accuracy: regula falsi with Illinois' rule. If f has the same sign at both, the
/// end at which it is smaller.
template <class F>
double root_between(F&& f, double a, double b, double accuracy) {
  double at_a = f(a), at_b = f(b);
  if ((at_a > 0.0) == (at_b > 0.0)) return std::abs(at_a) < std::abs(at_b) ? a : b;
  double best = std::abs(at_a) < std::abs(at_b) ? a : b, at_best = best == a ? at_a : at_b;
  for (int i = 0; i < 200 && std::abs(b - a) > accuracy; ++i) {
    // Every fourth time the middle, so that the bracket shrinks for any function.
    double x = i % 4 == 3 ? 0.5 * (a + b) : b - at_b * (b - a) / (at_b - at_a);
    if (!(std::abs(x - a) < std::abs(b - a)) || !(std::abs(x - b) < std::abs(b - a))) x = 0.5 * (a + b);
    const double at_x = f(x);
    if (std::abs(at_x) < std::abs(at_best)) best = x, at_best = at_x;
    if (at_x == 0.0) return x;
    if ((at_x > 0.0) == (at_b > 0.0)) {
      b = x, at_b = at_x, at_a *= 0.5;
    } else {
      a = b, at_a = at_b;
      b = x, at_b = at_x;
    }
    if (std::abs(at_best) < 1e-14) return best;
  }
  return best;
}

/// The place of the largest value of f between a and b, among `parts` intervals, refined by golden sections.
template <class F>
double largest_at(F&& f, double a, double b, int parts) {
  int best = 0;
  double at_best = f(a);
  for (int i = 1; i <= parts; ++i)
    if (const double value = f(a + (b - a) * i / parts); value > at_best) best = i, at_best = value;
  double low = a + (b - a) * std::max(best - 1, 0) / parts, high = a + (b - a) * std::min(best + 1, parts) / parts;
  constexpr double golden = 0.6180339887498949;
  double x = high - golden * (high - low), y = low + golden * (high - low), at_x = f(x), at_y = f(y);
  for (int i = 0; i < 40; ++i) {
    if (at_x > at_y) {
      high = y, y = x, at_y = at_x;
      x = high - golden * (high - low), at_x = f(x);
    } else {
      low = x, x = y, at_x = at_y;
      y = low + golden * (high - low), at_y = f(y);
    }
  }
  return 0.5 * (low + high);
}

// ---- Loops of models over blocks, parallel where workers are there, and sums that do not depend on them.
//
// Cost: that of a for_loop.

/// Calls f(i) for 0 <= i < count, in parallel if the caller is a task.
template <class F>
void for_all(const char* name, std::size_t count, F&& f) {
  if (worker_index())
    for_loop(task_info{probe::register_name(name), probe::no_key}, std::size_t{0}, count, f);
  else
    for (std::size_t i = 0; i < count; ++i) f(i);
}

/// The sum of f(i), arrays of numbers, for 0 <= i < count, added in this order.
template <std::size_t N, class F>
std::array<double, N> sum_all(const char* name, std::size_t count, F&& f) {
  std::vector<std::array<double, N>> parts(count);
  for_all(name, count, [&](std::size_t i) { parts[i] = f(i); });
  std::array<double, N> sum{};
  for (const auto& part : parts)
    for (std::size_t k = 0; k < N; ++k) sum[k] += part[k];
  return sum;
}

// ---- The stars with which the iteration of a model begins: spheres in Kepler's orbit.
//
// Cost: some 10 ms for white dwarfs.

struct first_guess {
  std::vector<sphere> spheres;
  std::vector<point> places;
  double separation = 0.0, omega = 0.0;
};

/// Requires: masses above 0, and those of white dwarfs below the largest.
first_guess guess(const request& q);

// ---- the iteration

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

// Masses of a star and of its core.
struct star_masses {
  double all = 0.0, core = 0.0;
};

class solver {
 public:
  /// Requires: the request outlives the solver.
  explicit solver(const request& q)
      : q_(q), count_(q.stars.size()), rows_(count_), stiffness_(count_, 0.0), held_in_place_(count_) {}

  result<model> run();

 private:
  bool is_contact() const { return q_.fillout > 0.0; }

  // Meshes (self_consistent.cpp).
  void begin();
  int first_level() const;  // the first with some cells per radius
  double density_at(const point& x, int& owner) const;
  bool has_sphere(const mesh::block_mesh& mesh, mesh::slot_id slot) const;
  bool has_star(const mesh::block_mesh& mesh, mesh::slot_id slot) const;
  mesh::block_mesh refined(int level) const;
  result<void> adopt(mesh::block_mesh next);
  std::int8_t* owners_of(mesh::slot_id b) { return owners_.data() + cells_ * static_cast<std::size_t>(b); }
  double volume(std::size_t i) const;  // of a cell

  // One iteration (self_consistent.cpp).
  result<void> iterate(int level);
  result<void> check_masses() const;
  void measure(iteration& it);
  result<void> rotate(iteration& it);
  void set_density(iteration& it);
  double surface(std::size_t s, const point& along, double limit) const;
  void finish();

  // Regions and constants (fit.cpp).
  double potential_on_x(std::size_t s, double x) const;
  double outer_end(std::size_t s);
  void find_regions();
  void list_cells();
  star_masses masses_with(std::size_t s, double constant) const;
  double largest_depth(std::size_t s) const;
  result<void> fit(std::size_t s);
  result<void> fit_single();
  result<void> fit_constant(std::size_t s);
  void fit_core(std::size_t s, double k);
  result<void> fit_scale(std::size_t s);
  void blend_core(std::size_t s);
  void overflow(std::size_t s, double held);

  // A common envelope.
  void find_common_surface();
  double neck_radius(const point& along) const;
  double neck_force() const;
  result<void> fit_common();
  void fit_core_to_mass(std::size_t s, double k);

  const request& q_;
  const std::size_t count_;
  first_guess guess_;
  model m_;
  std::unique_ptr<mesh::block_mesh> mesh_;
  std::unique_ptr<attraction> attraction_;
  std::vector<mesh::slot_id> blocks_;
  std::size_t cells_ = 0;
  std::vector<std::int8_t> owners_;                         // by slot and cell: the star, or -1
  std::vector<std::vector<std::vector<cell_depth>>> rows_;  // by star and position of the block
  std::vector<star_sums> now_;
  std::vector<double> stiffness_, barrier_;
  std::array<double, 2> factor_{1.0, 1.0};  // of the density of a star whose mass does not fit into its surface
  std::vector<point> held_in_place_;        // the part of star::pull that has come together over the iterations
  int overflows_ = 0;                       // iterations in a row in which a mass did not fit
  std::size_t overflowing_ = 0;
  double held_ = 0.0;  // the mass that would fit
};

}  // namespace plx::star::models
