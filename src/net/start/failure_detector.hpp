// Detection of lost localities: connections that carry almost no data, but close when the process at the other end
// dies, or time out when its host does. They are also used to agree that all localities have finished.
//
// Each locality is connected to those whose numbers differ from its own by powers of two, and to the next ones on its
// host. It reports to its neighbours that a peer is lost or has finished, and they forward this: all localities learn
// of it, with log N connections each.
// The kernel monitors the connections: without events nothing but TCP's probes is sent, so a process that computes or
// is stopped by a debugger is not lost; a host that does not answer for 8 s is.
//
// Neighbours can send each other a question and an answer without contents, whose meaning the transport defines.
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

/// The localities whose numbers differ from `here` by a power of two, modulo `size`, ascending.
std::vector<locality_id> power_of_two_neighbours(locality_id here, unsigned size);

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

  /// Asks a neighbour. False if `neighbour` is not a neighbour or is lost.
  bool ask(locality_id neighbour);
  void answer(locality_id neighbour);
  /// The neighbours that have asked, or answered, since the last call.
  std::vector<locality_id> take_questions() { return std::exchange(questions_, {}); }
  std::vector<locality_id> take_answers() { return std::exchange(answers_, {}); }

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
  /// The number of open connections, including unverified ones, whose number is bounded.
  [[nodiscard]] std::size_t connections() const { return lines_.size(); }

 private:
  enum class state { resting, connecting, connected, called, unknown, up, closed };
  struct line {
    int fd = -1;
    locality_id peer = no_locality;
    state now = state::closed;
    std::string in, out;
    std::deque<std::string> addresses;
    std::size_t tried = 0;        // attempts so far, over all addresses in turn
    double until = 0;             // when it tries the next address
    std::uint64_t challenge = 0;  // that the other side has to answer
  };
  enum class fate { there, finished, lost };

  explicit failure_detector(const job_info& m) : job_(m), fates_(m.size, fate::there) {}
  result<void> open();
  [[nodiscard]] std::vector<locality_id> neighbours() const;

  // Until all are connected: failure_detector_start.cpp.
  void call_peer(locality_id peer, std::string_view address);
  void call_next(line& l);
  void call_address(line& l, const std::string& address);
  void wait_for_calls();
  result<void> check_lines();
  void accept_all();
  void drop_oldest_unknown();
  void refuse(line& l);
  void forget_refused();
  void go_on(line& l);
  void check_call(line& l);
  void check_answer(line& l);
  void answer_challenge(line& l);
  std::uint64_t next_challenge();
  void stop_listening();
  [[nodiscard]] unsigned connected() const;

  // Once connected.
  void serve(line& l, unsigned events);
  void read(line& l);
  void take_messages(line& l);
  void hear(std::uint32_t kind, locality_id who, std::string_view text, const line* from);
  void spread(std::uint32_t kind, locality_id who, std::string_view text, const line* but);
  bool send_empty(locality_id neighbour, std::uint32_t kind);
  void write(line& l);
  void end(line& l, std::string why);
  void lose(locality_id who, std::string why);
  void lose_all(const std::string& why);
  void watch(line& l, bool also_writing);

  const job_info& job_;
  int epoll_ = -1, listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<line>> lines_;
  std::vector<fate> fates_;
  std::vector<loss> losses_;
  std::vector<locality_id> questions_, answers_;
  bool finished_ = false;
  std::uint64_t refused_ = 0;
  std::uint32_t challenges_ = 0;
};

}  // namespace plx::net::detail
