#include "raw.hpp"

#include <cstdio>
#include <string>

#include "net/action.hpp"
#include "net/coalescing.hpp"

#if PLX_WITH_UCX

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/clock.hpp"
#include "net/transport/ucx/ucx_transport.hpp"

namespace plx::bench {

struct raw_ucx::parts {
  static constexpr unsigned short_message = 1, long_message = 2;

  explicit parts(const net::detail::ucx_library& library) : ucx(library) {}
  ~parts() {
    if (worker != nullptr) ucx.worker_destroy(worker);
    if (context != nullptr) ucx.cleanup(context);
  }

  ucs_status_t open() {
    ucp_config_t* config = nullptr;
    if (const auto s = ucx.config_read(nullptr, nullptr, &config); s != UCS_OK) return s;
    if (std::getenv("UCX_NET_DEVICES") == nullptr) ucx.config_modify(config, "NET_DEVICES", "lo");  // as the transport
    ucp_params_t how{};
    how.field_mask = UCP_PARAM_FIELD_FEATURES;
    how.features = UCP_FEATURE_AM;
    auto s = ucx.init_version(UCP_API_MAJOR, UCP_API_MINOR, &how, config, &context);
    ucx.config_release(config);
    if (s != UCS_OK) return s;
    ucp_worker_params_t of_worker{};
    of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    of_worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    if (s = ucx.worker_create(context, &of_worker, &worker); s != UCS_OK) return s;
    if (s = handle(short_message, on_short); s != UCS_OK) return s;
    return handle(long_message, on_long);
  }
  ucs_status_t handle(unsigned id, ucp_am_recv_callback_t f) {
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = id;
    handler.cb = f;
    handler.arg = this;
    return ucx.worker_set_am_recv_handler(worker, &handler);
  }

  static ucs_status_t on_short(void* self, const void*, std::size_t, void*, std::size_t, const ucp_am_recv_param_t*) {
    ++static_cast<parts*>(self)->came;
    return UCS_OK;
  }
  static ucs_status_t on_long(void* self, const void*, std::size_t, void* data, std::size_t bytes,
                              const ucp_am_recv_param_t* what) {
    auto& p = *static_cast<parts*>(self);
    if (bytes > p.room.size() / p.places || (what->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      ++p.came;
      return UCS_OK;
    }
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.cb.recv_am = [](void* request, ucs_status_t, std::size_t, void* arg) {
      auto& done = *static_cast<parts*>(arg);
      ++done.came;
      done.ucx.request_free(request);
    };
    how.user_data = self;
    if (!UCS_PTR_IS_PTR(p.ucx.am_recv_data_nbx(p.worker, data, p.next_place(bytes), bytes, &how))) ++p.came;
    return UCS_OK;
  }

  // The buffer of the next message: in turn, if there are several.
  char* next_place(std::size_t bytes) {
    const std::size_t place = places_used++ % places;
    return room.data() + place * bytes;
  }
  // Returns when fewer than `window` messages of this process are in flight.
  void send(unsigned id, const void* data, std::size_t bytes, unsigned window) {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.cb.send = [](void* request, ucs_status_t, void* arg) {
      auto& done = *static_cast<parts*>(arg);
      --done.under_way;
      done.ucx.request_free(request);
    };
    how.user_data = this;
    const ucs_status_ptr_t request = ucx.am_send_nbx(endpoint, id, nullptr, 0, data, bytes, &how);
    if (UCS_PTR_IS_PTR(request))
      ++under_way;
    else if (const auto s = UCS_PTR_STATUS(request); s != UCS_OK)
      std::fprintf(stderr, "bench_net: UCX alone cannot send: %s\n", ucx.status_string(s)), std::abort();
    while (under_way >= window) ucx.worker_progress(worker);
  }
  void wait_for(std::uint64_t messages) {
    while (came < messages) ucx.worker_progress(worker);
  }

  const net::detail::ucx_library& ucx;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_ep_h endpoint = nullptr;
  std::uint64_t came = 0;
  unsigned under_way = 0;
  std::uint64_t eight_bytes = 0;
  std::vector<char> room;
  std::size_t places = 1, places_used = 0;
};

raw_ucx::raw_ucx(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
raw_ucx::~raw_ucx() = default;

std::unique_ptr<raw_ucx> raw_ucx::open(std::string& why) {
  const auto library = net::detail::load_ucx();
  if (!library) return why = library.error().message, nullptr;
  auto p = std::make_unique<parts>(**library);
  if (const auto s = p->open(); s != UCS_OK)
    return why = std::string("UCX cannot be opened: ") + p->ucx.status_string(s), nullptr;
  return std::unique_ptr<raw_ucx>(new raw_ucx(std::move(p)));
}

std::string raw_ucx::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  if (parts_->ucx.worker_get_address(parts_->worker, &address, &bytes) != UCS_OK) return "";
  std::string text(reinterpret_cast<const char*>(address), bytes);
  parts_->ucx.worker_release_address(parts_->worker, address);
  return text;
}

void raw_ucx::connect(const std::string& address_of_other) {
  ucp_ep_params_t how{};
  how.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  how.address = reinterpret_cast<const ucp_address_t*>(address_of_other.data());
  if (const auto s = parts_->ucx.ep_create(parts_->worker, &how, &parts_->endpoint); s != UCS_OK)
    std::fprintf(stderr, "bench_net: UCX alone cannot connect: %s\n", parts_->ucx.status_string(s)), std::abort();
}

double raw_ucx::ping(int n) {
  parts& p = *parts_;
  const double begin = monotonic_seconds();
  for (int i = 0; i < n; ++i) {
    const std::uint64_t seen = p.came;
    p.send(parts::short_message, &p.eight_bytes, sizeof p.eight_bytes, 4);
    p.wait_for(seen + 1);
  }
  return monotonic_seconds() - begin;
}

void raw_ucx::pong(int n) {
  parts& p = *parts_;
  for (int i = 0; i < n; ++i) {
    // Messages that the other process sent before this one arrived have not been received yet.
    p.wait_for(p.came + 1);
    p.send(parts::short_message, &p.eight_bytes, sizeof p.eight_bytes, 1);
  }
}

double raw_ucx::push(int n, std::size_t bytes) {
  parts& p = *parts_;
  if (p.room.size() < bytes) p.room.assign(bytes, 1);
  const std::uint64_t seen = p.came;
  const double begin = monotonic_seconds();
  for (int i = 0; i < n; ++i) p.send(parts::long_message, p.room.data(), bytes, 4);
  p.wait_for(seen + 1);
  return monotonic_seconds() - begin;
}

void raw_ucx::pull(int n, std::size_t bytes, std::size_t places) {
  parts& p = *parts_;
  p.places = places;
  if (p.room.size() < places * bytes) p.room.assign(places * bytes, 1);
  p.wait_for(p.came + static_cast<std::uint64_t>(n));
  p.send(parts::short_message, &p.eight_bytes, sizeof p.eight_bytes, 1);
}

}  // namespace plx::bench

#else

namespace plx::bench {

struct raw_ucx::parts {};
raw_ucx::~raw_ucx() = default;
std::unique_ptr<raw_ucx> raw_ucx::open(std::string& why) { return why = "this program was built without UCX", nullptr; }
std::string raw_ucx::address() const { return ""; }
void raw_ucx::connect(const std::string&) {}
double raw_ucx::ping(int) { return 0; }
void raw_ucx::pong(int) {}
double raw_ucx::push(int, std::size_t) { return 0; }
void raw_ucx::pull(int, std::size_t, std::size_t) {}

}  // namespace plx::bench

#endif

namespace plx::bench {
namespace {

std::unique_ptr<raw_ucx> theirs;  // on the locality that is not the root

std::string open_there(const std::string& address_of_root) {
  std::string why;
  theirs = raw_ucx::open(why);
  if (theirs == nullptr) return "";
  theirs->connect(address_of_root);
  return theirs->address();
}
void close_there() { theirs.reset(); }
void pong_there(int n) { theirs->pong(n); }
void pull_there(int n, std::uint64_t bytes, std::uint64_t places) { theirs->pull(n, bytes, places); }

}  // namespace

beside_ucx::beside_ucx() {
  std::string why;
  mine_ = raw_ucx::open(why);
  if (mine_ != nullptr) {
    const std::string address = async<&open_there>(1, mine_->address()).get();
    if (!address.empty()) {
      mine_->connect(address);
      return;
    }
    mine_.reset();
    why = "it cannot be opened on the other side";
  }
  std::printf("# no figures of UCX alone: %s\n", why.c_str());
}

beside_ucx::~beside_ucx() {
  if (mine_ != nullptr) async<&close_there>(1).get();
}

double beside_ucx::round_trip_us(int n) {
  auto other = async<&pong_there>(1, n);
  flush_parcels();
  mine_->ping(10);
  const double s = mine_->ping(n - 10);
  other.get();
  return s / (n - 10) * 1e6;
}

double beside_ucx::bytes_per_s(int n, std::size_t bytes, std::size_t places) {
  auto other = async<&pull_there>(1, n, std::uint64_t{bytes}, std::uint64_t{places});
  flush_parcels();
  const double s = mine_->push(n, bytes);
  other.get();
  return static_cast<double>(bytes) * n / s;
}

}  // namespace plx::bench
