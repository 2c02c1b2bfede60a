// The memory that a run of plx-dca needs, beside the memory that its machine has.
//
// Thread safety: pure, but for reading what is available. Cost: none. Example: qmc/dca/test/memory_test.cpp
#pragma once

#include <string>

#include "base/result.hpp"

namespace plx::qmc {

struct dca_options;

/// The workers of each process, the processes of the run, and those of them on this host.
struct memory_share {
  unsigned workers = 1, localities = 1, on_host = 1;
  double available_bytes = 0;  // of the host; 0: available_memory_bytes()
};

/// The largest mean expansion order of the temperatures: K + beta U Nc (n / 2 - D) without any double occupancy D that
/// the density does not require. Requires: o.check() succeeds.
double largest_order(const dca_options& o);

/// An estimate of the bytes that the process with the most memory, the root, takes at most: its walkers with their
/// measurements at the largest order, the bins and their jackknife, a checkpoint. Functions of two particles are those
/// of its walkers if distributes(), else those of all. Requires: o.check() succeeds.
double memory_bytes(const dca_options& o, const memory_share& share = {});

/// Whether functions of two particles stay on the processes of their walkers: four_point.distribute, where auto means
/// that the run does not fit otherwise.
bool distributes(const dca_options& o, const memory_share& share);

/// The bytes of functions of two particles in a checkpoint while they are measured, if they are distributed. The disk
/// has two while one is written.
double function_checkpoint_bytes(const dca_options& o);

/// The memory per process, as a line without its end.
std::string text_of_memory(const dca_options& o, const memory_share& share);

/// Error: one line: the machine has less memory available for its processes, with the number of processes that would
/// hold the run; or the process may not take the address space with that many workers.
result<void> check_memory(const dca_options& o, const memory_share& share);

}  // namespace plx::qmc
