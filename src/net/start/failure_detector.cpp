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
constexpr std::uint32_t finished_message = 1, lost_message = 2, question = 3, answer_message = 4;
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
  for (const auto& l : lines_)
    if (l->fd >= 0) ::close(l->fd);
  if (listener_ >= 0) ::close(listener_);
  if (epoll_ >= 0) ::close(epoll_);
}

bool failure_detector::poll() {
  std::array<epoll_event, 32> events;
  const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  bool any = false;
  for (const epoll_event& e : std::span(events).first(static_cast<std::size_t>(std::max(n, 0)))) {
    if (e.data.ptr == nullptr) continue;  // a descriptor passed to add()
    serve(*static_cast<line*>(e.data.ptr), e.events);
    any = true;
  }
  return any;
}

void failure_detector::serve(line& l, unsigned events) {
  if (l.now == state::up && (events & EPOLLOUT) != 0) write(l);
  if (l.now == state::up) read(l);
}

void failure_detector::read(line& l) {
  std::array<char, 4096> bytes;
  const ssize_t got = recv(l.fd, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return end(l, text_of(got == 0 ? 0 : errno));
  l.in.append(bytes.data(), static_cast<std::size_t>(got));
  take_messages(l);
}

void failure_detector::take_messages(line& l) {
  message_header h;
  while (l.now == state::up && l.in.size() >= sizeof h) {
    std::memcpy(&h, l.in.data(), sizeof h);
    if (h.kind < finished_message || h.kind > answer_message || h.text_bytes > longest_text || h.who >= job_.size)
      return end(l, "its message is invalid");
    if (l.in.size() < sizeof h + h.text_bytes) return;
    const std::string text = l.in.substr(sizeof h, h.text_bytes);
    l.in.erase(0, sizeof h + h.text_bytes);
    hear(h.kind, h.who, text, &l);
  }
}

void failure_detector::hear(std::uint32_t kind, locality_id who, std::string_view text, const line* from) {
  if (kind == question) return questions_.push_back(from->peer);
  if (kind == answer_message) return answers_.push_back(from->peer);
  // The others continue without this locality, whatever the reason, so it must not continue with them.
  if (kind == lost_message && who == job_.here)
    return lose_all(fmt::format("it considers this locality lost: {}", text));
  if (who == job_.here) return;
  if (kind == lost_message) return lose(who, std::string(text));
  if (fates_[who] != fate::there) return;
  fates_[who] = fate::finished;
  spread(kind, who, text, from);
}

void failure_detector::report_lost(locality_id who, std::string why) { lose(who, std::move(why)); }

// A peer that has finished is lost if it ends before all have finished, because the others may still need it. When a
// job ends normally no loss is reported: a peer closes its lines after it has learned, and reported, that all have
// finished.
void failure_detector::lose(locality_id who, std::string why) {
  if (fates_[who] == fate::lost || who == job_.here || all_finished()) return;
  why.resize(std::min(why.size(), longest_text));
  fates_[who] = fate::lost;
  spread(lost_message, who, why, nullptr);
  losses_.push_back({who, std::move(why)});
}

// The others are not notified of losses that only this locality detects.
void failure_detector::lose_all(const std::string& why) {
  if (all_finished()) return;
  for (locality_id i = 0; i < job_.size; ++i) {
    if (i == job_.here || fates_[i] == fate::lost) continue;
    fates_[i] = fate::lost;
    losses_.push_back({i, why});
  }
}

void failure_detector::resign(const std::string& why) {
  spread(lost_message, job_.here, std::string_view(why).substr(0, longest_text), nullptr);
  lose_all(why);
}

bool failure_detector::ask(locality_id neighbour) { return send_empty(neighbour, question); }

void failure_detector::answer(locality_id neighbour) { send_empty(neighbour, answer_message); }

bool failure_detector::send_empty(locality_id neighbour, std::uint32_t kind) {
  const message_header h{kind, job_.here, 0};
  for (const auto& l : lines_) {
    if (l->now != state::up || l->peer != neighbour) continue;
    l->out.append(reinterpret_cast<const char*>(&h), sizeof h);
    write(*l);
    return true;
  }
  return false;
}

void failure_detector::report_finished() {
  if (std::exchange(finished_, true)) return;
  fates_[job_.here] = fate::finished;
  spread(finished_message, job_.here, {}, nullptr);
}

bool failure_detector::all_finished() const {
  return std::none_of(fates_.begin(), fates_.end(), [](fate f) { return f == fate::there; });
}

void failure_detector::spread(std::uint32_t kind, locality_id who, std::string_view text, const line* but) {
  const message_header h{kind, who, static_cast<std::uint32_t>(text.size())};
  for (const auto& l : lines_) {
    if (l->now != state::up || l.get() == but) continue;
    l->out.append(reinterpret_cast<const char*>(&h), sizeof h).append(text);
    write(*l);
  }
}

// A broken line is detected and reported once, by read().
void failure_detector::write(line& l) {
  while (!l.out.empty()) {
    const ssize_t sent = send(l.fd, l.out.data(), l.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) l.out.clear();
    if (sent <= 0) break;
    l.out.erase(0, static_cast<std::size_t>(sent));
  }
  watch(l, !l.out.empty());
}

void failure_detector::end(line& l, std::string why) {
  ::close(std::exchange(l.fd, -1));
  l.now = state::closed;
  if (l.peer == no_locality) return;
  if (fates_[l.peer] == fate::finished) why = "it has left the job";
  lose(l.peer, std::move(why));
}

void failure_detector::watch(line& l, bool also_writing) {
  epoll_event e{};
  e.events = EPOLLIN | (also_writing ? EPOLLOUT : 0u);
  e.data.ptr = &l;
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, l.fd, &e) != 0) epoll_ctl(epoll_, EPOLL_CTL_ADD, l.fd, &e);
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
    return std::any_of(lines_.begin(), lines_.end(), [&](const auto& l) { return l->now == state::up && which(*l); });
  };
  const auto wait = [&] {
    epoll_event e;
    epoll_wait(epoll_, &e, 1, 10);
    poll();
    return monotonic_seconds() < until;
  };
  while (any([](const line& l) { return !l.out.empty(); }) && wait()) {
  }
  for (const auto& l : lines_)
    if (l->now == state::up) shutdown(l->fd, SHUT_WR);
  while (any([](const line&) { return true; }) && wait()) {
  }
}

}  // namespace plx::net::detail
