#include "probe/live/http_connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace plx::probe {
namespace {

#if defined(MSG_NOSIGNAL)
constexpr int send_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
#else
constexpr int send_flags = MSG_DONTWAIT;
#endif

bool would_wait(int number) { return number == EAGAIN || number == EWOULDBLOCK || number == EINTR; }

void count(std::atomic<std::uint64_t>& c, std::uint64_t n = 1) { c.fetch_add(n, std::memory_order_relaxed); }

}  // namespace

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
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
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
  // A connection that only idles between requests, or has had its last reply, did nothing wrong.
  if (phase_ == phase::writing || (phase_ == phase::reading && !(served_ && in_.empty()))) count(counts_->timed_out);
  close();
}

void http_connection::end(http_handler& handler, double now) {
  last_ = true;
  if (phase_ == phase::parked) return late(handler, now);
  if (has_more()) serve(handler, false, now);
  if (phase_ == phase::reading) read_more(handler, now);  // what has come is answered
  if (phase_ == phase::reading && !follows_) close();
  if (phase_ == phase::writing && !follows_) ends_ = true;
}

void http_connection::read_more(http_handler& handler, double now) {
  const bool began = !in_.empty();
  const std::size_t size = in_.size(), room = http_head_limit - size;
  if (room == 0) return close();  // it sends on while its reply is being made
  in_.resize(http_head_limit);
  const ssize_t n = ::recv(descriptor_, in_.data() + size, room, MSG_DONTWAIT);
  const int number = errno;
  in_.resize(size + static_cast<std::size_t>(n > 0 ? n : 0));
  if (n == 0 || (n < 0 && !would_wait(number))) return close();
  if (n <= 0 || phase_ == phase::parked) return;  // the next request waits until this one has its reply
  if (!began && served_) deadline_ = now + limits_->head_s;
  serve(handler, false, now);
}

/// Answers the requests that have come, one after the other, as long as the client takes the replies.
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
    ends_ = last_ || !parsed.request.keep_alive || r.status >= 400;  // a refusal costs the client its connection
    follows_ = r.follows;
    const bool head_only = parsed.request.head_only;  // the request views what is erased now
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
    // Head and body leave together: a short reply is one packet.
    const std::size_t of_head = std::min(sent_, head_.size()), of_body = sent_ - of_head;
    iovec parts[2] = {{head_.data() + of_head, head_.size() - of_head}, {nullptr, 0}};
    if (body_) parts[1] = {const_cast<char*>(body_->data()) + of_body, body_->size() - of_body};  // sendmsg only reads
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(descriptor_, &message, send_flags);
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
  ::shutdown(descriptor_, SHUT_WR);
  drain();
}

void http_connection::drain() {
  char forgotten[4096];
  for (int i = 0; i < 16; ++i) {
    const ssize_t n = ::recv(descriptor_, forgotten, sizeof forgotten, MSG_DONTWAIT);
    if (n < 0 && would_wait(errno)) return;
    if (n <= 0) return close();
  }
}

}  // namespace plx::probe
