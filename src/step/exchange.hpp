// Communication between the localities of one simulation: messages of numbers, in rounds, and collective operations.
//
// A round is one exchange in which all localities take part, for example a time step. All of them open the same rounds
// in the same order. A message belongs to the round that its sender has open; the receiver keeps it until it opens that
// round. With one locality all of this is empty.
//
// Thread safety: send() from any task; everything else from one task at a time. Cost: send() is plx::post() of a
// buffer, which is not copied; the collective operations are calls of net/collectives.hpp. Errors: locality_lost,
// thrown, when a peer is gone; the handler of an open round is notified. Example: step/test/exchange_test.cpp
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "net/buffer.hpp"

namespace plx {
class communicator;
namespace net {
class node;
}
}  // namespace plx

namespace plx::step {

/// Identifies a message; all but the first three members are defined by the sender.
struct message_tag {
  std::uint32_t simulation = 0, round = 0, from = 0;  ///< filled in by exchange::send()
  std::uint16_t kind = 0, stage = 0;
  std::uint32_t group = 0;
};

/// A message that has arrived.
struct message {
  message_tag tag;
  buffer<double> values;
};

/// Receives the messages of a round.
class message_handler {
 public:
  virtual ~message_handler() = default;
  /// Called in a task, or inside open(); concurrent calls are possible.
  virtual void arrived(const message& m) = 0;
  /// A peer is gone: its messages will not arrive. `loss`: a locality_lost. Called once, possibly inside open().
  virtual void lost(const std::exception_ptr& loss) = 0;
};

class exchange {
 public:
  /// The exchange of a simulation with one locality.
  static exchange& alone();
  /// The exchange of the localities of a job. All of them construct theirs in the same order. Requires: the node
  /// outlives it and belongs to the runtime of the tasks that use it.
  explicit exchange(net::node& node);
  ~exchange();
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  int here() const { return here_; }    ///< 0 .. count()-1
  int count() const { return count_; }  ///< localities
  bool is_alone() const { return count_ == 1; }

  /// Begins the next round: its messages go to `h`, beginning with those that arrived early.
  void open(message_handler& h);
  /// Ends the round once no call of the handler is running. Messages of the round that arrive later are dropped.
  void close();
  /// Sends a message of the open round. May suspend the calling task.
  void send(int to, message_tag tag, buffer<double> values);

  /// The numbers of each locality, by locality. All localities call it, each in a task.
  std::vector<std::vector<double>> all_gather(std::vector<double> mine);
  /// The same on locality 0 only; none on the others.
  std::vector<std::vector<double>> gather(std::vector<double> mine);
  /// Reduces the numbers of all localities with f(numbers, numbers of higher localities). All localities call it.
  using combine = std::vector<double> (*)(const std::vector<double>&, const std::vector<double>&);
  std::vector<double> all_reduce(std::vector<double> mine, combine f);

  /// A round that is closed at the end of this object's lifetime, also when an exception is thrown.
  class [[nodiscard]] open_round {
   public:
    explicit open_round(exchange& net) : net_(net) {}
    ~open_round() { net_.close(); }
    open_round(const open_round&) = delete;
    open_round& operator=(const open_round&) = delete;
    void begin(message_handler& h) { net_.open(h); }

   private:
    exchange& net_;
  };

  struct state;

 private:
  exchange();
  communicator& all();

  int here_ = 0, count_ = 1;
  std::uint32_t number_ = 0, round_ = 0;
  net::node* node_ = nullptr;
  std::shared_ptr<state> state_;
  std::unique_ptr<communicator> all_;
};

}  // namespace plx::step

namespace plx {
template <>
inline constexpr bool is_bitwise<step::message_tag> = true;
}
