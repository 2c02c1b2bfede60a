// Selects the instance of a body template by the options of the hydrodynamics.
//
// Thread safety: pure. Cost: two branches.
// Example: star/device/operations_cpu.cpp
#pragma once

#include "star/hydro/parameters.hpp"

namespace plx::star::device {

template <reconstruction scheme, class F>
void with_solver(const hydro_parameters& p, F&& f) {
  switch (p.riemann) {
    case riemann_solver::hllc:
      return f.template operator()<scheme, riemann_solver::hllc>();
    case riemann_solver::hll:
      return f.template operator()<scheme, riemann_solver::hll>();
    case riemann_solver::lax_friedrichs:
      return f.template operator()<scheme, riemann_solver::lax_friedrichs>();
    case riemann_solver::hllc_lm:
      return f.template operator()<scheme, riemann_solver::hllc_lm>();
  }
}

/// Calls f.operator()<reconstruction, riemann_solver>() with those of the parameters.
template <class F>
void with_scheme(const hydro_parameters& p, F&& f) {
  switch (p.reconstruct) {
    case reconstruction::ppm:
      return with_solver<reconstruction::ppm>(p, f);
    case reconstruction::plm:
      return with_solver<reconstruction::plm>(p, f);
    case reconstruction::mp5:
      return with_solver<reconstruction::mp5>(p, f);
  }
}

}  // namespace plx::star::device
