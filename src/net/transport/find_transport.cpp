#include "net/transport/transport.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "base/assert.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/job_info.hpp"
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

// Whether the transport can be used here, as far as one locality can determine that alone.
result<void> is_there(std::string_view name) {
  if (name != "ucx" && name != "mpi")
    return error{fmt::format("expected a transport between processes, ucx or mpi, found '{}'", name)};
  if (auto r = name == "ucx" ? ucx_is_there() : mpi_is_there(); !r)
    return error{fmt::format("expected the transport {}: {}", name, r.error().message)};
  return {};
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

result<std::unique_ptr<transport>> find_transport(std::string_view name, bootstrap& b,
                                                  [[maybe_unused]] detail::job_info job,
                                                  [[maybe_unused]] double deadline_s) {
  PLX_ASSERT(b.size() > 1);
  if (auto r = is_there(name); !r) return r.error();
#if PLX_WITH_UCX
  if (name == "ucx") return detail::make_ucx_transport(b, std::move(job), deadline_s);
#endif
#if PLX_WITH_MPI
  if (name == "mpi") return detail::make_mpi_transport(b, std::move(job), deadline_s);
#endif
  return error{fmt::format("this program was built without the transport {}", name)};
}

result<std::unique_ptr<transport>> find_transport(std::string_view name, bootstrap& b, double deadline_s) {
  if (auto r = is_there(name); !r) return r.error();
  auto job = detail::exchange_job_info(b, "", deadline_s);
  if (!job) return job.error();
  return find_transport(name, b, std::move(job).value(), deadline_s);
}

}  // namespace plx::net
