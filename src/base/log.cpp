#include "base/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <mutex>

#include "base/file.hpp"
#include "base/text.hpp"

namespace plx {
namespace {

struct log_state {
  std::mutex mutex;
  log_level stderr_level = log_level::none;
  log_level file_level = log_level::none;
  int file = -1;
  bool stderr_stalled = false, file_stalled = false;
  log_level function_level = log_level::none;
  void (*function)(void*, log_level, std::string_view) = nullptr;
  void* context = nullptr;

  void update_least() {
    const log_level least = std::min({stderr_level, file_level, function_level});
    detail::least_log_level.store(static_cast<int>(least), std::memory_order_relaxed);
  }
};

/// Never destroyed: static objects of other files may still log while the process exits.
log_state& state() {
  static log_state& s = *new log_state;
  return s;
}

std::string time_text() {
  std::timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm utc;
  gmtime_r(&now.tv_sec, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, now.tv_nsec / 1'000'000);
}

/// A single write, so that lines of several processes do not mix. A log that cannot be written does not stop a run: if
/// a pipe or a terminal takes nothing for a second, the line is dropped, and later ones are dropped at once until it
/// is read again.
void write_line(int descriptor, const std::string& line, bool& stalled) {
  pollfd p{descriptor, POLLOUT, 0};
  stalled = ::poll(&p, 1, stalled ? 0 : 1000) == 0;
  if (stalled) return;
  [[maybe_unused]] const auto written = ::write(descriptor, line.data(), line.size());
}

}  // namespace

namespace detail {

std::atomic<int> least_log_level{static_cast<int>(log_level::none)};

void write_log(log_level level, fmt::string_view format, fmt::format_args arguments) {
  std::string text = fmt::vformat(format, arguments);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  text = printable(text);
  log_state& s = state();
  const std::lock_guard lock(s.mutex);
  if (level >= s.file_level)
    write_line(s.file, fmt::format("{} {:<7} {}\n", time_text(), name_of(level), text), s.file_stalled);
  if (level >= s.stderr_level)
    write_line(STDERR_FILENO, fmt::format("{}: {}\n", name_of(level), text), s.stderr_stalled);
  if (level >= s.function_level) s.function(s.context, level, text);
}

}  // namespace detail

std::string_view name_of(log_level level) {
  constexpr std::string_view names[] = {"debug", "info", "warning", "error", "none"};
  return names[static_cast<int>(level)];
}

void log_to_stderr(log_level level) {
  log_state& s = state();
  const std::lock_guard lock(s.mutex);
  s.stderr_level = level;
  s.update_least();
}

result<void> log_to_file(const std::string& path, log_level level) {
  int file = -1;
  if (!path.empty() && level != log_level::none) {
    file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) return file_error("write", path, errno);
  }
  log_state& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.file >= 0) ::close(s.file);
  s.file = file;
  s.file_level = file < 0 ? log_level::none : level;
  s.update_least();
  return {};
}

void log_to_function(void (*write)(void*, log_level, std::string_view), void* context, log_level level) {
  log_state& s = state();
  const std::lock_guard lock(s.mutex);
  s.function = write;
  s.context = context;
  s.function_level = write == nullptr ? log_level::none : level;
  s.update_least();
}

}  // namespace plx
