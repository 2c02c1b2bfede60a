// Writes text and JSON in a signal handler: into a fixed buffer, and from there to a file.
//
// Thread safety: none. All functions are async-signal-safe. Cost: a copy. Example: flight_dump.cpp.
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
#include "probe/sample/stack_walk.hpp"

namespace plx::probe {

/// Text in a fixed buffer, which is written to a file when full; without a file, excess text is discarded.
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
  /// Hexadecimal digits without a prefix.
  signal_text& hex(std::uint64_t number) noexcept {
    char digits[16];
    std::size_t at = sizeof digits;
    do digits[--at] = "0123456789abcdef"[number & 15u];
    while ((number >>= 4) != 0);
    return *this << std::string_view(digits + at, sizeof digits - at);
  }
  /// Nanoseconds as microseconds with three decimals.
  signal_text& microseconds(std::uint64_t ns) noexcept {
    const char fraction[] = {'.', static_cast<char>('0' + ns / 100 % 10), static_cast<char>('0' + ns / 10 % 10),
                             static_cast<char>('0' + ns % 10)};
    return *this << ns / 1000 << std::string_view(fraction, sizeof fraction);
  }
  /// At most `most` characters; control characters become spaces.
  signal_text& plain(std::string_view text, std::size_t most) noexcept {
    for (const char c : text.substr(0, most))
      *this << (static_cast<unsigned char>(c) < 0x20 ? std::string_view(" ") : std::string_view(&c, 1));
    return *this;
  }
  /// A JSON string, including quotes. Longer strings are truncated at a character boundary.
  signal_text& quoted(std::string_view text, std::size_t most = 300) noexcept {
    std::size_t n = std::min(text.size(), most);
    while (n < text.size() && n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0u) == 0x80u) --n;
    *this << "\"";
    for (const char c : text.substr(0, n)) {
      if (c == '"' || c == '\\') *this << "\\";
      *this << (static_cast<unsigned char>(c) < 0x20 ? std::string_view(" ") : std::string_view(&c, 1));
    }
    return *this << "\"";
  }

  /// Writes the contents of the buffer to the file.
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
  /// The errno of the first error; 0: none.
  [[nodiscard]] int error() const noexcept { return error_; }
  /// The contents of the buffer.
  [[nodiscard]] std::string_view text() const noexcept { return {buffer_, used_}; }

 private:
  char* buffer_;
  std::size_t size_, used_ = 0;
  int file_;
  int error_ = 0;
};

// The flight recorder's file: the last slices and the present state of every worker, as Trace Event JSON for Perfetto,
// written during a crash.
//
// Thread safety: all functions are thread-safe. write_flight() is async-signal-safe: no heap, no lock, no stdio; it
// uses fixed buffers, and open, write, rename; for the names of a call stack also pread of the loaded files. Cost: none
// until a file is written. Files are written one at a time: another thread waits for up to 5 s. The writing thread
// blocks all signals except faults: a request is served afterwards, and a fault during writing ends the process without
// another file. Example: probe/crash/test/flight_dump_test.cpp

class recorder;

/// The present state of a worker.
struct flight_now {
  bool busy = false;  // running a task
  name_id name = unnamed;
  std::uint64_t key = no_key;
  ticks since = 0;  // when the slice began
};

/// The source of a file's data. All functions are async-signal-safe.
struct flight_source {
  const recorder* rec = nullptr;
  void* context = nullptr;
  /// The state of worker `i`, which may run concurrently.
  flight_now (*now)(void* context, unsigned i) noexcept = nullptr;
  /// The worker that the caller is, or -1.
  int (*here)(void* context) noexcept = nullptr;
  /// The stack of the task that the caller runs; zeros if it runs none.
  stack_bounds (*stack)(void* context) noexcept = nullptr;
  const char* folder = "plx-run";  // created when the first file is written
  double seconds = 10;             // the period that the file covers
};

/// While it exists, the workers of its source are included in files. At most 16 at a time; further ones are ignored.
class flight_registration {
 public:
  flight_registration() = default;
  /// Copies `s`, but not the text of its folder, which must outlive this object.
  explicit flight_registration(const flight_source& s);
  /// Waits until a file in progress is written.
  ~flight_registration();
  flight_registration(const flight_registration&) = delete;
  flight_registration& operator=(const flight_registration&) = delete;

 private:
  int place_ = -1;
};

/// Writes <folder>/flight-<pid>.json or, if `number` is not 0, flight-<pid>-<number>.json, and prints one line on
/// stderr with the path or the error. `reason`: "SIGSEGV", ... With `context`, a ucontext_t of this thread, the call
/// stack is written to both, on stderr in up to 33 more lines: that of a task, or of a thread that has made a
/// registration; of other threads, only the innermost function. Returns false without a registration, on error, or if
/// this process has already written the file of its crash (number 0).
bool write_flight(std::string_view reason, unsigned number = 0, const void* context = nullptr) noexcept;

/// The next number for write_flight(): 1, 2, ...
unsigned next_flight_number() noexcept;

/// The maximum number of slices of one worker in a file.
inline constexpr std::uint64_t most_flight_pieces = 1u << 14;

// Handlers that write the flight recorder's file: for crashes (SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL), uncaught
// exceptions, and a signal that requests a file.
//
// Earlier handlers are called afterwards, and the program ends as it would have without these. Handlers installed later
// replace these, as usual. Thread safety: all functions are thread-safe. Cost: none until a signal occurs.
// Example: tests/flight/

/// While at least one exists, the process writes flight files. Handlers are installed by the first and removed by the
/// last.
class flight_signals {
 public:
  /// `request`: a signal that writes a file without ending the program; 0: none. Throws std::system_error if the system
  /// rejects that signal.
  explicit flight_signals(int request = 0);
  ~flight_signals();
  flight_signals(const flight_signals&) = delete;
  flight_signals& operator=(const flight_signals&) = delete;

 private:
  int request_;
};

}  // namespace plx::probe
