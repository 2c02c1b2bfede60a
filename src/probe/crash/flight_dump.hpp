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

#include "base/clock.hpp"
#include "probe/record/names.hpp"

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

// The flight recorder's file: the last pieces of tasks of every worker and what each does now, as Trace Event JSON that
// opens in Perfetto, written in the midst of a crash.
//
// Thread safety: everything. write() is async-signal-safe: no heap, no lock, no stdio; a fixed buffer, and open, write,
// rename. Cost: nothing until it is written. One file at a time is written: another thread waits for it, up to 5 s.
// While a file is written, its thread takes no signals but faults: a request is served afterwards, and a fault in the
// midst of it ends at once, without another file. Example: probe/crash/test/flight_dump_test.cpp; the signals:
// probe/crash/flight_dump.hpp

class recorder;

/// What a worker does at this moment.
struct flight_now {
  bool busy = false;  // in a task
  name_id name = unnamed;
  std::uint64_t key = no_key;
  ticks since = 0;  // when this piece of the task began
};

/// Whose workers are told. All functions are async-signal-safe.
struct flight_source {
  const recorder* rec = nullptr;
  void* context = nullptr;
  /// What worker `i` does; it may run meanwhile.
  flight_now (*now)(void* context, unsigned i) noexcept = nullptr;
  /// Which worker the caller is, or -1.
  int (*here)(void* context) noexcept = nullptr;
  const char* folder = "plx-run";  // made when the first file is written
  double seconds = 10;             // how far back it goes
};

/// While one lives, its workers are in the file. At most 16 at a time; further ones are not told.
class flight_registration {
 public:
  flight_registration() = default;
  /// Copies `s`, but not its folder's text, which must outlive this.
  explicit flight_registration(const flight_source& s);
  /// Waits for a file that is being written.
  ~flight_registration();
  flight_registration(const flight_registration&) = delete;
  flight_registration& operator=(const flight_registration&) = delete;

 private:
  int place_ = -1;
};

/// Writes <folder>/flight-<pid>.json, or with a number above 0 flight-<pid>-<number>.json, and one line on stderr that
/// says so, or why not. `reason`: "SIGSEGV", ... False when nobody is registered, when it cannot be written, or when
/// this process has written the file of its crash (number 0) before.
bool write_flight(std::string_view reason, unsigned number = 0) noexcept;

/// The next number for write_flight(): 1, 2, ...
unsigned next_flight_number() noexcept;

/// The most pieces of one worker in a file: the last ones.
inline constexpr std::uint64_t most_flight_pieces = 1u << 14;

// What makes the flight recorder write: a crash (SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL), an exception that nobody
// catches, and a signal by which somebody asks for it.
//
// Whoever handled these before is called afterwards, and what would have ended the program still does. Who installs a
// handler later replaces this one, as ever. Thread safety: everything. Cost: nothing until it happens.
// Example: tests/flight/

/// While one lives, the process writes flight files. Several may; handlers are there once, and go with the last one.
class flight_signals {
 public:
  /// `request`: a signal upon which a file is written and the program goes on; 0: none. Throws std::system_error when
  /// the system refuses that one.
  explicit flight_signals(int request = 0);
  ~flight_signals();
  flight_signals(const flight_signals&) = delete;
  flight_signals& operator=(const flight_signals&) = delete;

 private:
  int request_;
};

}  // namespace plx::probe
