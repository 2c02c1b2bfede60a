#include "star/diagnostics/light_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <utility>

#include "base/assert.hpp"
#include "base/config.hpp"
#include "num/exact_sum.hpp"
#include "rt/for_loop.hpp"
#include "star/driver/agreement.hpp"
#include "star/output/series/variables.hpp"
#include "star/state/gas.hpp"

namespace plx::star {

namespace {

constexpr double stefan_boltzmann = cgs::radiation * cgs::speed_of_light / 4.0;  // erg s^-1 cm^-2 K^-4
constexpr double photosphere_depth = 2.0 / 3.0;

const std::vector<std::string>& all_directions() {
  static const std::vector<std::string> all{"+x", "-x", "+y", "-y", "+z", "-z"};
  return all;
}

/// Names of columns: plus_x for "+x".
std::string column_of(const std::string& direction) {
  return (direction[0] == '+' ? "plus_" : "minus_") + direction.substr(1);
}

/// Light along a ray towards the observer from a part of it, and the optical depth of the part.
struct ray {
  double intensity = 0.0;  // erg s^-1 cm^-2 per steradian
  double depth = 0.0;

  /// Adds what lies behind.
  void add(double intensity_behind, double depth_behind) {
    intensity += std::exp(-depth) * intensity_behind;
    depth += depth_behind;
  }
};

/// The rays through a block along an axis: [second][first axis] of the optical depth, then of the intensity for an
/// observer at the upper end of the axis, then at the lower one.
class block_rays {
 public:
  block_rays(const gas& g, const setup& s, const light_curve_options& o, int axis)
      : g_(g),
        setup_(s),
        n_(static_cast<std::size_t>(g.mesh.block_size())),
        axis_(axis),
        least_density_(o.least_density),
        per_depth_(o.opacity * s.code_units.cgs_of(dimensions::density) * s.code_units.length_cm),
        variables_(find_variables(std::vector<std::string>{"density", "temperature"}, s.species).value()) {}

  std::size_t columns() const { return n_ * n_; }
  std::size_t numbers() const { return 3 * columns(); }

  void fill(mesh::slot_id slot, double* maps) const {
    const std::size_t cells = n_ * n_ * n_;
    std::vector<double> values(2 * cells);
    fill_variables(variables_, g_, setup_.hydro, slot, values.data());
    const double per_density = per_depth_ * g_.mesh.cell_width(slot);
    for (std::size_t c = 0; c < cells; ++c) {  // to the optical depth and the emission of each cell
      const double kelvin = setup_.kelvin * values[cells + c], squared = kelvin * kelvin;
      values[c] = values[c] >= least_density_ ? values[c] * per_density : 0.0;
      values[cells + c] = -std::expm1(-values[c]) * (stefan_boltzmann / std::numbers::pi * squared * squared);
    }
    const std::size_t stride[3] = {1, n_, n_ * n_};
    const std::size_t first = stride[axis_ == 0 ? 1 : 0], second = stride[axis_ == 2 ? 1 : 2], along = stride[axis_];
    for (std::size_t j = 0; j < n_; ++j)
      for (std::size_t i = 0; i < n_; ++i, ++maps) {
        const double *depth = &values[i * first + j * second], *light = depth + cells;
        ray up, down;
        for (std::size_t k = 0; k < n_; ++k) down.add(light[k * along], depth[k * along]);
        for (std::size_t k = n_; k-- > 0;) up.add(light[k * along], depth[k * along]);
        maps[0] = up.depth;
        maps[columns()] = up.intensity;
        maps[2 * columns()] = down.intensity;
      }
  }

 private:
  const gas& g_;
  const setup& setup_;
  std::size_t n_;
  int axis_;
  double least_density_, per_depth_;
  std::vector<output_variable> variables_;
};

/// A square of the image, as large as a block of this level.
struct tile {
  int level = 0;
  std::int64_t x = 0, y = 0;
  friend auto operator<=>(const tile&, const tile&) = default;
  tile parent() const { return {level - 1, x >> 1, y >> 1}; }
};

struct block_on_tile {
  tile where;
  std::int64_t position;  // along the line of sight, in blocks of the deepest level
  const double* maps;     // block_rays
};

/// A tile that no deeper block covers, and the blocks on its rays from below to above.
struct line_of_sight {
  tile where;
  std::vector<block_on_tile> blocks;
};

/// All blocks sorted into lines of sight.
class tiling {
 public:
  tiling(const mesh::block_mesh& m, int axis) : m_(m), axis_(axis), axes_{axis == 0 ? 1 : 0, axis == 2 ? 1 : 2} {}

  void add(mesh::slot_id slot, const double* maps) {
    const mesh::location& l = m_.where(slot);
    const auto at = [&](int axis) { return static_cast<std::int64_t>(l.x[static_cast<std::size_t>(axis)]); };
    const tile t{static_cast<int>(l.level), at(axes_[0]), at(axes_[1])};
    blocks_[t].push_back({t, at(axis_) << (m_.deepest() - t.level), maps});
    for (tile a = t; a.level > 0 && divided_.insert(a.parent()).second;) a = a.parent();
  }

  std::vector<line_of_sight> lines() const {
    std::vector<line_of_sight> all;
    for (std::int64_t y = 0; y < m_.box().blocks_along(axes_[1], 0); ++y)
      for (std::int64_t x = 0; x < m_.box().blocks_along(axes_[0], 0); ++x) visit({0, x, y}, {}, all);
    return all;
  }

 private:
  void visit(const tile& t, std::vector<block_on_tile> larger, std::vector<line_of_sight>& all) const {
    if (const auto here = blocks_.find(t); here != blocks_.end())
      larger.insert(larger.end(), here->second.begin(), here->second.end());
    if (divided_.contains(t)) {
      for (std::int64_t y = 2 * t.y; y < 2 * t.y + 2; ++y)
        for (std::int64_t x = 2 * t.x; x < 2 * t.x + 2; ++x) visit({t.level + 1, x, y}, larger, all);
      return;
    }
    std::sort(larger.begin(), larger.end(),
              [](const block_on_tile& a, const block_on_tile& b) { return a.position < b.position; });
    all.push_back({t, std::move(larger)});
  }

  const mesh::block_mesh& m_;
  int axis_;
  std::array<int, 2> axes_;
  std::map<tile, std::vector<block_on_tile>> blocks_;
  std::set<tile> divided_;
};

/// Sums over the rays of a line of sight, in CGS per steradian.
struct tile_light {
  double intensity = 0.0;  // times area
  double area = 0.0;       // of the rays that reach the photosphere
};

tile_light look_at(const line_of_sight& line, std::int64_t n, bool from_above, double pixel_area) {
  const auto columns = static_cast<std::size_t>(n * n);
  const std::size_t intensity = (from_above ? 1 : 2) * columns;
  std::vector<ray> rays(columns);
  for (std::size_t b = 0; b < line.blocks.size(); ++b) {
    const block_on_tile& block = line.blocks[from_above ? line.blocks.size() - 1 - b : b];
    const int finer = line.where.level - block.where.level;  // than this block's cells
    const auto column = [&](std::int64_t of_tile, std::int64_t of_block, std::int64_t i) {
      return ((of_tile * n + i) >> finer) - of_block * n;
    };
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        const auto at = static_cast<std::size_t>(column(line.where.y, block.where.y, j) * n +
                                                 column(line.where.x, block.where.x, i));
        rays[static_cast<std::size_t>(j * n + i)].add(block.maps[intensity + at], block.maps[at]);
      }
  }
  tile_light all;
  for (const ray& r : rays) {
    all.intensity += r.intensity * pixel_area;
    if (r.depth >= photosphere_depth) all.area += pixel_area;
  }
  return all;
}

}  // namespace

void light_curve_options::describe(config_table& t) {
  t.section("light_curve", "Luminosity as seen from afar; does not affect the physics");
  t.add("light_curve.interval", interval,
        {.unit = "steps",
         .help = "between rows of light_curve.csv, for which a device copies its values to the host; 0: none; requires "
                 "temperatures in kelvin",
         .min = 0});
  t.add("light_curve.opacity", opacity,
        {.unit = "cm^2/g",
         .help = "absorption per mass; by default that of electrons in ionized gas with 70 % of hydrogen",
         .above = 0});
  t.add("light_curve.least_density", least_density,
        {.unit = "code", .help = "thinner gas, such as an artificial atmosphere, neither absorbs nor emits", .min = 0});
  t.add("light_curve.directions", directions,
        {.help = "of the observers, among +x, -x, +y, -y, +z, -z, in the axes of the mesh"});
}

result<void> light_curve_options::check(double kelvin, const mesh::domain& box) const {
  if (interval == 0) return {};
  if (!(kelvin > 0.0))
    return error{
        fmt::format("light_curve.interval = {}: expected temperatures in kelvin, which follow from [units] and "
                    "eos.molecular_weight or species.weights, found none; add them, or set the interval to 0",
                    interval)};
  for (std::size_t f = 0; f < box.sides.size(); ++f)
    if (box.sides[f] == mesh::boundary::periodic || box.sides[f] == mesh::boundary::reflecting)
      return error{fmt::format(
          "light_curve.interval = {}: expected boundaries of an isolated domain, such as \"outflow\", found \"{}\" in "
          "mesh.sides[{}]",
          interval, box.sides[f] == mesh::boundary::periodic ? "periodic" : "reflecting", f)};
  if (directions.empty()) return error{"light_curve.directions: expected at least one, found none"};
  for (auto d = directions.begin(); d != directions.end(); ++d) {
    const auto& known = all_directions();
    if (std::find(known.begin(), known.end(), *d) == known.end())
      return error{fmt::format("light_curve.directions: expected some of {}, found '{}'", fmt::join(known, ", "), *d)};
    if (std::find(directions.begin(), d, *d) != d)
      return error{fmt::format("light_curve.directions: expected each once, found '{}' twice", *d)};
  }
  return {};
}

light_curve::light_curve(const gas& g, const light_curve_options& options, const setup& s)
    : g_(g), o_(options), setup_(s) {
  PLX_ASSERT(s.kelvin > 0.0);
  columns_.push_back({"luminosity", "erg s^-1", "mean of those towards all directions"});
  for (const std::string& d : o_.directions) {
    const std::string name = column_of(d);
    columns_.push_back({"luminosity_" + name, "erg s^-1",
                        "of a source that shines equally in all directions and looks as bright from " + d});
    columns_.push_back({"area_" + name, "cm^2", "of the rays with an optical depth of at least 2/3"});
    columns_.push_back({"temperature_" + name, "K", "of a black disc of this area and luminosity; nan: no area"});
  }
}

std::vector<double> light_curve::row() const {
  const std::int64_t n = g_.mesh.block_size();
  std::vector<double> row(columns_.size());
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<std::size_t> seen;  // the directions of this axis
    for (std::size_t d = 0; d < o_.directions.size(); ++d)
      if (o_.directions[d][1] == "xyz"[axis]) seen.push_back(d);
    if (seen.empty()) continue;
    const block_rays rays(g_, setup_, o_, axis);
    const auto own = g_.own();
    std::vector<double> mine(own.size() * rays.numbers());
    for_loop({probe::register_name("star.rays"), probe::no_key}, std::size_t{0}, own.size(),
             [&](std::size_t b) { rays.fill(own[b], &mine[b * rays.numbers()]); });
    const auto all = g_.net.gather(std::move(mine));
    if (!is_root(g_.net)) continue;
    tiling tiles(g_.mesh, axis);
    for (int locality = 0; locality < g_.parts.count(); ++locality) {
      const double* next = all[static_cast<std::size_t>(locality)].data();
      for (const mesh::slot_id slot : g_.parts.blocks(g_.mesh, locality)) {
        tiles.add(slot, next);
        next += rays.numbers();
      }
    }
    const std::vector<line_of_sight> lines = tiles.lines();
    std::vector<tile_light> light(lines.size());
    for (const std::size_t d : seen) {
      for_loop({probe::register_name("star.photosphere"), probe::no_key}, std::size_t{0}, lines.size(),
               [&](std::size_t i) {
                 const double width = g_.mesh.box().cell_width(lines[i].where.level) * setup_.code_units.length_cm;
                 light[i] = look_at(lines[i], n, o_.directions[d][0] == '+', width * width);
               });
      exact_sum intensity, area;
      for (const tile_light& t : light) intensity.add(t.intensity), area.add(t.area);
      const double luminosity = 4.0 * std::numbers::pi * intensity.value(), opaque = area.value();
      row[1 + 3 * d] = luminosity;
      row[2 + 3 * d] = opaque;
      row[3 + 3 * d] = opaque > 0.0 ? std::pow(luminosity / (4.0 * stefan_boltzmann * opaque), 0.25)
                                    : std::numeric_limits<double>::quiet_NaN();
    }
  }
  if (!is_root(g_.net)) return {};
  for (std::size_t d = 0; d < o_.directions.size(); ++d) row[0] += row[1 + 3 * d];
  row[0] /= static_cast<double>(o_.directions.size());
  return row;
}

}  // namespace plx::star
