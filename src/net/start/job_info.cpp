#include <fmt/core.h>
#include <sys/random.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "net/start/bootstrap.hpp"
#include "net/start/job_info.hpp"

namespace plx::net::detail {

result<job_secret> make_secret() {
  job_secret s;
  std::size_t filled = 0;
  while (filled < s.size()) {
    const ssize_t got = getrandom(s.data() + filled, s.size() - filled, 0);
    if (got < 0 && errno != EINTR)
      return error{std::string("the system provides no random numbers: ") + std::strerror(errno)};
    if (got > 0) filled += static_cast<std::size_t>(got);
  }
  return s;
}

namespace {

// Reads little-endian on any machine.
std::uint64_t word_at(const std::byte* p, std::size_t bytes) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bytes; ++i) word |= std::to_integer<std::uint64_t>(p[i]) << (8 * i);
  return word;
}

struct sip_state {
  std::uint64_t v0, v1, v2, v3;

  void round() noexcept {
    v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
  }
  void take(std::uint64_t word) noexcept {
    v3 ^= word;
    round(), round();
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t siphash(const job_secret& key, std::span<const std::byte> bytes) noexcept {
  const std::uint64_t k0 = word_at(key.data(), 8), k1 = word_at(key.data() + 8, 8);
  sip_state s{k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u};
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) s.take(word_at(bytes.data() + i, 8));
  s.take(word_at(bytes.data() + i, bytes.size() - i) | static_cast<std::uint64_t>(bytes.size()) << 56);
  s.v2 ^= 0xff;
  for (int n = 0; n < 4; ++n) s.round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

std::uint64_t make_proof(const job_secret& secret, proof_of what, locality_id from, locality_id to,
                         std::uint64_t challenge) noexcept {
  const std::array<std::uint32_t, 5> fields{static_cast<std::uint32_t>(what), from, to,
                                            static_cast<std::uint32_t>(challenge),
                                            static_cast<std::uint32_t>(challenge >> 32)};
  return siphash(secret, std::as_bytes(std::span(fields)));
}

namespace {

constexpr std::string_view protocol = "plx 4";  // to be incremented when a version cannot communicate with older ones

}  // namespace

result<job_info> exchange_job_info(bootstrap& b, std::string_view properties, double deadline_s) {
  job_info m;
  m.here = b.here();
  m.size = b.size();
  std::string mine;
  append_field(mine, protocol);
  append_field(mine, host_key());
  append_field(mine, properties);
  if (m.here == 0) {
    const auto secret = make_secret();
    if (!secret) return secret.error();
    append_field(mine, {reinterpret_cast<const char*>(secret->data()), secret->size()});
  }
  const auto all = b.exchange(mine, deadline_s);
  if (!all) return all.error();
  for (locality_id i = 0; i < m.size; ++i) {
    std::string_view fields = (*all)[i];
    const auto version = take_field(fields);
    const auto host = take_field(fields);
    const auto described = take_field(fields);
    if (version != protocol || !host || !described)
      return error{
          fmt::format("expected a program of the same version, found another as locality {}; start the same "
                      "program everywhere",
                      i)};
    m.hosts.emplace_back(*host);
    m.properties.emplace_back(*described);
    if (i != 0) continue;
    const auto secret = take_field(fields);
    if (!secret || secret->size() != m.secret.size()) return error{"locality 0 did not send the secret of the job"};
    std::memcpy(m.secret.data(), secret->data(), m.secret.size());
  }
  m.one_host = has_loopback() && std::all_of(m.hosts.begin(), m.hosts.end(), [&](auto& h) { return h == m.hosts[0]; });
  return m;
}

std::vector<locality_id> localities_of_host(const job_info& job) {
  std::vector<locality_id> near;
  for (locality_id i = 0; i < job.size; ++i)
    if (job.near(i)) near.push_back(i);
  return near;
}

}  // namespace plx::net::detail
