// Einfeldt's problem 1-2-0-3, named after its conserved values (1, -2, 0, 3): two rarefactions run apart and leave
// nearly a vacuum between them; schemes without care make its density or pressure negative.
#include "star/problems/plane_riemann.hpp"
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
