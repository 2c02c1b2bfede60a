// The secret of a job: sixteen random bytes that locality 0 makes and the launcher's own channel hands to all others.
// It never travels over a connection: who connects shows a proof, a keyed hash of who speaks to whom, for what.
//
// Thread safety: everything. Cost: a proof takes some dozen nanoseconds. Example: net/start/test/secret_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "net/locality.hpp"
#include "net/start/bootstrap.hpp"

namespace plx::net::detail {

using job_secret = std::array<std::byte, 16>;

/// From the system's random numbers.
result<job_secret> make_secret();

/// SipHash-2-4. Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
std::uint64_t siphash(const job_secret& key, std::span<const std::byte> bytes) noexcept;

/// What a proof is for.
enum class proof_of : std::uint32_t { message = 1, call, answer };

/// What `from` shows to `to` (no_locality: to everybody), and nobody else can make without the secret.
std::uint64_t make_proof(const job_secret& secret, proof_of what, locality_id from, locality_id to) noexcept;

// The first thing that localities tell each other: on which host they are; and the secret of the job, from locality 0.
//
// Thread safety: one thread. Example: net/start/test/lifelines_test.cpp

struct meeting {
  locality_id here = 0;
  unsigned size = 0;
  job_secret secret{};
  std::vector<std::string> hosts;  // of each locality
  bool one_host = false;           // all are on this one, which has a loopback network

  [[nodiscard]] bool near(locality_id other) const { return hosts[other] == hosts[here]; }
};

/// All must call it. An error of one line.
result<meeting> meet(bootstrap& b, double deadline_s);

}  // namespace plx::net::detail
