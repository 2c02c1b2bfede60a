// Bootstrap by MPI, used with the MPI transport.
//
// Thread safety: one thread, the one that created it. Example: tests/net/test_transports.py
#pragma once

#include <mpi.h>

#include <memory>

#include "base/result.hpp"
#include "net/start/bootstrap.hpp"

// MPI's functions, looked up when a multi-process job starts by MPI. MPI is never linked: see ucx/ucx_library.hpp.
//
// Thread safety: everything.

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
  // The values of MPI's macros of these names: numbers in some MPIs, addresses inside the library in others.
  MPI_Comm world{};
  MPI_Datatype byte{};
  MPI_Errhandler errors_return{};

  /// The meaning of an error code.
  [[nodiscard]] std::string text(int code) const;
};

/// The library, loaded by the first call; or a one-line error.
result<const mpi_library*> load_mpi();

class mpi_bootstrap final : public bootstrap {
 public:
  /// Errors: one line, if MPI cannot be loaded or does not offer what is needed.
  static result<std::unique_ptr<mpi_bootstrap>> make();

  [[nodiscard]] std::string_view name() const noexcept override { return "mpi"; }
  [[nodiscard]] locality_id here() const noexcept override { return here_; }
  [[nodiscard]] unsigned size() const noexcept override { return size_; }
  result<std::vector<std::string>> exchange(std::string_view mine, double deadline_s) override;
  void leave(double deadline_s) noexcept override;

  // For the transport.
  [[nodiscard]] const mpi_library& mpi() const noexcept { return mpi_; }
  [[nodiscard]] MPI_Comm heads() const noexcept { return heads_; }
  [[nodiscard]] MPI_Comm pieces() const noexcept { return pieces_; }

 private:
  explicit mpi_bootstrap(const mpi_library& mpi) : mpi_(mpi) {}
  result<void> open();
  bool ends(MPI_Request& request, double until) const noexcept;
  [[nodiscard]] error late(double deadline_s) const;

  const mpi_library& mpi_;
  MPI_Comm start_{}, heads_{}, pieces_{};  // separate communicators, so that their messages cannot match each other
  locality_id here_ = 0;
  unsigned size_ = 1;
  bool ours_ = false;  // Parallax initialised MPI, and finalises it
};

}  // namespace plx::net::detail
