// Text and JSON from a signal handler: into a fixed buffer, and from there to a file.
//
// Thread safety: none. Everything is async-signal-safe. Cost: a copy. Example: flight_dump.cpp.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace plx::probe {

/// Text into a fixed buffer, which goes to a file when it is full; without a file, what does not fit is left out.
class signal_text {
 public:
  signal_text(char* buffer, std::size_t size, int file = -1) noexcept : buffer_(buffer), size_(size), file_(file) {}

  signal_text& operator<<(std::string_view text) noexcept {
    while (!text.empty()) {
      if (used_ == size_ && !flush()) return *this;
      const std::size_t n = std::min(text.size(), size_ - used_);
      std::memcpy(buffer_ + used_, text.data(), n);
      used_ += n;
      text.remove_prefix(n);
    }
    return *this;
  }
  signal_text& operator<<(std::uint64_t number) noexcept {
    char digits[20];
    std::size_t at = sizeof digits;
    do digits[--at] = static_cast<char>('0' + number % 10);
    while ((number /= 10) != 0);
    return *this << std::string_view(digits + at, sizeof digits - at);
  }
  /// Nanoseconds as microseconds with three places.
  signal_text& microseconds(std::uint64_t ns) noexcept {
    const char fraction[] = {'.', static_cast<char>('0' + ns / 100 % 10), static_cast<char>('0' + ns / 10 % 10),
                             static_cast<char>('0' + ns % 10)};
    return *this << ns / 1000 << std::string_view(fraction, sizeof fraction);
  }
  /// At most `most` characters, on one line.
  signal_text& plain(std::string_view text, std::size_t most) noexcept {
    for (const char c : text.substr(0, most))
      *this << (static_cast<unsigned char>(c) < 0x20 ? std::string_view(" ") : std::string_view(&c, 1));
    return *this;
  }
  /// A JSON string, quotes included. Long ones are cut, at the boundary of a character.
  signal_text& quoted(std::string_view text) noexcept {
    constexpr std::size_t most = 300;
    std::size_t n = std::min(text.size(), most);
    while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0u) == 0x80u) --n;
    *this << "\"";
    for (const char c : text.substr(0, n)) {
      if (c == '"' || c == '\\') *this << "\\";
      *this << (static_cast<unsigned char>(c) < 0x20 ? std::string_view(" ") : std::string_view(&c, 1));
    }
    return *this << "\"";
  }

  /// Writes what is left in the buffer.
  bool flush() noexcept {
    if (file_ < 0) return false;
    for (std::size_t done = 0; done < used_ && error_ == 0;) {
      const ssize_t n = ::write(file_, buffer_ + done, used_ - done);
      if (n > 0)
        done += static_cast<std::size_t>(n);
      else if (n == 0 || errno != EINTR)
        error_ = n == 0 ? ENOSPC : errno;
    }
    used_ = 0;
    return error_ == 0;
  }
  /// The number of the first error; 0: none.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// Appends text.
  [[nodiscard]] std::string_view text() const noexcept { return {buffer_, used_}; }

 private:
  char* buffer_;
  std::size_t size_, used_ = 0;
  int file_;
  int error_ = 0;
};

}  // namespace plx::probe
