// Selects and creates the transport of this process. PLX_TRANSPORT may name ucx, mpi or alone.
//
// Thread safety: one thread, at start-up. Example: net/transport/test/find_transport_test.cpp
//
//   auto name = choose_transport();               // errors are one line, also in the following calls
//   auto start = find_bootstrap(*name);
//   auto carrier = find_transport(*name, **start, 60);
#pragma once

#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "net/start/bootstrap.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

/// The value of PLX_TRANSPORT (ucx, mpi, sim, alone), if set. Otherwise alone for a process that no launcher started;
/// ucx if it was built, can be loaded, and the launcher offers PMIx; else mpi. An error names what was expected and
/// found.
result<std::string_view> choose_transport();

/// Creates the transport called `name`, together with all other localities of the job, which must all call this within
/// the deadline. Requires: b.size() > 1; `b` outlives the transport.
result<std::unique_ptr<transport>> find_transport(std::string_view name, bootstrap& b, double deadline_s);

}  // namespace plx::net
