// How the localities of one simulation talk: rounds of messages of numbers, and numbers that all give and all get.
//
// A round is one exchange that all localities take part in, a time step for example. All of them open the same rounds
// in the same order; a message belongs to the round that its sender has open, and waits at its receiver until that
// opens it, too. Alone, nothing of this does anything.
//
// Thread safety: send() by any task; the rest by one task at a time. Cost: send() is plx::post() of a buffer, which
// travels without a copy; the others are calls of net/collectives.hpp. Errors: locality_lost, thrown, when a peer is
// gone; whoever has a round open is told.
// Example: star/exchange_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "net/buffer.hpp"

namespace plx {
class communicator;
namespace net {
class node;
}
}  // namespace plx

namespace plx::star {

/// What a message is; its sender's business but for the first three.
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

/// Gets the messages of a round.
class message_handler {
 public:
  virtual ~message_handler() = default;
  /// In a task, or inside open(); several at the same time.
  virtual void arrived(const message& m) = 0;
  /// A peer is gone: what it should send does not come. Once, also inside open().
  virtual void lost(int peer, const std::string& why) = 0;
};

class exchange {
 public:
  /// The exchange of a simulation that has all to itself.
  static exchange& alone();
  /// That of the localities of a job. All of them make theirs in the same order. Requires: the node outlives it, and is
  /// that of the tasks that use it.
  explicit exchange(net::node& node);
  ~exchange();
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  int here() const { return here_; }    ///< 0 .. count()-1
  int count() const { return count_; }  ///< localities
  bool is_alone() const { return count_ == 1; }

  /// Begins the next round: its messages go to `h`, those first that came early.
  void open(message_handler& h);
  /// Ends it, when no call of the handler runs any more. What has not come of the round's messages is dropped when it
  /// comes.
  void close();
  /// A message of the open round. May wait, as a task.
  void send(int to, message_tag tag, buffer<double> values);

  /// The numbers that each locality gives, by locality. All call it, each in a task; likewise below.
  std::vector<std::vector<double>> all_gather(std::vector<double> mine);
  /// What f(numbers, numbers of higher localities) makes of them all.
  using combine = std::vector<double> (*)(const std::vector<double>&, const std::vector<double>&);
  std::vector<double> all_reduce(std::vector<double> mine, combine f);

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

}  // namespace plx::star

namespace plx {
template <>
inline constexpr bool is_bitwise<star::message_tag> = true;
}
