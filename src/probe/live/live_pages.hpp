// Internal: answers the requests of the live page.
//
// Thread safety: used by the server's thread, except end(), refusals() and pictures(). Example:
// session/test/live_server_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "probe/live/http_server.hpp"
#include "probe/live/live_json.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

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

class counter_registry;

/// Valid requests that were refused; relaxed counts.
struct live_refusals {
  std::atomic<std::uint64_t> token{0};  // without the token, or with a wrong one
  std::atomic<std::uint64_t> host{0};   // for a name that is not this machine's
  std::atomic<std::uint64_t> path{0};   // for a nonexistent path
};

class live_pages final : public http_handler {
 public:
  live_pages(recorder& r, counter_registry& counters) : recorder_(r), counters_(counters) {}

  http_reply answer(const http_request& request, bool again) noexcept override;

  /// From now on, answers report that the run has ended.
  void end() noexcept { ended_.store(true, std::memory_order_relaxed); }
  /// The token that requests must contain.
  [[nodiscard]] const access_token& token() const noexcept { return token_; }
  /// The number of refused requests, by reason.
  [[nodiscard]] const live_refusals& refusals() const noexcept { return refusals_; }
  /// The board for the program's pictures.
  [[nodiscard]] picture_board& pictures() noexcept { return pictures_; }

 private:
  using text = std::shared_ptr<const std::string>;
  struct kept {
    double made_s = 0;
    text body;
  };

  http_reply answer_or_throw(const http_request& request, bool again);
  [[nodiscard]] bool may_read(const http_request& request) const;
  http_reply refuse(int status, std::string line, std::atomic<std::uint64_t>& count);
  http_reply page();
  http_reply made(const http_request& request, const char* type, text (live_pages::*make)(const http_request&));
  http_reply counters(const http_request& request);
  text metrics(const http_request&);
  text tasks(const http_request&);
  text timeline(const http_request& request);
  text mesh(const http_request&);
  text poll(const http_request& request);
  [[nodiscard]] std::string status_fields() const;
  [[nodiscard]] std::string timeline_of(const http_request& request);

  recorder& recorder_;
  counter_registry& counters_;
  const access_token token_;
  const double begin_s_ = now_s();
  std::atomic<bool> ended_{false};  // relaxed: the server is woken by other means
  live_refusals refusals_;
  picture_board pictures_;
  std::map<std::string, kept, std::less<>> kept_;  // by path and query

  static double now_s() noexcept;
};

/// The contents of page.html.
std::string_view live_page_html();

}  // namespace plx::probe
