// Which transport this process uses, and the making of it. PLX_TRANSPORT says ucx, mpi, or alone.
//
// Thread safety: one thread, at start-up. Example: net/transport/test/find_transport_test.cpp
//
//   auto name = choose_transport();               // an error is one line, for all that follows
//   auto start = find_bootstrap(*name);
//   auto carrier = find_transport(*name, **start, 60);
#pragma once

#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "net/start/bootstrap.hpp"
#include "net/transport/transport.hpp"

namespace plx::net {

/// What PLX_TRANSPORT says (ucx, mpi, sim, alone); else alone for a process that no launcher started; else ucx where it
/// was built, can be loaded, and the launcher offers PMIx; else mpi. An error names what was expected and found.
result<std::string_view> choose_transport();

/// Makes the transport called `name`, together with all other localities of the job: all must come within the
/// deadline. Requires: b.size() > 1; `b` outlives it.
result<std::unique_ptr<transport>> find_transport(std::string_view name, bootstrap& b, double deadline_s);

}  // namespace plx::net
