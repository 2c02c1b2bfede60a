#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/process.hpp"
#include "probe/live/http_server.hpp"

namespace plx::probe {
namespace {

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
  const char* what = number == EADDRINUSE      ? "; another program uses this port: choose another port, or 0 for any"
                     : number == EACCES        ? "; ports below 1024 are reserved: choose another port"
                     : number == EADDRNOTAVAIL ? "; it is not an address of this machine"
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
  owned_descriptor listening, wake_read, wake_write;
  owned_descriptor reserve;  // closed temporarily when no descriptors are left, to accept and close a connection
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

/// Sleeps until the next event. Returns false at the end.
bool http_server::state::wait() {
  const double now = monotonic_seconds();
  double next = std::min(now + 3600, handler.between(now));
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

/// Returns false if there is no further connection to accept.
bool http_server::state::accept_one(double now) {
  int fd = ::accept(listening.number, nullptr, nullptr);
  if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
    // Otherwise the connection would stay in the queue and wake the server repeatedly.
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

/// Closes the connection that has been idle longest; connections that wait for a reply or read one are kept.
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
  accept_all(now);  // accepts connections that arrived just before
  listening.reset();
  for (http_connection& c : clients) c.end(handler, now);
  while (true) {
    // A connection whose last reply is sent can be dropped.
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
  try {
    const no_signals of_the_page;
    s->thread = std::thread([state = s.get()] {
#if defined(__linux__)
      pthread_setname_np(pthread_self(), "plx-live");
      ::setpriority(PRIO_PROCESS, 0, 10);  // for this thread only: workers take precedence
#endif
      try {
        state->loop();
      } catch (const std::exception& x) {
        log_error("the live page ends: {}", x.what());
      }
    });
  } catch (const std::system_error& e) {
    return listen_error(where, e.code().value());
  }
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

namespace {

#if defined(MSG_NOSIGNAL)
constexpr int send_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
#else
constexpr int send_flags = MSG_DONTWAIT;
#endif

bool would_wait(int number) { return number == EAGAIN || number == EWOULDBLOCK || number == EINTR; }

void count(std::atomic<std::uint64_t>& c, std::uint64_t n = 1) { c.fetch_add(n, std::memory_order_relaxed); }

}  // namespace

void owned_descriptor::reset(int n) noexcept {
  if (number >= 0) ::close(number);
  number = n;
}

const char* http_reason(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

http_connection::http_connection(int descriptor, const http_limits& limits, http_counts& counts, double now)
    : descriptor_(descriptor), limits_(&limits), counts_(&counts), deadline_(now + limits.head_s) {
  count(counts_->open);
}

http_connection::~http_connection() { close(); }

void http_connection::close() noexcept {
  phase_ = phase::closed;
  if (descriptor_.number < 0) return;
  descriptor_.reset();
  counts_->open.fetch_sub(1, std::memory_order_relaxed);
}

void http_connection::ready(http_handler& handler, double now) {
  switch (phase_) {
    case phase::reading:
      if (has_more_) return serve(handler, false, now);
      return read_more(handler, now);
    case phase::parked:
      return read_more(handler, now);
    case phase::writing:
      return write_more(now), serve(handler, false, now);
    case phase::draining:
      return drain();
    case phase::closed:
      return;
  }
}

void http_connection::late(http_handler& handler, double now) {
  if (phase_ == phase::parked) {
    phase_ = phase::reading;
    return serve(handler, true, now);
  }
  // A connection that was idle between requests, or has had its last reply, is not counted as timed out.
  if (phase_ == phase::writing || (phase_ == phase::reading && !(served_ && in_.empty()))) count(counts_->timed_out);
  close();
}

void http_connection::end(http_handler& handler, double now) {
  last_ = true;
  if (phase_ == phase::parked) return late(handler, now);
  if (has_more()) serve(handler, false, now);
  if (phase_ == phase::reading) read_more(handler, now);  // answers requests received so far
  if (phase_ == phase::reading && !follows_) close();
  if (phase_ == phase::writing && !follows_) ends_ = true;
}

void http_connection::read_more(http_handler& handler, double now) {
  const bool began = !in_.empty();
  const std::size_t size = in_.size(), room = http_head_limit - size;
  if (room == 0) return close();  // it keeps sending while its reply is being prepared
  in_.resize(http_head_limit);
  const ssize_t n = ::recv(descriptor_.number, in_.data() + size, room, MSG_DONTWAIT);
  const int number = errno;
  in_.resize(size + static_cast<std::size_t>(n > 0 ? n : 0));
  if (n == 0 || (n < 0 && !would_wait(number))) return close();
  if (n <= 0 || phase_ == phase::parked) return;  // the next request waits for the reply to this one
  if (!began && served_) deadline_ = now + limits_->head_s;
  serve(handler, false, now);
}

/// Answers the received requests in order, as long as the client reads the replies.
void http_connection::serve(http_handler& handler, bool again, double now) {
  has_more_ = false;
  for (int replies = 0; phase_ == phase::reading && !in_.empty(); ++replies) {
    if (replies == limits_->replies && !last_) return void(has_more_ = true);
    const http_parsed parsed = parse_http_request(in_);
    if (parsed.kind == http_parsed::incomplete) return;
    if (parsed.kind == http_parsed::refused) return refuse(parsed.status, now);
    http_reply r = handler.answer(parsed.request, again);
    again = false;
    if (r.later_s > 0 && last_) r = handler.answer(parsed.request, true);
    if (r.later_s > 0) {
      phase_ = phase::parked;
      deadline_ = now + r.later_s;
      return;
    }
    ends_ = last_ || !parsed.request.keep_alive || r.status >= 400;  // an error reply ends the connection
    follows_ = r.follows;
    const bool head_only = parsed.request.head_only;  // the request views the text erased below
    in_.erase(0, ends_ ? in_.size() : parsed.length);
    reply(r, head_only, now);
  }
}

void http_connection::refuse(int status, double now) {
  count(counts_->malformed);
  ends_ = true;
  in_.clear();
  http_reply r{.status = status};
  r.body = std::make_shared<const std::string>(fmt::format("{} {}\n", status, http_reason(status)));
  if (status == 405) r.headers = "Allow: GET, HEAD\r\n";
  reply(r, false, now);
}

void http_connection::reply(const http_reply& r, bool head_only, double now) {
  count(r.status == 200 ? counts_->answered : counts_->refused);
  head_ = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
      "{}Connection: {}\r\n\r\n",
      r.status, http_reason(r.status), r.type, r.body ? r.body->size() : 0, r.headers, ends_ ? "close" : "keep-alive");
  body_ = head_only ? nullptr : r.body;
  sent_ = 0;
  phase_ = phase::writing;
  deadline_ = now + limits_->write_s;
  progress_ = now;
  write_more(now);
}

void http_connection::write_more(double now) {
  const std::size_t size = head_.size() + (body_ ? body_->size() : 0);
  while (sent_ < size) {
    // Head and body are sent together: a short reply is one packet.
    const std::size_t of_head = std::min(sent_, head_.size()), of_body = sent_ - of_head;
    iovec parts[2] = {{head_.data() + of_head, head_.size() - of_head}, {nullptr, 0}};
    if (body_) parts[1] = {const_cast<char*>(body_->data()) + of_body, body_->size() - of_body};  // sendmsg only reads
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(descriptor_.number, &message, send_flags);
    if (n < 0 && would_wait(errno)) return;
    if (n < 0) return close();
    sent_ += static_cast<std::size_t>(n);
    progress_ = now;
    count(counts_->bytes_sent, static_cast<std::uint64_t>(n));
  }
  written(now);
}

void http_connection::written(double now) {
  body_.reset();
  served_ = true;
  if (!ends_) {
    phase_ = phase::reading;
    deadline_ = now + (in_.empty() ? limits_->idle_s : limits_->head_s);
    return;
  }
  phase_ = phase::draining;
  deadline_ = now + 1;
  ::shutdown(descriptor_.number, SHUT_WR);
  drain();
}

void http_connection::drain() {
  char forgotten[4096];
  for (int i = 0; i < 16; ++i) {
    const ssize_t n = ::recv(descriptor_.number, forgotten, sizeof forgotten, MSG_DONTWAIT);
    if (n < 0 && would_wait(errno)) return;
    if (n <= 0) return close();
  }
}

}  // namespace plx::probe
