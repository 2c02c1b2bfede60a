// Start and end of the transport, and lost peers. See ucx_messages.cpp.

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "base/assert.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "net/start/bootstrap.hpp"
#include "net/transport/ucx/ucx_transport.hpp"
#include "probe/monitor/shared_library.hpp"

namespace plx::net::detail {

namespace {

result<const ucx_library*> load() {
  // Read when the library is loaded. The flight recorder reports crashes (probe/crash/flight_dump.cpp).
  setenv("UCX_HANDLE_ERRORS", "none", 0);
  // With UCX_TCP_PUT_ENABLE, UCX 1.13 aborts over TCP in about one of a hundred losses of a peer (docs/net.md): a
  // buffered message makes it write to that peer, which fails and clears the record of earlier writes; then the reply
  // to one of those is read from the same buffer.
  setenv("UCX_TCP_PUT_ENABLE", "n", 0);
  // UCX logs to the standard output by default, which belongs to the program.
  setenv("UCX_LOG_FILE", "stderr", 0);
  static auto file = probe::shared_library::open({"libucp.so.0", PLX_UCX_LIBDIR "/libucp.so.0"});
  if (!file) return error{"cannot load UCX: " + file.error().message + "; install libucx0 or set PLX_TRANSPORT=mpi"};
  static ucx_library library;
#define PLX_FIND(name) \
  if (!file->find("ucp_" #name, library.name)) return error{"this UCX has no ucp_" #name "; expected 1.13 or newer"};
  PLX_UCP_FUNCTIONS(PLX_FIND)
#undef PLX_FIND
  if (!file->find("ucs_status_string", library.status_string)) return error{"this UCX has no ucs_status_string"};
  return &library;
}

}  // namespace

bool uses_shared_memory(const char* transports) noexcept {
  if (transports == nullptr) return true;
  std::string_view rest = transports;
  const bool excludes = rest.starts_with('^');
  if (excludes) rest.remove_prefix(1);
  constexpr std::string_view groups[] = {"all", "shm", "sm", "mm"};
  bool group = false, posix = false, sysv = false, xpmem = false;  // named
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    group |= std::find(std::begin(groups), std::end(groups), one) != std::end(groups);
    posix |= one == "posix";
    sysv |= one == "sysv";
    xpmem |= one == "xpmem";
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
  }
  // xpmem is not on every system: without the others there may be none.
  return excludes ? !group && !(posix && sysv) : group || posix || sysv || xpmem;
}

result<const ucx_library*> load_ucx() {
  static const result<const ucx_library*> loaded = load();
  return loaded;
}

// Detects whether this locality still receives messages from others on this host after one of them died.
//
// A neighbour that receives a request sends a message by UCX and then replies by the failure detector, so it was able
// to send. If neighbours have replied three times, UCX was polled for a second after each reply, and no message of any
// kind has arrived from this host, none will.

namespace {

constexpr unsigned rounds_needed = 3;
constexpr double round_s = 1;

}  // namespace

void ucx_transport::begin_reception_check(locality_id dead) noexcept {
  reception_check_ = {dead, near_arrivals_, 0, 0};
  request_probes();
}

void ucx_transport::request_probes() noexcept {
  reception_check_.round_end = 0;
  bool any = false;
  for (const peer& p : peers_) any |= p.near && !p.lost && p.id != job_.here && detector_->request_probe(p.id);
  if (!any) reception_check_.dead = no_locality;  // no other locality remains on this host
}

void ucx_transport::check_reception() noexcept {
  for (const locality_id who : detector_->take_probe_requests())
    if (!peers_[who].lost) send_probe(peers_[who]);
  const bool replied = !detector_->take_probe_replies().empty();
  if (reception_check_.dead == no_locality) return;
  if (near_arrivals_ != reception_check_.arrivals) {
    reception_check_.dead = no_locality;
  } else if (reception_check_.round_end == 0) {
    if (replied) reception_check_.round_end = now_ticks() + ticks_from(round_s);
  } else if (now_ticks() > reception_check_.round_end) {
    if (++reception_check_.rounds < rounds_needed) return request_probes();
    detector_->resign(fmt::format("shared memory of locality {} was corrupted by the death of locality {}", job_.here,
                                  reception_check_.dead));
    reception_check_.dead = no_locality;
  }
}

void ucx_transport::send_probe(peer& p) noexcept {
  const ucp_ep_h endpoint = endpoint_to(p);
  if (endpoint == nullptr) return;
  ucp_request_param_t how{};
  const ucs_status_ptr_t request =
      ucx_.am_send_nbx(endpoint, ucx_probe, &signature_, sizeof signature_, nullptr, 0, &how);
  if (UCS_PTR_IS_PTR(request)) ucx_.request_free(request);  // UCX frees it when it has completed
  detector_->reply_to_probe(p.id);
}

namespace {

// The receiver until start(): messages are refused.
struct : receiver {
  void arrived(locality_id, std::span<const std::byte>) noexcept override {}
  void* announced(locality_id, std::span<const std::byte>, std::span<place>) noexcept override { return nullptr; }
  void pieces_arrived(locality_id, void*, bool) noexcept override {}
  void pieces_lost(locality_id, void*) noexcept override {}
  void lost(locality_id, std::string_view) noexcept override {}
} no_receiver;

}  // namespace

result<std::unique_ptr<transport>> make_ucx_transport(bootstrap& b, job_info job, double deadline_s) {
  const auto library = load_ucx();
  if (!library) return library.error();
  auto t = std::make_unique<ucx_transport>(**library, b.size());
  if (auto r = t->open(b, std::move(job), deadline_s); !r) return r.error();
  return std::unique_ptr<transport>(std::move(t));
}

ucx_transport::ucx_transport(const ucx_library& ucx, unsigned localities)
    : ucx_(ucx), peers_(localities), memory_(*this) {
  receiver_ = &no_receiver;
  for (locality_id i = 0; i < peers_.size(); ++i) {
    peers_[i].owner = this;
    peers_[i].id = i;
  }
}

ucx_transport::~ucx_transport() {
  stopping_ = true;
  // With requests to lost peers, which never complete, UCX would print warnings: it is not destroyed.
  bool keeps_worker = !given_up_.empty();
  for (const peer& p : peers_) keeps_worker |= p.sending != nullptr;
  if (worker_ != nullptr && !keeps_worker) ucx_.worker_destroy(worker_);
  if (context_ != nullptr && !keeps_worker) ucx_.cleanup(context_);
  for (peer& p : peers_)
    while (ucx_sending* s = p.sending) {
      p.sending = s->after;
      delete s;
    }
  delete spare_;
}

result<void> ucx_transport::open(bootstrap& b, job_info job, double deadline_s) {
  if (auto r = join(std::move(job)); !r) return r.error();
  if (auto r = open_worker(); !r) return r.error();
  const auto mine = address_of_worker();
  if (!mine) return mine.error();
  auto all = exchange_addresses(b, *mine, uses_shared_memory(std::getenv("UCX_TLS")), deadline_s);
  if (!all) return all.error();
  for (peer& p : peers_) {
    p.address = std::move((*all)[p.id]);
    p.near = job_.near(p.id);
    p.proof = make_proof(job_.secret, proof_of::message, p.id, no_locality);
  }
  signature_ = {peers_[job_.here].proof, job_.here, 0};
  return {};
}

error ucx_transport::failed(std::string_view what, ucs_status_t s) const {
  return error{
      fmt::format("UCX: {} failed: {}; `ucx_info -d` shows what this machine offers", what, ucx_.status_string(s))};
}

result<void> ucx_transport::open_context(std::uint64_t features, ucp_context_h& into) {
  ucp_config_t* config = nullptr;
  if (const auto s = ucx_.config_read(nullptr, nullptr, &config); s != UCS_OK) return failed("ucp_config_read", s);
  // On one host, use the loopback device, which no other host can reach: UCX's protocol does not authenticate senders.
  if (job_.one_host && std::getenv("UCX_NET_DEVICES") == nullptr) ucx_.config_modify(config, "NET_DEVICES", "lo");
  ucp_params_t context{};
  context.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
  context.features = features;
  context.estimated_num_eps = peers_.size();
  context.name = "plx";
  const auto opened = ucx_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &context, config, &into);
  ucx_.config_release(config);
  if (opened == UCS_OK) return {};
  into = nullptr;
  return failed("ucp_init", opened);
}

result<void> ucx_transport::open_worker() {
  if (auto r = open_context(UCP_FEATURE_AM | UCP_FEATURE_WAKEUP, context_); !r) return r;
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  if (const auto s = ucx_.worker_create(context_, &worker, &worker_); s != UCS_OK)
    return failed("ucp_worker_create", s);
  ucp_worker_attr_t attributes{};
  attributes.field_mask = UCP_WORKER_ATTR_FIELD_MAX_AM_HEADER;
  if (const auto s = ucx_.worker_query(worker_, &attributes); s != UCS_OK) return failed("ucp_worker_query", s);
  max_header_bytes_ = attributes.max_am_header;
  set_handler(ucx_head, on_head);
  set_handler(ucx_single, on_single);
  set_handler(ucx_announced, on_announced);
  set_handler(ucx_piece, on_piece);
  set_handler(ucx_probe, on_probe);
  int events = -1;
  wakes_ = ucx_.worker_get_efd(worker_, &events) == UCS_OK;
  if (wakes_) detector_->add(events);
  return {};
}

void ucx_transport::set_handler(unsigned id, ucp_am_recv_callback_t f) {
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  handler.id = id;
  handler.cb = f;
  handler.arg = this;
  const ucs_status_t s = ucx_.worker_set_am_recv_handler(worker_, &handler);
  PLX_ASSERT(s == UCS_OK, id, ucx_.status_string(s));
}

result<std::string> ucx_transport::address_of_worker() {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (const auto s = ucx_.worker_get_address(worker_, &address, &bytes); s != UCS_OK)
    return error{fmt::format("UCX cannot determine its address: {}", ucx_.status_string(s))};
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucx_.worker_release_address(worker_, address);
  return text;
}

void ucx_transport::start(receiver& r) {
  receiver_ = &r;
  // UCX connects on first use. The connections for messages that wake are made now: later, a locality would sleep until
  // they are made, or they would lead to a process that has just ended, which UCX reports as an error.
  wake_neighbours();
}

bool ucx_transport::advance() noexcept {
  bool happened = any_failed_ && lose_failed();
  happened |= receive_near(false);
  happened |= ucx_.worker_progress(worker_) != 0;
  if (memory_.is_open()) happened |= memory_.progress();
  if (any_failed_) happened |= lose_failed();
  if (!waiting_.empty()) announce_waiting();
  if (happened) rings_.awake();
  return happened;
}

void ucx_transport::handle_losses() noexcept {
  check_reception();
  for (loss& l : detector_->take_losses()) fail(peers_[l.who], std::move(l.why));
}

bool ucx_transport::arm() noexcept {
  if (!lock_.try_take()) return false;
  const bool nothing = !check_peers() && !any_failed_ && rings_.sleep() && ucx_.worker_arm(worker_) == UCS_OK &&
                       (!memory_.is_open() || memory_.arm());
  unlock();
  return nothing;
}

void ucx_transport::issue(outgoing& m) noexcept {
  peer& p = peers_[m.destination];
  const ucp_ep_h endpoint = p.lost ? nullptr : endpoint_to(p);
  if (endpoint == nullptr) return m.sent(&m, false);
  if (m.pieces.empty()) return issue_head(p, endpoint, m);
  if (m.pieces.size() == 1 && sizeof(ucx_signature) + m.head.size() <= max_header_bytes_)
    return issue_single(p, endpoint, m);
  issue_parts(p, endpoint, m);
}

ucp_ep_h ucx_transport::endpoint_to(peer& p) noexcept {
  if (p.endpoint != nullptr) [[likely]]
    return p.endpoint;
  ucp_ep_params_t how{};
  how.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  how.address = reinterpret_cast<const ucp_address_t*>(p.address.data());
  how.err_mode = p.near ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
  how.err_handler = {endpoint_failed, &p};
  if (const auto s = ucx_.ep_create(worker_, &how, &p.endpoint); s != UCS_OK) {
    p.endpoint = nullptr;
    fail(p, fmt::format("UCX cannot reach it: {}", ucx_.status_string(s)));
  }
  return p.endpoint;
}

void ucx_transport::endpoint_failed(void* failed, ucp_ep_h, ucs_status_t status) {
  peer& p = *static_cast<peer*>(failed);
  p.owner->fail(p, fmt::format("UCX lost the connection: {}", p.owner->ucx_.status_string(status)));
}

// progress() reports the loss to the receiver: this function may run inside a send().
void ucx_transport::fail(peer& p, std::string why) noexcept {
  if (p.lost || !p.failed.empty() || stopping_) return;
  p.failed = std::move(why);
  any_failed_ = true;
}

// True: messages may have been received.
bool ucx_transport::lose_failed() noexcept {
  any_failed_ = false;
  for (peer& p : peers_)
    if (!p.failed.empty() && !p.lost) lose(p);
  return true;
}

void ucx_transport::lose(peer& p) noexcept {
  receive_before_loss(p.id, [this] { return ucx_.worker_progress(worker_) != 0; });
  p.lost = true;
  detector_->report_lost(p.id, p.failed);
  if (p.endpoint != nullptr && !p.near) {
    ucp_request_param_t force{};
    force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    force.flags = UCP_EP_CLOSE_FLAG_FORCE;
    const ucs_status_ptr_t closing = ucx_.ep_close_nbx(p.endpoint, &force);
    if (UCS_PTR_IS_PTR(closing)) ucx_.request_free(closing);
  }
  give_up_sending(p);
  receiver_->lost(p.id, p.failed);
  memory_.lose(p.id);
  give_up_receiving(p);
  if (p.near) begin_reception_check(p.id);
}

void ucx_transport::give_up_all() noexcept {
  close_rings();
  memory_.give_up_all();
  for (peer& p : peers_) {
    p.lost = true;
    give_up_sending(p);
    give_up_receiving(p);
    fail_sent(p);
  }
  return_places();
}

bool ucx_transport::flush(ticks end) noexcept {
  ucp_request_param_t how{};
  for (const peer& p : peers_) {
    if (p.endpoint == nullptr || p.lost) continue;
    const ucs_status_ptr_t request = ucx_.ep_flush_nbx(p.endpoint, &how);
    if (!UCS_PTR_IS_PTR(request)) continue;
    while (ucx_.request_check_status(request) == UCS_INPROGRESS && !p.lost && now_ticks() < end) progress();
    const bool done = ucx_.request_check_status(request) != UCS_INPROGRESS;
    ucx_.request_free(request);
    if (!done && !p.lost) return false;
  }
  return true;
}

}  // namespace plx::net::detail
