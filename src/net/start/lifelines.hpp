// How a locality learns that another is gone: connections that do nothing but close when the process at the other end
// dies, or time out when its host does. And how all agree that they have finished.
//
// Each locality is connected with those whose numbers differ from its own by powers of two, and with the next ones on
// its host. What one learns, that a peer is lost or has finished, it tells its neighbours, and they theirs: all hear of
// it, over log N connections each.
// The kernel watches: nothing is sent while nothing happens but the probes of TCP, so a process that computes or is
// stopped by a debugger is not lost; a host that does not answer for 8 s is.
//
// Neighbours can ask each other something and answer, without words; what it means is the transport's matter.
//
// While localities connect, strangers may as well: who does not begin with the proof that it knows the job's secret is
// refused before anything else it says is looked at. Afterwards nothing listens any more.
//
// Thread safety: one thread at a time. Cost: look() is one system call. Example: net/start/test/lifelines_test.cpp
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "net/start/meeting.hpp"

namespace plx::net::detail {

struct loss {
  locality_id who;
  std::string why;
};

class lifelines {
 public:
  /// Listens. Requires: `m` outlives it.
  static result<std::unique_ptr<lifelines>> listen(const meeting& m);
  ~lifelines();
  lifelines(const lifelines&) = delete;
  lifelines& operator=(const lifelines&) = delete;

  /// What the others must be told, for connect().
  [[nodiscard]] std::string address() const;
  /// Connects with the neighbours, who do the same. An error of one line names who did not come.
  result<void> connect(const std::vector<std::string>& addresses, double deadline_s);

  /// Reads what has come. True when something had.
  bool look();
  /// The peers found lost since the last call, each once in all.
  std::vector<loss> take_losses();
  /// A peer was found lost by other means.
  void tell_lost(locality_id who, std::string why);
  /// This locality cannot go on: to the others it is lost, and they are to it.
  void resign(const std::string& why);

  /// Asks a neighbour. False: it is none, or is lost.
  bool ask(locality_id neighbour);
  void answer(locality_id neighbour);
  /// Who has asked, or answered, since the last call.
  std::vector<locality_id> take_questions() { return std::exchange(questions_, {}); }
  std::vector<locality_id> take_answers() { return std::exchange(answers_, {}); }

  /// This locality needs the others no more.
  void tell_finished();
  /// All localities, this one included, have said so or are lost. A peer that goes earlier is lost: it has left the
  /// job.
  [[nodiscard]] bool all_finished() const;
  /// What was told has left, and the neighbours have closed as well; or the deadline has passed. Requires:
  /// all_finished(), or nobody waits for this locality.
  void close(double deadline_s);

  /// Becomes readable when look() would find something, or one of those that were added has something to say.
  [[nodiscard]] int fd() const { return epoll_; }
  void add(int fd);
  /// Connections of strangers.
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  /// Connections that are kept, those of strangers among them: their number is bounded.
  [[nodiscard]] std::size_t connections() const { return lines_.size(); }

 private:
  enum class state { resting, connecting, called, unknown, up, closed };
  struct line {
    int fd = -1;
    locality_id peer = no_locality;
    state now = state::closed;
    std::string in, out;
    std::deque<std::string> addresses;
    std::size_t tried = 0;  // of them, over and over
    double until = 0;       // goes on with the next then
  };
  enum class fate { there, finished, lost };

  explicit lifelines(const meeting& m) : meeting_(m), fates_(m.size, fate::there) {}
  result<void> open();
  [[nodiscard]] std::vector<locality_id> neighbours() const;

  // Until they are connected: lifelines_start.cpp.
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
  void stop_listening();
  [[nodiscard]] unsigned connected() const;

  // From then on.
  void serve(line& l, unsigned events);
  void read(line& l);
  void take_messages(line& l);
  void hear(std::uint32_t kind, locality_id who, std::string_view text, const line* from);
  void spread(std::uint32_t kind, locality_id who, std::string_view text, const line* but);
  bool tell(locality_id neighbour, std::uint32_t kind);
  void write(line& l);
  void end(line& l, std::string why);
  void lose(locality_id who, std::string why);
  void lose_all(const std::string& why);
  void watch(line& l, bool also_writing);

  const meeting& meeting_;
  int epoll_ = -1, listener_ = -1;
  std::uint16_t port_ = 0;
  std::vector<std::unique_ptr<line>> lines_;
  std::vector<fate> fates_;
  std::vector<loss> losses_;
  std::vector<locality_id> questions_, answers_;
  bool finished_ = false;
  std::uint64_t refused_ = 0;
};

}  // namespace plx::net::detail
