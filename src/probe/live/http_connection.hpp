// Internal: one client of the HTTP server: what came from it, what it is owed, and until when it may take its time.
//
// Thread safety: none; of the server's thread. Cost: a buffer of http_head_limit bytes and the reply on its way.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "probe/live/http_server.hpp"

namespace plx::probe {

class http_connection {
 public:
  enum class phase {
    reading,   // a request's head
    parked,    // the handler said "later"
    writing,   // a reply
    draining,  // the reply is out and the connection ends: what the client still sends is read and forgotten, so that
               // the system does not take the reply back (RFC 9112, 9.6)
    closed,
  };

  http_connection(int descriptor, const http_limits& limits, http_counts& counts, double now);
  http_connection(http_connection&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)),
        limits_(other.limits_),
        counts_(other.counts_),
        phase_(other.phase_),
        deadline_(other.deadline_),
        served_(other.served_),
        ends_(other.ends_),
        has_more_(other.has_more_),
        progress_(other.progress_),
        follows_(other.follows_),
        last_(other.last_),
        in_(std::move(other.in_)),
        head_(std::move(other.head_)),
        body_(std::move(other.body_)),
        sent_(other.sent_) {}
  http_connection& operator=(http_connection&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(phase_, other.phase_), std::swap(deadline_, other.deadline_);
    std::swap(served_, other.served_), std::swap(ends_, other.ends_);
    std::swap(has_more_, other.has_more_), std::swap(progress_, other.progress_);
    std::swap(follows_, other.follows_), std::swap(last_, other.last_);
    in_.swap(other.in_), head_.swap(other.head_), body_.swap(other.body_);
    std::swap(sent_, other.sent_);
    return *this;
  }
  ~http_connection();

  /// The socket.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// The time of the last look at the clock.
  [[nodiscard]] phase now() const noexcept { return phase_; }
  /// When the client has had its time.
  [[nodiscard]] double deadline() const noexcept { return deadline_; }
  /// It may be closed to make room: no reply is due, or the client takes none.
  [[nodiscard]] bool expendable(double now) const noexcept {
    return phase_ == phase::reading || phase_ == phase::draining ||
           (phase_ == phase::writing && now - progress_ >= limits_->stuck_s);
  }
  /// More requests have come than were answered in one turn: ready() goes on without new bytes.
  [[nodiscard]] bool has_more() const noexcept { return has_more_ && phase_ == phase::reading; }

  /// The descriptor can be read or written, or has failed. Replies as far as that goes without waiting.
  void ready(http_handler& handler, double now);
  /// The deadline has passed.
  void late(http_handler& handler, double now);
  /// The server ends: who is parked, has asked or follows is answered once more, who has not is closed.
  void end(http_handler& handler, double now);
  /// Ends the connection.
  void close() noexcept;

 private:
  void read_more(http_handler& handler, double now);
  void serve(http_handler& handler, bool again, double now);
  void reply(const http_reply& r, bool head_only, double now);
  void refuse(int status, double now);
  void write_more(double now);
  void written(double now);
  void drain();

  int descriptor_;
  const http_limits* limits_;
  http_counts* counts_;
  phase phase_ = phase::reading;
  double deadline_;
  bool served_ = false;  // it has had a reply
  bool ends_ = false;    // closed after the reply
  bool has_more_ = false;
  double progress_ = 0;   // when the client took a part of its reply last
  bool follows_ = false;  // its last reply was to somebody who asks on
  bool last_ = false;     // the server ends: the next reply is the last
  std::string in_;
  std::string head_;
  std::shared_ptr<const std::string> body_;  // null: none, or HEAD
  std::size_t sent_ = 0;                     // of head and body together
};

}  // namespace plx::probe
