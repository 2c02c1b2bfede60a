#include "attach/preload/attach_client.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string_view>

#include "base/file.hpp"
#include "base/result.hpp"
#include "base/text.hpp"
#include "session/attach_server.hpp"

namespace plx::probe {
namespace {

constexpr double answer_s = 10, files_s = 120;

int wake_write = -1;  // of the pipe that a signal writes to

void complain(const std::string& line) { std::fprintf(stderr, "plx-exec: %s\n", printable(line).c_str()); }

double now_s() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

std::string name_of_process(int process) {
  const std::string name = read_file(fmt::format("/proc/{}/comm", process)).value_or("");
  return name.substr(0, name.find('\n'));
}

/// -1: nothing listens. A process that is stopped accepts no more than a few connections: connecting ends, too.
int connect_to(int process) {
  const int s = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  const std::string name = attach_socket_name(process);
  std::memcpy(a.sun_path + 1, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const timeval answer{static_cast<time_t>(answer_s), 0};
  if (s >= 0) ::setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &answer, sizeof answer);
  if (s >= 0 && ::connect(s, reinterpret_cast<const sockaddr*>(&a), size) == 0) {
    ucred peer{};  // another process may have taken the name
    socklen_t length = sizeof peer;
    if (::getsockopt(s, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.pid == process) return s;
  }
  if (s >= 0) ::close(s);
  return -1;
}

/// False if that is unknown.
bool sees_other_files(int process) {
  for (const char* what : {"root", "ns/mnt"}) {
    struct stat own {
    }, other{};
    const bool known = ::stat(fmt::format("/proc/self/{}", what).c_str(), &own) == 0 &&
                       ::stat(fmt::format("/proc/{}/{}", process, what).c_str(), &other) == 0;
    if (known && (own.st_dev != other.st_dev || own.st_ino != other.st_ino)) return true;
  }
  return false;
}

enum class event : std::uint8_t { packet, closed, signal, timeout };

/// Waits for a packet, the end of the connection, a signal, or `within_s` (0: for ever).
event wait_for(int s, int wake_read, double within_s, std::string& packet) {
  constexpr double most_wait_s = 3600;
  const double end = now_s() + within_s;
  for (;;) {
    pollfd polled[] = {{s, POLLIN, 0}, {wake_read, POLLIN, 0}};
    const double left_s = within_s > 0 ? std::max(0.0, end - now_s()) : most_wait_s;
    const int n = ::poll(polled, 2, static_cast<int>(1e3 * std::min(left_s, most_wait_s)) + 1);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0 && polled[0].revents != 0) {
      packet.assign(4096, '\0');
      const ssize_t got = ::recv(s, packet.data(), packet.size(), 0);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      packet.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      return packet.empty() ? event::closed : event::packet;
    }
    char one;
    if (n > 0 && ::read(wake_read, &one, 1) == 1) return event::signal;
    if (n < 0 || (within_s > 0 && now_s() >= end)) return event::timeout;
  }
}

int end_line(const attachment& a, event last, const std::string& packet) {
  if (last == event::signal || last == event::timeout) {
    complain(fmt::format("process {} still writes its files into '{}'", a.process, a.folder));
    return 1;
  }
  const std::string_view text = packet;
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string rest(text.substr(std::min(line + 1, text.size())));
  if (text.substr(0, line) == "ended") {
    if (!a.quiet) complain(fmt::format("the measurement of process {} is in '{}'", a.process, a.folder));
    return 0;
  }
  complain(text.empty()
               ? fmt::format("process {} ended without writing its files; a trace in '{}' is readable up to its "
                             "last second",
                             a.process, a.folder)
               : fmt::format("process {}: {}", a.process, rest));
  return 1;
}

}  // namespace

std::string why_not_ours(int process) {
  struct stat about {};
  if (process <= 0 || ::stat(fmt::format("/proc/{}", process).c_str(), &about) != 0)
    return fmt::format("there is no process {}", process);
  if (::geteuid() != 0 && about.st_uid != ::geteuid())
    return fmt::format("process {} ({}) belongs to another user, or is set-user-id", process, name_of_process(process));
  if (sees_other_files(process))
    return fmt::format("process {} ({}) has other folders (another mount namespace, or root): run plx-exec there",
                       process, name_of_process(process));
  return "";
}

int measure_process(const attachment& a) {
  if (const std::string why = why_not_ours(a.process); !why.empty()) return complain(why), 125;
  const int s = connect_to(a.process);
  if (s < 0) {
    complain(
        fmt::format("process {} ({}) does not accept attachments: expected a program with a runtime of Parallax, "
                    "without attach=0, in the same network and PID namespace; plx-exec PROGRAM measures others from "
                    "their start",
                    a.process, name_of_process(a.process)));
    return 125;
  }
  int wake[2];
  if (::pipe(wake) != 0) return complain(file_error("create", "a pipe", errno).message), 125;
  wake_write = wake[1];
  struct sigaction action {};
  action.sa_handler = [](int) { (void)!::write(wake_write, "!", 1); };
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // Those that nohup ignores stay so.
    if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_IGN)
      ::sigaction(number, &action, nullptr);
  }
  const std::string request = attach_request{attach_request::kind::measure, a.arguments}.text();
  std::string reply;
  event last = event::closed;
  if (::send(s, request.data(), request.size(), MSG_NOSIGNAL) >= 0) last = wait_for(s, wake[0], answer_s, reply);
  if (!reply.starts_with("ok\n")) {
    complain(reply.starts_with("error\n")
                 ? fmt::format("process {} ({}): {}", a.process, name_of_process(a.process), reply.substr(6))
                 : fmt::format("process {} ({}) {}", a.process, name_of_process(a.process),
                               last == event::closed   ? "has just ended"
                               : last == event::signal ? "had not answered"
                                                       : "does not answer: it is stopped, or writes other files"));
    return 125;
  }
  const std::size_t further = reply.find('\n', 3);
  if (!a.quiet && further != reply.npos) complain(reply.substr(further + 1));
  if (!a.quiet)
    complain(fmt::format("measuring process {} ({}) {}", a.process, name_of_process(a.process),
                         a.duration_s > 0 ? fmt::format("for {:g} s", a.duration_s) : "until Ctrl-C or its end"));
  std::string packet;
  last = wait_for(s, wake[0], a.duration_s, packet);
  if (last == event::signal || last == event::timeout) {
    // Also if this fails: a program that has just ended has sent its last packet before. A second signal ends the wait.
    (void)!::send(s, "stop", 4, MSG_NOSIGNAL);
    last = wait_for(s, wake[0], files_s, packet);
  }
  return end_line(a, last, packet);
}

}  // namespace plx::probe
