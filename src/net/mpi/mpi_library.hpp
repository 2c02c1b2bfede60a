// MPI's functions, looked up when a job of many processes starts by MPI. MPI is never linked: see ucx/ucx_library.hpp.
//
// Thread safety: everything.
#pragma once

#include <mpi.h>

#include "base/result.hpp"

// X(name): MPI_NAME.
#define PLX_MPI_FUNCTIONS(X) \
  X(Cancel)                  \
  X(Comm_dup)                \
  X(Comm_rank)               \
  X(Comm_set_errhandler)     \
  X(Comm_size)               \
  X(Error_string)            \
  X(Finalize)                \
  X(Get_count)               \
  X(Iallgather)              \
  X(Iallgatherv)             \
  X(Ibarrier)                \
  X(Init_thread)             \
  X(Initialized)             \
  X(Irecv)                   \
  X(Isend)                   \
  X(Query_thread)            \
  X(Test)

namespace plx::net::detail {

struct mpi_library {
#define PLX_MEMBER(name) decltype(&::MPI_##name) name = nullptr;
  PLX_MPI_FUNCTIONS(PLX_MEMBER)
#undef PLX_MEMBER
  // What the macros of these names stand for: numbers in some MPIs, addresses inside the library in others.
  MPI_Comm world{};
  MPI_Datatype byte{};
  MPI_Errhandler errors_return{};

  /// What an error's number means.
  [[nodiscard]] std::string text(int code) const;
};

/// The library, loaded by the first call; or, in one line, why it cannot be.
result<const mpi_library*> load_mpi();

}  // namespace plx::net::detail
