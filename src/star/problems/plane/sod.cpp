// Sod's shock tube: rarefaction, contact and shock at once, along any direction.
#include "star/problems/plane/plane_riemann.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {

std::unique_ptr<problem> make_sod() {
  return std::make_unique<plane_riemann>("sod", "Shock tube (exact Riemann solution known)", plane_riemann_options{});
}

}  // namespace plx::star
