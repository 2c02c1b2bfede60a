// A page about the running program in a browser, enabled by the setting serve (PLX_SERVE, --plx:serve=127.0.0.1:0).
//
//   /              the page                          /counters.json?pattern=   values of counters
//   /metrics       counters for Prometheus           /tasks.json               statistics of every task type
//   /mesh.json     the newest picture                /timeline.json?window_s=  the last slices of every worker
//   /poll.json     all data of the page; with wait=1 the reply is sent at the next full second, or at the end of the
//   run
// Each requires the token: ?token=..., or the header "Authorization: Bearer ...". docs/probe.md describes
// which clients may connect.
//
// Thread safety: all functions are thread-safe. Cost: a sleeping thread; an answer is reused for a fifth of a second,
// so that many clients cost little more than one. Errors: one line; the run continues without the page.
// Example: session/test/live_server_test.cpp
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/live/live_json.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

/// The address of the page, and whether other machines may reach it.
struct live_options {
  std::string serve{};           // settings::serve
  bool beyond_loopback = false;  // settings::serve_beyond_loopback
  std::string folder{};          // the URL is written to live.url there, readable by the user only; "": not written
};

class live_server {
 public:
  /// Listens, adds the counters /live/... and writes the file. The arguments must outlive it.
  static result<std::unique_ptr<live_server>> start(recorder& r, counter_registry& counters, live_options options);
  /// Reports the end of the run to the clients and removes the file. Takes at most two seconds, and only until all
  /// polling clients have sent another request.
  ~live_server();
  live_server(const live_server&) = delete;
  live_server& operator=(const live_server&) = delete;

  /// Includes the token: http://127.0.0.1:41234/?token=...
  [[nodiscard]] const std::string& url() const noexcept;
  /// The board for pictures of a simulation.
  [[nodiscard]] picture_board& pictures() noexcept;

 private:
  struct state;
  explicit live_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
