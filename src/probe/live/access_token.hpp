// The secret in the live page's URL: who has the URL may read, nobody else.
//
// Thread safety: const. Cost: a system call when made; a comparison always looks at the whole token.
// Example: probe/live/live_server_test.cpp
#pragma once

#include <string>
#include <string_view>

namespace plx::probe {

class access_token {
 public:
  /// 128 random bits from the operating system.
  access_token();

  /// 32 hexadecimal digits.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// Takes the same time for every text of the right length, so that nobody can guess digit by digit.
  [[nodiscard]] bool equals(std::string_view other) const noexcept;

 private:
  std::string text_;
};

/// 32 random hexadecimal digits. Aborts where the system has no randomness to give.
std::string random_hex();

}  // namespace plx::probe
