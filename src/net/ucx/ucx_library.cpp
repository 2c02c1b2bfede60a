#include "net/ucx/ucx_library.hpp"

#include <cstdlib>

#include "probe/monitor/shared_library.hpp"

namespace plx::net::detail {

namespace {

result<const ucx_library*> load() {
  // Read when the library is loaded. Crashes are told by the flight recorder (probe/flight_signals.cpp).
  setenv("UCX_HANDLE_ERRORS", "none", 0);
  // With it UCX 1.13 aborts over TCP in one of a hundred deaths of a peer (docs/net.md): a message in its buffer makes
  // it write to that peer, which fails and clears what is noted of earlier writes; then the answer to one of those
  // comes from the same buffer.
  setenv("UCX_TCP_PUT_ENABLE", "n", 0);
  static auto file = probe::shared_library::open({"libucp.so.0", PLX_UCX_LIBDIR "/libucp.so.0"});
  if (!file) return error{"cannot load UCX: " + file.error().message + "; install libucx0 or set PLX_TRANSPORT=mpi"};
  static ucx_library library;
#define PLX_FIND(name) \
  if (!file->find("ucp_" #name, library.name)) return error{"this UCX has no ucp_" #name "; expected 1.13 or newer"};
  PLX_UCP_FUNCTIONS(PLX_FIND)
#undef PLX_FIND
  if (!file->find("ucs_status_string", library.status_string)) return error{"this UCX has no ucs_status_string"};
  return &library;
}

}  // namespace

result<const ucx_library*> load_ucx() {
  static const result<const ucx_library*> loaded = load();
  return loaded;
}

}  // namespace plx::net::detail
