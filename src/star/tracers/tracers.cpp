#include "star/tracers/tracers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/config.hpp"
#include "mesh/between/gather.hpp"
#include "rt/for_loop.hpp"
#include "star/driver/agreement.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

using mesh::slot_id;

void tracer_options::describe(config_table& t) {
  t.section("tracers", "Tracer particles: points that move with the gas");
  t.add("tracers.number", number,
        {.help = "of tracers; 0: none; an output series of the kind tracers writes them", .min = 0, .max = 10000000});
  t.add("tracers.placement", placement,
        {.help = "mass: each has the same mass of gas; stars: the same number in each star, each with the same mass "
                 "of it; volume: each has the same volume",
         .choices = {"mass", "stars", "volume"}});
}

result<void> tracer_options::check(const problem& p) const {
  if (number > 0 && placement == "stars" && p.star_count() == 0)
    return error{"tracers.placement = \"stars\": expected a problem with stars, such as binary; or \"mass\""};
  return {};
}

namespace {

task_info info_of(const char* name) { return {probe::register_name(name), probe::no_key}; }

// A number in [0, 1) that belongs to a key: SplitMix64 (Steele, Lea & Flood 2014).
double number_of(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15ull;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9ull;
  key = (key ^ (key >> 27)) * 0x94d049bb133111ebull;
  return std::ldexp(static_cast<double>((key ^ (key >> 31)) >> 11), -53);
}

// The block at a point of the domain.
slot_id block_at(const mesh::block_mesh& m, const vector& x) {
  const mesh::domain& d = m.box();
  mesh::location where{m.deepest(), {}};
  for (std::size_t a = 0; a < 3; ++a) {
    const auto blocks = d.blocks_along(static_cast<int>(a), where.level);
    const double part = (x[a] - d.lower[a]) / (d.upper[a] - d.lower[a]) * static_cast<double>(blocks);
    where.x[a] = static_cast<std::int32_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(part), 0, blocks - 1));
  }
  return m.find_covering(where);
}

std::array<int, 3> cell_at(const mesh::block_mesh& m, slot_id slot, const vector& x) {
  const auto lower = m.lower(slot);
  const double width = m.cell_width(slot);
  std::array<int, 3> cell{};
  for (std::size_t a = 0; a < 3; ++a)
    cell[a] = std::clamp(static_cast<int>(std::floor((x[a] - lower[a]) / width)), 0, m.block_size() - 1);
  return cell;
}

vector centre_of(const mesh::block_mesh& m, slot_id slot, std::size_t c) {
  const int n = m.block_size(), i = static_cast<int>(c);
  return {m.centre(slot, 0, i % n), m.centre(slot, 1, i / n % n), m.centre(slot, 2, i / (n * n))};
}

// The stars at the centres of the cells of local blocks, counted from 1; empty: no star is known.
std::vector<int> stars_of_cells(const gas& g, const problem* start) {
  if (start == nullptr || start->star_count() == 0) return {};
  const auto cells = static_cast<std::size_t>(g.now.cells());
  const auto own = g.own();
  std::vector<int> star(own.size() * cells);
  for_loop(info_of("star.tracers.stars"), std::size_t{0}, own.size(), [&](std::size_t b) {
    for (std::size_t c = 0; c < cells; ++c) star[b * cells + c] = 1 + start->star_at(centre_of(g.mesh, own[b], c));
  });
  return star;
}

// A walk through the cells of a block, for targets that ascend.
struct cell_walk {
  double below = 0.0;     // the weight before `cell`
  std::size_t cell = 0;   // the next one
  std::size_t heavy = 0;  // the last one with a weight, in which sums that fall short of a target by rounding end

  // The cell in which the weight reaches the target.
  template <class F>
  std::size_t to(double target, std::size_t cells, F&& weight_of) {
    for (; cell < cells; ++cell) {
      const double w = weight_of(cell);
      if (w > 0.0) heavy = cell;
      if (below + w > target) return cell;
      below += w;
    }
    return heavy;
  }
};

// The points in local blocks, by block.
std::vector<std::pair<slot_id, std::vector<std::size_t>>> local_points(const gas& g, const std::vector<vector>& at,
                                                                       const std::vector<tracer>& all) {
  std::vector<std::pair<slot_id, std::size_t>> found;
  for (std::size_t i = 0; i < at.size(); ++i)
    if (all[i].inside)
      if (const slot_id slot = block_at(g.mesh, at[i]); g.owns(slot)) found.emplace_back(slot, i);
  std::sort(found.begin(), found.end());
  std::vector<std::pair<slot_id, std::vector<std::size_t>>> blocks;
  for (const auto& [slot, i] : found) {
    if (blocks.empty() || blocks.back().first != slot) blocks.emplace_back(slot, std::vector<std::size_t>{});
    blocks.back().second.push_back(i);
  }
  return blocks;
}

// Calls f(slot, points) for the blocks, and gathers `width` numbers per point, which f writes to numbers[point].
template <class F>
std::vector<double> gather_numbers(const char* name, const gas& g, const std::vector<vector>& at,
                                   const std::vector<tracer>& all, std::size_t width, F&& f) {
  const auto blocks = local_points(g, at, all);
  std::vector<double> numbers(at.size() * width, std::numeric_limits<double>::quiet_NaN());
  for_loop(info_of(name), std::size_t{0}, blocks.size(),
           [&](std::size_t b) { f(blocks[b].first, blocks[b].second, numbers.data()); });
  if (g.net.is_alone()) return numbers;
  std::vector<double> local;
  for (const auto& block : blocks)
    for (const std::size_t i : block.second) {
      local.push_back(static_cast<double>(i));
      local.insert(local.end(), &numbers[i * width], &numbers[i * width] + width);
    }
  for (const std::vector<double>& from : g.net.all_gather(std::move(local)))
    for (std::size_t k = 0; k + width < from.size(); k += width + 1)
      std::copy_n(&from[k + 1], width, &numbers[static_cast<std::size_t>(from[k]) * width]);
  return numbers;
}

}  // namespace

tracers::tracers(const tracer_options& o, const hydro_parameters& p)
    : options_(o), omega_(p.omega), n_species_(p.n_species) {}

result<void> tracers::place(const gas& g, const problem* start) {
  const bool by_star = options_.placement == "stars";
  PLX_ASSERT(start != nullptr || !by_star);
  all_.clear();
  if (!present()) return {};
  const std::vector<int> star = stars_of_cells(g, start);
  const int groups = by_star ? start->star_count() : 1;
  for (int group = 0; group < groups; ++group) {
    const std::size_t begin = all_.size();
    all_.resize(static_cast<std::size_t>(options_.number * (group + 1) / groups));
    if (begin < all_.size() && !place_group(g, star, by_star ? group + 1 : 0, begin)) {
      all_.clear();
      return error{fmt::format(
          "tracers.placement = \"stars\": no cell has its centre in star {}; expected cells finer than each star "
          "(mesh.max_level, refinement), or the placement \"mass\"",
          group + 1)};
    }
  }
  return {};
}

// The tracers from `begin` on divide the weight of a star (0: of all) into equal parts, in the order of the curve.
// Returns whether there is any.
bool tracers::place_group(const gas& g, const std::vector<int>& star, int group, std::size_t begin) {
  const auto cells = static_cast<std::size_t>(g.now.cells());
  const auto own = g.own();
  const auto weight_of = [&](std::size_t b, std::size_t c) {
    if (group > 0 && star[b * cells + c] != group) return 0.0;
    return (options_.placement == "volume" ? 1.0 : g.now.block(own[b])[c]) * std::pow(g.mesh.cell_width(own[b]), 3);
  };
  std::vector<double> local(own.size());
  for_loop(info_of("star.tracers.weigh"), std::size_t{0}, own.size(), [&](std::size_t b) {
    for (std::size_t c = 0; c < cells; ++c) local[b] += weight_of(b, c);
  });
  std::vector<double> weights;  // of all blocks, in the order of the curve
  std::size_t first = 0;        // the first of the local blocks
  const auto all = g.net.all_gather(std::move(local));
  for (std::size_t l = 0; l < all.size(); ++l) {
    if (static_cast<int>(l) == g.net.here()) first = weights.size();
    weights.insert(weights.end(), all[l].begin(), all[l].end());
  }
  double total = 0.0;
  for (const double w : weights) total += w;
  if (total == 0.0) return false;
  std::vector<double> made;  // index, position, star, species
  std::size_t block = 0;
  double below = 0.0;  // the weight before the block
  cell_walk walk;
  for (std::size_t t = begin; t < all_.size(); ++t) {
    const double target = (static_cast<double>(t - begin) + 0.5) / static_cast<double>(all_.size() - begin) * total;
    while (block + 1 < weights.size() && below + weights[block] <= target) {
      below += weights[block++];
      walk = {.below = below};
    }
    if (block < first || block >= first + own.size()) continue;
    const std::size_t b = block - first;
    const std::size_t c = walk.to(target, cells, [&](std::size_t i) { return weight_of(b, i); });
    vector x = centre_of(g.mesh, own[b], c);
    for (std::size_t a = 0; a < 3; ++a)
      x[a] += (number_of(3 * static_cast<std::uint64_t>(t) + a) - 0.5) * g.mesh.cell_width(own[b]);
    const double of = star.empty() ? 0.0 : star[b * cells + c];
    made.insert(made.end(),
                {static_cast<double>(t), x[0], x[1], x[2], of, static_cast<double>(species_at(g, own[b], c))});
  }
  for (const std::vector<double>& from : g.net.all_gather(std::move(made)))
    for (std::size_t k = 0; k + 5 < from.size(); k += 6)
      all_[static_cast<std::size_t>(from[k])] = {
          {from[k + 1], from[k + 2], from[k + 3]}, static_cast<int>(from[k + 4]), static_cast<int>(from[k + 5]), true};
  return true;
}

// The species with the largest mass fraction in a cell; -1: no species.
int tracers::species_at(const gas& g, slot_id b, std::size_t c) const {
  const auto cells = static_cast<std::size_t>(g.now.cells());
  const double* u = g.now.block(b) + static_cast<std::size_t>(i_species) * cells + c;
  int species = n_species_ > 0 ? 0 : -1;
  for (int s = 1; s < n_species_; ++s)
    if (u[static_cast<std::size_t>(s) * cells] > u[static_cast<std::size_t>(species) * cells]) species = s;
  return species;
}

std::vector<vector> tracers::places() const {
  std::vector<vector> at(all_.size());
  std::transform(all_.begin(), all_.end(), at.begin(), [](const tracer& t) { return t.place; });
  return at;
}

// The velocity of the gas in the inertial frame: that of the cell, and its slopes.
std::vector<vector> tracers::velocities(const gas& g, worker_scratch& scratch, double time,
                                        const std::vector<vector>& at) const {
  const int n = g.mesh.block_size(), row = mesh::tile_width(n);
  const std::ptrdiff_t size = mesh::tile_cells(n), steps[3] = {1, row, std::ptrdiff_t{row} * row};
  const std::vector<double> numbers = gather_numbers(
      "star.tracers.velocities", g, at, all_, 3, [&](slot_id slot, const std::vector<std::size_t>& points, double* to) {
        const double* tile =
            mesh::gather_tile(g.mesh, g.now, slot, g.sides, scratch.mine().tile, mesh::reach::faces, time);
        const auto lower = g.mesh.lower(slot);
        const double width = g.mesh.cell_width(slot);
        for (const std::size_t p : points) {
          const std::array<int, 3> cell = cell_at(g.mesh, slot, at[p]);
          std::ptrdiff_t c = 0;
          for (std::size_t a = 0; a < 3; ++a) c += (cell[a] + mesh::ghosts) * steps[a];
          for (int v = 0; v < 3; ++v) {
            const auto velocity = [&](std::ptrdiff_t i) { return tile[(i_momentum + v) * size + i] / tile[i]; };
            double value = velocity(c);
            for (std::size_t a = 0; a < 3; ++a) {
              const double off = (at[p][a] - lower[a]) / width - (cell[a] + 0.5);
              value += 0.5 * (velocity(c + steps[a]) - velocity(c - steps[a])) * off;
            }
            to[3 * p + static_cast<std::size_t>(v)] = value;
          }
        }
      });
  std::vector<vector> all(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) std::copy_n(&numbers[3 * i], 3, all[i].begin());
  return all;
}

vector tracers::relative(const vector& v, const vector& x) const {
  return {v[0] + omega_ * x[1], v[1] - omega_ * x[0], v[2]};
}

// Through periodic boundaries to the other side; from walls back; elsewhere the tracer has left.
void tracers::keep_inside(const gas& g, tracer& t) const {
  const mesh::domain& d = g.mesh.box();
  for (std::size_t a = 0; a < 3; ++a) {
    const bool low = t.place[a] < d.lower[a];
    if (!low && t.place[a] <= d.upper[a]) continue;
    const double edge = low ? d.lower[a] : d.upper[a];
    const mesh::boundary side = d.sides[2 * a + (low ? 0 : 1)];
    if (side == mesh::boundary::periodic)
      t.place[a] += (low ? 1.0 : -1.0) * (d.upper[a] - d.lower[a]);
    else if (side == mesh::boundary::reflecting)
      t.place[a] = 2.0 * edge - t.place[a];
    else
      t.inside = false;
  }
}

void tracers::begin_step(const gas& g, worker_scratch& scratch, double time) {
  if (present()) before_ = velocities(g, scratch, time, places());
}

void tracers::end_step(const gas& g, worker_scratch& scratch, double time, double dt) {
  if (!present()) return;
  std::vector<vector> first(all_.size()), ahead(all_.size());
  for (std::size_t i = 0; i < all_.size(); ++i) {
    tracer t = all_[i];
    first[i] = relative(before_[i], t.place);
    for (std::size_t a = 0; a < 3; ++a) t.place[a] += dt * first[i][a];
    keep_inside(g, t);
    ahead[i] = t.place;
  }
  const mesh::domain& d = g.mesh.box();
  std::vector<vector> sampled = ahead;
  for (vector& x : sampled)
    for (std::size_t a = 0; a < 3; ++a) x[a] = std::clamp(x[a], d.lower[a], d.upper[a]);
  const std::vector<vector> after = velocities(g, scratch, time, sampled);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    tracer& t = all_[i];
    if (!t.inside) continue;
    const vector second = relative(after[i], ahead[i]);
    for (std::size_t a = 0; a < 3; ++a) t.place[a] += 0.5 * dt * (first[i][a] + second[a]);
    keep_inside(g, t);
  }
}

std::vector<double> tracers::numbers() const {
  std::vector<double> list;
  for (const tracer& t : all_)
    list.insert(list.end(), {t.place[0], t.place[1], t.place[2], static_cast<double>(t.star),
                             static_cast<double>(t.species), t.inside ? 1.0 : 0.0});
  return list;
}

result<void> tracers::restore(const std::vector<double>& list) {
  if (list.size() != 6 * static_cast<std::size_t>(options_.number))
    return error{fmt::format("tracers.number = {}: expected the {} tracers of the checkpoint", options_.number,
                             list.size() / 6)};
  all_.clear();
  for (std::size_t k = 0; k < list.size(); k += 6)
    all_.push_back({{list[k], list[k + 1], list[k + 2]},
                    static_cast<int>(list[k + 3]),
                    static_cast<int>(list[k + 4]),
                    list[k + 5] != 0.0});
  return {};
}

std::string tracers::table(std::span<const output_variable> variables, const gas& g, const hydro_parameters& p,
                           worker_scratch& scratch, std::int64_t step, double time,
                           const gravity_field* gravity) const {
  const std::vector<vector> at = places(), velocity = velocities(g, scratch, time, at);
  const std::size_t count = variables.size();
  const auto cells = static_cast<std::size_t>(g.now.cells());
  const std::vector<double> values = gather_numbers(
      "star.tracers.values", g, at, all_, count, [&](slot_id slot, const std::vector<std::size_t>& points, double* to) {
        std::vector<double> block(cells * count);
        fill_variables(variables, g, p, slot, block.data(), gravity);
        const int n = g.mesh.block_size();
        for (const std::size_t i : points) {
          const std::array<int, 3> c = cell_at(g.mesh, slot, at[i]);
          for (std::size_t v = 0; v < count; ++v)
            to[i * count + v] = block[v * cells + static_cast<std::size_t>((c[2] * n + c[1]) * n + c[0])];
        }
      });
  std::string text = "step,time,tracer,star,species,x,y,z,velocity_x,velocity_y,velocity_z";
  for (const output_variable& v : variables) text += "," + v.name;
  text += "\n";
  if (!is_root(g.net)) return text;
  const auto out = std::back_inserter(text);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const tracer& t = all_[i];
    fmt::format_to(out, "{},{},{},{},{},{},{},{},{},{},{}", step, time, i, t.star, t.species, t.place[0], t.place[1],
                   t.place[2], velocity[i][0], velocity[i][1], velocity[i][2]);
    for (std::size_t v = 0; v < count; ++v) fmt::format_to(out, ",{}", values[i * count + v]);
    text += '\n';
  }
  return text;
}

}  // namespace plx::star
