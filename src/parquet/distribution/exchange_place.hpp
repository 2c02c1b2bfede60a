// The exchange of this locality, to which the actions of rotation_exchange.hpp deliver.
//
// Rows carry the number of their exchange. A member may end its exchange before others have sent all of their rows, and
// before it detects the loss of a member itself: a collective call fails as soon as another member has detected it.
// Rows of such an exchange are dropped. All other rows for an exchange that is not here are errors: a complete rotation
// has received all of its rows, and no member sends before all have begun.
//
// Thread safety: enter() and leave() by one task, the others by any. Cost: two atomic operations per message. Example:
// parquet/distribution/test/distributed_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "net/core/node.hpp"
#include "rt/mutex.hpp"

namespace plx::parquet {

class rotation_exchange;

/// The service of a node: its exchange, and the numbers of those that ended before their rotation was complete.
class exchange_place final : public net::service {
 public:
  explicit exchange_place(net::node&) {}

  /// Access to the exchange, which is not destroyed before this object; null if there is none.
  class access {
   public:
    // seq_cst: either this finds no exchange, or leave() finds this user.
    explicit access(exchange_place& p) : users_(p.users_) {
      users_.fetch_add(1, std::memory_order_seq_cst);
      exchange_ = p.current_.load(std::memory_order_seq_cst);
    }
    ~access() { users_.fetch_sub(1, std::memory_order_release); }  // pairs with leave()
    access(const access&) = delete;
    access& operator=(const access&) = delete;
    rotation_exchange* get() const noexcept { return exchange_; }

   private:
    std::atomic<int>& users_;
    rotation_exchange* exchange_;
  };

  /// Numbers of exchanges ascend on each locality: an exchange has one more than the largest of its members.
  std::uint32_t last_number() const noexcept { return last_number_.load(std::memory_order_relaxed); }
  // relaxed: only an exchange that has entered on all members sends with its number.
  void enter(rotation_exchange& e, std::uint32_t number) {
    last_number_.store(number, std::memory_order_relaxed);
    current_.store(&e, std::memory_order_seq_cst);
  }
  /// From the return on, nothing uses the exchange or its listener. Users do not wait for messages. `incomplete`:
  /// others may still send rows of a rotation that this locality has ended.
  void leave(std::uint32_t number, bool incomplete);
  /// Whether rows of that exchange are to be dropped.
  bool ended_incomplete(std::uint32_t number);
  void peer_lost(locality_id which) override;

 private:
  std::atomic<rotation_exchange*> current_{nullptr};
  std::atomic<int> users_{0};
  std::atomic<std::uint32_t> last_number_{0};
  mutex lock_;
  std::vector<std::uint32_t> incomplete_;  // one for each loss
};

}  // namespace plx::parquet
