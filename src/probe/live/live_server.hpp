// A page about the running program in a browser, enabled by the setting serve (PLX_SERVE, --plx:serve=127.0.0.1:0).
//
//   /              the page                          /counters.json?pattern=   values of counters
//   /metrics       counters for Prometheus           /tasks.json               statistics of every task type
//   /mesh.json     the newest picture                /timeline.json?window_s=  the last slices of every worker; with
//                                                    from_s= and to_s=  those of a part of the run; first=,
//                                                    count= and rows=  which workers, in how many rows
//   /slice.json    one slice, and its parent; with parents=1 any request has these recorded for the next 10 s
//   /stacks.json   sampled stacks of the last seconds, if stacks are sampled
//   /poll.json     all data of the page; with wait=1 the reply is sent at the next full second, or at the end of the
//   run
// Each requires the token: ?token=..., or the header "Authorization: Bearer ...". docs/probe.md describes
// which clients may connect.
//
// Thread safety: all functions are thread-safe. Cost: a sleeping thread; an answer is reused for a fifth of a second,
// so that many clients cost little more than one. Errors: one line; the run continues without the page.
// Example: session/test/live_server_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/live/http_server.hpp"
#include "probe/live/live_json.hpp"
#include "probe/record/recorder.hpp"
#include "probe/sample/sampler.hpp"

namespace plx::probe {

/// The address of the page, and whether other machines may reach it.
struct live_options {
  std::string serve{};              // settings::serve
  bool beyond_loopback = false;     // settings::serve_beyond_loopback
  std::string folder{};             // the URL is written to live.url there, readable by the user only; "": not written
  const sampler* stacks = nullptr;  // of this program; must outlive the server
};

class live_server {
 public:
  /// Listens, adds the counters /live/... and writes the file. The arguments must outlive it.
  static result<std::unique_ptr<live_server>> start(recorder& r, counter_registry& counters, live_options options);
  /// Reports the end of the run to the clients and removes the file. Takes at most two seconds, and only until all
  /// polling clients have sent another request. Disables the flight recorder if start() enabled it.
  ~live_server();
  live_server(const live_server&) = delete;
  live_server& operator=(const live_server&) = delete;

  /// Includes the token: http://127.0.0.1:41234/?token=...
  [[nodiscard]] const std::string& url() const noexcept;
  /// The same for clients on this machine: a page at all of its addresses is at the loopback address, too.
  [[nodiscard]] std::string local_url() const;
  /// The board for pictures of a simulation.
  [[nodiscard]] picture_board& pictures() noexcept;

 private:
  struct state;
  explicit live_server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

// Internal: answers the requests of the live page.
//
// Thread safety: used by the server's thread, except end(), refusals() and pictures(). Example:
// session/test/live_server_test.cpp

/// The secret in the live page's URL, which is required for reading.
///
/// Thread safety: const. Cost: a system call at construction; a comparison always reads the whole token.
/// Example: session/test/live_server_test.cpp
class access_token {
 public:
  /// 128 random bits from the operating system.
  access_token();

  /// 32 hexadecimal digits.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Takes the same time for every text of the right length, so that the token cannot be guessed digit by digit.
  [[nodiscard]] bool equals(std::string_view other) const noexcept;

 private:
  std::string text_;
};

/// 32 random hexadecimal digits. Aborts if the system has no source of randomness.
std::string random_hex();

/// Valid requests that were refused; relaxed counts.
struct live_refusals {
  std::atomic<std::uint64_t> token{0};  // without the token, or with a wrong one
  std::atomic<std::uint64_t> host{0};   // for a name that is not this machine's
  std::atomic<std::uint64_t> path{0};   // for a nonexistent path
};

/// The answers of the live page: the page itself, the counters, tasks and timeline as JSON, the metrics.
class live_pages final : public http_handler {
 public:
  live_pages(recorder& r, counter_registry& counters, const sampler* stacks)
      : recorder_(r), counters_(counters), sampler_(stacks) {}
  ~live_pages() {
    if (parents_until_s_ != 0) recorder_.flight_links(false);
  }
  live_pages(const live_pages&) = delete;
  live_pages& operator=(const live_pages&) = delete;

  http_reply answer(const http_request& request, bool again) noexcept override;
  double between(double now) noexcept override;

  /// From now on, answers report that the run has ended.
  void end() noexcept { ended_.store(true, std::memory_order_relaxed); }
  /// The token that requests must contain.
  [[nodiscard]] const access_token& token() const noexcept { return token_; }
  /// The number of refused requests, by reason.
  [[nodiscard]] const live_refusals& refusals() const noexcept { return refusals_; }
  /// Records of flight rings that were read for timelines so far.
  [[nodiscard]] const std::atomic<std::uint64_t>& timeline_records() const noexcept { return timeline_records_; }
  /// The board for the program's pictures.
  [[nodiscard]] picture_board& pictures() noexcept { return pictures_; }

 private:
  using text = std::shared_ptr<const std::string>;
  struct kept {
    double made_s = 0;
    double second = -1;  // of the run, for clients that have waited for it
    text body;
  };

  http_reply answer_or_throw(const http_request& request, bool again);
  [[nodiscard]] bool may_read(const http_request& request) const;
  http_reply refuse(int status, std::string line, std::atomic<std::uint64_t>& count);
  http_reply page();
  http_reply made(const http_request& request, const char* type, text (live_pages::*make)(const http_request&),
                  bool waited = false);
  http_reply counters(const http_request& request);
  text metrics(const http_request&);
  text tasks(const http_request&);
  text timeline(const http_request& request);
  text slice(const http_request& request);
  text mesh(const http_request&);
  text stacks(const http_request&);
  text poll(const http_request& request);
  [[nodiscard]] std::string status_fields() const;
  [[nodiscard]] std::string timeline_of(const http_request& request);
  [[nodiscard]] std::string newest_stacks();
  void look_at_parents();

  recorder& recorder_;
  counter_registry& counters_;
  const sampler* const sampler_;
  const access_token token_;
  const double begin_s_ = now_s();
  double begun_s_ = begin_s_;       // when the answer that is being made was begun
  std::atomic<bool> ended_{false};  // relaxed: the server is woken by other means
  live_refusals refusals_;
  std::atomic<std::uint64_t> timeline_records_{0};  // relaxed
  picture_board pictures_;
  double parents_until_s_ = 0;                     // 0: tasks and parents are not recorded
  std::map<std::string, kept, std::less<>> kept_;  // by path and query
  struct stack_counts {
    double at_s = 0;
    std::vector<std::uint64_t> counts;
  };
  std::deque<stack_counts> stacks_then_;  // of the last seconds with requests, oldest first

  static double now_s() noexcept;
};

/// The contents of page.html.
std::string_view live_page_html();

}  // namespace plx::probe
