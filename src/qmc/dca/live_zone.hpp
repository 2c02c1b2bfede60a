// The picture of the live page: the self-energy of a run of plx-dca on the Brillouin zone.
//
// Thread safety: any thread. Cost: for each iteration and checkpoint, as many comparisons as there are momenta, for
// each of 257^2 pixels. Example: qmc/dca/test/live_zone_test.cpp
#pragma once

#include <optional>

#include "qmc/dca/dca.hpp"

namespace plx::probe {
struct live_picture;
}

namespace plx::qmc {

/// -Im Sigma(K, i pi T) of the state's self-energy, in units of t: each pixel has the value of the cluster's nearest
/// momentum. The axes are kx and ky in units of pi, from -1 to 1. The title has the temperature, the iteration at it,
/// and lambda_d of the last complete temperature if all of them have one. The step is the number of complete iterations
/// of the run. Empty before the first one. Requires: a state of these options and this cluster.
std::optional<probe::live_picture> live_self_energy(const cluster& c, const dca_options& options, const dca_state& s);

}  // namespace plx::qmc
