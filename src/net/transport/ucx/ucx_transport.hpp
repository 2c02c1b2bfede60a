// Messages by UCX's active messages: shared memory within a host, TCP or InfiniBand between hosts, as UCX chooses.
//
// A message without pieces, or with one piece and a small head, is one active message; otherwise an announcement with
// the head is followed by one active message per piece. UCX sends pieces from the memory where they are; large ones
// (its rendezvous) arrive directly in the memory that the receiver provides. Each active message begins with a
// signature: a message without that of its sender is refused before its contents are read.
//
// Endpoints to other hosts use UCX's error handling; those within the host do not, because with it UCX 1.13 does not
// use shared memory (a message of 8 bytes takes 3.5 us instead of 0.3).
//
// A process that is killed while it writes to the shared memory of another may leave UCX's queue there in a state in
// which no message arrives any more, from any sender (seen in one of 24 such deaths under the densest traffic). So
// after a death on this host, neighbours are asked for a message (ucx_transport.cpp); a locality that does not receive
// them although they were sent resigns, and is lost as well within some seconds, instead of hanging.
//
// Thread safety and cost: as in net/transport/transport.hpp. All members except the atomic counts belong to the thread
// that has the turn. Example: net/transport/ucx/test/ucx_transport_test.cpp
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.hpp"
#include "net/start/bootstrap.hpp"
#include "net/start/lifelines.hpp"
#include "net/start/meeting.hpp"
#include "net/transport/transport.hpp"
#include "net/transport/turn.hpp"
#include "net/transport/ucx/ucx_library.hpp"
#include "net/transport/ucx/ucx_messages.hpp"

namespace plx::net::detail {

/// Called by all localities of the job together. Errors: one line.
result<std::unique_ptr<transport>> make_ucx_transport(bootstrap& b, double deadline_s);

class ucx_transport final : public transport {
 public:
  ucx_transport(const ucx_library& ucx, unsigned localities);
  ~ucx_transport() override;
  /// Called before any other function.
  result<void> open(bootstrap& b, double deadline_s);

  [[nodiscard]] std::string_view name() const noexcept override { return "ucx"; }
  [[nodiscard]] std::size_t max_head_bytes() const noexcept override { return std::size_t{256} << 10; }
  [[nodiscard]] int wake_fd() const noexcept override { return wakes_ ? lifelines_->fd() : -1; }
  bool arm() noexcept override;
  void start(receiver& r) override;
  void send(locality_id to, outgoing& m) noexcept override;
  bool progress() noexcept override;
  [[nodiscard]] bool pending() const noexcept override {
    return unfinished_.load(std::memory_order_relaxed) != 0 || turn_.any();
  }
  bool stop(double deadline_s) noexcept override;
  [[nodiscard]] std::uint64_t refused() const noexcept override {
    return refused_.load(std::memory_order_relaxed) + lifelines_->refused();
  }

 private:
  struct peer {
    ucx_transport* owner = nullptr;
    locality_id id = no_locality;
    std::string address;  // of its UCX worker
    std::uint64_t proof = 0;
    bool near = false;  // on this host
    bool lost = false;
    std::string failed;  // why it is about to be lost; otherwise ""
    ucp_ep_h endpoint = nullptr;
    ucx_sending* sending = nullptr;  // a list
    std::unordered_map<std::uint64_t, std::unique_ptr<ucx_receiving>> coming;
  };

  result<void> open_worker();
  result<void> exchange(bootstrap& b, double deadline_s);
  void set_handler(unsigned id, ucp_am_recv_callback_t f);

  void end_turn() noexcept;
  bool flush(ticks end) noexcept;
  void issue(outgoing& m) noexcept;
  ucp_ep_h endpoint_to(peer& p) noexcept;
  static void endpoint_failed(void* peer, ucp_ep_h endpoint, ucs_status_t status);
  void fail(peer& p, std::string why) noexcept;
  bool look_at_lifelines() noexcept;
  void lose_failed() noexcept;
  void lose(peer& p) noexcept;

  // Detects whether this locality still receives messages from others on this host.
  void doubt_hearing(locality_id dead) noexcept;
  void ask_neighbours() noexcept;
  void check_hearing() noexcept;
  void send_probe(peer& p) noexcept;

  // Sending: ucx_messages.cpp.
  void issue_head(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept;
  void issue_single(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept;
  void issue_parts(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept;
  void issue_part(peer& p, ucp_ep_h endpoint, ucx_sending& s, unsigned id, std::span<const std::byte> header,
                  std::span<const std::byte> data, unsigned flags) noexcept;
  void link(peer& p, ucx_sending& s) noexcept;
  static void part_sent(void* request, ucs_status_t status, void* sending);
  void part_ended(ucx_sending& s, bool ok) noexcept;
  void give_up_sending(peer& p) noexcept;
  void take_back_sent(peer& p) noexcept;

  // Receiving: ucx_messages.cpp.
  peer* signer(const void* header, std::size_t size_bytes) noexcept;
  static ucs_status_t on_head(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t* how);
  static ucs_status_t on_single(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                                const ucp_am_recv_param_t* how);
  static ucs_status_t on_announced(void* self, const void* header, std::size_t header_bytes, void* data,
                                   std::size_t bytes, const ucp_am_recv_param_t* how);
  static ucs_status_t on_probe(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t* how);
  static ucs_status_t on_piece(void* self, const void* header, std::size_t header_bytes, void* data, std::size_t bytes,
                               const ucp_am_recv_param_t* how);
  ucx_receiving& coming(peer& p, std::uint64_t number, std::size_t pieces) noexcept;
  void announce(ucx_receiving& r, std::span<const std::byte> head) noexcept;
  bool take_piece(ucx_receiving& r, std::size_t index, void* data, std::size_t bytes, bool rendezvous) noexcept;
  static void piece_received(void* request, ucs_status_t status, std::size_t bytes, void* receiving);
  void piece_ended(ucx_receiving& r, bool ok) noexcept;
  void give_up_receiving(peer& p) noexcept;
  void let_go_of(ucx_receiving& r) noexcept;
  void take_back_places() noexcept;
  ucs_status_t refuse() noexcept;

  const ucx_library& ucx_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  std::size_t max_header_bytes_ = 0;
  receiver* receiver_;
  std::vector<peer> peers_;
  meeting meeting_;
  std::unique_ptr<lifelines> lifelines_;
  ticks next_look_ = 0;  // when the lifelines are checked next
  ucx_signature signature_{};
  std::uint64_t near_arrivals_ = 0;  // messages from peers on this host
  struct {
    locality_id dead = no_locality;  // whose death is the reason; none: reception is not in doubt
    std::uint64_t arrivals = 0;      // near_arrivals_ at that time
    unsigned rounds = 0;             // in which neighbours were asked and nothing arrived
    ticks patience = 0;              // end of the round; 0: no neighbour has answered yet
  } doubt_;
  std::uint64_t messages_ = 0, singles_ = 0;  // numbers of sent messages with several parts, and of received singles
  bool wakes_ = false;                        // UCX has a file descriptor for its events
  bool any_failed_ = false;
  bool stopping_ = false;
  ucx_sending* spare_ = nullptr;
  std::vector<std::unique_ptr<ucx_receiving>> given_up_;  // receives whose memory UCX may still write to
  std::atomic<std::uint64_t> unfinished_{0}, refused_{0};
  turn turn_;
};

}  // namespace plx::net::detail
