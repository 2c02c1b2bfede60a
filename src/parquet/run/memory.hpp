// The memory and the disk space that a run of plx-parquet needs, compared with those available.
//
// Thread safety: pure, except where collective. Errors: one line. Example: parquet/run/test/memory_test.cpp
#pragma once

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace plx {
class team;
}

namespace plx::parquet {

struct parquet_options;

/// How the memory of a machine is shared.
struct memory_share {
  unsigned workers = 1;     // of a process
  unsigned localities = 1;  // over which the vertices are divided
  unsigned on_host = 1;     // of these, on the host of this process
};
/// The members of a team on the host of the caller: their number, and that of lower ranks.
struct host_share {
  unsigned size = 1, rank = 0;
};
/// Collective.
host_share host_share_of(const team& members);

/// Bytes of the host that the largest of the runs allocates in a process, with pinned memory and that of an emulated
/// device. Requires: o.check() succeeds.
double memory_bytes(const parquet_options& o, const memory_share& share);
/// Error: one line: a process needs more than o.memory_gb, its host has less available than its processes need (both
/// with the number of processes that would be enough, or that there is none), or the process may not take the address
/// space. Cost of the number: O(slabs * log(slabs)).
result<void> check_memory(const parquet_options& o, const memory_share& share);
/// Bytes of the files vertices/ of the runs from o.frequencies[first] on; 0 without output.hdf5. Requires: o.check()
/// succeeds.
double vertices_bytes(const parquet_options& o, std::size_t first = 0);
/// One line, if the files vertices/ are larger than the disk of the folder has free; otherwise empty.
std::string warning_of_disk(const parquet_options& o, const std::string& folder, double free_bytes,
                            std::size_t first = 0);

}  // namespace plx::parquet
