#include "star/diagnostics/options.hpp"

#include "base/config.hpp"

namespace plx::star {

void diagnostics_options::describe(config_table& t) {
  t.section("diagnostics", "Diagnostics of stars; does not affect the physics");
  t.add("diagnostics.stars", stars,
        {.help = "number of stars whose masses, orbits, spins and energies are written to diagnostics.csv; 0: none; "
                 "requires gravity.self",
         .min = 0,
         .max = 8});
  t.add("diagnostics.interval", interval,
        {.unit = "steps", .help = "between rows; each costs a solution of gravity on the CPU", .min = 1});
  t.add("diagnostics.star_density", star_density,
        {.unit = "1", .help = "least density of a star's cells over its largest density", .max = 1, .above = 0});
  t.add("diagnostics.star_reach", star_reach,
        {.unit = "Roche radii", .help = "largest distance of a star's cells from its centre", .max = 10, .above = 0});
  t.add("diagnostics.disrupted_below", disrupted_below,
        {.unit = "1",
         .help = "share of its mass in the first row below which a star counts as disrupted",
         .min = 0,
         .max = 1});
  t.add("diagnostics.distance_pc", distance_pc,
        {.unit = "pc", .help = "distance of the observer of gravitational waves; requires [units]", .above = 0});
}

}  // namespace plx::star
