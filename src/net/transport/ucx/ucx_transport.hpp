// Messages by UCX's active messages: shared memory within a host, TCP or InfiniBand between hosts, as UCX chooses.
//
// A message is one active message where it has no piece, or one piece and a small head; else its head announces it and
// each piece follows by itself. UCX sends pieces from where they lie, and large ones (its rendezvous) go straight to
// the places that the receiver names. Each active message begins with a signature: what does not carry that of its
// sender is refused before anything of it is looked at.
//
// Endpoints to other hosts are made with UCX's handling of errors; those within the host without, for with it UCX 1.13
// does not use shared memory (a message of 8 bytes takes 3.5 us instead of 0.3).
//
// A process that is killed while it writes to the shared memory of another may leave that one deaf: UCX's queue there
// stays as it was, for all who write to it (seen in one of 24 such deaths under the densest traffic). So after a death
// on this host, neighbours are asked for a message (ucx_hearing.cpp); a locality that does not get them although they
// were sent resigns, and is lost as well, within some seconds, instead of hanging.
//
// Thread safety and cost: as net/transport/transport.hpp says. All but the counts belongs to who has the turn.
// Example: net/transport/ucx/test/ucx_transport_test.cpp
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

/// Together with all others of the job. An error of one line.
result<std::unique_ptr<transport>> make_ucx_transport(bootstrap& b, double deadline_s);

class ucx_transport final : public transport {
 public:
  ucx_transport(const ucx_library& ucx, unsigned localities);
  ~ucx_transport() override;
  /// Before all else.
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
    std::string address;  // of its worker
    std::uint64_t proof = 0;
    bool near = false;  // on this host
    bool lost = false;
    std::string failed;  // why it is about to be lost; "" while it is not
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

  // Whether this locality still gets what others on this host send: ucx_hearing.cpp.
  void doubt_hearing(locality_id dead) noexcept;
  void ask_neighbours() noexcept;
  void check_hearing() noexcept;
  void send_probe(peer& p) noexcept;

  // Sending: ucx_send.cpp.
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

  // Receiving: ucx_receive.cpp.
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
  ticks next_look_ = 0;  // at the lifelines
  ucx_signature signature_{};
  std::uint64_t near_arrivals_ = 0;  // messages from peers on this host
  struct {
    locality_id dead = no_locality;  // whose death is the reason; none: there is no doubt
    std::uint64_t arrivals = 0;      // then
    unsigned rounds = 0;             // in which neighbours were asked and nothing came
    ticks patience = 0;              // until then; 0: nobody has answered yet
  } doubt_;
  std::uint64_t messages_ = 0, singles_ = 0;  // their numbers, of those sent and those that came
  bool wakes_ = false;                        // UCX has a file descriptor for its events
  bool any_failed_ = false;
  bool stopping_ = false;
  ucx_sending* spare_ = nullptr;
  std::vector<std::unique_ptr<ucx_receiving>> given_up_;  // UCX may still write to them
  std::atomic<std::uint64_t> unfinished_{0}, refused_{0};
  turn turn_;
};

}  // namespace plx::net::detail
