#include "probe/live/http_server.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "probe/live/http_connection.hpp"

namespace plx::probe {
namespace {

struct descriptor {
  int number = -1;
  descriptor() = default;
  explicit descriptor(int n) : number(n) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { reset(); }
  void reset(int n = -1) {
    if (number >= 0) ::close(number);
    number = n;
  }
};

void make_ready(int fd) {
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

struct socket_address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
};

socket_address system_address(const live_address& a) {
  socket_address s;
  auto* four = reinterpret_cast<sockaddr_in*>(&s.bytes);
  auto* six = reinterpret_cast<sockaddr_in6*>(&s.bytes);
  if (inet_pton(AF_INET, a.host.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET, four->sin_port = htons(a.port);
    s.size = sizeof *four;
  } else if (inet_pton(AF_INET6, a.host.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6, six->sin6_port = htons(a.port);
    s.size = sizeof *six;
  }
  return s;
}

std::uint16_t port_of(int fd) {
  socket_address s;
  s.size = sizeof s.bytes;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&s.bytes), &s.size) != 0) return 0;
  return ntohs(s.bytes.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&s.bytes)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&s.bytes)->sin_port);
}

error listen_error(const live_address& where, int number) {
  const char* what = number == EADDRINUSE      ? "; another program listens there: take another port, or 0 for any"
                     : number == EACCES        ? "; ports below 1024 are the system's: take another"
                     : number == EADDRNOTAVAIL ? "; it is none of this machine's addresses"
                                               : "";
  return error{fmt::format("cannot serve at {}: {}{}", where.text(), std::generic_category().message(number), what)};
}

double thread_cpu_s() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0)
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
#endif
  return 0;
}

}  // namespace

struct http_server::state {
  state(live_address a, http_handler& h, const http_limits& l) : where(std::move(a)), handler(h), limits(l) {}

  live_address where;
  http_handler& handler;
  const http_limits limits;
  http_counts counts;
  descriptor listening, wake_read, wake_write;
  descriptor reserve;  // given up for a moment when there are no more descriptors, to take and close a connection
  double deaf_until = 0;
  std::vector<http_connection> clients;
  std::vector<pollfd> polled;
  std::thread thread;

  result<void> open();
  void loop();
  bool wait();
  void accept_all(double now);
  bool accept_one(double now);
  void make_room(double now);
  void end();
};

result<void> http_server::state::open() {
  const socket_address address = system_address(where);
  listening.reset(::socket(address.bytes.ss_family, SOCK_STREAM, 0));
  if (listening.number < 0) return listen_error(where, errno);
  make_ready(listening.number);
  const int yes = 1;
  ::setsockopt(listening.number, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listening.number, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 ||
      ::listen(listening.number, 64) != 0)
    return listen_error(where, errno);
  where.port = port_of(listening.number);
  int ends[2];
  if (::pipe(ends) != 0) return listen_error(where, errno);
  wake_read.reset(ends[0]), wake_write.reset(ends[1]);
  make_ready(ends[0]), make_ready(ends[1]);
  reserve.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return {};
}

/// Sleeps until there is something to do. False at the end.
bool http_server::state::wait() {
  const double now = monotonic_seconds();
  double next = now + 3600;
  polled.clear();
  polled.push_back({wake_read.number, POLLIN, 0});
  polled.push_back({now < deaf_until ? -1 : listening.number, POLLIN, 0});
  if (now < deaf_until) next = deaf_until;
  for (const http_connection& c : clients) {
    polled.push_back(
        {c.descriptor(), static_cast<short>(c.now() == http_connection::phase::writing ? POLLOUT : POLLIN), 0});
    next = std::min(next, c.has_more() ? now : c.deadline());
  }
  counts.cpu_s.store(thread_cpu_s(), std::memory_order_relaxed);
  const int pause_ms = next <= now ? 0 : static_cast<int>((next - now) * 1000) + 1;
  if (::poll(polled.data(), static_cast<nfds_t>(polled.size()), pause_ms) < 0)
    for (pollfd& p : polled) p.revents = 0;
  return polled[0].revents == 0;
}

void http_server::state::loop() {
  while (wait()) {
    const double now = monotonic_seconds();
    for (std::size_t i = 0; i < clients.size(); ++i) {
      if (polled[i + 2].revents != 0 || clients[i].has_more())
        clients[i].ready(handler, now);
      else if (now >= clients[i].deadline())
        clients[i].late(handler, now);
    }
    std::erase_if(clients, [](const http_connection& c) { return c.now() == http_connection::phase::closed; });
    if (polled[1].revents != 0) accept_all(now);
  }
  end();
}

void http_server::state::accept_all(double now) {
  for (int i = 0; i < 64 && accept_one(now); ++i) {
  }
}

/// False when there is nobody more to accept.
bool http_server::state::accept_one(double now) {
  int fd = ::accept(listening.number, nullptr, nullptr);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    // Without this the connection would stay in the queue and wake us again and again.
    reserve.reset();
    if (const int away = ::accept(listening.number, nullptr, nullptr); away >= 0) {
      ::close(away);
      counts.turned_away.fetch_add(1, std::memory_order_relaxed);
    }
    reserve.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (reserve.number < 0) deaf_until = now + 0.1;
    return false;
  }
  if (fd < 0) {
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED) deaf_until = now + 0.1;
    return false;
  }
  make_ready(fd);
  const int yes = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
#if defined(SO_NOSIGPIPE)
  ::setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes);
#endif
  if (clients.size() >= limits.connections) make_room(now);
  if (clients.size() >= limits.connections) {
    ::close(fd);
    counts.turned_away.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  clients.emplace_back(fd, limits, counts, now);
  return true;
}

/// Closes the connection that has been silent for longest; one that waits for a reply, or reads one, is kept.
void http_server::state::make_room(double now) {
  auto oldest = clients.end();
  for (auto c = clients.begin(); c != clients.end(); ++c)
    if (c->expendable(now) && (oldest == clients.end() || c->deadline() < oldest->deadline())) oldest = c;
  if (oldest == clients.end()) return;
  counts.turned_away.fetch_add(1, std::memory_order_relaxed);
  oldest->close();
  clients.erase(oldest);
}

void http_server::state::end() {
  const double now = monotonic_seconds(), until = now + limits.end_s;
  accept_all(now);  // who came a moment before
  listening.reset();
  for (http_connection& c : clients) c.end(handler, now);
  while (true) {
    // Who has its last reply, and nothing more to say, needs no farewell.
    using phase = http_connection::phase;
    std::erase_if(clients, [](const auto& c) { return c.now() == phase::closed || c.now() == phase::draining; });
    const double left = until - monotonic_seconds();
    if (clients.empty() || left <= 0) break;
    polled.clear();
    for (const http_connection& c : clients)
      polled.push_back(
          {c.descriptor(), static_cast<short>(c.now() == http_connection::phase::writing ? POLLOUT : POLLIN), 0});
    if (::poll(polled.data(), static_cast<nfds_t>(polled.size()), static_cast<int>(left * 1000) + 1) <= 0) break;
    for (std::size_t i = 0; i < clients.size(); ++i)
      if (polled[i].revents != 0) clients[i].ready(handler, monotonic_seconds());
  }
  clients.clear();
}

http_server::http_server(std::unique_ptr<state> s) : state_(std::move(s)) {}

result<std::unique_ptr<http_server>> http_server::start(const live_address& where, http_handler& handler,
                                                        const http_limits& limits) {
  auto s = std::make_unique<state>(where, handler, limits);
  if (auto r = s->open(); !r) return r.error();
  sigset_t all, before;  // signals are the program's, not this thread's
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = 0;
  try {
    s->thread = std::thread([state = s.get()] {
#if defined(__linux__)
      pthread_setname_np(pthread_self(), "plx-live");
      ::setpriority(PRIO_PROCESS, 0, 10);  // of this thread only: workers go first
#endif
      try {
        state->loop();
      } catch (const std::exception& x) {
        log_error("the live page ends: {}", x.what());
      }
    });
  } catch (const std::system_error& e) {
    failed = e.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) return listen_error(where, failed);
  return std::unique_ptr<http_server>(new http_server(std::move(s)));
}

http_server::~http_server() { stop(); }

void http_server::stop() noexcept {
  if (!state_->thread.joinable()) return;
  const char byte = 0;
  while (::write(state_->wake_write.number, &byte, 1) < 0 && errno == EINTR) {
  }
  state_->thread.join();
}

const live_address& http_server::where() const noexcept { return state_->where; }
const http_counts& http_server::counts() const noexcept { return state_->counts; }

}  // namespace plx::probe
