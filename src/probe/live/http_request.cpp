// The heads of requests, and the address of the live page.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/process.hpp"
#include "probe/live/http_server.hpp"

namespace plx::probe {
namespace {

constexpr std::size_t target_limit = 2048;
constexpr int lines_limit = 64;

http_parsed refusal(int status) { return {.kind = http_parsed::refused, .status = status}; }

bool equal_names(std::string_view a, std::string_view lower) {
  return std::equal(a.begin(), a.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return std::tolower(static_cast<unsigned char>(x)) == y; });
}

std::string_view without_blanks(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

/// RFC 9110: the characters of methods and header names.
bool is_token(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

/// Only visible ASCII; in a header's value also blanks, tabs, and bytes above ASCII.
bool is_visible(std::string_view s, bool value) {
  return std::all_of(s.begin(), s.end(), [&](char c) {
    const auto u = static_cast<unsigned char>(c);
    return (u > 0x20 && u < 0x7f) || (value && (u == ' ' || u == '\t' || u >= 0x80));
  });
}

/// Removes and returns the first line without its end; nothing if the line is incomplete.
std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  std::string_view line = text.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  text.remove_prefix(end + 1);
  return line;
}

int read_request_line(std::string_view line, http_request& r) {
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return 400;
  const std::string_view method = line.substr(0, first), version = line.substr(last + 1);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(method) || !version.starts_with("HTTP/")) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  if (method != "GET" && method != "HEAD") return 405;
  if (target.size() > target_limit) return 414;
  if (!target.starts_with('/') || !is_visible(target, false)) return 400;
  r.head_only = method == "HEAD";
  r.keep_alive = version == "HTTP/1.1";
  const std::size_t question = std::min(target.find('?'), target.size());
  r.path = target.substr(0, question);
  r.query = target.substr(std::min(question + 1, target.size()));
  return 0;
}

int read_header(std::string_view line, http_request& r, int& hosts) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return 400;
  const std::string_view name = line.substr(0, colon), value = without_blanks(line.substr(colon + 1));
  if (!is_token(name) || !is_visible(value, true))
    return 400;  // a folded line begins with a blank, which is not a
                 // token
  if (equal_names(name, "host")) {
    r.host = value;
    if (++hosts > 1) return 400;
  }
  if (equal_names(name, "authorization")) r.authorization = value;
  if (equal_names(name, "connection") && equal_names(value, "close")) r.keep_alive = false;
  if (equal_names(name, "transfer-encoding")) return 413;
  if (equal_names(name, "content-length") && value != "0") return 413;
  return 0;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int low = std::tolower(static_cast<unsigned char>(c));
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

std::string unescaped(std::string_view s) {
  std::string text;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const int high = s[i] == '%' && i + 2 < s.size() ? hex_digit(s[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(s[i + 2]) : -1;
    if (low >= 0) {
      text += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      text += s[i] == '+' ? ' ' : s[i];
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> http_request::field(std::string_view name) const {
  for (std::string_view rest = query; !rest.empty();) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view one = rest.substr(0, end);
    const std::size_t equals = std::min(one.find('='), one.size());
    if (one.substr(0, equals) == name) return unescaped(one.substr(std::min(equals + 1, one.size())));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return std::nullopt;
}

http_parsed parse_http_request(std::string_view text) {
  http_parsed parsed;
  std::string_view rest = text.substr(0, http_head_limit);
  const auto more = [&](int too_large) { return text.size() >= http_head_limit ? refusal(too_large) : parsed; };
  const auto first = take_line(rest);
  if (!first) {
    // Input that cannot become a request is refused without waiting for the rest of the line.
    if (const std::string_view begin = text.substr(0, 16);
        !begin.empty() && !is_token(begin.substr(0, begin.find(' '))))
      return refusal(400);
    return more(414);
  }
  if (const int status = read_request_line(*first, parsed.request)) return refusal(status);
  int hosts = 0;
  for (int lines = 0;; ++lines) {
    const auto line = take_line(rest);
    if (!line) return more(431);
    if (line->empty()) break;
    if (lines == lines_limit) return refusal(431);
    if (const int status = read_header(*line, parsed.request, hosts)) return refusal(status);
  }
  parsed.kind = http_parsed::complete;
  parsed.length = static_cast<std::size_t>(rest.data() - text.data());
  return parsed;
}

// ----------------------------------------------------------------------------------------------------------- addresses

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
    return error{fmt::format("expected an address and a port, as in 127.0.0.1:0 or [::1]:8080, found '{}'", text)};
  a.loopback = *loopback;
  if (!a.loopback && !beyond_loopback)
    return error{fmt::format(
        "other machines could reach the address '{}', and the connection is not encrypted; use "
        "127.0.0.1:{} and a tunnel (ssh -L), or set --plx:serve-beyond-loopback (PLX_SERVE_BEYOND_LOOPBACK=1)",
        text, a.port)};
  return a;
}

bool trusted_host(std::string_view header) {
  const std::string host(split(header).host);
  if (loopback_address(host) || same_name(host, "localhost")) return true;
  const std::string own = host_name();
  return !own.empty() && same_name(host, own);
}

}  // namespace plx::probe
