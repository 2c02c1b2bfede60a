// Start-up by MPI, where the transport is MPI as well.
//
// Thread safety: one thread, the one that made it. Example: tests/net/test_transports.py
#pragma once

#include <memory>

#include "net/bootstrap.hpp"
#include "net/mpi/mpi_library.hpp"

namespace plx::net::detail {

class mpi_bootstrap final : public bootstrap {
 public:
  /// An error of one line when MPI cannot be loaded or does not offer what is needed.
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
  MPI_Comm start_{}, heads_{}, pieces_{};  // of their own each: messages of one never meet those of another
  locality_id here_ = 0;
  unsigned size_ = 1;
  bool ours_ = false;  // we started MPI, and end it
};

}  // namespace plx::net::detail
