// The running program in a browser: the setting serve (PLX_SERVE, --plx:serve=127.0.0.1:0) starts it.
//
//   /              the page                          /counters.json?pattern=   values of counters
//   /metrics       counters for Prometheus           /tasks.json               statistics of every kind of task
//   /mesh.json     the newest picture                /timeline.json?window_s=  what every worker did last
//   /poll.json     all that the page asks for at once; with wait=1 it comes at the next full second, or at the run's
//   end
// Each needs the token: ?token=..., or the header "Authorization: Bearer ...". docs/probe.md says who may connect.
//
// Thread safety: everything. Cost: a sleeping thread; an answer is kept for a fifth of a second and given to all who
// ask meanwhile, so many clients cost little more than one. Errors: one line, and the run goes on without it. Example:
// session/test/live_server_test.cpp
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/live/live_json.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

/// Where the page is served, and for whom.
struct live_options {
  std::string serve{};           // settings::serve
  bool beyond_loopback = false;  // settings::serve_beyond_loopback
  std::string folder{};          // the URL is written to live.url in there, for the user alone; "": nowhere
};

class live_server {
 public:
  /// Listens, adds the counters /live/... and writes the file. What it is given must outlive it.
  static result<std::unique_ptr<live_server>> start(recorder& r, counter_registry& counters, live_options options);
  /// Tells the clients that the run has ended, and takes the file away. Takes two seconds at most, and only while one
  /// who polls has not asked again.
  ~live_server();
  live_server(const live_server&) = delete;
  live_server& operator=(const live_server&) = delete;

  /// With the token: http://127.0.0.1:41234/?token=...
  [[nodiscard]] const std::string& url() const noexcept;
  /// Where a simulation puts pictures of itself.
  [[nodiscard]] picture_board& pictures() noexcept;

 private:
  struct state;
  explicit live_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
