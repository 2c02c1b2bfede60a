// Receiving by UCX. What comes in was signed by a locality of the job before it gets further than signer(); sizes are
// checked all the same.
#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "net/ucx/ucx_transport.hpp"

namespace plx::net::detail {

namespace {

constexpr std::uint64_t single_bit = std::uint64_t{1} << 63;  // numbers of singles, which have none of their own

std::span<const std::byte> bytes_at(const void* data, std::size_t size_bytes) {
  return {static_cast<const std::byte*>(data), size_bytes};
}

bool comes_by_rendezvous(const ucp_am_recv_param_t* how) { return (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0; }

}  // namespace

ucs_status_t ucx_transport::refuse() noexcept {
  // Once in a while: a stranger must not fill the log.
  const std::uint64_t n = refused_.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((n & (n - 1)) == 0) log_warning("refused {} messages that no locality of this job signed", n);
  return UCS_OK;
}

ucx_transport::peer* ucx_transport::signer(const void* header, std::size_t size_bytes) noexcept {
  ucx_signature s;
  if (header == nullptr || size_bytes < sizeof s) return nullptr;
  std::memcpy(&s, header, sizeof s);
  if (s.from >= peers_.size() || s.proof != peers_[s.from].proof) return nullptr;
  near_arrivals_ += peers_[s.from].near ? 1 : 0;
  return &peers_[s.from];
}

ucs_status_t ucx_transport::on_probe(void* self, const void* header, std::size_t header_bytes, void*, std::size_t,
                                     const ucp_am_recv_param_t*) {
  auto& t = *static_cast<ucx_transport*>(self);
  return t.signer(header, header_bytes) != nullptr ? UCS_OK : t.refuse();
}

ucs_status_t ucx_transport::on_head(void* self, const void* header, std::size_t header_bytes, void* data,
                                    std::size_t bytes, const ucp_am_recv_param_t* how) {
  auto& t = *static_cast<ucx_transport*>(self);
  const peer* p = t.signer(header, header_bytes);
  if (p == nullptr || comes_by_rendezvous(how)) return t.refuse();
  if (!p->lost) t.receiver_->arrived(p->id, bytes_at(data, bytes));
  return UCS_OK;
}

ucs_status_t ucx_transport::on_single(void* self, const void* header, std::size_t header_bytes, void* data,
                                      std::size_t bytes, const ucp_am_recv_param_t* how) {
  auto& t = *static_cast<ucx_transport*>(self);
  peer* p = t.signer(header, header_bytes);
  if (p == nullptr) return t.refuse();
  if (p->lost) return UCS_OK;
  ucx_receiving& r = t.coming(*p, single_bit | ++t.singles_, 1);
  r.places[0].size_bytes = bytes;
  t.announce(r, bytes_at(header, header_bytes).subspan(sizeof(ucx_signature)));
  t.take_piece(r, 0, data, bytes, comes_by_rendezvous(how));
  return UCS_OK;
}

ucs_status_t ucx_transport::on_announced(void* self, const void* header, std::size_t header_bytes, void* data,
                                         std::size_t bytes, const ucp_am_recv_param_t* how) {
  auto& t = *static_cast<ucx_transport*>(self);
  peer* p = t.signer(header, header_bytes);
  numbered_header h;
  if (p == nullptr || header_bytes != sizeof h || comes_by_rendezvous(how)) return t.refuse();
  if (p->lost) return UCS_OK;
  std::memcpy(&h, header, sizeof h);
  const std::size_t sizes_bytes = std::size_t{h.number.pieces} * sizeof(std::uint64_t);
  if (h.number.pieces == 0 || h.number.pieces > most_pieces || (h.number.message & single_bit) != 0 ||
      bytes < sizes_bytes)
    return t.refuse();
  ucx_receiving& r = t.coming(*p, h.number.message, h.number.pieces);
  if (r.known || r.places.size() != h.number.pieces) return t.refuse();
  for (std::size_t i = 0; i < r.places.size(); ++i) {
    std::uint64_t size_bytes = 0;
    std::memcpy(&size_bytes, static_cast<const std::byte*>(data) + i * sizeof size_bytes, sizeof size_bytes);
    r.places[i].size_bytes = size_bytes;
  }
  t.announce(r, bytes_at(data, bytes).subspan(sizes_bytes));
  auto early = std::move(r.early);
  for (auto& e : early) {
    const bool rendezvous = e.rendezvous != nullptr;
    const bool taken = t.take_piece(r, e.index, rendezvous ? e.rendezvous : e.bytes.data(), e.size_bytes, rendezvous);
    if (rendezvous && !taken) t.ucx_.am_data_release(t.worker_, e.rendezvous);
  }
  return UCS_OK;
}

ucs_status_t ucx_transport::on_piece(void* self, const void* header, std::size_t header_bytes, void* data,
                                     std::size_t bytes, const ucp_am_recv_param_t* how) {
  auto& t = *static_cast<ucx_transport*>(self);
  peer* p = t.signer(header, header_bytes);
  numbered_header h;
  if (p == nullptr || header_bytes != sizeof h) return t.refuse();
  if (p->lost) return UCS_OK;
  std::memcpy(&h, header, sizeof h);
  if (h.number.pieces > most_pieces || h.number.index >= h.number.pieces || (h.number.message & single_bit) != 0)
    return t.refuse();
  ucx_receiving& r = t.coming(*p, h.number.message, h.number.pieces);
  if (h.number.index >= r.places.size() || r.came[h.number.index]) return t.refuse();
  r.came[h.number.index] = true;
  const bool rendezvous = comes_by_rendezvous(how);
  if (r.known) {
    t.take_piece(r, h.number.index, data, bytes, rendezvous);
    return UCS_OK;
  }
  r.early.push_back({h.number.index, rendezvous ? data : nullptr, bytes, {}});
  if (rendezvous) return UCS_INPROGRESS;  // keeps what `data` names
  const auto here = bytes_at(data, bytes);
  r.early.back().bytes.assign(here.begin(), here.end());
  return UCS_OK;
}

ucx_receiving& ucx_transport::coming(peer& p, std::uint64_t number, std::size_t pieces) noexcept {
  auto& r = p.coming[number];
  if (r == nullptr) {
    r = std::make_unique<ucx_receiving>();
    r->owner = this;
    r->from = p.id;
    r->number = number;
    r->missing = pieces;
    r->places.resize(pieces);
    r->came.resize(pieces);
    unfinished_.fetch_add(1, std::memory_order_relaxed);
  }
  return *r;
}

void ucx_transport::announce(ucx_receiving& r, std::span<const std::byte> head) noexcept {
  r.known = true;
  r.announced = receiver_->announced(r.from, head, r.places);
}

// False: UCX must let it go. `r` may be gone afterwards.
bool ucx_transport::take_piece(ucx_receiving& r, std::size_t index, void* data, std::size_t bytes,
                               bool rendezvous) noexcept {
  const place& to = r.places[index];
  if (r.announced == nullptr || bytes != to.size_bytes) return piece_ended(r, false), false;
  if (!rendezvous) {
    if (bytes != 0) std::memcpy(to.data, data, bytes);
    return piece_ended(r, true), true;
  }
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.recv_am = piece_received;
  how.user_data = &r;
  ++r.open;
  const ucs_status_ptr_t request = ucx_.am_recv_data_nbx(worker_, data, to.data, bytes, &how);
  if (UCS_PTR_IS_PTR(request)) return true;
  --r.open;
  return piece_ended(r, UCS_PTR_STATUS(request) == UCS_OK), true;
}

void ucx_transport::piece_received(void* request, ucs_status_t status, std::size_t, void* receiving) {
  auto& r = *static_cast<ucx_receiving*>(receiving);
  r.owner->ucx_.request_free(request);
  --r.open;
  r.owner->piece_ended(r, status == UCS_OK);
}

void ucx_transport::piece_ended(ucx_receiving& r, bool ok) noexcept {
  r.ok &= ok;
  if (r.given_up) return let_go_of(r);
  if (--r.missing != 0) return;
  if (r.announced != nullptr) receiver_->pieces_arrived(r.from, r.announced, r.ok);
  unfinished_.fetch_sub(1, std::memory_order_relaxed);
  const auto number = r.number;
  peers_[r.from].coming.erase(number);
}

// A receive that was begun cannot be taken back: ucp_request_cancel() does nothing to those of active messages
// (UCX 1.13 to 1.17), and what the peer sent before its death may lie in a socket or a queue and be written to its
// place later. So states and memory stay until UCX calls about them, or stop().
void ucx_transport::give_up_receiving(peer& p) noexcept {
  auto coming = std::move(p.coming);
  p.coming.clear();
  for (auto& [number, r] : coming) {
    r->given_up = true;
    unfinished_.fetch_sub(1, std::memory_order_relaxed);
    if (r->announced != nullptr) {
      if (r->open != 0)
        receiver_->pieces_lost(p.id, r->announced);
      else
        receiver_->pieces_arrived(p.id, std::exchange(r->announced, nullptr), false);
    }
    if (r->open != 0 || !r->early.empty()) given_up_.push_back(std::move(r));
  }
}

// UCX has ended with a piece of a message that was given up.
void ucx_transport::let_go_of(ucx_receiving& r) noexcept {
  if (r.open != 0) return;
  if (r.announced != nullptr) receiver_->pieces_arrived(r.from, r.announced, false);
  std::erase_if(given_up_, [&r](const auto& one) { return one.get() == &r; });
}

// Nobody calls UCX any more: nothing is written from here on.
void ucx_transport::take_back_places() noexcept {
  for (const auto& r : given_up_)
    if (r->announced != nullptr) receiver_->pieces_arrived(r->from, std::exchange(r->announced, nullptr), false);
}

}  // namespace plx::net::detail
