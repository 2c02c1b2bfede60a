#include "probe/live/live_address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace plx::probe {
namespace {

/// Whether only this machine can reach it; nothing if it is not an address.
std::optional<bool> loopback_address(const std::string& host) {
  in_addr four{};
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six) != 0;
  return std::nullopt;
}

struct host_and_port {
  std::string_view host, port;
};

/// "[::1]:80" is {"::1", "80"}, "a:80" {"a", "80"}, "::1" {"::1", ""}.
host_and_port split(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    const std::string_view rest = text.substr(std::min(end, text.size() - 1) + 1);
    if (end == std::string_view::npos || !(rest.empty() || rest.starts_with(':'))) return {text, ""};  // not an address
    return {text.substr(1, end - 1), rest.substr(std::min<std::size_t>(1, rest.size()))};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find(':') != colon) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

bool same_name(std::string_view a, std::string_view b) {
  const auto low = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return low(x) == low(y); });
}

}  // namespace

std::string live_address::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

result<live_address> parse_live_address(std::string_view text, bool beyond_loopback) {
  if (text == "1" || text == "true") text = "127.0.0.1:0";
  const auto [host, port] = split(text);
  live_address a;
  a.host = host.empty() || same_name(host, "localhost") ? "127.0.0.1" : std::string(host);
  const char* end = port.data() + port.size();
  const auto [stop, failed] = std::from_chars(port.data(), end, a.port);
  const auto loopback = loopback_address(a.host);
  if (!loopback || (!port.empty() && (failed != std::errc{} || stop != end)))
    return error{fmt::format("serve = '{}': expected an address and a port, as in 127.0.0.1:0 or [::1]:8080", text)};
  a.loopback = *loopback;
  if (!a.loopback && !beyond_loopback)
    return error{fmt::format(
        "serve = '{}': other machines could reach this address, and the connection is not encrypted; use "
        "127.0.0.1:{} and a tunnel (ssh -L), or set --plx:serve-beyond-loopback (PLX_SERVE_BEYOND_LOOPBACK=1)",
        text, a.port)};
  return a;
}

bool trusted_host(std::string_view header) {
  const std::string host(split(header).host);
  if (loopback_address(host) || same_name(host, "localhost")) return true;
  char own[256] = {};
  return gethostname(own, sizeof own - 1) == 0 && own[0] != '\0' && same_name(host, own);
}

}  // namespace plx::probe
