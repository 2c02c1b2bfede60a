// The connections of the failure detector: of two neighbours the one with the higher number calls, the other accepts.
// The accepting one sends a challenge first; the call answers it and has a challenge for the other one.
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
#include "net/start/bootstrap.hpp"
#include "net/start/failure_detector.hpp"

namespace plx::net::detail {

namespace {

constexpr double connect_timeout_s = 4;  // for an address that does not answer
constexpr double proof_timeout_s = 20;   // for a connection without data: from another program, or a busy host
constexpr std::size_t most_unknown = 64;
constexpr int most_accepted = 64;        // per call, so that other connections are served as well
constexpr std::size_t most_rounds = 10;  // over all addresses of a peer
constexpr double rest_s = 0.2;           // between rounds

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
  std::unique_ptr<failure_detector> l(new failure_detector(m));
  if (auto r = l->open(); !r) return r.error();
  return l;
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

namespace {

void sort_once(std::vector<locality_id>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

}  // namespace

std::vector<locality_id> power_of_two_neighbours(locality_id here, unsigned size) {
  std::vector<locality_id> all;
  for (unsigned distance = 1; distance < size; distance *= 2) {
    all.push_back((here + distance) % size);
    all.push_back((here + size - distance) % size);
  }
  sort_once(all);
  return all;
}

std::vector<locality_id> failure_detector::neighbours() const {
  std::vector<locality_id> all = power_of_two_neighbours(job_.here, job_.size);
  // The next localities on this host in both directions: they share its memory, which a death may corrupt.
  for (const unsigned step : {1u, job_.size - 1}) {
    locality_id other = (job_.here + step) % job_.size;
    while (!job_.near(other)) other = (other + step) % job_.size;
    if (other != job_.here) all.push_back(other);
  }
  sort_once(all);
  return all;
}

result<void> failure_detector::connect(const std::vector<std::string>& addresses, double deadline_s) {
  const double until = monotonic_seconds() + deadline_s;
  for (const locality_id peer : neighbours())
    if (peer < job_.here) call_peer(peer, addresses[peer]);
  const std::size_t wanted = neighbours().size();
  while (connected() < wanted) {
    wait_for_calls();
    if (auto r = check_lines(); !r) return r;
    if (monotonic_seconds() > until)
      return error{
          fmt::format("expected {} of locality {} to connect within {:g} s, found {}; check that "
                      "all processes run",
                      plural(wanted, "neighbour"), job_.here, deadline_s, connected())};
  }
  stop_listening();
  return {};
}

void failure_detector::call_peer(locality_id peer, std::string_view fields) {
  auto& l = *lines_.emplace_back(std::make_unique<line>());
  l.peer = peer;
  std::uint16_t port = 0;
  if (const auto field = take_field(fields); field && field->size() == sizeof port)
    std::memcpy(&port, field->data(), sizeof port);
  if (job_.one_host) l.addresses.push_back(loopback(port));
  const auto mine = host_addresses();
  while (const auto a = take_field(fields)) {
    // An address that this host has as well, such as that of a bridge, would lead back to this host: tried last.
    const bool ours = std::find(mine.begin(), mine.end(), *a) != mine.end();
    l.addresses.insert(ours ? l.addresses.end() : l.addresses.begin(), with_port(*a, port));
  }
  call_next(l);
}

void failure_detector::wait_for_calls() {
  std::array<epoll_event, 32> events;
  const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 20);
  for (const epoll_event& e : std::span(events).first(static_cast<std::size_t>(std::max(n, 0)))) {
    if (e.data.ptr == nullptr) {
      accept_all();
      continue;
    }
    line& l = *static_cast<line*>(e.data.ptr);
    l.now == state::up ? serve(l, e.events) : go_on(l);
  }
  forget_refused();
}

// Not called while events are served, because they refer to lines.
void failure_detector::forget_refused() {
  const auto refused = [](const auto& l) { return l->now == state::closed && l->peer == no_locality; };
  lines_.erase(std::remove_if(lines_.begin(), lines_.end(), refused), lines_.end());
}

result<void> failure_detector::check_lines() {
  const double now = monotonic_seconds();
  for (const auto& l : lines_)
    if (l->now != state::up && l->now != state::closed && now > l->until) go_on(*l);
  if (!losses_.empty())
    return error{fmt::format("locality {} was lost at the start: {}", losses_[0].who, losses_[0].why)};
  for (const auto& l : lines_)
    if (l->now == state::closed && l->peer != no_locality)
      return error{fmt::format("locality {} cannot be reached from locality {}: none of its addresses answers", l->peer,
                               job_.here)};
  return {};
}

unsigned failure_detector::connected() const {
  return static_cast<unsigned>(
      std::count_if(lines_.begin(), lines_.end(), [](const auto& l) { return l->now == state::up; }));
}

// Tries each address in turn, then again after a pause: many other connections may have kept the peer from answering.
void failure_detector::call_next(line& l) {
  if (l.fd >= 0) ::close(std::exchange(l.fd, -1));
  l.in.clear();
  const std::size_t n = l.addresses.size();
  const bool round_ends = l.tried != 0 && l.tried % n == 0;
  if (l.tried == most_rounds * n) {
    l.now = state::closed;
  } else if (round_ends && l.now != state::resting) {
    l.now = state::resting;
    l.until = monotonic_seconds() + rest_s;
  } else {
    call_address(l, l.addresses[l.tried++ % n]);
  }
}

void failure_detector::call_address(line& l, const std::string& address) {
  const auto* a = reinterpret_cast<const sockaddr*>(address.data());
  l.fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  l.now = state::connecting;
  l.until = monotonic_seconds() + connect_timeout_s;
  if (l.fd < 0) return;
  prepare(l.fd);
  if (::connect(l.fd, a, static_cast<socklen_t>(address.size())) == 0 || errno == EINPROGRESS) return watch(l, true);
  ::close(std::exchange(l.fd, -1));
  l.until = 0;  // at once
}

void failure_detector::accept_all() {
  for (int i = 0; i < most_accepted; ++i) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    drop_oldest_unknown();
    prepare(fd);
    auto& l = *lines_.emplace_back(std::make_unique<line>());
    l.fd = fd;
    l.now = state::unknown;
    l.until = monotonic_seconds() + proof_timeout_s;
    l.challenge = next_challenge();
    l.out.assign(reinterpret_cast<const char*>(&l.challenge), sizeof l.challenge);
    write(l);
  }
}

// Differs each time, and cannot be predicted without the secret.
std::uint64_t failure_detector::next_challenge() {
  const auto now = static_cast<std::uint64_t>(monotonic_seconds() * 1e9);
  return make_proof(job_.secret, proof_of::challenge, job_.here, ++challenges_, now);
}

// A locality of the job identifies itself at once: if too many connections are unverified, the oldest is refused.
void failure_detector::drop_oldest_unknown() {
  const auto is_unknown = [](const auto& l) { return l->now == state::unknown; };
  if (static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), is_unknown)) < most_unknown) return;
  line& oldest = **std::find_if(lines_.begin(), lines_.end(), is_unknown);
  go_on(oldest);  // its call may have arrived in the meantime
  if (oldest.now == state::unknown) refuse(oldest);
}

void failure_detector::refuse(line& l) {
  ++refused_;
  ::close(std::exchange(l.fd, -1));
  l.now = state::closed;
}

// Called when data have arrived, or when the time is over.
void failure_detector::go_on(line& l) {
  if (l.now == state::closed) return;
  if (l.now == state::resting) return call_next(l);
  if (l.now == state::connecting) {
    int failed = 0;
    socklen_t size = sizeof failed;
    getsockopt(l.fd, SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0 || monotonic_seconds() > l.until) return call_next(l);
    l.now = state::connected;
    l.until = monotonic_seconds() + proof_timeout_s;
    return watch(l, false);
  }
  std::array<char, sizeof(call)> bytes;
  const std::size_t expected = l.now == state::unknown ? sizeof(call) : sizeof(std::uint64_t);
  const ssize_t got = recv(l.fd, bytes.data(), expected - l.in.size(), MSG_DONTWAIT);
  if (got > 0) l.in.append(bytes.data(), static_cast<std::size_t>(got));
  const bool gone = got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR) || monotonic_seconds() > l.until;
  if (l.in.size() < expected && !gone) return;
  if (l.now == state::connected) return answer_challenge(l);
  l.now == state::called ? check_answer(l) : check_call(l);
}

void failure_detector::answer_challenge(line& l) {
  std::uint64_t theirs = 0;
  if (l.in.size() != sizeof theirs) return call_next(l);
  std::memcpy(&theirs, l.in.data(), sizeof theirs);
  l.in.clear();
  l.challenge = next_challenge();
  const call c{make_proof(job_.secret, proof_of::call, job_.here, l.peer, theirs), job_.here, 0, l.challenge};
  l.out.assign(reinterpret_cast<const char*>(&c), sizeof c);
  l.now = state::called;
  l.until = monotonic_seconds() + proof_timeout_s;
  write(l);
}

void failure_detector::check_answer(line& l) {
  const std::uint64_t proof = make_proof(job_.secret, proof_of::answer, l.peer, job_.here, l.challenge);
  if (l.in.size() != sizeof proof || std::memcmp(l.in.data(), &proof, sizeof proof) != 0) return call_next(l);
  l.in.clear();
  l.now = state::up;
}

void failure_detector::check_call(line& l) {
  call c{};
  const bool whole = l.in.size() == sizeof c;
  if (whole) std::memcpy(&c, l.in.data(), sizeof c);
  const auto wanted = neighbours();
  const bool known = std::any_of(lines_.begin(), lines_.end(), [&](auto& each) { return each->peer == c.from; });
  const bool right = whole && c.proof == make_proof(job_.secret, proof_of::call, c.from, job_.here, l.challenge) &&
                     c.from > job_.here && !known && std::binary_search(wanted.begin(), wanted.end(), c.from);
  l.in.clear();
  if (!right) return refuse(l);
  l.peer = c.from;
  l.now = state::up;
  const std::uint64_t proof = make_proof(job_.secret, proof_of::answer, job_.here, l.peer, c.challenge);
  l.out.append(reinterpret_cast<const char*>(&proof), sizeof proof);
  write(l);
}

// All neighbours have connected.
void failure_detector::stop_listening() {
  ::close(std::exchange(listener_, -1));
  for (const auto& l : lines_)
    if (l->now == state::unknown) refuse(*l);
  forget_refused();
}

}  // namespace plx::net::detail
