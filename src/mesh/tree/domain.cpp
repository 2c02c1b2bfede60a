#include "mesh/tree/domain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/config.hpp"

namespace plx::mesh {

namespace {

constexpr const char* face_names[face_count] = {"x lower", "x upper", "y lower", "y upper", "z lower", "z upper"};

result<void> check_box(const domain& d) {
  std::array<double, 3> width{};
  for (int a = 0; a < 3; ++a) {
    if (d.root_blocks[a] < 1 || d.root_blocks[a] > 1023)
      return error{fmt::format("mesh.root_blocks[{}] = {}: expected 1 to 1023", a, d.root_blocks[a])};
    if (!(d.lower[a] < d.upper[a]) || !std::isfinite(d.upper[a] - d.lower[a]))
      return error{
          fmt::format("mesh.lower[{}] = {} and mesh.upper[{}] = {}: expected lower < upper, and a finite difference", a,
                      d.lower[a], a, d.upper[a])};
    width[a] = (d.upper[a] - d.lower[a]) / d.root_blocks[a];
  }
  for (int a = 1; a < 3; ++a)
    if (std::abs(width[a] - width[0]) > 1e-12 * width[0])
      return error{
          fmt::format("the mesh's blocks are not cubes: along axes 0 and {} a root block is {} and {} wide; make "
                      "(mesh.upper - mesh.lower) / mesh.root_blocks the same along each axis",
                      a, width[0], width[a])};
  return {};
}

// Centres and faces of the finest cells must be distinct numbers, and volumes must be finite and nonzero.
result<void> check_resolution(const domain& d) {
  const double finest = d.cell_width(d.max_level);
  double volume = 1.0, farthest = 0.0;
  for (int a = 0; a < 3; ++a) {
    volume *= d.upper[a] - d.lower[a];
    farthest = std::max({farthest, std::abs(d.lower[a]), std::abs(d.upper[a])});
  }
  if (!std::isfinite(volume) || !(finest * finest * finest >= std::numeric_limits<double>::min()))
    return error{
        fmt::format("mesh.lower, mesh.upper: a box of volume {:g} with cells of width {:g} is beyond the range of "
                    "doubles; choose other units of length",
                    volume, finest)};
  constexpr double least = 64.0;  // multiples of the spacing of doubles there
  if (finest >= least * std::numeric_limits<double>::epsilon() * farthest) return {};
  return error{
      fmt::format("mesh.lower, mesh.upper: cells of width {:g} at coordinates up to {:g} cannot be distinguished by "
                  "doubles; move the box to the origin, or lower mesh.max_level",
                  finest, farthest)};
}

template <class E>
result<E> choice(const char* key, const std::string& text, const std::vector<std::pair<const char*, E>>& known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names += names.empty() ? name : fmt::format(", {}", name);
  }
  return error{fmt::format("{} = \"{}\": expected one of {}", key, text, names)};
}

}  // namespace

void mesh_options::describe(config_table& t) {
  t.section("mesh", "Mesh: an octree of blocks");
  t.add("mesh.block_size", block_size,
        {.unit = "cells",
         .help = "cells along a block's edge, a multiple of 8; 8, 16 and 32 are fastest",
         .min = 8,
         .max = 64});
  t.add("mesh.root_blocks", root_blocks,
        {.unit = "blocks",
         .help = "blocks of level 0 along x, y, z; the domain is this many cubes",
         .min = 1,
         .max = 1023});
  t.add("mesh.max_level", max_level, {.help = "deepest level of refinement; 0 is the root grid", .min = 0, .max = 21});
  t.add("mesh.lower", lower, {.unit = "code length", .help = "lower corner of the domain"});
  t.add("mesh.upper", upper, {.unit = "code length", .help = "upper corner of the domain"});
  t.add("mesh.sides", sides,
        {.help =
             "boundary conditions at x lower, x upper, y lower, y upper, z lower, z upper; problem: the state that the "
             "problem gives there",
         .choices = {"periodic", "outflow", "reflecting", "inflow", "zero_gradient", "problem"}});
  t.add(
      "mesh.prolongation", prolongation,
      {.help = "slope limiter for interpolation from coarse to fine cells: minmod, or the sharper monotonized central",
       .choices = {"minmod", "central"}});
}

result<domain> mesh_options::make_domain() const {
  domain d;
  const auto fits = [](std::int64_t v) { return static_cast<int>(std::clamp<std::int64_t>(v, -1, 1 << 20)); };
  d.block_size = fits(block_size);
  d.max_level = fits(max_level);
  for (int a = 0; a < 3; ++a) d.root_blocks[a] = fits(root_blocks[a]);
  d.lower = lower;
  d.upper = upper;
  for (int f = 0; f < face_count; ++f) {
    auto side = choice<boundary>("mesh.sides", sides[f],
                                 {{"periodic", boundary::periodic},
                                  {"outflow", boundary::outflow},
                                  {"reflecting", boundary::reflecting},
                                  {"inflow", boundary::inflow},
                                  {"zero_gradient", boundary::zero_gradient},
                                  {"problem", boundary::problem}});
    if (!side) return side.error();
    d.sides[f] = side.value();
  }
  auto rule =
      choice<limiter>("mesh.prolongation", prolongation, {{"minmod", limiter::minmod}, {"central", limiter::central}});
  if (!rule) return rule.error();
  d.prolongation = rule.value();
  if (auto possible = d.check(); !possible) return possible.error();
  return d;
}

result<void> domain::check() const {
  if (block_size < 6 || block_size > 64 || block_size % 2 != 0)
    return error{fmt::format("mesh.block_size = {}: expected an even number from 6 to 64", block_size)};
  if (max_level < 0 || max_level > deepest_level)
    return error{fmt::format("mesh.max_level = {}: expected 0 to {}", max_level, deepest_level)};
  for (int a = 0; a < 3; ++a)
    if ((sides[2 * a] == boundary::periodic) != (sides[2 * a + 1] == boundary::periodic))
      return error{fmt::format("mesh.sides: the boundaries {} and {}: expected both or neither periodic",
                               face_names[2 * a], face_names[2 * a + 1])};
  if (auto r = check_box(*this); !r) return r;
  return check_resolution(*this);
}

double domain::cell_width(int level) const {
  return std::ldexp((upper[0] - lower[0]) / (static_cast<double>(root_blocks[0]) * block_size), -level);
}

double domain::coordinate(int axis, int level, std::int64_t half) const {
  const std::int64_t all = 2 * blocks_along(axis, level) * block_size;
  return (lower[axis] * static_cast<double>(all - half) + upper[axis] * static_cast<double>(half)) /
         static_cast<double>(all);
}

}  // namespace plx::mesh
