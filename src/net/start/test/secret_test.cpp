#include "net/start/job_info.hpp"

#include <gtest/gtest.h>

#include <set>

namespace {

using namespace plx;
using namespace plx::net::detail;

job_secret counted() {
  job_secret s;
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = static_cast<std::byte>(i);
  return s;
}

// Source: appendix A of the paper, and the vectors of its reference implementation (key 00..0f, message 00, 01, ...).
TEST(Siphash, MatchesThePublishedValues) {
  std::array<std::byte, 15> message;
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
  const std::span all(message);
  EXPECT_EQ(siphash(counted(), all.first(0)), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(siphash(counted(), all.first(1)), 0x74f839c593dc67fdu);
  EXPECT_EQ(siphash(counted(), all.first(8)), 0x93f5f5799a932462u);
  EXPECT_EQ(siphash(counted(), all), 0xa129ca6149be45e5u);
}

TEST(Secret, IsDifferentEachTime) {
  std::set<job_secret> all;
  for (int i = 0; i < 100; ++i) all.insert(make_secret().value());
  EXPECT_EQ(all.size(), 100u);
}

TEST(Proof, DependsOnTheSecretAndOnEachArgument) {
  job_secret other = counted();
  other[15] ^= std::byte{1};
  std::set<std::uint64_t> all;
  for (const auto& secret : {counted(), other})
    for (const auto what : {proof_of::message, proof_of::call, proof_of::reply})
      for (locality_id from = 0; from < 5; ++from)
        for (locality_id to = 0; to < 5; ++to)
          for (const std::uint64_t challenge : {0, 1}) {
            all.insert(make_proof(secret, what, from, to, challenge));
            all.insert(make_proof(secret, what, from, to, (challenge + 1) << 32));
          }
  EXPECT_EQ(all.size(), 2u * 3 * 5 * 5 * 4);
}

}  // namespace
