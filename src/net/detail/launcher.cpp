#include "net/detail/launcher.hpp"

#include <cstdlib>
#include <initializer_list>

namespace plx::net::detail {

bool offers_pmix() noexcept { return std::getenv("PMIX_RANK") != nullptr && std::getenv("PMIX_NAMESPACE") != nullptr; }

const char* launched_by() noexcept {
  // PMIx; the process managers of Open MPI, of MPICH and its kin, of MVAPICH.
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK"})
    if (std::getenv(name) != nullptr) return name;
  // srun sets this for its steps; with one task, as in a shell of salloc, the process is alone.
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks != nullptr && std::atoi(tasks) > 1 ? "SLURM_STEP_NUM_TASKS" : nullptr;
}

}  // namespace plx::net::detail
