#include "net/detail/meeting.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "net/detail/fields.hpp"
#include "net/detail/host.hpp"

namespace plx::net::detail {

namespace {

constexpr std::string_view protocol = "plx 1";  // to be counted up when localities could not speak with older ones

}  // namespace

result<meeting> meet(bootstrap& b, double deadline_s) {
  meeting m;
  m.here = b.here();
  m.size = b.size();
  std::string mine;
  append_field(mine, protocol);
  append_field(mine, host_key());
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
    if (version != protocol || !host)
      return error{
          fmt::format("expected a program of the same version, found another as locality {}; start the same "
                      "program everywhere",
                      i)};
    m.hosts.emplace_back(*host);
    if (i != 0) continue;
    const auto secret = take_field(fields);
    if (!secret || secret->size() != m.secret.size()) return error{"locality 0 did not tell the secret of the job"};
    std::memcpy(m.secret.data(), secret->data(), m.secret.size());
  }
  m.one_host = has_loopback() && std::all_of(m.hosts.begin(), m.hosts.end(), [&](auto& h) { return h == m.hosts[0]; });
  return m;
}

}  // namespace plx::net::detail
