// The secret of a job: sixteen random bytes that locality 0 generates and the launcher's own channel distributes. It is
// never sent over a connection: a connecting locality sends a proof, a keyed hash of sender, receiver, purpose and of a
// number that the other side has chosen for this connection (a challenge), so that a recorded proof is of no use.
//
// Thread safety: everything. Cost: a proof takes some dozen nanoseconds. Example: net/start/test/secret_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "net/locality.hpp"
#include "net/start/bootstrap.hpp"

namespace plx::net::detail {

using job_secret = std::array<std::byte, 16>;

/// Generated from the system's random numbers.
result<job_secret> make_secret();

/// SipHash-2-4. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
std::uint64_t siphash(const job_secret& key, std::span<const std::byte> bytes) noexcept;

/// The purpose of a proof.
enum class proof_of : std::uint32_t { message = 1, call, reply, challenge };

/// The proof of `from` for `to` (no_locality: for all), which cannot be made without the secret. `challenge`: 0 without
/// one.
std::uint64_t make_proof(const job_secret& secret, proof_of what, locality_id from, locality_id to,
                         std::uint64_t challenge = 0) noexcept;

// The first data that localities exchange: their hosts, other properties and, from locality 0, the secret of the job.
//
// Thread safety: one thread. Example: net/start/test/failure_detector_test.cpp

struct job_info {
  locality_id here = 0;
  unsigned size = 0;
  job_secret secret{};
  std::vector<std::string> hosts;       // by locality
  std::vector<std::string> properties;  // by locality: what each has passed to exchange_job_info()
  bool one_host = false;                // all are on this host, which has a loopback network

  [[nodiscard]] bool near(locality_id other) const { return hosts[other] == hosts[here]; }
};

/// The first of the two exchanges of a start. Called by all localities together. `properties`: any bytes for the
/// others. Errors: one line.
result<job_info> exchange_job_info(bootstrap& b, std::string_view properties, double deadline_s);

/// The localities of this host in ascending order, including this one.
std::vector<locality_id> localities_of_host(const job_info& job);

}  // namespace plx::net::detail
