// Einfeldt's problem 1-2-0-3, named after its conserved values (1, -2, 0, 3): two rarefactions move apart and leave
// nearly a vacuum between them, in which simple schemes produce negative densities or pressures.
#include "star/problems/plane/plane_riemann.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

std::unique_ptr<problem> make_einfeldt() {
  plane_riemann_options options;
  options.left = {1, -2, 0.4};  // total energy 3 for gamma = 1.4
  options.right = {1, 2, 0.4};
  return std::make_unique<plane_riemann>("einfeldt", "Double rarefaction, near vacuum (exact Riemann solution known)",
                                         options);
}

}  // namespace plx::star
