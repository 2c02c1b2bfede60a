// Sending and receiving by UCX. signer() verifies the signature of each message before anything else in it is used;
// sizes are checked as well.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.hpp"
#include "base/text.hpp"
#include "net/transport/ucx/ucx_transport.hpp"

namespace plx::net::detail {

// Sending.

namespace {

std::span<const std::byte> bytes_of(const auto& object) { return std::as_bytes(std::span(&object, 1)); }

std::span<const std::byte> bytes_of(const piece& p) { return {static_cast<const std::byte*>(p.data), p.size_bytes}; }

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

// Most heads are sent at once: then the state is not needed and is kept in spare_ for the next one.
void ucx_transport::issue_head(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept {
  if (spare_ == nullptr) spare_ = new ucx_sending;
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_EAGER;
  how.cb.send = part_sent;
  how.user_data = spare_;
  const ucs_status_ptr_t request = ucx_.am_send_nbx(endpoint, only_wakes(m) ? ucx_probe : ucx_head, &signature_,
                                                    sizeof signature_, m.head.data(), m.head.size(), &how);
  if (request == nullptr) return m.sent(&m, true);
  if (UCS_PTR_IS_ERR(request)) {
    fail(p, std::string("UCX cannot send to it: ") + ucx_.status_string(UCS_PTR_STATUS(request)));
    return m.sent(&m, false);
  }
  ucx_sending& s = *std::exchange(spare_, nullptr);
  s.message = &m;
  s.parts = 1;
  link(p, s);
}

void ucx_transport::issue_single(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept {
  auto& s = *new ucx_sending;
  s.message = &m;
  s.parts = 1;
  s.data.reserve(sizeof signature_ + m.head.size());
  append(s.data, bytes_of(signature_));
  append(s.data, m.head);
  link(p, s);
  issue_part(p, endpoint, s, ucx_single, s.data, bytes_of(m.pieces[0]), 0);
}

void ucx_transport::issue_parts(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept {
  auto& s = *new ucx_sending;
  s.message = &m;
  s.parts = m.pieces.size() + 2;  // one more than is sent, so that s and m stay valid in this function
  const auto n = static_cast<std::uint32_t>(m.pieces.size());
  s.data.reserve(n * sizeof(std::uint64_t) + m.head.size());
  for (const piece& part : m.pieces) append(s.data, bytes_of(std::uint64_t{part.size_bytes}));
  append(s.data, m.head);
  s.headers.assign(n + 1, {signature_, {++messages_, 0, n}});
  link(p, s);
  issue_part(p, endpoint, s, ucx_announced, bytes_of(s.headers[n]), s.data, UCP_AM_SEND_FLAG_EAGER);
  for (std::uint32_t i = 0; i < n; ++i) {
    s.headers[i].number.index = i;
    issue_part(p, endpoint, s, ucx_piece, bytes_of(s.headers[i]), bytes_of(m.pieces[i]), 0);
  }
  part_ended(s, true);
}

void ucx_transport::issue_part(peer& p, ucp_ep_h endpoint, ucx_sending& s, unsigned id,
                               std::span<const std::byte> header, std::span<const std::byte> data,
                               unsigned flags) noexcept {
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = flags;
  how.cb.send = part_sent;
  how.user_data = &s;
  const ucs_status_ptr_t request =
      ucx_.am_send_nbx(endpoint, id, header.data(), header.size(), data.data(), data.size(), &how);
  if (UCS_PTR_IS_PTR(request)) return;
  const ucs_status_t status = UCS_PTR_STATUS(request);
  if (status != UCS_OK) fail(p, std::string("UCX cannot send to it: ") + ucx_.status_string(status));
  part_ended(s, status == UCS_OK);
}

void ucx_transport::link(peer& p, ucx_sending& s) noexcept {
  s.owner = this;
  s.to = p.id;
  s.ok = true;
  s.given_up = false;
  s.before = nullptr;
  s.after = p.sending;
  if (s.after != nullptr) s.after->before = &s;
  p.sending = &s;
  unfinished_.fetch_add(1, std::memory_order_relaxed);
}

void ucx_transport::part_sent(void* request, ucs_status_t status, void* sending) {
  auto& s = *static_cast<ucx_sending*>(sending);
  s.owner->ucx_.request_free(request);
  s.owner->part_ended(s, status == UCS_OK);
}

void ucx_transport::part_ended(ucx_sending& s, bool ok) noexcept {
  s.ok &= ok;
  if (--s.parts != 0) return;
  (s.before != nullptr ? s.before->after : peers_[s.to].sending) = s.after;
  if (s.after != nullptr) s.after->before = s.before;
  if (!s.given_up) unfinished_.fetch_sub(1, std::memory_order_relaxed);
  if (outgoing* m = s.message; m != nullptr) m->sent(m, s.ok && !s.given_up);
  if (spare_ == nullptr && s.headers.empty())
    spare_ = &s;
  else
    delete &s;
}

// UCX may read the data of a send and call its callback until the send completes, or until UCX is no longer called.
void ucx_transport::give_up_sending(peer& p) noexcept {
  for (ucx_sending* s = p.sending; s != nullptr; s = s->after)
    if (!std::exchange(s->given_up, true)) unfinished_.fetch_sub(1, std::memory_order_relaxed);
}

// Requires: UCX is no longer called.
void ucx_transport::fail_sent(peer& p) noexcept {
  for (ucx_sending* s = p.sending; s != nullptr; s = s->after)
    if (outgoing* m = std::exchange(s->message, nullptr); m != nullptr) m->sent(m, false);
}

namespace {

constexpr std::uint64_t single_bit = std::uint64_t{1} << 63;  // marks the numbers that the receiver gives to singles

std::span<const std::byte> bytes_at(const void* data, std::size_t size_bytes) {
  return {static_cast<const std::byte*>(data), size_bytes};
}

/// Keeps a piece that has arrived before the receiver knows its message.
ucs_status_t keep_early(ucx_receiving& r, std::uint32_t index, void* data, std::size_t bytes, bool rendezvous) {
  r.early.push_back({index, rendezvous ? data : nullptr, bytes, {}});
  if (rendezvous) return UCS_INPROGRESS;  // UCX keeps `data`
  const auto here = bytes_at(data, bytes);
  r.early.back().bytes.assign(here.begin(), here.end());
  return UCS_OK;
}

bool comes_by_rendezvous(const ucp_am_recv_param_t* how) { return (how->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0; }

}  // namespace

ucs_status_t ucx_transport::refuse() noexcept {
  // Logged at powers of two only, so that an unknown sender cannot fill the log.
  const std::uint64_t n = refused_.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((n & (n - 1)) == 0) log_warning("refused {} that no locality of this job signed", plural(n, "message"));
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
  const bool rendezvous = comes_by_rendezvous(how);
  if (!t.announce_if_room(r, bytes_at(header, header_bytes).subspan(sizeof(ucx_signature))))
    return keep_early(r, 0, data, bytes, rendezvous);
  t.take_piece(r, 0, data, bytes, rendezvous);
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
  if (r.known || !r.head.empty() || r.places.size() != h.number.pieces) return t.refuse();
  for (std::size_t i = 0; i < r.places.size(); ++i) {
    std::uint64_t size_bytes = 0;
    std::memcpy(&size_bytes, static_cast<const std::byte*>(data) + i * sizeof size_bytes, sizeof size_bytes);
    r.places[i].size_bytes = size_bytes;
  }
  if (t.announce_if_room(r, bytes_at(data, bytes).subspan(sizes_bytes))) t.take_early_pieces(r);
  return UCS_OK;
}

// The last piece destroys `r`.
void ucx_transport::take_early_pieces(ucx_receiving& r) noexcept {
  auto early = std::move(r.early);
  for (auto& e : early) {
    const bool rendezvous = e.rendezvous != nullptr;
    const bool taken = take_piece(r, e.index, rendezvous ? e.rendezvous : e.bytes.data(), e.size_bytes, rendezvous);
    if (rendezvous && !taken) ucx_.am_data_release(worker_, e.rendezvous);
  }
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
  return keep_early(r, h.number.index, data, bytes, rendezvous);
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

// False: the announcement is kept, and so are the pieces that arrive meanwhile; UCX has not fetched the large ones.
bool ucx_transport::announce_if_room(ucx_receiving& r, std::span<const std::byte> head) noexcept {
  std::uint64_t bytes = 0;
  for (const place& p : r.places) bytes += std::min<std::uint64_t>(p.size_bytes, ~std::uint64_t{0} - bytes);
  if (receiver_->has_room(head, bytes, !waiting_.empty())) return announce(r, head), true;
  r.head.assign(head.begin(), head.end());
  waiting_.push_back({r.from, r.number});
  return false;
}

void ucx_transport::announce_waiting() noexcept {
  while (!waiting_.empty()) {
    const auto [from, number] = waiting_.front();
    const auto at = peers_[from].coming.find(number);
    if (at != peers_[from].coming.end()) {  // else its sender is lost
      ucx_receiving& r = *at->second;
      std::uint64_t bytes = 0;
      for (const place& p : r.places) bytes += std::min<std::uint64_t>(p.size_bytes, ~std::uint64_t{0} - bytes);
      if (!receiver_->has_room(r.head, bytes, false)) return;
      announce(r, std::exchange(r.head, {}));
      take_early_pieces(r);
    }
    waiting_.pop_front();
  }
}

// False: the caller releases the data to UCX. `r` may be destroyed.
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

// A receive that has begun cannot be cancelled: ucp_request_cancel() does nothing to receives of active messages (UCX
// 1.13 to 1.17), and data that the peer sent before its death may be in a socket or a queue and be written later. So
// states and memory stay until UCX calls their callbacks, or until stop().
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

// UCX has finished a piece of a message that was given up.
void ucx_transport::let_go_of(ucx_receiving& r) noexcept {
  if (r.open != 0) return;
  if (r.announced != nullptr) receiver_->pieces_arrived(r.from, r.announced, false);
  std::erase_if(given_up_, [&r](const auto& one) { return one.get() == &r; });
}

// Requires: UCX is no longer called, so that nothing more is written.
void ucx_transport::return_places() noexcept {
  for (const auto& r : given_up_)
    if (r->announced != nullptr) receiver_->pieces_arrived(r->from, std::exchange(r->announced, nullptr), false);
}

}  // namespace plx::net::detail
