// Makes a transport that loses and doubles messages one that does neither: every message arrives once, unless its peer
// is lost. Order is not promised, as nowhere in net.
//
// Between two localities each direction counts its messages: 1, 2, 3, ... With every message, or alone when none goes
// that way for a while, travels what has arrived from the other side: `received`, and a bit for each of the next.
//
// Invariants, of one direction:
//  - All numbers up to `received` have arrived, received + 1 has not; bit i of `more` says whether received + 2 + i
//  has.
//    A number is given to the receiver above at the moment when it is marked so, never again.
//  - The sender sends number n only while n <= r + window, r being the latest `received` that it knows of. The
//    receiver's own is at least that, so that what comes fits into the bits; what does not is no message of ours.
//  - A message is kept until the other side has it, and is sent again at growing intervals until then. At most `window`
//    of them, with one copy of the head each, belong to this layer; the others are the caller's and wait in a queue.
//  - Memory is given back (`sent`) when the other side has the message and the transport below needs it no more.
//  - A peer that has left a message unanswered for give_up_s, and has said nothing meanwhile, is lost.
//
// Thread safety: as every transport. Cost: a copy of the head, 24 bytes more per message, a lock. Example:
// net/reliable_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "net/transport.hpp"

namespace plx::detail {
class scheduler;
}

namespace plx::net {

/// When a reliable transport sends again. On the clock of its runtime.
struct reliable_options {
  double retry_s = 1e-3;     ///< a message without an answer is sent again after so long, then after twice as long ...
  double retry_max_s = 0.1;  ///< ... until it is this
  double answer_s = 100e-6;  ///< what has arrived is told after so long if no message tells it before
  double give_up_s = 10;     ///< a peer that says nothing for so long, although it should answer, is lost
};

/// What a reliable transport had to do.
struct reliable_counts {
  std::uint64_t sent = 0;  ///< messages, each once
  std::uint64_t sent_again = 0;
  std::uint64_t answers = 0;  ///< messages that tell what has arrived, and nothing else
  std::uint64_t doubles = 0;  ///< messages that had arrived before
  std::uint64_t refused = 0;  ///< no messages of ours
};

class reliable_transport final : public transport, private receiver {
 public:
  /// How many messages to one peer are under way at a time.
  static constexpr unsigned window = 64;

  /// Requires: `clock` outlives it.
  reliable_transport(std::unique_ptr<transport> below, const plx::detail::scheduler& clock, unsigned localities,
                     reliable_options options = {});
  ~reliable_transport() override;

  [[nodiscard]] std::string_view name() const noexcept override { return below_->name(); }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override;
  [[nodiscard]] bool must_be_asked() const noexcept override { return below_->must_be_asked(); }
  void start(receiver& r) override;
  void send(locality_id to, outgoing& m) noexcept override;
  bool progress() noexcept override;
  [[nodiscard]] bool pending() const noexcept override;
  bool stop(double deadline_s) noexcept override;

  [[nodiscard]] reliable_counts counts() const noexcept;

 private:
  struct kept;
  struct peer;

  void arrived(locality_id from, std::span<const std::byte> head) noexcept override;
  void* announced(locality_id from, std::span<const std::byte> head, std::span<place> places) noexcept override;
  void pieces_arrived(locality_id from, void* announced, bool ok) noexcept override;
  void pieces_lost(locality_id from, void* announced) noexcept override;
  void lost(locality_id which, std::string_view why) noexcept override;

  bool open(locality_id from, std::span<const std::byte>& head) noexcept;
  bool mark(peer& p, std::uint64_t number, ticks now) noexcept;
  [[nodiscard]] bool can_launch(const peer& p) const noexcept;
  void launch(peer& p, outgoing& m) noexcept;
  void transmit(peer& p, kept& k, ticks now) noexcept;
  void answer(peer& p) noexcept;
  bool look_after(peer& p) noexcept;
  void lose(peer& p, std::string_view why) noexcept;

  struct spans {
    ticks retry, retry_max, answer, give_up;
  };

  const std::unique_ptr<transport> below_;
  const plx::detail::scheduler& clock_;
  const spans spans_;
  receiver* above_ = nullptr;
  std::vector<std::unique_ptr<peer>> peers_;  // by locality
  std::atomic<std::uint64_t> n_sent_{0}, n_sent_again_{0}, n_answers_{0}, n_doubles_{0}, n_refused_{0};
};

}  // namespace plx::net
