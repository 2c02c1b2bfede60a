// A small HTTP/1.1 server for looking at a program from a few browsers: one thread, bounded connections and memory, a
// deadline for everything. Why it is our own: docs/decisions/0009-the-live-page-has-its-own-server.md.
//
// Thread safety: the handler runs on the server's thread, one call at a time; everything else from any thread.
// Cost: a sleeping thread ("plx-live", of low priority) while nobody asks; 64 connections with some 10 KB each and the
// replies on their way. Errors: one line from start(); what clients do wrong is counted. Example:
// probe/live/http_server_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "probe/live/http_request.hpp"
#include "probe/live/live_address.hpp"

namespace plx::probe {

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

}  // namespace plx::probe
