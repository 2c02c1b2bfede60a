// Measurement of a program that was started without it: a process with a runtime listens on a local socket, through
// which plx-exec --attach and `parallax top PID` ask it to record, to serve its live page, and to stop (docs/probe.md,
// "Attaching to a running program").
//
// One socket per process, "@parallax/PID" in Linux' abstract namespace, and one thread that sleeps until a client
// connects; both begin with the first registration and stay until the process ends. A client is a process of the same
// user, or of root: the kernel reports its user. A measurement ends when its client requests that, or ends itself, so
// nothing is left behind by a client that was killed.
//
// Packets are text: a client sends "parallax 1" and a request (attach_request), and gets "ok" or "error" and a line;
// after "ok", a further line reports how the measurement differs from the request. Later the client may send "stop".
// When the measurement has ended, for whichever reason, it gets "ended" or "failed" and a line.
//
// Thread safety: all functions. Cost: without a client none. Errors: without a socket the program cannot be measured
// later, and runs as usual. Only on Linux. Example: session/test/attach_server_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/settings.hpp"

namespace plx::probe {

class counter_registry;
class recorder;
class sampler;
class session;

/// A runtime: what can be measured, and how. Everything must outlive the registration.
struct attach_target {
  recorder* records = nullptr;
  session* own = nullptr;  // of the program's own settings; null if they request nothing
  void* context = nullptr;
  counter_registry& (*counters)(void* context) = nullptr;
  void (*sample)(void* context, sampler& to) = nullptr;  // adds the threads of the workers
};

/// Offers a runtime to clients while it exists. A client gets the oldest runtime of the process.
class attach_registration {
 public:
  explicit attach_registration(const attach_target& target);
  /// Ends what clients have requested, and writes its files. Requires: no worker records any more.
  ~attach_registration();
  attach_registration(const attach_registration&) = delete;
  attach_registration& operator=(const attach_registration&) = delete;

 private:
  std::uint64_t id_ = 0;  // 0: not registered
};

// The protocol, for servers and clients.

/// The name of a process's socket in the abstract namespace, without the zero byte in front.
std::string attach_socket_name(int process);

/// The request of a client.
struct attach_request {
  enum class kind : std::uint8_t { serve, measure } what = kind::measure;
  std::vector<std::string> arguments;  // of a measurement: --plx:key=value, with an absolute output

  /// As a packet.
  [[nodiscard]] std::string text() const;
  /// From a packet. Error: one line.
  static result<attach_request> parse(std::string_view packet);
};

/// The settings of a measurement that begins later, from its arguments alone: neither the environment nor a file
/// counts. Error: one line, also for a setting that only the start of a program can have, such as threads.
result<settings> settings_of_attachment(const std::vector<std::string>& arguments);

}  // namespace plx::probe
