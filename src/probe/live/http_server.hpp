// A small HTTP/1.1 server for a few browsers: one thread, bounded connections and memory, a deadline for everything.
// For the reasons to write our own see docs/decisions/0009-the-live-page-has-its-own-server.md.
//
// Thread safety: the handler runs on the server's thread, one call at a time; all other functions are thread-safe.
// Cost: a sleeping thread ("plx-live", of low priority) without requests; 64 connections of about 10 KB each, and
// pending replies. Errors: one line from start(); errors of clients are counted.
// Example: probe/live/test/http_server_test.cpp
#pragma once

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace plx::probe {

/// The address of the live page: "127.0.0.1:0", "[::1]:8080", "localhost:8080", ":8080"; "1" is "127.0.0.1:0".
/// Thread-safe. Cost: negligible. Example: probe/live/test/live_address_test.cpp
struct live_address {
  std::string host = "127.0.0.1";  // an IPv4 or IPv6 address, without brackets
  std::uint16_t port = 0;          // 0: any free port
  bool loopback = true;            // only this machine can reach it

  /// In the form used in a URL: "127.0.0.1:8080", "[::1]:8080".
  [[nodiscard]] std::string text() const;
};

/// Errors: not an address; an address that other machines can reach, unless `beyond_loopback`.
result<live_address> parse_live_address(std::string_view text, bool beyond_loopback);

/// Whether the value of a Host header is an address, "localhost", or this machine's own name. Other names are not
/// trusted: a foreign web page could map its own name to this machine's address (DNS rebinding).
bool trusted_host(std::string_view host);

/// The head of an HTTP/1.x request; its texts are parts of the parsed text. Example:
/// probe/live/test/http_request_test.cpp
struct http_request {
  std::string_view path;           // "/counters.json", as received
  std::string_view query;          // the text after '?'
  std::string_view host;           // of the Host header; "" if absent
  std::string_view authorization;  // of the Authorization header
  bool head_only = false;          // HEAD
  bool keep_alive = true;

  /// The value of a query field with its percent-escapes replaced; nothing if it is absent, "" for "a" and "a=".
  [[nodiscard]] std::optional<std::string> field(std::string_view name) const;
};

/// A request, or incomplete input, or an error status.
struct http_parsed {
  enum kind_t { incomplete, complete, refused };
  kind_t kind = incomplete;
  int status = 0;          // of an error: 400 405 413 414 431 505
  std::size_t length = 0;  // length of the head, if complete
  http_request request{};
};

/// The maximum size of a head; a longer one is refused without further reading.
inline constexpr std::size_t http_head_limit = 8192;

/// Parses the data that a client has sent so far. Strict: anything but a valid GET or HEAD without a body is refused
/// with a status code. Cost: one pass over the text, no allocation.
http_parsed parse_http_request(std::string_view text);

/// The reply to a request.
struct http_reply {
  int status = 200;
  const char* type = "text/plain; charset=utf-8";
  std::shared_ptr<const std::string> body{};  // shared by all clients with the same request
  std::string headers{};                      // additional ones, each with "\r\n"
  double later_s = 0;                         // above 0: no reply yet; call answer() again after that time, or when the
                                              // server stops
  bool follows = false;                       // the client polls: stop() waits for its next request
};

/// Answers requests; called by the server's thread only.
class http_handler {
 public:
  /// `again`: called before for the same request, with later_s > 0. Must not throw; should be fast.
  virtual http_reply answer(const http_request& request, bool again) noexcept = 0;
  /// Called before the server sleeps. Returns when it is to be called again at the latest, in monotonic_seconds().
  virtual double between(double /*now*/) noexcept { return HUGE_VAL; }

 protected:
  ~http_handler() = default;
};

/// Totals since the start; relaxed, they order nothing.
struct http_counts {
  std::atomic<std::uint64_t> answered{0};     // requests with status 200
  std::atomic<std::uint64_t> refused{0};      // requests with any other status
  std::atomic<std::uint64_t> malformed{0};    // of those: not valid HTTP, or too large
  std::atomic<std::uint64_t> timed_out{0};    // connections closed because a request or its reader was too slow
  std::atomic<std::uint64_t> turned_away{0};  // connections closed because of their number or a lack of descriptors
  std::atomic<std::uint64_t> open{0};         // open connections
  std::atomic<std::uint64_t> bytes_sent{0};
  std::atomic<double> cpu_s{0};  // processor time of the server's thread
};

/// Limits per client and in total.
struct http_limits {
  std::size_t connections = 64;
  double head_s = 5;     // from a request's first byte (or the connection) to the end of its head
  double idle_s = 30;    // between two requests of a connection
  double write_s = 10;   // for a client to read a reply
  double stuck_s = 0.5;  // a client that reads nothing for this long loses its place to a new connection
  int replies = 16;      // to requests of one connection sent together, before other connections are served
  double end_s = 2;      // for the last requests of polling clients, and the last replies, when the server stops
};

class http_server {
 public:
  /// Listens, and serves until destroyed. Errors: the address is in use or does not belong to this machine; no thread.
  static result<std::unique_ptr<http_server>> start(const live_address& where, http_handler& handler,
                                                    const http_limits& limits = {});
  ~http_server();
  /// Sends a reply to all clients that wait for one (`again`), and one more to polling clients, even between two
  /// requests; then closes all connections, within limits.end_s. A second call has no effect. Requires: one caller at a
  /// time.
  void stop() noexcept;
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  /// The address, with the actual port.
  [[nodiscard]] const live_address& where() const noexcept;
  /// Totals since the start.
  [[nodiscard]] const http_counts& counts() const noexcept;

 private:
  struct state;
  explicit http_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

// Internal: one client connection of the HTTP server: received data, pending replies, and deadlines.
//
// Thread safety: none; used by the server's thread. Cost: a buffer of http_head_limit bytes and the pending reply.

/// "Not Found" and other reason phrases.
const char* http_reason(int status);

/// A file descriptor, closed with its owner.
struct owned_descriptor {
  int number = -1;

  owned_descriptor() = default;
  explicit owned_descriptor(int n) : number(n) {}
  owned_descriptor(owned_descriptor&& other) noexcept : number(std::exchange(other.number, -1)) {}
  owned_descriptor& operator=(owned_descriptor&& other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~owned_descriptor() { reset(); }
  /// Closes the descriptor, and owns `n` from now on.
  void reset(int n = -1) noexcept;
};

/// One connection of the server: reads a request, writes the reply.
class http_connection {
 public:
  enum class phase {
    reading,   // a request's head
    parked,    // the handler returned later_s > 0
    writing,   // a reply
    draining,  // the reply is sent and the connection ends: further input is read and discarded, so that the system
               // does not discard the reply (RFC 9112, 9.6)
    closed,
  };

  http_connection(int descriptor, const http_limits& limits, http_counts& counts, double now);
  http_connection(http_connection&&) noexcept = default;
  http_connection& operator=(http_connection&&) noexcept = default;
  ~http_connection();

  /// The socket.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.number; }
  /// The phase after the last event.
  [[nodiscard]] phase now() const noexcept { return phase_; }
  /// The time limit of the present phase.
  [[nodiscard]] double deadline() const noexcept { return deadline_; }
  /// Whether it may be closed to make room: no reply is due, or the client does not read it.
  [[nodiscard]] bool expendable(double now) const noexcept {
    return phase_ == phase::reading || phase_ == phase::draining ||
           (phase_ == phase::writing && now - progress_ >= limits_->stuck_s);
  }
  /// More requests were received than are answered in one turn: ready() continues without new data.
  [[nodiscard]] bool has_more() const noexcept { return has_more_ && phase_ == phase::reading; }

  /// Called if the descriptor is readable or writable, or has failed. Proceeds as far as possible without blocking.
  void ready(http_handler& handler, double now);
  /// Called when the deadline has passed.
  void late(http_handler& handler, double now);
  /// Called when the server stops: parked requests, requests in progress and polling clients are answered once more;
  /// other connections are closed.
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

  owned_descriptor descriptor_;
  const http_limits* limits_;
  http_counts* counts_;
  phase phase_ = phase::reading;
  double deadline_;
  bool served_ = false;  // at least one reply was sent
  bool ends_ = false;    // close after the reply
  bool has_more_ = false;
  double progress_ = 0;   // when the client last read a part of its reply
  bool follows_ = false;  // its last reply was to a polling client
  bool last_ = false;     // the server stops: the next reply is the last
  std::string in_;
  std::string head_;
  std::shared_ptr<const std::string> body_;  // null: none, or HEAD
  std::size_t sent_ = 0;                     // bytes of head and body sent so far
};

}  // namespace plx::probe
