// vertices/F8.h5: the vertices of a solution with 8 frequencies and its self-energy, as HDF5.
//
//   attributes   Program, Temperature, U, ChemicalPotential, Density, Frequencies, Bosons, Iterations, Residual,
//                LargestEigenvalue; Channels: names; FirstParticleHole, FirstParticleParticle [m]: the first fermionic
//                number of the slabs at w = 2 m pi T
//   Momenta      [K][2]       Energies [K]      FermionicFrequencies [n]
//   G, Sigma     [K][n][2]: real and imaginary part, n >= 0; Sigma with its Hartree term
//   F_wM, Phi_wM [Q][channel][k'][k][2]: full and reducible vertex at w = 2 M pi T; k = (n - first) * N + K, and the
//                last k is the limit of large frequencies
//
// Each of several processes writes the slabs that it has, vertices/F8-RANK.h5; F8.h5 shows them as one.
// Thread safety: collective. Cost: the disk, 64 (2 N F)^3 bytes. Errors: one line. Example:
// tests/cli/test_plx_parquet.py
#pragma once

#include <string>

#include "base/result.hpp"
#include "parquet/solver/solver.hpp"

namespace plx::parquet {

/// folder/vertices/F8.h5 for 8 frequencies.
std::string vertices_file(const std::string& folder, int frequencies);
/// Creates the folder of the files if it is missing. Collective. Requires: s.full is not empty on any locality that has
/// slabs; hosts share the folder. Error: the message is empty on all localities but one.
result<void> write_vertices(const std::string& folder, const parquet_solution& s, const team& members);

}  // namespace plx::parquet
