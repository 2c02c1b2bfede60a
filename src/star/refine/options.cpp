// The options of star/refine/refinement.hpp.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/text.hpp"
#include "mesh/tree/domain.hpp"
#include "star/refine/refinement.hpp"

namespace plx::star {

void refinement_options::describe(config_table& t) {
  const std::vector<std::string> known{"rho", "vel1", "vel2", "vel3", "press"};
  t.section("refinement", "Where the mesh is refined, up to mesh.max_level");
  t.add("refinement.interval", interval, {.unit = "steps", .help = "between regrid checks", .min = 1});
  t.add("refinement.buffer", buffer,
        {.unit = "cells", .help = "width of the layer refined around a marked cell", .min = 0, .max = 64});
  t.add("refinement.coarsen_after", coarsen_after,
        {.help = "consecutive checks in which a block must request coarsening", .min = 1, .max = 1000});
  t.add("refinement.max_blocks", max_blocks,
        {.help = "largest number of blocks: where the criteria request more, their thresholds are weakened until the "
                 "number fits; regions are not weakened; 0: no limit",
         .min = 0});
  t.add("refinement.fill_blocks", fill_blocks,
        {.help = "max_blocks is a target: where the criteria request fewer blocks, their thresholds are strengthened, "
                 "down to a thousandth, as long as the number fits"});
  t.add("refinement.gradient_of", gradient_of,
        {.help = "variables whose relative difference between neighbouring cells is checked", .choices = known});
  t.add("refinement.gradient_refine", gradient_refine,
        {.unit = "1", .help = "relative difference above which a cell is marked", .above = 0});
  t.add("refinement.gradient_coarsen", gradient_coarsen,
        {.unit = "1", .help = "a block may be coarsened when all its differences are below", .min = 0});
  t.add("refinement.curvature_of", curvature_of,
        {.help = "variables whose ratio of second to first differences is checked", .choices = known});
  t.add("refinement.curvature_refine", curvature_refine,
        {.unit = "1", .help = "ratio above which a cell is marked; ratios are at most 1", .above = 0});
  t.add("refinement.curvature_coarsen", curvature_coarsen,
        {.unit = "1", .help = "a block may be coarsened when all its ratios are below", .min = 0});
  t.add("refinement.density_levels", density_levels,
        {.unit = "code", .help = "number l: blocks of level l are refined where the density exceeds it", .min = 0});
  t.add("refinement.cell_mass", cell_mass,
        {.unit = "mass", .help = "mass of a cell above which it is marked; 0: not checked", .min = 0});
  t.add("refinement.cell_mass_coarsen", cell_mass_coarsen,
        {.unit = "1",
         .help = "a block may be coarsened when cells of twice the width would have less than this part of cell_mass",
         .max = 1,
         .above = 0});
  t.add("refinement.jeans_cells", jeans_cells,
        {.unit = "cells",
         .help = "a cell is marked where the Jeans length, sqrt(pi c^2 / (G rho)), is shorter than this number of "
                 "cells; 0: not checked",
         .min = 0});
  t.add("refinement.jeans_coarsen", jeans_coarsen,
        {.unit = "1",
         .help = "a block may be coarsened when Jeans lengths are longer than this factor times jeans_cells cells of "
                 "twice the width",
         .min = 1});
  t.add(
      "refinement.potential_levels", potential_levels,
      {.unit = "velocity^2",
       .help = "number l: blocks of level l are refined where the potential of self-gravity is deeper: -phi exceeds it",
       .min = 0});
  t.add("refinement.species", species,
        {.help = "ranges of mass fractions that are refined, with the cells between values on both sides: number of "
                 "the species, lower, upper, next range",
         .min = 0});
  t.add(
      "refinement.regions", regions,
      {.help = "boxes that are always refined: x lower, x upper, y lower, y upper, z lower, z upper, level, next box"});
}

namespace {

result<void> check_region(const double* box, std::size_t index) {
  for (int a = 0; a < 3; ++a)
    if (!(box[2 * a] < box[2 * a + 1]))
      return error{
          fmt::format("refinement.regions, box {}: expected {} lower < upper, found {} and {}; the order is x "
                      "lower, x upper, y lower, y upper, z lower, z upper, level",
                      index, "xyz"[a], box[2 * a], box[2 * a + 1])};
  if (box[6] >= 0 && box[6] <= mesh::deepest_level && box[6] == std::floor(box[6])) return {};
  return error{fmt::format("refinement.regions, box {}: expected a level from 0 to {}, found {}", index,
                           mesh::deepest_level, box[6])};
}

result<void> check_range(const double* range, std::size_t index) {
  const double lower = range[1], upper = range[2];
  if (range[0] != std::floor(range[0]))
    return error{
        fmt::format("refinement.species, range {}: expected the number of a species, found {}", index, range[0])};
  if (lower < upper && upper <= 1.0 && (lower > 0.0 || upper < 1.0)) return {};
  return error{
      fmt::format("refinement.species, range {}: expected lower < upper from 0 to 1, but not all of it, found "
                  "{} and {}; the order is number, lower, upper",
                  index, lower, upper)};
}

}  // namespace

result<void> refinement_options::check() const {
  if (gradient_coarsen > gradient_refine)
    return error{fmt::format("refinement.gradient_coarsen = {}: expected at most refinement.gradient_refine ({})",
                             gradient_coarsen, gradient_refine)};
  if (curvature_coarsen > curvature_refine)
    return error{fmt::format("refinement.curvature_coarsen = {}: expected at most refinement.curvature_refine ({})",
                             curvature_coarsen, curvature_refine)};
  if (regions.size() % 7 != 0)
    return error{
        fmt::format("refinement.regions: expected seven numbers per box (x lower, x upper, y lower, y upper, "
                    "z lower, z upper, level), found {}",
                    plural(regions.size(), "number"))};
  for (std::size_t r = 0; r < regions.size(); r += 7)
    if (auto box = check_region(&regions[r], r / 7); !box) return box;
  if (species.size() % 3 != 0)
    return error{fmt::format("refinement.species: expected three numbers per range (number, lower, upper), found {}",
                             plural(species.size(), "number"))};
  for (std::size_t r = 0; r < species.size(); r += 3)
    if (auto range = check_range(&species[r], r / 3); !range) return range;
  if (fill_blocks && max_blocks == 0)
    return error{"refinement.fill_blocks: expected refinement.max_blocks above 0, the number to fill, found 0"};
  for (const double density : density_levels)
    if (max_blocks > 0 && density == 0.0)
      return error{
          "refinement.density_levels: expected positive densities with refinement.max_blocks, which weakens them by a "
          "factor, found 0; refinement.regions refines all cells of a box"};
  for (const double depth : potential_levels)
    if (max_blocks > 0 && depth == 0.0)
      return error{
          "refinement.potential_levels: expected positive depths with refinement.max_blocks, which weakens them by a "
          "factor, found 0; refinement.regions refines all cells of a box"};
  return {};
}

result<void> refinement_options::check_for(const mesh::domain& box, int n_species, double gravitational_constant,
                                           bool self_gravity) const {
  if (jeans_cells > 0.0 && gravitational_constant == 0.0)
    return error{
        fmt::format("refinement.jeans_cells = {}: expected a gravitational constant, found none; set "
                    "gravity.constant, [units] or gravity.self",
                    jeans_cells)};
  if (!potential_levels.empty() && !self_gravity)
    return error{"refinement.potential_levels: expected gravity.self = true, whose potential it limits, found false"};
  for (std::size_t r = 0; r + 2 < species.size(); r += 3)
    if (species[r] >= n_species)
      return error{
          fmt::format("refinement.species, range {}: expected the number of one of {} species, from 0 on, "
                      "found {}",
                      r / 3, n_species, species[r])};
  const std::int64_t roots = std::int64_t{box.root_blocks[0]} * box.root_blocks[1] * box.root_blocks[2];
  if (max_blocks > 0 && max_blocks < roots)
    return error{
        fmt::format("refinement.max_blocks = {}: expected at least the {} of the root grid, or 0 for no "
                    "limit",
                    max_blocks, plural(roots, "block"))};
  for (std::size_t r = 0; r + 6 < regions.size(); r += 7)
    for (int a = 0; a < 3; ++a)
      if (regions[r + 2 * a] >= box.upper[a] || regions[r + 2 * a + 1] <= box.lower[a])
        return error{
            fmt::format("refinement.regions, box {}: {} from {} to {} is outside of the mesh, which extends from {} "
                        "to {}",
                        r / 7, "xyz"[a], regions[r + 2 * a], regions[r + 2 * a + 1], box.lower[a], box.upper[a])};
  return {};
}

}  // namespace plx::star
