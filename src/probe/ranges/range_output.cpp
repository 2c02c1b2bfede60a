#include "probe/ranges/range_output.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

#include "probe/settings.hpp"

#if PLX_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#if PLX_HAVE_USDT
#include <sys/sdt.h>
#endif

namespace plx::probe {
namespace {

/// Whether the thread is within a range: a slice that began before the output did has none.
thread_local bool in_range = false;

bool begins(task_event_kind k) noexcept { return k == task_event_kind::start || k == task_event_kind::resume; }

}  // namespace

/// Texts that end with a zero, by name: name_of() takes a lock.
struct range_output::texts {
  std::array<std::atomic<const char*>, max_names> known{};

  const char* of(name_id id) noexcept {
    std::atomic<const char*>& text = known[id < max_names ? id : unnamed];
    const char* found = text.load(std::memory_order_relaxed);  // the text is older than its id
    if (found == nullptr) text.store(found = name_of(id).data(), std::memory_order_relaxed);  // of a std::string
    return found;
  }
};

#if PLX_HAVE_NVTX

struct range_output::nvtx {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("plx");
  std::array<std::atomic<nvtxStringHandle_t>, max_names> names{};

  ~nvtx() { nvtxDomainDestroy(domain); }

  /// Two workers that register a name at the same time get two handles of equal text.
  nvtxStringHandle_t registered(name_id id) noexcept {
    std::atomic<nvtxStringHandle_t>& name = names[id < max_names ? id : unnamed];
    nvtxStringHandle_t found = name.load(std::memory_order_acquire);
    if (found == nullptr)
      name.store(found = nvtxDomainRegisterStringA(domain, name_of(id).data()), std::memory_order_release);
    return found;
  }
  void push(const task_event& e) noexcept {
    nvtxEventAttributes_t about{};
    about.version = NVTX_VERSION;
    about.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    if (e.key != no_key) {
      about.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
      about.payload.ullValue = e.key;
    }
    about.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    about.message.registered = registered(e.name);
    nvtxDomainRangePushEx(domain, &about);
  }
  void pop() noexcept { nvtxDomainRangePop(domain); }
};

#else

struct range_output::nvtx {
  void push(const task_event&) noexcept {}
  void pop() noexcept {}
};

#endif

std::string ranges_unavailable(std::string_view kinds) {
  if (!PLX_HAVE_NVTX && has_word(kinds, "nvtx"))
    return "nvtx needs the header nvtx3/nvToolsExt.h (of the CUDA toolkit) when Parallax is built, and found none";
  if (!PLX_HAVE_USDT && has_word(kinds, "usdt"))
    return "usdt needs the header sys/sdt.h (package systemtap-sdt-dev) when Parallax is built, and found none";
  return "";
}

range_output::range_output(std::string_view kinds) {
  if (has_word(kinds, "usdt")) usdt_ = std::make_unique<texts>();
  if (has_word(kinds, "nvtx")) nvtx_ = std::make_unique<nvtx>();
}

range_output::~range_output() = default;

void range_output::on_event(const task_event& e) noexcept {
  if (task_observer* next = next_.load(std::memory_order_acquire)) next->on_event(e);
  if (e.kind == task_event_kind::create) return;
  const bool begin = begins(e.kind);
  if (!begin && !in_range) return;
  if (begin && in_range && nvtx_ != nullptr) nvtx_->pop();  // the end was not seen
  in_range = begin;
  if (nvtx_ != nullptr) begin ? nvtx_->push(e) : nvtx_->pop();
#if PLX_HAVE_USDT
  if (usdt_ == nullptr) return;
  const char* const name = usdt_->of(e.name);
  const std::uint64_t key = e.key;
  const unsigned worker = e.worker;
  const int finished = e.kind == task_event_kind::stop ? 1 : 0;
  if (begin)
    STAP_PROBE3(parallax, task_begin, name, key, worker);
  else
    STAP_PROBE4(parallax, task_end, name, key, worker, finished);
#endif
}

}  // namespace plx::probe
