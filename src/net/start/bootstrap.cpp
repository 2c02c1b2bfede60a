#include "net/start/bootstrap.hpp"

#include <fmt/core.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <initializer_list>

#include "base/process.hpp"
#if PLX_WITH_MPI
#include "net/transport/mpi/mpi_bootstrap.hpp"
#endif

namespace plx::net {

namespace {

result<std::unique_ptr<bootstrap>> by_pmix([[maybe_unused]] double deadline_s) {
#if PLX_WITH_PMIX
  return detail::make_pmix_bootstrap(deadline_s);
#else
  return error{"expected PMIx, but this program was built without it; install libpmix-dev and build again"};
#endif
}

result<std::unique_ptr<bootstrap>> by_mpi([[maybe_unused]] double deadline_s) {
#if PLX_WITH_MPI
  auto b = detail::mpi_bootstrap::make(deadline_s);
  if (!b) return b.error();
  return std::unique_ptr<bootstrap>(std::move(b).value());
#else
  return error{"expected MPI, but this program was built without it; install libopenmpi-dev and build again"};
#endif
}

}  // namespace

result<std::unique_ptr<bootstrap>> find_bootstrap(std::string_view transport, double deadline_s) {
  const char* launcher = detail::launched_by();
  if (transport == "alone" || launcher == nullptr) return std::unique_ptr<bootstrap>(std::make_unique<detail::alone>());
  if (transport == "mpi") return by_mpi(deadline_s);
  if (detail::offers_pmix()) return by_pmix(deadline_s);
  return error{
      fmt::format("expected a launcher with PMIx, but only {} is set: start with mpirun of Open MPI or `srun "
                  "--mpi=pmix`, or set PLX_TRANSPORT=mpi, or alone to run each process separately",
                  launcher)};
}

}  // namespace plx::net

namespace plx::net::detail {

namespace {

using interfaces = std::unique_ptr<ifaddrs, decltype(&freeifaddrs)>;

interfaces all_interfaces() {
  ifaddrs* list = nullptr;
  return {getifaddrs(&list) == 0 ? list : nullptr, freeifaddrs};
}

bool is_up(const ifaddrs& i) {
  constexpr unsigned running = IFF_UP | IFF_RUNNING;
  return i.ifa_addr != nullptr && (i.ifa_flags & running) == running;
}

bool on_one_link_only(const sockaddr* a) {
  return a->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(a)->sin6_addr);
}

std::size_t size_of(const sockaddr* a) {
  return a->sa_family == AF_INET ? sizeof(sockaddr_in) : a->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

}  // namespace

std::string host_key() {
  std::string boot;  // empty without /proc: then the host name identifies the host
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  std::string key = boot.empty() ? host_name() : boot;
  std::array<char, 256> text{};
  const ssize_t length = readlink("/proc/self/ns/net", text.data(), text.size());
  if (length > 0) key.append(" ").append(text.data(), static_cast<std::size_t>(length));
  return key;
}

bool has_loopback() {
  const interfaces list = all_interfaces();
  for (const ifaddrs* i = list.get(); i != nullptr; i = i->ifa_next)
    if (is_up(*i) && (i->ifa_flags & IFF_LOOPBACK) != 0 && i->ifa_addr->sa_family == AF_INET) return true;
  return false;
}

std::vector<std::string> host_addresses() {
  std::vector<std::string> all;
  const interfaces list = all_interfaces();
  for (const ifaddrs* i = list.get(); i != nullptr; i = i->ifa_next) {
    if (!is_up(*i) || (i->ifa_flags & IFF_LOOPBACK) != 0 || on_one_link_only(i->ifa_addr)) continue;
    if (const std::size_t size = size_of(i->ifa_addr); size != 0)
      all.emplace_back(reinterpret_cast<const char*>(i->ifa_addr), size);
  }
  return all;
}

bool offers_pmix() noexcept { return std::getenv("PMIX_RANK") != nullptr && std::getenv("PMIX_NAMESPACE") != nullptr; }

const char* launched_by() noexcept {
  // Set by PMIx, and by the process managers of Open MPI, of MPICH and its derivatives, and of MVAPICH.
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"})
    if (std::getenv(name) != nullptr) return name;
  // srun sets this for its steps; a single task, such as a shell of salloc, runs alone.
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks != nullptr && std::atoi(tasks) > 1 ? "SLURM_STEP_NUM_TASKS" : nullptr;
}

bool is_first_launched() noexcept {
  const char* const by = launched_by();
  if (by == nullptr) return true;
  const char* const rank = std::getenv(std::string_view(by) == "SLURM_STEP_NUM_TASKS" ? "SLURM_PROCID" : by);
  return rank == nullptr || std::string_view(rank) == "0";
}

launch_size launched() noexcept {
  // A list such as "4(x2),3" of srun begins with the number on the first host.
  const auto first_of = [](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const char* const value = std::getenv(name); value != nullptr)
        if (const int n = std::atoi(value); n > 0) return static_cast<unsigned>(n);
    return 1u;
  };
  const unsigned processes =
      first_of({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"});
  const unsigned on_host = first_of(
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "MV2_COMM_WORLD_LOCAL_SIZE", "SLURM_STEP_TASKS_PER_NODE"});
  return {processes, std::min(on_host, processes)};
}

}  // namespace plx::net::detail
