// Localities as runtimes of one process, connected by a transport of queues, for tests with real threads of code that
// is built on transports. (net/sim/ is the deterministic counterpart.)
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/assert.hpp"
#include "base/test/timeout_test.hpp"
#include "net/core/node.hpp"
#include "rt/runtime.hpp"

namespace plx::net::test {

class queue_network {
 public:
  explicit queue_network(unsigned n) : inboxes_(n) {}

  struct message {
    locality_id from = 0;
    std::vector<std::byte> head;
    std::vector<std::vector<std::byte>> pieces;
    bool loss = false;
  };
  void put(locality_id to, message l) {
    begin();
    const std::lock_guard guard(lock_);
    inboxes_[to].push_back(std::move(l));
  }
  bool take(locality_id at, message& l) {
    const std::lock_guard guard(lock_);
    if (inboxes_[at].empty()) return false;
    l = std::move(inboxes_[at].front());
    inboxes_[at].pop_front();
    return true;
  }
  /// The network is busy between begin() and end(): while a message is being sent, and from put() until its receiver
  /// has handled it.
  void begin() { ++under_way_; }
  void end() { --under_way_; }
  [[nodiscard]] bool quiet() const { return under_way_ == 0; }

  /// The fate of messages with pieces.
  enum class piece_fate { arrive, fail, announced_too_large };
  std::atomic<piece_fate> pieces{piece_fate::arrive};

 private:
  std::mutex lock_;
  std::vector<std::deque<message>> inboxes_;
  std::atomic<int> under_way_{0};
};

class queue_transport : public transport {
 public:
  queue_transport(std::shared_ptr<queue_network> n, locality_id here) : network_(std::move(n)), here_(here) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "queue"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return 8192; }
  void start(receiver& r) override { receiver_ = &r; }
  void send(locality_id to, outgoing& m) noexcept override {
    queue_network::message l{here_, {m.head.begin(), m.head.end()}, {}, false};
    for (const piece& p : m.pieces) {
      const auto* begin = static_cast<const std::byte*>(p.data);
      l.pieces.emplace_back(begin, begin + p.size_bytes);
    }
    network_->begin();
    network_->put(to, std::move(l));
    m.sent(&m, true);
    network_->end();
  }
  bool progress() noexcept override {
    queue_network::message l;
    if (!network_->take(here_, l)) return false;
    handle(l);
    network_->end();
    return true;
  }
  [[nodiscard]] bool pending() const noexcept override { return false; }
  bool stop(double) noexcept override { return true; }

 protected:
  receiver* receiver_ = nullptr;

 private:
  void handle(const queue_network::message& l) {
    if (l.loss) {
      if (lost_.insert(l.from).second) receiver_->lost(l.from, "the test reports it");
    } else if (lost_.contains(l.from)) {
      return;
    } else if (l.pieces.empty()) {
      receiver_->arrived(l.from, l.head);
    } else {
      std::vector<place> places;
      const auto fate = network_->pieces.load();
      const bool fail = fate == queue_network::piece_fate::fail;
      for (const auto& p : l.pieces)
        places.push_back(
            {nullptr, fate == queue_network::piece_fate::announced_too_large ? std::size_t{1} << 60 : p.size()});
      if (void* a = receiver_->announced(l.from, l.head, places)) {
        for (std::size_t i = 0; i < places.size() && !fail; ++i)
          std::memcpy(places[i].data, l.pieces[i].data(), l.pieces[i].size());
        receiver_->pieces_arrived(l.from, a, !fail);
      }
    }
  }

  std::shared_ptr<queue_network> network_;
  const locality_id here_;
  std::set<locality_id> lost_;
};

/// `n` localities with `workers` workers each.
class localities {
 public:
  explicit localities(unsigned n, unsigned workers = 2)
      : localities(n, workers, [](auto network, locality_id i) {
          return std::make_unique<queue_transport>(std::move(network), i);
        }) {}
  /// make_transport(std::shared_ptr<queue_network>, locality_id): of that locality.
  template <class F>
  localities(unsigned n, unsigned workers, F make_transport) : network_(std::make_shared<queue_network>(n)) {
    runtime_options options;
    options.workers = workers;
    for (unsigned i = 0; i < n; ++i) {
      options.locality = i;
      runtimes_.push_back(std::make_unique<runtime>(options));
      nodes_.push_back(std::make_unique<node>(*runtimes_.back(), make_transport(network_, i), i, n));
    }
  }
  /// Runs f on one locality, and then waits as settle() does.
  template <class F>
  void run(locality_id at, F f) {
    runtimes_[at]->run(f);
    settle();
  }
  /// Runs f on all localities at the same time.
  template <class F>
  void run_all(F f) {
    std::vector<std::thread> threads;
    for (const auto& r : runtimes_) threads.emplace_back([&r, &f] { r->run(f); });
    for (auto& t : threads) t.join();
    settle();
  }
  /// Reports the loss of `which` to all others, and the loss of all others to it.
  void lose(locality_id which) {
    for (unsigned i = 0; i < nodes_.size(); ++i)
      if (i != which) network_->put(i, {which, {}, {}, true});
    for (unsigned i = 0; i < nodes_.size(); ++i)
      if (i != which) network_->put(which, {i, {}, {}, true});
  }
  node& at(locality_id i) { return *nodes_[i]; }
  queue_network& network() { return *network_; }
  /// Waits until all messages have been handled and the tasks of all parcels have ended, including those that notify
  /// services of a loss. Parcels between localities that are lost for each other do not count.
  void settle() {
    const auto sleep = [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); };
    const bool settled = comes_true([this] { return is_quiescent(); }, sleep);
    PLX_ASSERT(settled && "parcels are still in flight, or are sent forever");
  }
  ~localities() {
    for (auto& n : nodes_) n->stop(1);
    runtimes_.clear();
  }

 private:
  [[nodiscard]] bool is_quiescent() const {
    if (!network_->quiet()) return false;
    std::vector<std::vector<locality_id>> lost(nodes_.size());  // of each locality
    for (unsigned i = 0; i < nodes_.size(); ++i)
      for (unsigned j = 0; j < nodes_.size(); ++j)
        if (nodes_[i]->is_lost(j)) lost[i].push_back(j);
    // `done` of all is read before `sent` of any: if they are equal, no task of a parcel was left in between.
    std::uint64_t sent = 0, done = 0;
    for (unsigned i = 0; i < nodes_.size(); ++i) {
      const node::parcel_sums s = nodes_[i]->parcels_without(lost[i]);
      if (s.of_lost != 0) return false;
      done += s.done;
    }
    for (unsigned i = 0; i < nodes_.size(); ++i) sent += nodes_[i]->parcels_without(lost[i]).sent;
    return sent == done && network_->quiet();
  }

  std::shared_ptr<queue_network> network_;
  std::vector<std::unique_ptr<runtime>> runtimes_;
  std::vector<std::unique_ptr<node>> nodes_;
};

}  // namespace plx::net::test
