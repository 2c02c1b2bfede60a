// Detection of lost localities: connections that carry almost no data, but close when the process at the other end
// dies, or time out when its host does. They are also used to agree that all localities have finished.
//
// Each locality is connected to those whose numbers differ from its own by powers of two, and to the next ones on its
// host. It reports to its neighbours that a peer is lost or has finished, and they forward this: all localities learn
// of it, with log N connections each. Notices that arrive in one poll are forwarded together.
// The kernel monitors the connections: without events nothing but TCP's probes is sent, so a process that computes or
// is stopped by a debugger is not lost; a host that does not answer for 8 s is.
//
// Neighbours can send each other requests and replies without contents: probes, whose meaning the transport defines.
//
// While localities connect, other programs may connect as well: a connection that does not begin with a proof of the
// job's secret, made for this connection, is refused before anything else from it is read. After start-up nothing
// listens any more.
//
// Thread safety: one thread at a time. Cost: poll() is one system call. Example:
// net/start/test/failure_detector_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "net/start/job_info.hpp"

namespace plx::net::detail {

struct loss {
  locality_id who;
  std::string why;
};

class failure_detector {
 public:
  /// Listens. Requires: `m` outlives it.
  static result<std::unique_ptr<failure_detector>> listen(const job_info& m);
  ~failure_detector();
  failure_detector(const failure_detector&) = delete;
  failure_detector& operator=(const failure_detector&) = delete;

  /// The address to pass to connect() of the others.
  [[nodiscard]] std::string address() const;
  /// Connects to the neighbours, which do the same. Errors: one line that names the missing localities.
  result<void> connect(const std::vector<std::string>& addresses, double deadline_s);

  /// Reads the messages that have arrived. True if there were any.
  bool poll();
  /// The peers found lost since the last call, each reported once.
  std::vector<loss> take_losses();
  /// Reports a peer that was found lost by other means.
  void report_lost(locality_id who, std::string why);
  /// This locality cannot continue: it is lost to the others, and they are lost to it.
  void resign(const std::string& why);

  /// Requests a probe of a neighbour. False if `neighbour` is not a neighbour or is lost.
  bool request_probe(locality_id neighbour);
  void reply_to_probe(locality_id neighbour);
  /// The neighbours whose requests, or replies, have arrived since the last call.
  std::vector<locality_id> take_probe_requests() { return std::exchange(probe_requests_, {}); }
  std::vector<locality_id> take_probe_replies() { return std::exchange(probe_replies_, {}); }

  /// Reports that this locality no longer needs the others.
  void report_finished();
  /// Whether all localities, including this one, have called report_finished() or are lost. A peer that ends earlier is
  /// lost: it has left the job.
  [[nodiscard]] bool all_finished() const;
  /// Waits until all messages have been sent and the neighbours have closed as well, or until the deadline. Requires:
  /// all_finished(), or no locality waits for this one.
  void close(double deadline_s);

  /// Becomes readable when poll() would find something, or when a descriptor passed to add() becomes readable.
  [[nodiscard]] int fd() const { return epoll_; }
  void add(int fd);
  /// The number of refused connections.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// The number of system calls that have sent something. All notices of one poll to a neighbour take one.
  [[nodiscard]] std::uint64_t writes() const { return writes_; }
  /// The number of open connections, including unverified ones, whose number is bounded.
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }

 private:
  enum class state { paused, connecting, connected, called, unverified, up, closed };
  struct connection {
    int fd = -1;
    locality_id peer = no_locality;
    state now = state::closed;
    std::string in, out;
    std::deque<std::string> addresses;
    std::size_t tried = 0;        // attempts so far, over all addresses in turn
    double until = 0;             // when it tries the next address
    std::uint64_t challenge = 0;  // of this side, to which the other one has to reply
  };
  enum class status { running, finished, lost };

  explicit failure_detector(const job_info& m) : job_(m), status_(m.size, status::running) {}
  result<void> open();
  [[nodiscard]] std::vector<locality_id> neighbours() const;

  // Until all are connected: failure_detector_start.cpp.
  void connect_to(locality_id peer, std::string_view address);
  void try_next_address(connection& c);
  void try_address(connection& c, const std::string& address);
  void wait_for_events();
  result<void> check_connections();
  void accept_all();
  void drop_oldest_unverified();
  void refuse(connection& c);
  void erase_refused();
  void advance(connection& c);
  void verify_call(connection& c);
  void verify_reply(connection& c);
  void reply_to_challenge(connection& c);
  std::uint64_t next_challenge();
  void stop_listening();
  [[nodiscard]] unsigned connected() const;

  // Once connected.
  void serve(connection& c, unsigned events);
  void read(connection& c);
  void take_messages(connection& c);
  void take_message(std::uint32_t kind, locality_id who, std::string_view text, const connection* from);
  void notify_neighbours(std::uint32_t kind, locality_id who, std::string_view text, const connection* but);
  bool send_empty(locality_id neighbour, std::uint32_t kind);
  void write(connection& c);
  void write_all();
  void end(connection& c, std::string why);
  void mark_lost(locality_id who, std::string why);
  void mark_all_lost(const std::string& why);
  void watch(connection& c, bool also_writing);

  const job_info& job_;
  int epoll_ = -1, listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<connection>> connections_;
  std::vector<status> status_;
  std::vector<loss> losses_;
  std::vector<locality_id> probe_requests_, probe_replies_;
  bool finished_ = false;
  std::uint64_t refused_ = 0, writes_ = 0;
  std::uint32_t challenges_ = 0;
};

}  // namespace plx::net::detail
