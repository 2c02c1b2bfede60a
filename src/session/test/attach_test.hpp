// A recorder that is measured at the request of a client, and the client, for tests.
//
// Thread safety: none. Cost: a recorder and a socket. Example: session/test/attach_server_test.cpp
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "session/attach_server.hpp"
#include "trace/file/trace_reader.hpp"

namespace plx::probe {

/// A connection to the socket of a process.
class Client {
 public:
  explicit Client(int process = ::getpid()) : descriptor_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    const std::string name = attach_socket_name(process);
    std::memcpy(a.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    connected = ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&a), size) == 0;
  }
  ~Client() { ::close(descriptor_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void send(const std::string& packet) const {
    ASSERT_EQ(::send(descriptor_, packet.data(), packet.size(), MSG_NOSIGNAL), static_cast<ssize_t>(packet.size()));
  }
  /// "": the connection was closed.
  [[nodiscard]] std::string next() const {
    pollfd p{descriptor_, POLLIN, 0};
    if (::poll(&p, 1, 60'000) != 1) return "nothing within a minute";
    std::string packet(4096, '\0');
    packet.resize(static_cast<std::size_t>(std::max<ssize_t>(0, ::recv(descriptor_, packet.data(), packet.size(), 0))));
    return packet;
  }
  [[nodiscard]] std::string ask(const attach_request& r) const {
    send(r.text());
    return next();
  }

  bool connected = false;

 private:
  int descriptor_;
};

struct Attach : testing::Test {
  Attach() { std::filesystem::remove_all(folder); }

  const std::string folder = temporary_path("attach");
  const attach_request trace{attach_request::kind::measure, {"--plx:trace=1", "--plx:output=" + folder}};
  recorder r{1};
  counter_registry counters;
  const attach_target target{
      .records = &r,
      .context = &counters,
      .counters = [](void* c) -> counter_registry& { return *static_cast<counter_registry*>(c); },
      .sample = [](void*, sampler&) {}};

  void record(const char* name) {
    const ticks now = now_ticks();
    r.worker(0).record({.name = register_name(name), .begin = now - 100, .end = now, .id = r.worker(0).next_id()});
  }
  /// Forks a child that uses the recorder: the status of its process, 0 if it has the one record of its own trace.
  int status_of_child() {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(300);  // it would wait forever for a lock that none of its threads holds
      record("at child");
      r.trace(true);
      record("at child");
      ::_exit(r.collect_trace().records == 1 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return status;
  }
  /// Names of the slices in the trace.
  std::vector<std::string> traced() const {
    std::vector<std::string> names;
    const auto loaded = load_trace({folder + "/trace.plxt"});
    EXPECT_TRUE(loaded) << loaded.error().message;
    if (!loaded) return {};
    EXPECT_THAT(loaded->warnings, testing::IsEmpty());
    for (const trace_slice& s : loaded->trace.data.workers.at(0)) names.emplace_back(name_of(s.name));
    return names;
  }
};

}  // namespace plx::probe
