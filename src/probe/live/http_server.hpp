// Internal: one client of the HTTP server: what came from it, what it is owed, and until when it may take its time.
//
// Thread safety: none; of the server's thread. Cost: a buffer of http_head_limit bytes and the reply on its way.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "probe/live/http_request.hpp"
#include "probe/live/live_address.hpp"

namespace plx::probe {

// A small HTTP/1.1 server for looking at a program from a few browsers: one thread, bounded connections and memory, a
// deadline for everything. Why it is our own: docs/decisions/0009-the-live-page-has-its-own-server.md.
//
// Thread safety: the handler runs on the server's thread, one call at a time; everything else from any thread.
// Cost: a sleeping thread ("plx-live", of low priority) while nobody asks; 64 connections with some 10 KB each and the
// replies on their way. Errors: one line from start(); what clients do wrong is counted. Example:
// probe/live/test/http_server_test.cpp

/// What is sent back.
struct http_reply {
  int status = 200;
  const char* type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body{};  // shared by all who asked for the same
  std::string headers{};                      // more of them, each with "\r\n"
  double later_s = 0;                         // above 0: no reply yet; ask again after that time, or at the end
  bool follows = false;                       // the client asks on and on: the server's end waits for its next request
};

/// Who answers requests; called by the server's thread alone.
class http_handler {
 public:
  /// `again`: asked for the same request before, and the answer was "later". Must not throw; should take little time.
  virtual http_reply answer(const http_request& request, bool again) noexcept = 0;

 protected:
  ~http_handler() = default;
};

/// What happened so far; relaxed counts, which order nothing.
struct http_counts {
  std::atomic<std::uint64_t> answered{0};     // requests with status 200
  std::atomic<std::uint64_t> refused{0};      // requests with any other
  std::atomic<std::uint64_t> malformed{0};    // of those: no HTTP that is understood here, or too large
  std::atomic<std::uint64_t> timed_out{0};    // connections closed because a request or its reader took too long
  std::atomic<std::uint64_t> turned_away{0};  // connections closed because there were too many, or no descriptor left
  std::atomic<std::uint64_t> open{0};         // connections now
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<double> cpu_s{0};  // processor time of the server's thread
};

/// What one client, and all of them, may take.
struct http_limits {
  std::size_t connections = 64;
  double head_s = 5;     // from a request's first byte (or the connection) to the end of its head
  double idle_s = 30;    // between two requests of a connection
  double write_s = 10;   // for a reader to take a reply
  double stuck_s = 0.5;  // a reader that takes nothing for so long loses its place to a new connection
  int replies = 16;      // to requests of one connection sent together, before others have their turn
  double end_s = 2;      // for the last requests of those who follow, and the last replies, when the server stops
};

class http_server {
 public:
  /// Listens, and serves until destroyed. Errors: the address is in use or not this machine's; no thread.
  static result<std::unique_ptr<http_server>> start(const live_address& where, http_handler& handler,
                                                    const http_limits& limits = {});
  ~http_server();
  /// Whoever waits for a reply gets one (`again`), and whoever follows one more, also who is just between two requests;
  /// then all connections are closed, within limits.end_s. A second call does nothing. Requires: one caller at a time.
  void stop() noexcept;
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  /// With the port that was taken.
  [[nodiscard]] const live_address& where() const noexcept;
  /// What happened so far.
  [[nodiscard]] const http_counts& counts() const noexcept;

 private:
  struct state;
  explicit http_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

/// "Not Found" and its kin.
const char* http_reason(int status);

/// One connection of the server: reads a request, writes the reply.
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
