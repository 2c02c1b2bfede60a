#include "star/diagnostics/star_finder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "num/exact_sum.hpp"
#include "rt/for_loop.hpp"
#include "rt/runtime.hpp"
#include "star/driver/agreement.hpp"
#include "star/hydro/state.hpp"
#include "star/runners/gravity_field.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

cell_sums sum_over_cells(const gas& g, unsigned workers, std::size_t sums, std::size_t largest,
                         void (*of_block)(const void* data, mesh::slot_id slot, block_sums& to), const void* data) {
  struct part {
    std::vector<exact_sum> sums;
    std::vector<double> largest;
  };
  const double lowest = -std::numeric_limits<double>::infinity();
  std::vector<part> parts(workers, {std::vector<exact_sum>(sums), std::vector<double>(largest, lowest)});
  const auto own = g.own();
  for_loop({probe::register_name("star.diagnostics"), probe::no_key}, std::size_t{0}, own.size(), [&](std::size_t b) {
    block_sums block(sums, largest);
    of_block(data, own[b], block);
    part& mine = parts[*worker_index()];
    for (std::size_t i = 0; i < sums; ++i) mine.sums[i].add(block.sum(i));
    for (std::size_t i = 0; i < largest; ++i) mine.largest[i] = std::max(mine.largest[i], block.largest(i));
  });
  part whole{std::vector<exact_sum>(sums), std::vector<double>(largest, lowest)};
  for (const part& p : parts) {
    for (std::size_t i = 0; i < sums; ++i) whole.sums[i].add(p.sums[i]);
    for (std::size_t i = 0; i < largest; ++i) whole.largest[i] = std::max(whole.largest[i], p.largest[i]);
  }
  sum_over_localities(g.net, whole.sums);
  cell_sums all;
  for (const exact_sum& s : whole.sums) all.sums.push_back(s.value());
  all.largest =
      g.net.all_reduce(std::move(whole.largest), [](const std::vector<double>& a, const std::vector<double>& b) {
        std::vector<double> most(a.size());
        std::transform(a.begin(), a.end(), b.begin(), most.begin(), [](double x, double y) { return std::max(x, y); });
        return most;
      });
  return all;
}

double eggleton_radius(double q) {
  const double third = std::cbrt(q);
  return 0.49 * third * third / (0.6 * third * third + std::log1p(third));
}

star_pair pair_of(std::span<const star_state> stars, int s) {
  const star_state& one = stars[static_cast<std::size_t>(s)];
  star_pair pair;
  pair.roche_radius = std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < stars.size(); ++t) {
    const star_state& other = stars[t];
    if (static_cast<int>(t) == s || !other.exists()) continue;
    const vector d = other.centre - one.centre;
    const double radius = norm(d) * eggleton_radius(one.mass / other.mass);
    if (!(radius < pair.roche_radius)) continue;
    const double total = one.mass + other.mass, d2 = dot(d, d);
    pair.partner = static_cast<int>(t), pair.roche_radius = radius;
    pair.centre = (1.0 / total) * (one.mass * one.centre + other.mass * other.centre);
    pair.acceleration = (1.0 / total) * (one.mass * one.acceleration + other.mass * other.acceleration);
    pair.angular_velocity = (1.0 / d2) * cross(d, other.velocity - one.velocity);
  }
  return pair;
}

star_shapes::star_shapes(std::span<const star_state> stars, const diagnostics_options& o) {
  for (std::size_t s = 0; s < stars.size(); ++s) {
    shape& made = shapes_.emplace_back();
    made.exists = stars[s].exists();
    if (!made.exists) continue;
    made.centre = stars[s].centre;
    made.least_density = o.star_density * stars[s].largest_density;
    made.pair = pair_of(stars, static_cast<int>(s));
    const double reach = o.star_reach * made.pair.roche_radius;
    made.reach2 = reach * reach;
  }
}

star_shapes star_shapes::around_peaks(std::span<const star_state> stars, const diagnostics_options& o) {
  star_shapes all;
  for (std::size_t s = 0; s < stars.size(); ++s) {
    shape& made = all.shapes_.emplace_back();
    made.exists = stars[s].largest_density > 0.0;
    made.centre = stars[s].centre;
    made.least_density = o.star_density * stars[s].largest_density;
    made.reach2 = std::numeric_limits<double>::infinity();
    for (std::size_t t = 0; t < stars.size(); ++t) {
      const vector d = stars[t].centre - stars[s].centre;
      if (t != s && stars[t].largest_density > 0.0) made.reach2 = std::min(made.reach2, dot(d, d));
    }
  }
  return all;
}

int star_shapes::star_of(const vector& x, const vector& g, double density, double width) const {
  int best = -1;
  double closest = 0.0;
  for (std::size_t s = 0; s < shapes_.size(); ++s) {
    const shape& star = shapes_[s];
    if (!star.exists || density < star.least_density) continue;
    const vector to = star.centre - x;
    const double d2 = dot(to, to);
    if (d2 > star.reach2) continue;
    const vector& w = star.pair.angular_velocity;
    const vector effective = g - star.pair.acceleration + cross(w, cross(x - star.pair.centre, w));
    const double size2 = dot(effective, effective) * d2;
    // The cosine of the angle between both directions; 2: in the centre, above all others.
    const double cosine = d2 < 4.0 * width * width ? 2.0 : size2 > 0.0 ? dot(effective, to) / std::sqrt(size2) : 0.0;
    if (cosine > closest) closest = cosine, best = static_cast<int>(s);
  }
  return best;
}

namespace {

constexpr int most_iterations = 12;
constexpr double width_of_peak = 4.0;  // in cells, around a peak: no second one is here

struct peak {
  double density = 0.0;  // 0: none
  vector at{};

  std::array<double, 4> key() const { return {density, at[0], at[1], at[2]}; }
  void take(const peak& other) {
    if (other.key() > key()) *this = other;  // of equal densities, that at the largest x, y, z
  }
};

bool is_beyond(std::span<const star_state> known, const vector& x, const vector& g, double width) {
  return std::all_of(known.begin(), known.end(), [&](const star_state& s) {
    const vector to = s.centre - x;
    const double near = width_of_peak * width;
    return dot(to, to) > near * near && dot(g, to) < 0.0;
  });
}

}  // namespace

// A peak is the densest cell at which gravity points away from all peaks before.
std::vector<star_state> star_finder::peaks() const {
  std::vector<star_state> all(static_cast<std::size_t>(o_.stars));
  const auto own = g_.own();
  const int cells = g_.now.cells();
  for (std::size_t s = 0; s < all.size(); ++s) {
    const std::span<const star_state> known(all.data(), s);
    std::vector<peak> parts(workers_);
    for_loop({probe::register_name("star.diagnostics"), probe::no_key}, std::size_t{0}, own.size(), [&](std::size_t b) {
      peak& best = parts[*worker_index()];
      const double* density = g_.now.block(own[b]);
      const double* field = field_.values(own[b]);
      for_each_cell(g_.mesh, own[b], [&](int c, const vector& x) {
        if (density[c] < best.density) return;
        const vector g{field[cells + c], field[2 * cells + c], field[3 * cells + c]};
        if (is_beyond(known, x, g, g_.mesh.cell_width(own[b]))) best.take({density[c], x});
      });
    });
    peak mine;
    for (const peak& p : parts) mine.take(p);
    peak best;
    for (const std::vector<double>& p : g_.net.all_gather({mine.density, mine.at[0], mine.at[1], mine.at[2]}))
      best.take({p.at(0), {p.at(1), p.at(2), p.at(3)}});
    if (best.density == 0.0) break;
    all[s].largest_density = best.density, all[s].centre = best.at;
  }
  return all;
}

std::vector<star_state> star_finder::species(std::span<const int> star_of_species) const {
  const auto stars = static_cast<std::size_t>(o_.stars);
  const int cells = g_.now.cells();
  const cell_sums found = sum_over_cells(g_, workers_, 4 * stars, stars, [&](mesh::slot_id slot, block_sums& to) {
    const double volume = std::pow(g_.mesh.cell_width(slot), 3);
    const double* u = g_.now.block(slot);
    std::vector<double> parts(stars);  // densities of the stars in a cell
    for_each_cell(g_.mesh, slot, [&](int c, const vector& x) {
      std::fill(parts.begin(), parts.end(), 0.0);
      for (std::size_t i = 0; i < star_of_species.size(); ++i)
        if (const int s = star_of_species[i]; s >= 0 && s < o_.stars)
          parts[static_cast<std::size_t>(s)] += u[(i_species + static_cast<int>(i)) * cells + c];
      for (std::size_t s = 0; s < stars; ++s) {
        to.add(4 * s, parts[s] * volume);
        to.add_vector(4 * s + 1, (parts[s] * volume) * x);
        to.raise(s, parts[s]);
      }
    });
  });
  std::vector<star_state> all(stars);
  for (std::size_t s = 0; s < stars; ++s) {
    const double* sum = &found.sums[4 * s];
    if (!(sum[0] > 0.0)) continue;
    all[s].largest_density = found.largest[s];
    all[s].centre = {sum[1] / sum[0], sum[2] / sum[0], sum[3] / sum[0]};
  }
  return all;
}

std::vector<star_state> star_finder::sums_of(const star_shapes& shapes, std::size_t stars) const {
  constexpr std::size_t each = 10;
  const int cells = g_.now.cells();
  const cell_sums found = sum_over_cells(g_, workers_, each * stars, stars, [&](mesh::slot_id slot, block_sums& to) {
    const double width = g_.mesh.cell_width(slot), volume = width * width * width;
    const double *u = g_.now.block(slot), *field = field_.values(slot);
    for_each_cell(g_.mesh, slot, [&](int c, const vector& x) {
      const vector g{field[cells + c], field[2 * cells + c], field[3 * cells + c]};
      const int s = shapes.star_of(x, g, u[c], width);
      if (s < 0) return;
      const std::size_t at = each * static_cast<std::size_t>(s);
      const double mass = u[c] * volume;
      to.add(at, mass);
      to.add_vector(at + 1, mass * x);
      to.add_vector(at + 4, volume * vector{u[cells + c], u[2 * cells + c], u[3 * cells + c]});
      to.add_vector(at + 7, mass * g);
      to.raise(static_cast<std::size_t>(s), u[c]);
    });
  });
  std::vector<star_state> all(stars);
  for (std::size_t s = 0; s < stars; ++s) {
    const double* sum = &found.sums[each * s];
    if (!(sum[0] > 0.0)) continue;
    const auto mean = [&](std::size_t i) { return vector{sum[i] / sum[0], sum[i + 1] / sum[0], sum[i + 2] / sum[0]}; };
    all[s] = {sum[0], found.largest[s], mean(1), mean(4), mean(7)};
  }
  return all;
}

found_stars star_finder::near(std::vector<star_state> guess) const {
  star_shapes shapes(guess, o_);
  for (int i = 0;; ++i) {
    std::vector<star_state> next = sums_of(shapes, guess.size());
    // Membership is by cells, so the iteration ends exactly.
    const bool same = std::equal(next.begin(), next.end(), guess.begin(), [](const star_state& a, const star_state& b) {
      return a.mass == b.mass && a.centre == b.centre;
    });
    guess = std::move(next);
    if (same || i == most_iterations) return {std::move(guess), std::move(shapes)};
    shapes = star_shapes(guess, o_);
  }
}

found_stars star_finder::from_nothing(std::span<const int> star_of_species) const {
  bool tagged = true;
  for (int s = 0; s < o_.stars; ++s)
    tagged = tagged && std::find(star_of_species.begin(), star_of_species.end(), s) != star_of_species.end();
  const std::vector<star_state> start = tagged ? species(star_of_species) : peaks();
  std::vector<star_state> guess = sums_of(star_shapes::around_peaks(start, o_), start.size());
  if (!tagged) {
    double largest = 0.0;
    for (const star_state& star : guess) largest = std::max(largest, star.mass);
    // Masses that agree in six digits count as equal: the star found first stays first.
    const auto rank = [&](const star_state& star) {
      return largest > 0.0 ? std::round(1e6 * star.mass / largest) : 0.0;
    };
    std::stable_sort(guess.begin(), guess.end(),
                     [&](const star_state& a, const star_state& b) { return rank(a) > rank(b); });
  }
  return near(std::move(guess));
}

}  // namespace plx::star
