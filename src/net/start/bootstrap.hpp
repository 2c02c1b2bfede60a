// How the processes of a job find each other: by PMIx under mpirun or srun, by MPI where the transport is mpi, or not
// at all, alone. Knows nothing of messages.
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
  /// Every locality gives some bytes and gets those of all, by number. All must call it, in the same order. An error of
  /// one line when somebody does not come within the deadline.
  virtual result<std::vector<std::string>> exchange(std::string_view mine, double deadline_s) = 0;
  /// Says that this process leaves the job in good order. It must not take longer than the deadline.
  virtual void leave(double deadline_s) noexcept = 0;
};

/// As the environment says: PMIx when a launcher started this process (PMIX_RANK, ...), MPI for the transport "mpi",
/// else alone. An error of one line when a launcher is there but cannot be used.
result<std::unique_ptr<bootstrap>> find_bootstrap(std::string_view transport);

}  // namespace plx::net

namespace plx::net::detail {

// The start-up of a process that is alone.

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
