// UCX's one-sided operations alone.
#include <cstdio>
#include <string>

#include "net/action.hpp"
#include "net/coalescing.hpp"
#include "raw.hpp"
#include "rt/thread.hpp"

#if PLX_WITH_UCX

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/clock.hpp"
#include "net/start/bootstrap.hpp"
#include "net/transport/ucx/ucx_transport.hpp"

namespace plx::bench {

struct raw_memory::parts {
  explicit parts(const net::detail::ucx_library& library) : ucx(library) {}
  ~parts() {
    if (rkey != nullptr) ucx.rkey_destroy(rkey);
    if (memory != nullptr) ucx.mem_unmap(context, memory);
    if (worker != nullptr) ucx.worker_destroy(worker);
    if (context != nullptr) ucx.cleanup(context);
  }

  ucs_status_t open(std::size_t bytes) {
    ucp_config_t* config = nullptr;
    if (const auto s = ucx.config_read(nullptr, nullptr, &config); s != UCS_OK) return s;
    if (std::getenv("UCX_NET_DEVICES") == nullptr) ucx.config_modify(config, "NET_DEVICES", "lo");  // as the transport
    ucp_params_t how{};
    how.field_mask = UCP_PARAM_FIELD_FEATURES;
    how.features = UCP_FEATURE_RMA | UCP_FEATURE_AMO64;
    auto s = ucx.init_version(UCP_API_MAJOR, UCP_API_MINOR, &how, config, &context);
    ucx.config_release(config);
    if (s != UCS_OK) return s;
    ucp_worker_params_t of_worker{};
    of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    of_worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    if (s = ucx.worker_create(context, &of_worker, &worker); s != UCS_OK) return s;
    ucp_mem_map_params_t of_memory{};
    of_memory.field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
    of_memory.length = bytes;
    of_memory.flags = UCP_MEM_MAP_ALLOCATE;
    if (s = ucx.mem_map(context, &of_memory, &memory); s != UCS_OK) return s;
    ucp_mem_attr_t made{};
    made.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    if (s = ucx.mem_query(memory, &made); s != UCS_OK) return s;
    here = reinterpret_cast<std::uintptr_t>(made.address);
    std::memset(made.address, 0, bytes);
    source.assign(bytes, 1);
    return UCS_OK;
  }
  ucp_request_param_t counted() {
    ucp_request_param_t how{};
    how.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    how.cb.send = [](void* request, ucs_status_t, void* arg) {
      auto& done = *static_cast<parts*>(arg);
      --done.under_way;
      done.ucx.request_free(request);
    };
    how.user_data = this;
    return how;
  }
  void begun(ucs_status_ptr_t request, unsigned window) {
    if (UCS_PTR_IS_PTR(request))
      ++under_way;
    else if (const auto s = UCS_PTR_STATUS(request); s != UCS_OK)
      std::fprintf(stderr, "bench_net: UCX alone cannot access memory: %s\n", ucx.status_string(s)), std::abort();
    while (under_way >= window) ucx.worker_progress(worker);
  }

  const net::detail::ucx_library& ucx;
  ucp_context_h context = nullptr;
  ucp_worker_h worker = nullptr;
  ucp_mem_h memory = nullptr;
  ucp_ep_h endpoint = nullptr;
  ucp_rkey_h rkey = nullptr;
  std::uintptr_t here = 0, there = 0;
  unsigned under_way = 0;
  std::vector<char> source;
};

raw_memory::raw_memory(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
raw_memory::~raw_memory() = default;

std::unique_ptr<raw_memory> raw_memory::open(std::size_t bytes, std::string& why) {
  const auto library = net::detail::load_ucx();
  if (!library) return why = library.error().message, nullptr;
  auto p = std::make_unique<parts>(**library);
  if (const auto s = p->open(bytes); s != UCS_OK)
    return why = std::string("UCX cannot be opened: ") + p->ucx.status_string(s), nullptr;
  return std::unique_ptr<raw_memory>(new raw_memory(std::move(p)));
}

std::string raw_memory::address() const {
  parts& p = *parts_;
  std::string text;
  void* rkey = nullptr;
  std::size_t rkey_bytes = 0, bytes = 0;
  ucp_address_t* address = nullptr;
  if (p.ucx.rkey_pack(p.context, p.memory, &rkey, &rkey_bytes) != UCS_OK) return "";
  if (p.ucx.worker_get_address(p.worker, &address, &bytes) != UCS_OK) return "";
  net::detail::append_field(text, {reinterpret_cast<const char*>(&p.here), sizeof p.here});
  net::detail::append_field(text, {static_cast<const char*>(rkey), rkey_bytes});
  net::detail::append_field(text, {reinterpret_cast<const char*>(address), bytes});
  p.ucx.rkey_buffer_release(rkey);
  p.ucx.worker_release_address(p.worker, address);
  return text;
}

void raw_memory::connect(const std::string& address_of_other) {
  parts& p = *parts_;
  std::string_view fields = address_of_other;
  const auto base = net::detail::take_field(fields), rkey = net::detail::take_field(fields),
             address = net::detail::take_field(fields);
  ucp_ep_params_t how{};
  how.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  how.address = reinterpret_cast<const ucp_address_t*>(address.value().data());
  std::memcpy(&p.there, base.value().data(), sizeof p.there);
  auto s = p.ucx.ep_create(p.worker, &how, &p.endpoint);
  if (s == UCS_OK) s = p.ucx.ep_rkey_unpack(p.endpoint, rkey.value().data(), &p.rkey);
  if (s != UCS_OK)
    std::fprintf(stderr, "bench_net: UCX alone cannot connect: %s\n", p.ucx.status_string(s)), std::abort();
}

double raw_memory::put(int n, std::size_t bytes, unsigned window) {
  parts& p = *parts_;
  const ucp_request_param_t how = p.counted();
  const double begin = monotonic_seconds();
  for (int i = 0; i < n; ++i) p.begun(p.ucx.put_nbx(p.endpoint, p.source.data(), bytes, p.there, p.rkey, &how), window);
  p.begun(p.ucx.ep_flush_nbx(p.endpoint, &how), 1);
  return monotonic_seconds() - begin;
}

double raw_memory::fetch_add(int n, unsigned window) {
  parts& p = *parts_;
  const std::uint64_t one = 1;
  std::vector<std::uint64_t> results(window);
  ucp_request_param_t how = p.counted();
  how.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
  how.datatype = ucp_dt_make_contig(sizeof one);
  const double begin = monotonic_seconds();
  for (int i = 0; i < n; ++i) {
    how.reply_buffer = &results[static_cast<std::size_t>(i) % window];
    p.begun(p.ucx.atomic_op_nbx(p.endpoint, UCP_ATOMIC_OP_ADD, &one, 1, p.there, p.rkey, &how), window);
  }
  while (p.under_way != 0) p.ucx.worker_progress(p.worker);
  return monotonic_seconds() - begin;
}

void raw_memory::progress() { parts_->ucx.worker_progress(parts_->worker); }

}  // namespace plx::bench

#else

namespace plx::bench {

struct raw_memory::parts {};
raw_memory::~raw_memory() = default;
std::unique_ptr<raw_memory> raw_memory::open(std::size_t, std::string& why) {
  return why = "this program was built without UCX", nullptr;
}
std::string raw_memory::address() const { return ""; }
void raw_memory::connect(const std::string&) {}
double raw_memory::put(int, std::size_t, unsigned) { return 0; }
double raw_memory::fetch_add(int, unsigned) { return 0; }
void raw_memory::progress() {}

}  // namespace plx::bench

#endif

namespace plx::bench {
namespace {

std::unique_ptr<raw_memory> theirs;  // on the locality that is not the root
int stopped = 0;                     // there, with one worker: the last measurement that has ended

std::string open_there(std::uint64_t bytes, const std::string& address_of_root) {
  std::string why;
  theirs = raw_memory::open(bytes, why);
  if (theirs == nullptr) return "";
  theirs->connect(address_of_root);
  return theirs->address();
}
void close_there() { theirs.reset(); }
// Asks UCX for progress, and between for messages, until stop_there() is called, which may be earlier.
void serve_there(int measurement) {
  while (stopped < measurement) {
    for (int i = 0; i < 100; ++i) theirs->progress();
    this_thread::yield();
  }
}
void stop_there(int measurement) { stopped = measurement; }

}  // namespace

beside_memory::beside_memory(std::size_t bytes) {
  std::string why;
  mine_ = raw_memory::open(bytes, why);
  if (mine_ != nullptr) {
    const std::string address = async<&open_there>(1, std::uint64_t{bytes}, mine_->address()).get();
    if (!address.empty()) {
      mine_->connect(address);
      return;
    }
    mine_.reset();
    why = "it cannot be opened on the other side";
  }
  std::printf("# no figures of UCX alone: %s\n", why.c_str());
}

beside_memory::~beside_memory() {
  if (mine_ != nullptr) async<&close_there>(1).get();
}

template <class F>
double beside_memory::measured(F f) {
  static int measurements = 0;
  auto other = async<&serve_there>(1, ++measurements);
  flush_parcels();
  f(true);
  const double s = f(false);
  async<&stop_there>(1, measurements).get();
  other.get();
  return s;
}

double beside_memory::put_bytes_per_s(int n, std::size_t bytes, unsigned window) {
  const double s = measured([&](bool first) { return mine_->put(first ? 1 : n, bytes, window); });
  return static_cast<double>(bytes) * n / s;
}

double beside_memory::additions_per_s(int n, unsigned window) {
  return n / measured([&](bool first) { return mine_->fetch_add(first ? 1 : n, window); });
}

}  // namespace plx::bench
