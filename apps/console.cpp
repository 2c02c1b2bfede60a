#include "console.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace plx::app {

namespace {

std::atomic<bool> requested = false;
std::atomic<const char*> stop_message = nullptr;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);  // in handlers

// A second SIGINT or SIGTERM ends the program immediately, also if it arrives before the handler of the first has
// begun. A terminal that is closed may send SIGHUP more than once; only the first one counts.
extern "C" void on_stop(int signal) {
  const bool is_second = requested.exchange(true);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_IGN);
  if (is_second && signal != SIGHUP) {
    std::raise(signal);  // takes effect at the end of this handler
    return;
  }
  const char* text = stop_message.load();
  if (text == nullptr) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

}  // namespace

void open_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    while (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
      if (open("/dev/null", O_RDWR) < 0) return;
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 2000;
  std::string all;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f)
      all += fmt::format("\\x{:02x}", byte);
    else
      all += c;
  }
  if (text.size() > longest) all += fmt::format("... ({} more bytes)", text.size() - longest);
  return all;
}

void handle_stop_signals(const char* message) {
  stop_message = message;
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  if (std::signal(SIGHUP, on_stop) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // as set by nohup
  std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit is then an error like a full disk
  std::signal(SIGPIPE, SIG_IGN);  // output that is no longer read does not end a run
}

void ignore_stop_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
}

void set_stop_message(const char* message) { stop_message = message; }

const std::atomic<bool>& stop_requested() { return requested; }

}  // namespace plx::app
