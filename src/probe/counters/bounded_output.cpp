#include "probe/counters/bounded_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <stdio_ext.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

#include "base/clock.hpp"
#include "base/file.hpp"

namespace plx::probe {
namespace {

/// The size that a pipe is certain to accept after poll() (POSIX: at least 512 bytes are written atomically), and in
/// practice also a terminal.
constexpr std::size_t sure_bytes = 512;

/// While it exists, a write to a closed pipe returns an error in the calling thread instead of raising a signal.
class no_broken_pipe {
 public:
  no_broken_pipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t waiting;
    sigpending(&waiting);
    was_pending_ = sigismember(&waiting, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~no_broken_pipe() {
#if defined(__linux__)
    const std::timespec at_once{};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
#endif
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  no_broken_pipe(const no_broken_pipe&) = delete;
  no_broken_pipe& operator=(const no_broken_pipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

/// Whether the descriptor accepts bytes, or reports an error, before `until_s`.
bool wait_for_room(int descriptor, double until_s) {
  for (;;) {
    pollfd p{descriptor, POLLOUT, 0};
    const double left_s = std::max(0.0, until_s - monotonic_seconds());
    const int n = ::poll(&p, 1, static_cast<int>(std::min(left_s, 1e6) * 1000));
    if (n > 0) return true;
    if (n == 0 || errno != EINTR) return false;
  }
}

/// Writes the program's own buffered output first, as far as that does not block.
void flush_program_text(std::FILE* stream, int descriptor, double until_s) {
#if defined(__linux__)
  do {
    if (::ftrylockfile(stream) == 0) {
      const std::size_t waiting = __fpending(stream);
      if (waiting > 0 && waiting <= 4096 && wait_for_room(descriptor, until_s)) ::fflush_unlocked(stream);
      ::funlockfile(stream);
      return;
    }
    const std::timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  } while (monotonic_seconds() < until_s);
#else
  (void)descriptor, (void)until_s;
  std::fflush(stream);
#endif
}

}  // namespace

/// The destination of a text. `own`: a file description used by this object only, so that O_NONBLOCK does not affect
/// other processes.
struct bounded_output::target {
  enum class type : std::uint8_t { whole_file, own, shared, socket };
  int descriptor;
  type kind;

  [[nodiscard]] ssize_t write_some(std::string_view text) const {
    switch (kind) {
      case type::socket:
        return ::send(descriptor, text.data(), text.size(), MSG_DONTWAIT);
      case type::shared:
        return ::write(descriptor, text.data(), std::min(text.size(), sure_bytes));
      case type::own:
      case type::whole_file:
        break;
    }
    return ::write(descriptor, text.data(), text.size());
  }
};

bounded_output::bounded_output(std::string to) : to_(std::move(to)) {}

bounded_output::~bounded_output() {
  if (fifo_ >= 0) ::close(fifo_);
}

/// Opens a path that is not a regular file.
void bounded_output::open_fifo() {
  if (fifo_ < 0) fifo_ = ::open(to_.c_str(), O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC | O_NOCTTY);
}

result<void> bounded_output::write_target(const target& t, std::string_view header, std::string_view text,
                                          double timeout_s) {
  const no_broken_pipe guard;
  std::string all = std::exchange(rest_, {});
  const std::size_t earlier = all.size();
  if (!header_written_) all += header;
  all += text;
  std::string_view left = all;
  double until_s = monotonic_seconds() + (stalled_ ? 0 : timeout_s);
  while (!left.empty()) {
    if (t.kind != target::type::whole_file && !wait_for_room(t.descriptor, until_s)) break;
    const ssize_t n = t.write_some(left);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (monotonic_seconds() >= until_s) break;
      continue;
    }
    if (n < 0) return file_error("write", to_, errno);
    left.remove_prefix(static_cast<std::size_t>(n));
    until_s = monotonic_seconds() + timeout_s;  // the consumer is reading
  }
  stalled_ = !left.empty();
  const std::size_t done = all.size() - left.size();
  const bool torn = done > earlier;  // this text was written in part: the rest is kept
  if (torn) header_written_ = true;
  if (!stalled_) return {};
  if (!torn) ++dropped_;
  rest_ = torn ? std::string(left) : all.substr(done, earlier - done);
  return {};
}

result<void> bounded_output::write(std::string_view header, std::string_view text, double timeout_s) {
  const bool is_stdout = to_ == "stdout";
  if (!is_stdout && to_ != "stderr") {
    struct stat there {};
    if (fifo_ < 0 && (::stat(to_.c_str(), &there) != 0 || S_ISREG(there.st_mode)))
      return append_file(to_, header, text);
    open_fifo();
    if (fifo_ < 0 && errno == ENXIO && S_ISFIFO(there.st_mode)) return ++dropped_, result<void>{};  // no reader yet
    if (fifo_ < 0) return file_error("write", to_, errno);
    auto done = write_target({fifo_, target::type::own}, header, text, timeout_s);
    if (!done) ::close(std::exchange(fifo_, -1)), rest_.clear(), header_written_ = false;
    return done;
  }

  std::FILE* const stream = is_stdout ? stdout : stderr;
  const int shared = ::fileno(stream);
  struct stat there {};
  if (shared < 0 || ::fstat(shared, &there) != 0) return file_error("write", to_, EBADF);
  target t{shared, S_ISREG(there.st_mode)    ? target::type::whole_file
                   : S_ISSOCK(there.st_mode) ? target::type::socket
                                             : target::type::shared};
  int own = -1;
#if defined(__linux__)
  if (t.kind == target::type::shared) {
    own = ::open(fmt::format("/proc/self/fd/{}", shared).c_str(),
                 O_WRONLY | O_NONBLOCK | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (own >= 0) t = {own, target::type::own};
  }
#endif
  flush_program_text(stream, shared, monotonic_seconds() + (stalled_ ? 0 : timeout_s));
  auto done = write_target(t, header, text, timeout_s);
  if (own >= 0) ::close(own);
  return done;
}

}  // namespace plx::probe
