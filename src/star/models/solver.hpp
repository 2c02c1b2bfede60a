// The iteration of a self-consistent field (self_consistent.hpp): its state, and the stages of one iteration.
//
// self_consistent.cpp has meshes, sums and the new density; fit.cpp the regions of stars, and the constants, cores and
// scales of the density that follow from the masses; contact.cpp those of a common envelope.
//
// Thread safety: one task at a time; loops over blocks on all workers. Cost: self_consistent.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "star/models/first_guess.hpp"
#include "star/models/self_consistent.hpp"

namespace plx::star::models {

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

  // A common envelope (contact.cpp).
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
