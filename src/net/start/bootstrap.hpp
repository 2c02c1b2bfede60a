// How the processes of a job find each other: by PMIx under mpirun or srun, by MPI if the transport is mpi; a process
// that runs alone needs neither. Independent of messages.
//
// Thread safety: one thread. Example: net/transport/test/find_transport_test.cpp
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/locality.hpp"

namespace plx::net {

class bootstrap {
 public:
  virtual ~bootstrap() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;  ///< alone, pmix, mpi
  [[nodiscard]] virtual locality_id here() const noexcept = 0;
  [[nodiscard]] virtual unsigned size() const noexcept = 0;
  /// Each locality contributes some bytes and receives those of all, by number. All must call it, in the same order.
  /// Errors: one line if a locality does not call it within the deadline.
  virtual result<std::vector<std::string>> exchange(std::string_view mine, double deadline_s) = 0;
  /// Leaves the job normally. Returns within the deadline.
  virtual void leave(double deadline_s) noexcept = 0;
};

/// Selects by the environment: PMIx if a launcher started this process (PMIX_RANK, ...), MPI for the transport "mpi",
/// else alone. Errors: one line if a launcher is present but cannot be used.
result<std::unique_ptr<bootstrap>> find_bootstrap(std::string_view transport);

}  // namespace plx::net

namespace plx::net::detail {

// The bootstrap of a process that runs alone.

class alone final : public bootstrap {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "alone"; }
  [[nodiscard]] locality_id here() const noexcept override { return 0; }
  [[nodiscard]] unsigned size() const noexcept override { return 1; }
  result<std::vector<std::string>> exchange(std::string_view mine, double /*deadline_s*/) override {
    return std::vector<std::string>{std::string(mine)};
  }
  void leave(double /*deadline_s*/) noexcept override {}
};

}  // namespace plx::net::detail
