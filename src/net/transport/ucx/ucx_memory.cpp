#include "net/transport/ucx/ucx_memory.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "net/transport/ucx/ucx_transport.hpp"

namespace plx::net::detail {

/// Lifetime: this thread holds the lock of the transport. Other threads hold it for a moment only. If this thread has
/// it already, because progress() calls a function that drops the last reference to a region, this object does nothing.
class ucx_memory::locked {
 public:
  explicit locked(ucx_transport& t) noexcept : transport_(t), outer_(t.lock_.mine()) {
    while (!outer_ && !t.lock_.try_take()) std::this_thread::yield();
  }
  ~locked() {
    if (!outer_) transport_.unlock();
  }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;

 private:
  ucx_transport& transport_;
  const bool outer_;  // the lock was taken before
};

/// The result of attach().
struct ucx_memory::key {
  ucp_rkey_h rkey = nullptr;
  std::uint64_t address = 0;  // in the owner
};

ucx_memory::ucx_memory(ucx_transport& t) : transport_(t), ucx_(t.ucx_), peers_(t.peers_.size()) {
  for (peer& p : peers_) p.owner = this;
}

ucx_memory::~ucx_memory() {
  if (keeps_worker_) return;  // UCX would print warnings
  if (worker_ != nullptr) ucx_.worker_destroy(worker_);
  if (context_ != nullptr) ucx_.cleanup(context_);
}

error ucx_memory::failed(std::string_view what, ucs_status_t s) const {
  return error{fmt::format("UCX: {} failed: {}", what, ucx_.status_string(s))};
}

result<void> ucx_memory::open() {
  if (worker_ != nullptr) return {};
  constexpr std::uint64_t features = UCP_FEATURE_RMA | UCP_FEATURE_AMO32 | UCP_FEATURE_AMO64 | UCP_FEATURE_WAKEUP;
  if (context_ == nullptr)
    if (auto r = transport_.open_context(features, context_); !r) return r;
  ucp_worker_params_t how{};
  how.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  how.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (const auto s = ucx_.worker_create(context_, &how, &worker_); s != UCS_OK) {
    worker_ = nullptr;
    return failed("ucp_worker_create", s);
  }
  int events = -1;
  if (transport_.wakes_ && ucx_.worker_get_efd(worker_, &events) == UCS_OK) transport_.detector_->add(events);
  return {};
}

result<remote_memory::exported> ucx_memory::create(std::size_t size_bytes) {
  auto made = [&] {
    const locked guard(transport_);
    return create_locked(size_bytes);
  }();
  if (made) std::memset(made->data, 0, size_bytes);  // without the lock: other threads send meanwhile
  return made;
}

result<remote_memory::exported> ucx_memory::create_locked(std::size_t size_bytes) {
  if (auto r = open(); !r) return r.error();
  ucp_mem_map_params_t how{};
  how.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  how.length = size_bytes;
  how.flags = UCP_MEM_MAP_ALLOCATE;
  ucp_mem_h memory = nullptr;
  if (const auto s = ucx_.mem_map(context_, &how, &memory); s != UCS_OK) return failed("ucp_mem_map", s);
  const auto give_up = [&](std::string_view what, ucs_status_t s) {
    ucx_.mem_unmap(context_, memory);
    return failed(what, s);
  };
  ucp_mem_attr_t made{};
  made.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
  if (const auto s = ucx_.mem_query(memory, &made); s != UCS_OK) return give_up("ucp_mem_query", s);
  void* rkey = nullptr;
  std::size_t rkey_bytes = 0;
  if (const auto s = ucx_.rkey_pack(context_, memory, &rkey, &rkey_bytes); s != UCS_OK)
    return give_up("ucp_rkey_pack", s);
  ucp_address_t* address = nullptr;
  std::size_t address_bytes = 0;
  const auto found = ucx_.worker_get_address(worker_, &address, &address_bytes);
  exported e{made.address, memory, {}};
  if (found == UCS_OK) {
    const auto base = reinterpret_cast<std::uintptr_t>(made.address);
    append_field(e.key, {reinterpret_cast<const char*>(&base), sizeof base});
    append_field(e.key, {static_cast<const char*>(rkey), rkey_bytes});
    append_field(e.key, {reinterpret_cast<const char*>(address), address_bytes});
    ucx_.worker_release_address(worker_, address);
  }
  ucx_.rkey_buffer_release(rkey);
  if (found != UCS_OK) return give_up("ucp_worker_get_address", found);
  return e;
}

void ucx_memory::destroy(void* handle) noexcept {
  const locked guard(transport_);
  if (!keeps_worker_) ucx_.mem_unmap(context_, static_cast<ucp_mem_h>(handle));
}

result<remote_memory::attached> ucx_memory::attach(locality_id owner, std::string_view key_text) {
  const locked guard(transport_);
  return attach_locked(owner, key_text);
}

result<remote_memory::attached> ucx_memory::attach_locked(locality_id owner, std::string_view key_text) {
  const auto base = take_field(key_text), rkey = take_field(key_text), address = take_field(key_text);
  if (!base || base->size() != sizeof(std::uintptr_t) || !rkey || rkey->empty() || !address || address->empty())
    return error{fmt::format("locality {} sent no valid key of its memory", owner)};
  peer& p = peers_[owner];
  if (transport_.peers_[owner].lost) return error{fmt::format("locality {} is lost", owner)};
  if (const auto s = connect(p, owner, *address); s != UCS_OK) return failed("ucp_ep_create", s);
  auto k = std::make_unique<key>();
  std::uintptr_t remote = 0;
  std::memcpy(&remote, base->data(), sizeof remote);
  k->address = remote;
  if (const auto s = ucx_.ep_rkey_unpack(p.endpoint, rkey->data(), &k->rkey); s != UCS_OK)
    return failed("ucp_ep_rkey_unpack", s);
  if (!is_native(p.endpoint)) {
    ucx_.rkey_destroy(k->rkey);
    return error{fmt::format("UCX reaches locality {} by messages only", owner)};
  }
  void* mapped = nullptr;
  if (owner == transport_.job_.here)
    mapped = reinterpret_cast<void*>(remote);
  else if (!transport_.peers_[owner].near || ucx_.rkey_ptr(k->rkey, remote, &mapped) != UCS_OK)
    mapped = nullptr;
  return attached{k.release(), static_cast<std::byte*>(mapped)};
}

/// Whether the endpoint has puts, gets and atomic operations of the hardware. Before UCX 1.14 only its description,
/// which is for people, has this; where that looks different, messages are used.
bool ucx_memory::is_native(ucp_ep_h endpoint) const {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const file = open_memstream(&text, &size);
  if (file == nullptr) return false;
  ucx_.ep_print_info(endpoint, file);
  std::fclose(file);
  const std::string_view description(text, size);
  const auto has = [&](std::string_view word) { return description.find(word) != std::string_view::npos; };
  const bool native = has(" put[0]") && has(" get[0]") && has(" amo#0");
  std::free(text);
  return native;
}

void ucx_memory::detach(void* k) noexcept {
  const std::unique_ptr<key> gone(static_cast<key*>(k));
  const locked guard(transport_);
  if (!keeps_worker_) ucx_.rkey_destroy(gone->rkey);
}

ucs_status_t ucx_memory::connect(peer& p, locality_id who, std::string_view address) noexcept {
  if (p.endpoint != nullptr) return UCS_OK;
  ucp_ep_params_t how{};
  how.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  how.address = reinterpret_cast<const ucp_address_t*>(address.data());
  // As for messages: with error handling, UCX does not use shared memory.
  how.err_mode = transport_.peers_[who].near ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
  how.err_handler = {ucx_transport::endpoint_failed, &transport_.peers_[who]};
  const ucs_status_t s = ucx_.ep_create(worker_, &how, &p.endpoint);
  if (s != UCS_OK) p.endpoint = nullptr;
  return s;
}

// ---------------------------------------------------------------------------------------------------------- accesses

void ucx_memory::start(locality_id to, remote_access& a) noexcept { transport_.send_access(to, a); }

// `done` is called by progress(), because continuations of the future may not run with the lock of the transport held
// by a task.
void ucx_memory::issue(remote_access& a) noexcept {
  if (stopped_) return a.done(&a, false);
  peer& p = peers_[a.destination];
  a.issuer = this;
  a.before = nullptr;
  a.after = p.first;
  if (a.after != nullptr) a.after->before = &a;
  p.first = &a;
  transport_.unfinished_.fetch_add(1, std::memory_order_relaxed);
  const bool is_put = a.kind == access_kind::put, lost = p.lost || p.endpoint == nullptr;
  a.parts = lost ? 1 : is_put ? 3 : 2;  // the operation, the flush, and one until this function ends
  const bool outer = std::exchange(issuing_, true);
  if (!lost) begin(p, a);
  part_ended(a, !lost);
  issuing_ = outer;
}

void ucx_memory::begin(peer& p, remote_access& a) noexcept {
  const bool is_put = a.kind == access_kind::put;
  const key& k = *static_cast<const key*>(a.key);
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = on_part;
  how.user_data = &a;
  ucs_status_ptr_t request = nullptr;
  const std::uint64_t at = k.address + a.offset;
  if (is_put) {
    request = ucx_.put_nbx(p.endpoint, a.data, a.size_bytes, at, k.rkey, &how);
  } else if (a.kind == access_kind::get) {
    request = ucx_.get_nbx(p.endpoint, a.data, a.size_bytes, at, k.rkey, &how);
  } else {
    how.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
    how.datatype = ucp_dt_make_contig(a.word_bytes);
    how.reply_buffer = &a.result;
    const bool compares = a.kind == access_kind::compare_exchange;
    if (compares) a.result = a.operand;
    const auto what = compares                           ? UCP_ATOMIC_OP_CSWAP
                      : a.kind == access_kind::fetch_add ? UCP_ATOMIC_OP_ADD
                                                         : UCP_ATOMIC_OP_SWAP;
    request = ucx_.atomic_op_nbx(p.endpoint, what, compares ? &a.expected : &a.operand, 1, at, k.rkey, &how);
  }
  if (is_put) {
    if (p.unflushed.empty() && p.flushed.empty()) to_flush_.push_back(a.destination);
    p.unflushed.push_back(&a);
  }
  if (!UCS_PTR_IS_PTR(request)) part_ended(a, UCS_PTR_STATUS(request) == UCS_OK);
}

bool ucx_memory::progress() noexcept {
  bool happened = ucx_.worker_progress(worker_) != 0;
  while (!to_flush_.empty()) {
    peer& p = peers_[to_flush_.back()];
    to_flush_.pop_back();
    if (!p.lost) flush(p), happened = true;
  }
  for (; !finished_.empty(); happened = true) {
    remote_access* a = finished_.back();
    finished_.pop_back();
    finish(*a);
  }
  return happened;
}

bool ucx_memory::arm() noexcept { return to_flush_.empty() && finished_.empty() && ucx_.worker_arm(worker_) == UCS_OK; }

void ucx_memory::flush(peer& p) noexcept {
  p.flushed.swap(p.unflushed);
  ucp_request_param_t how;
  how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  how.cb.send = on_flushed;
  how.user_data = &p;
  const ucs_status_ptr_t request = ucx_.ep_flush_nbx(p.endpoint, &how);
  if (!UCS_PTR_IS_PTR(request)) end_flush(p, UCS_PTR_STATUS(request) == UCS_OK);
}

void ucx_memory::on_flushed(void* request, ucs_status_t status, void* of) {
  peer& p = *static_cast<peer*>(of);
  p.owner->ucx_.request_free(request);
  end_flush(p, status == UCS_OK);
}

void ucx_memory::end_flush(peer& p, bool ok) noexcept {
  std::vector<remote_access*> ended;
  ended.swap(p.flushed);
  if (!p.unflushed.empty()) p.owner->to_flush_.push_back(static_cast<locality_id>(&p - p.owner->peers_.data()));
  for (remote_access* a : ended) p.owner->part_ended(*a, ok);
  if (p.flushed.empty()) ended.clear(), ended.swap(p.flushed);  // keeps the memory
}

void ucx_memory::on_part(void* request, ucs_status_t status, void* access) {
  auto& a = *static_cast<remote_access*>(access);
  ucx_memory& m = *static_cast<ucx_memory*>(a.issuer);
  m.ucx_.request_free(request);
  m.part_ended(a, status == UCS_OK);
}

void ucx_memory::part_ended(remote_access& a, bool ok) noexcept {
  a.succeeded &= ok;
  if (--a.parts != 0) return;
  if (issuing_)
    finished_.push_back(&a);
  else
    finish(a);
}

void ucx_memory::finish(remote_access& a) noexcept {
  (a.before != nullptr ? a.before->after : peers_[a.destination].first) = a.after;
  if (a.after != nullptr) a.after->before = a.before;
  if (!a.given_up) transport_.unfinished_.fetch_sub(1, std::memory_order_relaxed);
  a.done(&a, a.succeeded && !a.given_up);
}

void ucx_memory::lose(locality_id who) noexcept {
  peer& p = peers_[who];
  if (std::exchange(p.lost, true)) return;
  if (p.endpoint != nullptr && !transport_.peers_[who].near) {
    ucp_request_param_t force{};
    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags = UCP_EP_CLOSE_FLAG_FORCE;
    const ucs_status_ptr_t closing = ucx_.ep_close_nbx(p.endpoint, &force);
    if (UCS_PTR_IS_PTR(closing)) ucx_.request_free(closing);
  }
  for (remote_access *a = p.first, *following = nullptr; a != nullptr; a = following) {
    following = a->after;
    if (std::exchange(a->given_up, true)) continue;
    transport_.unfinished_.fetch_sub(1, std::memory_order_relaxed);
    a->lost(a);
  }
  for (remote_access* a : std::exchange(p.unflushed, {})) part_ended(*a, false);  // no flush will begin
}

void ucx_memory::give_up_all() noexcept {
  stopped_ = true;
  finished_.clear();
  for (peer& p : peers_) {
    p.lost = true;
    keeps_worker_ |= p.first != nullptr;
    while (remote_access* a = p.first) {
      p.first = a->after;
      if (!a->given_up) transport_.unfinished_.fetch_sub(1, std::memory_order_relaxed);
      a->done(a, false);
    }
    p.unflushed.clear();
    p.flushed.clear();
  }
}

}  // namespace plx::net::detail
