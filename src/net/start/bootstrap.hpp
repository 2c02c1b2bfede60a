// How the processes of a job find each other: by PMIx under mpirun or srun, by MPI if the transport is mpi; a process
// that runs alone needs neither. Independent of messages.
//
// Thread safety: one thread. Example: net/transport/test/find_transport_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
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
  result<std::vector<std::string>> exchange(std::string_view mine, double deadline_s) {
    ++exchanges_;
    return exchange_bytes(mine, deadline_s);
  }
  /// How often exchange() was called. The start of a job takes two (net/start/job_start.hpp).
  [[nodiscard]] unsigned exchanges() const noexcept { return exchanges_; }
  /// Leaves the job normally. Returns within the deadline.
  virtual void leave(double deadline_s) noexcept = 0;

 private:
  virtual result<std::vector<std::string>> exchange_bytes(std::string_view mine, double deadline_s) = 0;

  unsigned exchanges_ = 0;
};

/// Selects by the environment: PMIx if a launcher started this process (PMIX_RANK, ...), MPI for the transport "mpi",
/// else alone. Errors: one line if a launcher is present but cannot be used, if it does not answer within the deadline
/// (PMIx), or if MPI does not start within the deadline because a process is missing.
result<std::unique_ptr<bootstrap>> find_bootstrap(std::string_view transport, double deadline_s = 60);

namespace detail {

/// By PMIx, which mpirun and `srun --mpi=pmix` offer. Errors: one line if PMIx cannot be loaded, or if the launcher's
/// process on this host refuses the connection or does not answer within the deadline. After that PMIx cannot be
/// started again in this process.
result<std::unique_ptr<bootstrap>> make_pmix_bootstrap(double deadline_s);

/// The bootstrap of a process that runs alone.
class alone final : public bootstrap {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "alone"; }
  [[nodiscard]] locality_id here() const noexcept override { return 0; }
  [[nodiscard]] unsigned size() const noexcept override { return 1; }
  void leave(double /*deadline_s*/) noexcept override {}

 private:
  result<std::vector<std::string>> exchange_bytes(std::string_view mine, double /*deadline_s*/) override {
    return std::vector<std::string>{std::string(mine)};
  }
};

// The format of exchanged data: a sequence of byte strings with their lengths.

/// Appends a field.
inline void append_field(std::string& to, std::string_view field) {
  const auto size = static_cast<std::uint32_t>(field.size());
  char bytes[sizeof size];
  std::memcpy(bytes, &size, sizeof size);
  to.append(bytes, sizeof size).append(field);
}

/// Removes the first field from `from` and returns it; nullopt if there is no complete field.
inline std::optional<std::string_view> take_field(std::string_view& from) noexcept {
  std::uint32_t size = 0;
  if (from.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, from.data(), sizeof size);
  if (from.size() - sizeof size < size) return std::nullopt;
  const std::string_view field = from.substr(sizeof size, size);
  from.remove_prefix(sizeof size + size);
  return field;
}

// This host, and how to connect to it.

/// Equal for processes that share a running kernel and its network namespace, and only for those.
std::string host_key();
/// Whether the network 127.0.0.0/8 can be used.
bool has_loopback();
/// The addresses of the network devices that are up, each as the bytes of a sockaddr; without loopback and link-local
/// addresses.
std::vector<std::string> host_addresses();

// The launcher of this process, by the environment variables that launchers set.

/// Whether PMIx is offered: PMIX_RANK and PMIX_NAMESPACE are set.
bool offers_pmix() noexcept;
/// The name of a variable which shows that this process is one of several; null if none is set.
const char* launched_by() noexcept;
/// Whether this process is the first one of its launcher; true without a launcher.
bool is_first_launched() noexcept;
/// How many processes Open MPI, MPICH, MVAPICH or Slurm have started, and how many of them on this host, before they
/// find each other; 1 where the launcher does not say.
struct launch_size {
  unsigned processes = 1, on_host = 1;
};
launch_size launched() noexcept;

}  // namespace detail
}  // namespace plx::net
