// Bootstrap by PMIx, which mpirun and `srun --mpi=pmix` offer to the processes they start.
//
// Thread safety: one thread. Example: tests/net/test_transports.py
#pragma once

#include <memory>

#include "net/start/bootstrap.hpp"

namespace plx::net::detail {

/// Errors: one line if PMIx cannot be loaded, or its server does not answer.
result<std::unique_ptr<bootstrap>> make_pmix_bootstrap();

}  // namespace plx::net::detail
