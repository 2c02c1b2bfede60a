// Sending by UCX.
#include <cstring>

#include "net/ucx/ucx_transport.hpp"

namespace plx::net::detail {

namespace {

std::span<const std::byte> bytes_of(const auto& object) { return std::as_bytes(std::span(&object, 1)); }

std::span<const std::byte> bytes_of(const piece& p) { return {static_cast<const std::byte*>(p.data), p.size_bytes}; }

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

// Most heads leave at once: then the state is not needed, and is spare for the next.
void ucx_transport::issue_head(peer& p, ucp_ep_h endpoint, outgoing& m) noexcept {
  if (spare_ == nullptr) spare_ = new ucx_sending;
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  how.flags = UCP_AM_SEND_FLAG_EAGER;
  how.cb.send = part_sent;
  how.user_data = spare_;
  const ucs_status_ptr_t request =
      ucx_.am_send_nbx(endpoint, ucx_head, &signature_, sizeof signature_, m.head.data(), m.head.size(), &how);
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
  s.parts = m.pieces.size() + 2;  // the last one: this function, while it looks at s and m
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

// UCX may read what is sent, and call about it, until it says that it has ended, or until nobody calls UCX any more.
void ucx_transport::give_up_sending(peer& p) noexcept {
  for (ucx_sending* s = p.sending; s != nullptr; s = s->after)
    if (!std::exchange(s->given_up, true)) unfinished_.fetch_sub(1, std::memory_order_relaxed);
}

// That is so now.
void ucx_transport::take_back_sent(peer& p) noexcept {
  for (ucx_sending* s = p.sending; s != nullptr; s = s->after)
    if (outgoing* m = std::exchange(s->message, nullptr); m != nullptr) m->sent(m, false);
}

}  // namespace plx::net::detail
