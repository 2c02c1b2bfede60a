#include "net/transport/transport.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <string>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "net/start/bootstrap.hpp"
#if PLX_WITH_UCX
#include "net/transport/ucx/ucx_transport.hpp"
#endif
#if PLX_WITH_MPI
#include "net/transport/mpi/mpi_transport.hpp"
#endif

namespace plx::net {

namespace {

constexpr std::string_view names[] = {"ucx", "mpi", "alone"};

result<void> ucx_is_there() {
#if PLX_WITH_UCX && PLX_WITH_PMIX
  if (auto library = detail::load_ucx(); !library) return library.error();
  return {};
#else
  return error{"this program was built without UCX and PMIx; install libucx-dev and libpmix-dev and build again"};
#endif
}

result<void> mpi_is_there() {
#if PLX_WITH_MPI
  if (auto library = detail::load_mpi(); !library) return library.error();
  return {};
#else
  return error{"this program was built without MPI; install libopenmpi-dev and build again"};
#endif
}

error unknown(std::string_view name) {
  const std::string hint = did_you_mean(std::string(name), {"ucx", "mpi", "alone"});
  return error{fmt::format("PLX_TRANSPORT: expected ucx, mpi or alone, found '{}'{}", name, hint)};
}

result<std::string_view> choose_by_launcher() {
  const char* launcher = detail::launched_by();
  if (launcher == nullptr) return std::string_view("alone");
  const auto ucx = detail::offers_pmix()
                       ? ucx_is_there()
                       : result<void>(error{"no PMIx: the launcher set only " + std::string(launcher)});
  if (ucx) return std::string_view("ucx");
  if (const auto mpi = mpi_is_there(); !mpi)
    return error{fmt::format("no transport for a job of many processes: ucx: {}; mpi: {}", ucx.error().message,
                             mpi.error().message)};
  log_info("transport mpi is used because ucx is not available: {}", ucx.error().message);
  return std::string_view("mpi");
}

}  // namespace

result<std::string_view> choose_transport() {
  const char* wanted = std::getenv("PLX_TRANSPORT");
  if (wanted == nullptr || *wanted == '\0') return choose_by_launcher();
  for (const std::string_view name : names)
    if (name == wanted) return name;
  return unknown(wanted);
}

result<std::unique_ptr<transport>> find_transport(std::string_view name, bootstrap& b, double deadline_s) {
  PLX_ASSERT(b.size() > 1);
  if (name == "ucx") {
    if (auto r = ucx_is_there(); !r) return error{"expected the transport ucx: " + r.error().message};
#if PLX_WITH_UCX
    return detail::make_ucx_transport(b, deadline_s);
#endif
  }
  if (name == "mpi") {
    if (auto r = mpi_is_there(); !r) return error{"expected the transport mpi: " + r.error().message};
#if PLX_WITH_MPI
    return detail::make_mpi_transport(b, deadline_s);
#endif
  }
  return error{fmt::format("expected a transport between processes, ucx or mpi, found '{}'", name)};
}

}  // namespace plx::net
