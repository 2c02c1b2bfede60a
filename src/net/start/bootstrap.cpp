#include "net/start/bootstrap.hpp"

#include <fmt/core.h>

#include "net/start/host.hpp"
#if PLX_WITH_PMIX
#include "net/start/pmix_bootstrap.hpp"
#endif
#if PLX_WITH_MPI
#include "net/transport/mpi/mpi_bootstrap.hpp"
#endif

namespace plx::net {

namespace {

result<std::unique_ptr<bootstrap>> by_pmix() {
#if PLX_WITH_PMIX
  return detail::make_pmix_bootstrap();
#else
  return error{"expected PMIx, but this program was built without it; install libpmix-dev and build again"};
#endif
}

result<std::unique_ptr<bootstrap>> by_mpi() {
#if PLX_WITH_MPI
  auto b = detail::mpi_bootstrap::make();
  if (!b) return b.error();
  return std::unique_ptr<bootstrap>(std::move(b).value());
#else
  return error{"expected MPI, but this program was built without it; install libopenmpi-dev and build again"};
#endif
}

}  // namespace

result<std::unique_ptr<bootstrap>> find_bootstrap(std::string_view transport) {
  const char* launcher = detail::launched_by();
  if (transport == "alone" || launcher == nullptr) return std::unique_ptr<bootstrap>(std::make_unique<detail::alone>());
  if (transport == "mpi") return by_mpi();
  if (detail::offers_pmix()) return by_pmix();
  return error{
      fmt::format("expected a launcher with PMIx, but only {} is set: start with mpirun of Open MPI or `srun "
                  "--mpi=pmix`, or set PLX_TRANSPORT=mpi, or alone to run each process separately",
                  launcher)};
}

}  // namespace plx::net
