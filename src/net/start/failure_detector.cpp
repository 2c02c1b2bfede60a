// Messages of the failure detector. See failure_detector_start.cpp for how localities connect.
#include "net/start/failure_detector.hpp"

#include <fmt/core.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/clock.hpp"

namespace plx::net::detail {

namespace {

// The first two concern all localities and are forwarded; the others are between neighbours.
constexpr std::uint32_t finished_message = 1, lost_message = 2, probe_request = 3, probe_reply = 4;
constexpr std::size_t longest_text = 400;

struct message_header {
  std::uint32_t kind, who, text_bytes;
};

std::string text_of(int error_number) {
  if (error_number == ETIMEDOUT) return "its host does not answer any more";
  if (error_number == 0 || error_number == ECONNRESET || error_number == EPIPE) return "its process has ended";
  return std::string("its connection failed: ") + std::strerror(error_number);
}

}  // namespace

failure_detector::~failure_detector() {
  for (const auto& c : connections_)
    if (c->fd >= 0) ::close(c->fd);
  if (listener_ >= 0) ::close(listener_);
  if (epoll_ >= 0) ::close(epoll_);
}

bool failure_detector::poll() {
  std::array<epoll_event, 32> events;
  const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  bool any = false;
  for (const epoll_event& e : std::span(events).first(static_cast<std::size_t>(std::max(n, 0)))) {
    if (e.data.ptr == nullptr) continue;  // a descriptor passed to add()
    serve(*static_cast<connection*>(e.data.ptr), e.events);
    any = true;
  }
  write_all();  // all notices that have arrived, together
  return any;
}

void failure_detector::serve(connection& c, unsigned events) {
  if (c.now == state::up && (events & EPOLLOUT) != 0) write(c);
  if (c.now == state::up) read(c);
}

void failure_detector::read(connection& c) {
  std::array<char, 4096> bytes;
  for (bool more = true; more && c.now == state::up;) {
    const ssize_t got = recv(c.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) return end(c, text_of(got == 0 ? 0 : errno));
    c.in.append(bytes.data(), static_cast<std::size_t>(got));
    more = static_cast<std::size_t>(got) == bytes.size();
    take_messages(c);
  }
}

void failure_detector::take_messages(connection& c) {
  message_header h;
  while (c.now == state::up && c.in.size() >= sizeof h) {
    std::memcpy(&h, c.in.data(), sizeof h);
    if (h.kind < finished_message || h.kind > probe_reply || h.text_bytes > longest_text || h.who >= job_.size)
      return end(c, "its message is invalid");
    if (c.in.size() < sizeof h + h.text_bytes) return;
    const std::string text = c.in.substr(sizeof h, h.text_bytes);
    c.in.erase(0, sizeof h + h.text_bytes);
    take_message(h.kind, h.who, text, &c);
  }
}

void failure_detector::take_message(std::uint32_t kind, locality_id who, std::string_view text,
                                    const connection* from) {
  if (kind == probe_request) return probe_requests_.push_back(from->peer);
  if (kind == probe_reply) return probe_replies_.push_back(from->peer);
  // The others continue without this locality, whatever the reason, so it must not continue with them.
  if (kind == lost_message && who == job_.here)
    return mark_all_lost(fmt::format("it considers this locality lost: {}", text));
  if (who == job_.here) return;
  if (kind == lost_message) return mark_lost(who, std::string(text));
  if (status_[who] != status::running) return;
  status_[who] = status::finished;
  notify_neighbours(kind, who, text, from);
}

void failure_detector::report_lost(locality_id who, std::string why) {
  mark_lost(who, std::move(why));
  write_all();
}

// A peer that has finished is lost if it ends before all have finished, because the others may still need it. When a
// job ends normally no loss is reported: a peer closes its connections after it has learned, and reported, that all
// have finished.
void failure_detector::mark_lost(locality_id who, std::string why) {
  if (status_[who] == status::lost || who == job_.here || all_finished()) return;
  why.resize(std::min(why.size(), longest_text));
  status_[who] = status::lost;
  notify_neighbours(lost_message, who, why, nullptr);
  losses_.push_back({who, std::move(why)});
}

// The others are not notified of losses that only this locality detects.
void failure_detector::mark_all_lost(const std::string& why) {
  if (all_finished()) return;
  for (locality_id i = 0; i < job_.size; ++i) {
    if (i == job_.here || status_[i] == status::lost) continue;
    status_[i] = status::lost;
    losses_.push_back({i, why});
  }
}

void failure_detector::resign(const std::string& why) {
  notify_neighbours(lost_message, job_.here, std::string_view(why).substr(0, longest_text), nullptr);
  write_all();
  mark_all_lost(why);
}

bool failure_detector::request_probe(locality_id neighbour) { return send_empty(neighbour, probe_request); }

void failure_detector::reply_to_probe(locality_id neighbour) { send_empty(neighbour, probe_reply); }

bool failure_detector::send_empty(locality_id neighbour, std::uint32_t kind) {
  const message_header h{kind, job_.here, 0};
  for (const auto& c : connections_) {
    if (c->now != state::up || c->peer != neighbour) continue;
    c->out.append(reinterpret_cast<const char*>(&h), sizeof h);
    write(*c);
    return true;
  }
  return false;
}

void failure_detector::report_finished() {
  if (std::exchange(finished_, true)) return;
  status_[job_.here] = status::finished;
  notify_neighbours(finished_message, job_.here, {}, nullptr);
  write_all();
}

bool failure_detector::all_finished() const {
  return std::none_of(status_.begin(), status_.end(), [](status s) { return s == status::running; });
}

// Requires: write_all() follows.
void failure_detector::notify_neighbours(std::uint32_t kind, locality_id who, std::string_view text,
                                         const connection* but) {
  const message_header h{kind, who, static_cast<std::uint32_t>(text.size())};
  for (const auto& c : connections_) {
    if (c->now != state::up || c.get() == but) continue;
    c->out.append(reinterpret_cast<const char*>(&h), sizeof h).append(text);
  }
}

void failure_detector::write_all() {
  for (const auto& c : connections_)
    if (c->now == state::up && !c->out.empty()) write(*c);
}

// A broken connection is detected and reported once, by read().
void failure_detector::write(connection& c) {
  while (!c.out.empty()) {
    const ssize_t sent = send(c.fd, c.out.data(), c.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    ++writes_;
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) c.out.clear();
    if (sent <= 0) break;
    c.out.erase(0, static_cast<std::size_t>(sent));
  }
  watch(c, !c.out.empty());
}

void failure_detector::end(connection& c, std::string why) {
  ::close(std::exchange(c.fd, -1));
  c.now = state::closed;
  if (c.peer == no_locality) return;
  if (status_[c.peer] == status::finished) why = "it has left the job";
  mark_lost(c.peer, std::move(why));
}

void failure_detector::watch(connection& c, bool also_writing) {
  epoll_event e{};
  e.events = EPOLLIN | (also_writing ? EPOLLOUT : 0u);
  e.data.ptr = &c;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, c.fd, &e) != 0) epoll_ctl(epoll_, EPOLL_CTL_ADD, c.fd, &e);
}

void failure_detector::add(int fd) {
  epoll_event e{};
  e.events = EPOLLIN;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e);
}

std::vector<loss> failure_detector::take_losses() { return std::exchange(losses_, {}); }

void failure_detector::close(double deadline_s) {
  const double until = monotonic_seconds() + deadline_s;
  const auto any = [&](auto which) {
    return std::any_of(connections_.begin(), connections_.end(),
                       [&](const auto& c) { return c->now == state::up && which(*c); });
  };
  const auto wait = [&] {
    epoll_event e;
    epoll_wait(epoll_, &e, 1, 10);
    poll();
    return monotonic_seconds() < until;
  };
  while (any([](const connection& c) { return !c.out.empty(); }) && wait()) {
  }
  for (const auto& c : connections_)
    if (c->now == state::up) shutdown(c->fd, SHUT_WR);
  while (any([](const connection&) { return true; }) && wait()) {
  }
}

}  // namespace plx::net::detail
