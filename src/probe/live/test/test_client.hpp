// A client for tests of the live page: sends given bytes, and reads the reply.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace plx::probe {

class test_client {
 public:
  explicit test_client(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }
  test_client(const test_client&) = delete;
  test_client& operator=(const test_client&) = delete;
  ~test_client() { ::close(fd_); }

  [[nodiscard]] bool connected() const { return connected_; }
  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  /// The data received until the server closes, or `enough` bytes of it.
  [[nodiscard]] std::string read(std::size_t enough = 1u << 30, int timeout_ms = 300000) const {
    std::string text;
    char part[65536];
    for (pollfd p{fd_, POLLIN, 0}; text.size() < enough && ::poll(&p, 1, timeout_ms) > 0;) {
      const ssize_t n = ::recv(fd_, part, sizeof part, 0);
      if (n <= 0) break;
      text.append(part, static_cast<std::size_t>(n));
    }
    return text;
  }
  /// Whether the server closes the connection within `timeout_ms`.
  [[nodiscard]] bool closed(int timeout_ms = 300000) const {
    pollfd p{fd_, POLLIN, 0};
    char byte;
    return ::poll(&p, 1, timeout_ms) > 0 && ::recv(fd_, &byte, 1, MSG_PEEK) <= 0;
  }

 private:
  int fd_;
  bool connected_ = false;
};

/// The complete reply to one request.
inline std::string ask(std::uint16_t port, std::string_view target, std::string_view headers = "Host: localhost\r\n") {
  const test_client c(port);
  c.send("GET ");
  c.send(target);
  c.send(" HTTP/1.1\r\nConnection: close\r\n");
  c.send(headers);
  c.send("\r\n");
  return c.read();
}

}  // namespace plx::probe
