// The start of a job by MPI, and MPI's functions: they are looked up when a multi-process job starts by MPI, which is
// never linked: see ucx/ucx_transport.hpp.
//
// Thread safety: the functions of MPI, everything; the bootstrap, one thread. Example: tests/net/test_job.py
#pragma once

#include <mpi.h>

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "net/locality.hpp"
#include "net/start/bootstrap.hpp"

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
  X(Test)                    \
  X(Testsome)

namespace plx::net::detail {

struct mpi_library {
#define PLX_MEMBER(name) decltype(&::MPI_##name) name = nullptr;
  PLX_MPI_FUNCTIONS(PLX_MEMBER)
#undef PLX_MEMBER
  // The values of MPI's macros of these names: numbers in some MPIs, addresses inside the library in others.
  MPI_Comm world{};
  MPI_Datatype byte{};
  MPI_Errhandler errors_return{};

  /// The meaning of an error code.
  [[nodiscard]] std::string text(int code) const;
};

/// The library, loaded by the first call; or a one-line error.
result<const mpi_library*> load_mpi();

/// Bootstrap by MPI, used with the MPI transport. MPI's own start and end have no deadline, and MPI requires that one
/// thread calls both: a thread of the bootstrap does so, which is abandoned, and ends with the process, if either takes
/// too long. Thread safety: one thread, the one that created it.
class mpi_bootstrap final : public bootstrap {
 public:
  /// Errors: one line, if MPI cannot be loaded, does not offer what is needed, or does not start within the deadline.
  static result<std::unique_ptr<mpi_bootstrap>> make(double deadline_s);

  [[nodiscard]] std::string_view name() const noexcept override { return "mpi"; }
  [[nodiscard]] locality_id here() const noexcept override { return world_.here; }
  [[nodiscard]] unsigned size() const noexcept override { return world_.size; }
  void leave(double deadline_s) noexcept override;

  // For the transport.
  /// Some requests have not completed: MPI must not be finalized.
  void note_incomplete() noexcept { complete_ = false; }
  [[nodiscard]] const mpi_library& mpi() const noexcept { return mpi_; }
  [[nodiscard]] MPI_Comm heads() const noexcept { return world_.heads; }
  [[nodiscard]] MPI_Comm pieces() const noexcept { return world_.pieces; }

 private:
  // The result of MPI's start.
  struct world {
    MPI_Comm start{}, heads{}, pieces{};  // separate communicators, so that their messages cannot match each other
    locality_id here = 0;
    unsigned size = 1;
    bool ours = false;  // Parallax initialised MPI, and finalises it
  };
  // Requests that the thread which has started MPI finalizes it.
  struct finalization {
    std::promise<void> request;
    std::future<void> done;
  };

  mpi_bootstrap(const mpi_library& mpi, const world& w, finalization f)
      : mpi_(mpi), world_(w), finalization_(std::move(f)) {}
  static result<world> open(const mpi_library& mpi);
  result<std::vector<std::string>> exchange_bytes(std::string_view mine, double deadline_s) override;
  bool ends(MPI_Request& request, double until) const noexcept;

  const mpi_library& mpi_;
  const world world_;
  finalization finalization_;
  bool left_ = false;
  bool complete_ = true;
};

}  // namespace plx::net::detail
