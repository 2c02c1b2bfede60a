// The common part of the transports between processes: sends by one thread at a time, and the failure detector
// (net/start/).
//
// Thread safety and cost: as in net/transport/transport.hpp. All members except the atomic counts belong to the thread
// that holds the lock. Example: net/transport/ucx/test/ucx_transport_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/failure_detector.hpp"
#include "net/start/job_info.hpp"
#include "net/transport/near_rings.hpp"
#include "net/transport/remote_memory.hpp"
#include "net/transport/transport.hpp"

namespace plx::net::detail {

/// A lock that no thread waits for: a request that cannot be issued at once is left to the thread that holds the lock.
///
/// Requests made while another thread holds it are put on a stack, which that thread empties before it
/// releases the lock. Invariant: when no thread holds it, the stack is empty, or a thread that has just put a request
/// there is about to take it. Thread safety: everything. Cost: one exchange to take it, one to release it. Example:
/// net/transport/test/combining_lock_test.cpp
class combining_lock {
 public:
  /// Whether this thread holds it.
  [[nodiscard]] bool mine() const noexcept {
    return holder_.load(std::memory_order_relaxed) == me();  // only this thread ever writes its own mark
  }
  bool try_take() noexcept {
    const void* free = nullptr;
    // acquire: pairs with the release by the previous holder.
    return holder_.load(std::memory_order_relaxed) == nullptr &&
           holder_.compare_exchange_strong(free, me(), std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Issues m, or leaves it to the thread that holds the lock, which calls issue(transport_request&) for one request at
  /// a time. issue() may end the lifetime of the request.
  template <class Issue>
  void send(transport_request& m, Issue&& issue) noexcept {
    if (mine()) return issue(m);  // called from within issue(), or by the holder
    if (try_take()) {
      issue(m);
    } else {
      put(m);
      if (!try_take()) return;  // the holder sends it
    }
    end(issue);
  }
  /// Issues the requests that other threads have left, and releases the lock. Requires: mine().
  template <class Issue>
  void end(Issue&& issue) noexcept {
    do {
      while (transport_request* m = take())
        while (m != nullptr) {
          transport_request* following = m->next;  // issue() may end the lifetime of *m
          issue(*m);
          m = following;
        }
      give_back();
    } while (any() && try_take());
  }
  /// Sequentially consistent: either a thread that put a request on the stack sees that the lock is free, or the thread
  /// that reads the stack after this call sees the request.
  void give_back() noexcept { holder_.exchange(nullptr); }

  void put(transport_request& m) noexcept {
    m.next = waiting_.load(std::memory_order_relaxed);
    while (!waiting_.compare_exchange_weak(m.next, &m)) {
    }
  }
  [[nodiscard]] bool any() const noexcept { return waiting_.load() != nullptr; }
  /// Takes all requests from the stack, the oldest first, linked by `next`.
  transport_request* take() noexcept {
    if (waiting_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    transport_request* newest = waiting_.exchange(nullptr);
    transport_request* oldest = nullptr;
    while (newest != nullptr) {
      transport_request* following = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = following;
    }
    return oldest;
  }

 private:
  static const void* me() noexcept {
    static thread_local char mark;
    return &mark;
  }
  std::atomic<const void*> holder_{nullptr};
  std::atomic<transport_request*> waiting_{nullptr};
};

class process_transport : public transport {
 public:
  void send(locality_id to, outgoing& m) noexcept final;
  bool send_raw(locality_id to, std::span<const std::byte> first, std::span<const std::byte> rest) noexcept final;
  std::size_t receive_awaited(locality_id from, std::span<const std::byte> awaited, raw_message& into) noexcept final {
    return rings_.receive_awaited(*receiver_, from, awaited, into);
  }
  void receive_of(locality_id from) noexcept final;
  bool progress() noexcept final;
  [[nodiscard]] bool pending() const noexcept final {
    return unfinished_.load(std::memory_order_relaxed) != 0 || lock_.any();
  }
  bool stop(double deadline_s) noexcept final;
  [[nodiscard]] std::uint64_t refused() const noexcept final {
    return refused_.load(std::memory_order_relaxed) + detector_->refused();
  }
  [[nodiscard]] near_counts near() const noexcept final { return rings_.counted(); }

 protected:
  /// Takes what the localities have exchanged first, and listens for the failure detector. To be called first.
  result<void> join(job_info job);
  /// The second exchange of a start. Connects the failure detector, and the rings if `with_rings`. `library`: the
  /// address of the transport's library; the result is those of all localities.
  result<std::vector<std::string>> exchange_addresses(bootstrap& b, std::string_view library, bool with_rings,
                                                      double deadline_s);
  /// Receives messages from rings, of all neighbours or of some. True if there were any. Nothing while receiver_ is
  /// null.
  bool receive_near(bool of_all) noexcept;
  /// Receives what has arrived before a peer is lost: its own messages, and those of others, which may report why it
  /// has left. `by_library`: receives what the library has; true if there was anything.
  template <class ByLibrary>
  void receive_before_loss(locality_id of, ByLibrary by_library) noexcept {
    for (int i = 0; i < most_polls; ++i) {
      const bool any = by_library();
      if (!receive_near(true) && !any) break;
    }
    rings_.receive_last(*receiver_, of);
  }
  /// Receives the last messages from rings.
  void close_rings() noexcept;
  /// Sends a message that only wakes to the next 64 neighbours with rings, cyclically.
  void wake_neighbours() noexcept;
  /// Polls the failure detector now. True if anything happened.
  bool check_peers() noexcept;
  void unlock() noexcept;
  /// Begins an access, or leaves it to the thread that holds the lock.
  void send_access(locality_id to, remote_access& a) noexcept;

  // Called with the lock held, the last four by stop().
  virtual void issue(outgoing& m) noexcept = 0;          ///< begins to send a message
  virtual void issue_access(remote_access&) noexcept {}  ///< begins an access, of a transport with memory()
  virtual bool advance() noexcept = 0;                   ///< sends and receives; true if anything happened
  virtual void handle_losses() noexcept = 0;             ///< handles losses found by the failure detector
  /// That peer cannot be used any more: it is lost, now or soon.
  virtual void give_up_peer(locality_id who, std::string why) noexcept = 0;
  /// Waits until everything handed to the library has left this process; false if that took longer than until `end`.
  virtual bool flush(ticks /*end*/) noexcept { return true; }
  virtual void all_finished() noexcept {}   ///< from now on peers disconnect because they stop
  virtual void give_up_all() noexcept = 0;  ///< discards what is unfinished and what arrives later
  /// Whether the message only wakes its receiver, to which nothing is delivered.
  [[nodiscard]] static bool only_wakes(const outgoing& m) noexcept { return m.sent == woken; }

  job_info job_;
  std::unique_ptr<failure_detector> detector_;
  std::atomic<std::uint64_t> unfinished_{0}, refused_{0};
  combining_lock lock_;
  near_rings rings_;
  receiver* receiver_ = nullptr;  // before start(): null, or one that drops all

 private:
  static constexpr int most_polls = 1000;  // others may still send
  void issue_request(transport_request& r) noexcept;
  void wake(locality_id to, std::span<const std::byte> contents = {}) noexcept;
  static void woken(outgoing* m, bool) noexcept { delete m; }

  ticks next_check_ = 0;  // of the failure detector
};

}  // namespace plx::net::detail
