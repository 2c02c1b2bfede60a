// The secret of a job: sixteen random bytes that locality 0 makes and the launcher's own channel hands to all others.
// It never travels over a connection: who connects shows a proof, a keyed hash of who speaks to whom, for what.
//
// Thread safety: everything. Cost: a proof takes some dozen nanoseconds. Example: net/secret_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.hpp"
#include "net/locality_id.hpp"

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

}  // namespace plx::net::detail
