// A transport that returns each message to its sender, as if locality 1 had sent it: calls and answers pass through all
// of net and no further, in one thread. The cost of a call is then what each of two processes spends when both call
// each other, without the transport.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "net/transport/transport.hpp"

namespace plx::bench {

class mirror_transport final : public net::transport {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "mirror"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return std::size_t{256} << 10; }
  void start(net::receiver& r) override { receiver_ = &r; }
  void send(locality_id, net::outgoing& m) noexcept override {
    if (n_ == waiting_.size()) waiting_.emplace_back();
    waiting_[n_++].assign(m.head.begin(), m.head.end());
    m.sent(&m, true);
  }
  bool progress() noexcept override {
    if (n_ == 0) return false;
    arriving_.swap(waiting_);
    const std::size_t n = std::exchange(n_, 0);
    for (std::size_t i = 0; i < n; ++i) receiver_->arrived(1, arriving_[i]);
    return true;
  }
  [[nodiscard]] bool pending() const noexcept override { return n_ != 0; }
  bool stop(double) noexcept override { return true; }

 private:
  net::receiver* receiver_ = nullptr;
  std::vector<std::vector<std::byte>> waiting_, arriving_;  // buffers are reused
  std::size_t n_ = 0;
};

}  // namespace plx::bench
