// The connections of the failure detector: of two neighbours the one with the higher number calls, the other accepts.
// The accepting one sends a challenge first; the call contains the proof for it and a challenge for the accepting one,
// whose reply contains the proof for that.
#include <fmt/core.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "net/core/tree_round.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/failure_detector.hpp"

namespace plx::net::detail {

namespace {

constexpr double connect_timeout_s = 4;  // for an address that does not answer
constexpr double proof_timeout_s = 20;   // for a connection without data: from another program, or a busy host
constexpr std::size_t most_unverified = 64;
constexpr int most_accepted = 64;        // per call, so that other connections are served as well
constexpr std::size_t most_rounds = 10;  // over all addresses of a peer
constexpr double pause_s = 0.2;          // between rounds

/// The first message of the calling locality.
struct call {
  std::uint64_t proof;
  locality_id from;
  std::uint32_t zero;
  std::uint64_t challenge;
};

void set_option(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof value); }

// A host that does not answer is detected after 8 s: by probes while nothing is sent, else by missing acknowledgements.
void prepare(int fd) {
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2);
  set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 8000);
}

std::string loopback(std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return {reinterpret_cast<const char*>(&a), sizeof a};
}

std::string with_port(std::string_view address, std::uint16_t port) {
  std::string a(address);
  // The port is at the same offset for both address families.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const std::uint16_t in_order = htons(port);
  if (a.size() >= sizeof(sockaddr_in)) std::memcpy(a.data() + offsetof(sockaddr_in, sin_port), &in_order, 2);
  return a;
}

int bound(int family, bool loopback_only) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  if (family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const auto* address =
      family == AF_INET6 ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<sockaddr*>(&four);
  if (bind(fd, address, family == AF_INET6 ? sizeof six : sizeof four) == 0 && ::listen(fd, 256) == 0) return fd;
  ::close(fd);
  return -1;
}

std::uint16_t port_of(int fd) {
  sockaddr_storage a{};
  socklen_t size = sizeof a;
  getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size);
  return ntohs(a.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(a).sin6_port
                                       : reinterpret_cast<sockaddr_in&>(a).sin_port);
}

}  // namespace

result<std::unique_ptr<failure_detector>> failure_detector::listen(const job_info& m) {
  std::unique_ptr<failure_detector> detector(new failure_detector(m));
  if (auto r = detector->open(); !r) return r.error();
  return detector;
}

result<void> failure_detector::open() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (!job_.one_host) listener_ = bound(AF_INET6, false);
  if (listener_ < 0) listener_ = bound(AF_INET, job_.one_host);
  if (epoll_ < 0 || listener_ < 0)
    return error{fmt::format("cannot listen for the other localities: {}", std::strerror(errno))};
  port_ = port_of(listener_);
  add(listener_);
  return {};
}

std::string failure_detector::address() const {
  std::string a;
  append_field(a, {reinterpret_cast<const char*>(&port_), sizeof port_});
  if (!job_.one_host)
    for (const std::string& each : host_addresses()) append_field(a, each);
  return a;
}

std::vector<locality_id> failure_detector::neighbours() const {
  std::vector<locality_id> all = power_of_two_neighbours(job_.here, job_.size);
  // The next localities on this host in both directions: they share its memory, which a death may corrupt.
  for (const unsigned step : {1u, job_.size - 1}) {
    locality_id other = (job_.here + step) % job_.size;
    while (!job_.near(other)) other = (other + step) % job_.size;
    if (other != job_.here) all.push_back(other);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

result<void> failure_detector::connect(const std::vector<std::string>& addresses, double deadline_s) {
  const double until = monotonic_seconds() + deadline_s;
  for (const locality_id peer : neighbours())
    if (peer < job_.here) connect_to(peer, addresses[peer]);
  const std::size_t wanted = neighbours().size();
  while (connected() < wanted) {
    wait_for_events();
    if (auto r = check_connections(); !r) return r;
    if (monotonic_seconds() > until)
      return error{
          fmt::format("expected {} of locality {} to connect within {:g} s, found {}; check that "
                      "all processes run",
                      plural(wanted, "neighbour"), job_.here, deadline_s, connected())};
  }
  stop_listening();
  return {};
}

void failure_detector::connect_to(locality_id peer, std::string_view fields) {
  auto& c = *connections_.emplace_back(std::make_unique<connection>());
  c.peer = peer;
  std::uint16_t port = 0;
  if (const auto field = take_field(fields); field && field->size() == sizeof port)
    std::memcpy(&port, field->data(), sizeof port);
  if (job_.one_host) c.addresses.push_back(loopback(port));
  const auto mine = host_addresses();
  while (const auto a = take_field(fields)) {
    // An address that this host has as well, such as that of a bridge, would lead back to this host: tried last.
    const bool ours = std::find(mine.begin(), mine.end(), *a) != mine.end();
    c.addresses.insert(ours ? c.addresses.end() : c.addresses.begin(), with_port(*a, port));
  }
  try_next_address(c);
}

void failure_detector::wait_for_events() {
  std::array<epoll_event, 32> events;
  const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 20);
  for (const epoll_event& e : std::span(events).first(static_cast<std::size_t>(std::max(n, 0)))) {
    if (e.data.ptr == nullptr) {
      accept_all();
      continue;
    }
    connection& c = *static_cast<connection*>(e.data.ptr);
    c.now == state::up ? serve(c, e.events) : advance(c);
  }
  erase_refused();
}

// Not called while events are served, because they refer to connections.
void failure_detector::erase_refused() {
  const auto refused = [](const auto& c) { return c->now == state::closed && c->peer == no_locality; };
  connections_.erase(std::remove_if(connections_.begin(), connections_.end(), refused), connections_.end());
}

result<void> failure_detector::check_connections() {
  const double now = monotonic_seconds();
  for (const auto& c : connections_)
    if (c->now != state::up && c->now != state::closed && now > c->until) advance(*c);
  if (!losses_.empty())
    return error{fmt::format("locality {} was lost at the start: {}", losses_[0].who, losses_[0].why)};
  for (const auto& c : connections_)
    if (c->now == state::closed && c->peer != no_locality)
      return error{fmt::format("locality {} cannot be reached from locality {}: none of its addresses answers", c->peer,
                               job_.here)};
  return {};
}

unsigned failure_detector::connected() const {
  return static_cast<unsigned>(
      std::count_if(connections_.begin(), connections_.end(), [](const auto& c) { return c->now == state::up; }));
}

// Tries each address in turn, then again after a pause: many other connections may have kept the peer from answering.
void failure_detector::try_next_address(connection& c) {
  if (c.fd >= 0) ::close(std::exchange(c.fd, -1));
  c.in.clear();
  const std::size_t n = c.addresses.size();
  const bool round_ends = c.tried != 0 && c.tried % n == 0;
  if (c.tried == most_rounds * n) {
    c.now = state::closed;
  } else if (round_ends && c.now != state::paused) {
    c.now = state::paused;
    c.until = monotonic_seconds() + pause_s;
  } else {
    try_address(c, c.addresses[c.tried++ % n]);
  }
}

void failure_detector::try_address(connection& c, const std::string& address) {
  const auto* a = reinterpret_cast<const sockaddr*>(address.data());
  c.fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  c.now = state::connecting;
  c.until = monotonic_seconds() + connect_timeout_s;
  if (c.fd < 0) return;
  prepare(c.fd);
  if (::connect(c.fd, a, static_cast<socklen_t>(address.size())) == 0 || errno == EINPROGRESS) return watch(c, true);
  ::close(std::exchange(c.fd, -1));
  c.until = 0;  // at once
}

void failure_detector::accept_all() {
  for (int i = 0; i < most_accepted; ++i) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    drop_oldest_unverified();
    prepare(fd);
    auto& c = *connections_.emplace_back(std::make_unique<connection>());
    c.fd = fd;
    c.now = state::unverified;
    c.until = monotonic_seconds() + proof_timeout_s;
    c.challenge = next_challenge();
    c.out.assign(reinterpret_cast<const char*>(&c.challenge), sizeof c.challenge);
    write(c);
  }
}

// Differs each time, and cannot be predicted without the secret.
std::uint64_t failure_detector::next_challenge() {
  const auto now = static_cast<std::uint64_t>(monotonic_seconds() * 1e9);
  return make_proof(job_.secret, proof_of::challenge, job_.here, ++challenges_, now);
}

// A locality of the job identifies itself at once: if too many connections are unverified, the oldest is refused.
void failure_detector::drop_oldest_unverified() {
  const auto is_unverified = [](const auto& c) { return c->now == state::unverified; };
  if (static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), is_unverified)) <
      most_unverified)
    return;
  connection& oldest = **std::find_if(connections_.begin(), connections_.end(), is_unverified);
  advance(oldest);  // its call may have arrived in the meantime
  if (oldest.now == state::unverified) refuse(oldest);
}

void failure_detector::refuse(connection& c) {
  ++refused_;
  ::close(std::exchange(c.fd, -1));
  c.now = state::closed;
}

// Called when data have arrived, or when the time is over.
void failure_detector::advance(connection& c) {
  if (c.now == state::closed) return;
  if (c.now == state::paused) return try_next_address(c);
  if (c.now == state::connecting) {
    int failed = 0;
    socklen_t size = sizeof failed;
    getsockopt(c.fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0 || monotonic_seconds() > c.until) return try_next_address(c);
    c.now = state::connected;
    c.until = monotonic_seconds() + proof_timeout_s;
    return watch(c, false);
  }
  std::array<char, sizeof(call)> bytes;
  const std::size_t expected = c.now == state::unverified ? sizeof(call) : sizeof(std::uint64_t);
  const ssize_t got = recv(c.fd, bytes.data(), expected - c.in.size(), MSG_DONTWAIT);
  if (got > 0) c.in.append(bytes.data(), static_cast<std::size_t>(got));
  const bool gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) || monotonic_seconds() > c.until;
  if (c.in.size() < expected && !gone) return;
  if (c.now == state::connected) return reply_to_challenge(c);
  c.now == state::called ? verify_reply(c) : verify_call(c);
}

void failure_detector::reply_to_challenge(connection& c) {
  std::uint64_t theirs = 0;
  if (c.in.size() != sizeof theirs) return try_next_address(c);
  std::memcpy(&theirs, c.in.data(), sizeof theirs);
  c.in.clear();
  c.challenge = next_challenge();
  const call m{make_proof(job_.secret, proof_of::call, job_.here, c.peer, theirs), job_.here, 0, c.challenge};
  c.out.assign(reinterpret_cast<const char*>(&m), sizeof m);
  c.now = state::called;
  c.until = monotonic_seconds() + proof_timeout_s;
  write(c);
}

void failure_detector::verify_reply(connection& c) {
  const std::uint64_t proof = make_proof(job_.secret, proof_of::reply, c.peer, job_.here, c.challenge);
  if (c.in.size() != sizeof proof || std::memcmp(c.in.data(), &proof, sizeof proof) != 0) return try_next_address(c);
  c.in.clear();
  c.now = state::up;
}

void failure_detector::verify_call(connection& c) {
  call m{};
  const bool whole = c.in.size() == sizeof m;
  if (whole) std::memcpy(&m, c.in.data(), sizeof m);
  const auto wanted = neighbours();
  const bool known =
      std::any_of(connections_.begin(), connections_.end(), [&](auto& each) { return each->peer == m.from; });
  const bool right = whole && m.proof == make_proof(job_.secret, proof_of::call, m.from, job_.here, c.challenge) &&
                     m.from > job_.here && !known && std::binary_search(wanted.begin(), wanted.end(), m.from);
  c.in.clear();
  if (!right) return refuse(c);
  c.peer = m.from;
  c.now = state::up;
  const std::uint64_t proof = make_proof(job_.secret, proof_of::reply, job_.here, c.peer, m.challenge);
  c.out.append(reinterpret_cast<const char*>(&proof), sizeof proof);
  write(c);
}

// All neighbours have connected.
void failure_detector::stop_listening() {
  ::close(std::exchange(listener_, -1));
  for (const auto& c : connections_)
    if (c->now == state::unverified) refuse(*c);
  erase_refused();
}

}  // namespace plx::net::detail
