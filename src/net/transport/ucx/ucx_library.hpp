// UCX's functions, looked up when a multi-process job starts.
//
// UCX is never linked: single-process programs neither need it nor pay for its start, and its signal handlers, which
// would run before the flight recorder's, are not installed.
//
// Thread safety: everything; the first load, which sets an environment variable, happens while few threads run.
#pragma once

#include <ucp/api/ucp.h>

#include "base/result.hpp"

// X(name): ucp_NAME of UCX 1.13 and newer.
#define PLX_UCP_FUNCTIONS(X) \
  X(am_data_release)         \
  X(am_recv_data_nbx)        \
  X(am_send_nbx)             \
  X(cleanup)                 \
  X(config_modify)           \
  X(config_read)             \
  X(config_release)          \
  X(ep_close_nbx)            \
  X(ep_create)               \
  X(ep_flush_nbx)            \
  X(init_version)            \
  X(request_check_status)    \
  X(request_free)            \
  X(worker_arm)              \
  X(worker_create)           \
  X(worker_destroy)          \
  X(worker_get_address)      \
  X(worker_get_efd)          \
  X(worker_progress)         \
  X(worker_query)            \
  X(worker_release_address)  \
  X(worker_set_am_recv_handler)

namespace plx::net::detail {

struct ucx_library {
#define PLX_MEMBER(name) decltype(&::ucp_##name) name = nullptr;
  PLX_UCP_FUNCTIONS(PLX_MEMBER)
#undef PLX_MEMBER
  decltype(&::ucs_status_string) status_string = nullptr;
};

/// The library, loaded by the first call; or a one-line error.
result<const ucx_library*> load_ucx();

}  // namespace plx::net::detail
