// CUPTI's activity records. Built if CUPTI's headers are found; the library is opened when records are requested.
//
// A submission's tag is CUPTI's external correlation id: each runtime library call made while it is set gives a record
// with the tag and the call's number, and each activity of the device carries the number of its call. The two kinds of
// records arrive in any order, so either is kept until the other arrives.
#include "gpu/core/backends.hpp"

#if PLX_HAVE_CUPTI

#include <cupti.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "probe/monitor/shared_library.hpp"

namespace plx::gpu::cuda {
namespace {

using listener = void (*)(const activity&) noexcept;

struct functions {
  decltype(cuptiActivityRegisterCallbacks)* register_callbacks = nullptr;
  decltype(cuptiActivityRegisterTimestampCallback)* register_clock = nullptr;
  decltype(cuptiActivityEnable)* enable = nullptr;
  decltype(cuptiActivityGetNextRecord)* next_record = nullptr;
  decltype(cuptiActivityFlushAll)* flush_all = nullptr;
  decltype(cuptiActivityFlushPeriod)* flush_period = nullptr;
  decltype(cuptiActivityPushExternalCorrelationId)* push = nullptr;
  decltype(cuptiActivityPopExternalCorrelationId)* pop = nullptr;
  decltype(cuptiGetResultString)* text = nullptr;
};

/// Records waiting for their counterparts: tags by call number, and activities.
struct halves {
  static constexpr std::size_t most = std::size_t{1} << 16;
  std::unordered_map<std::uint32_t, std::uint64_t> tags, tags_before;  // the older ones are dropped
  std::unordered_map<std::uint32_t, std::vector<activity>> early;
  std::size_t n_early = 0;
};

struct state {
  std::optional<probe::shared_library> library;
  functions f;
  listener heard = nullptr;
  std::mutex lock;  // guards the members below
  halves waiting;
};

state& all() {
  static auto* const s = new state;  // never destroyed: records may arrive during process exit
  return *s;
}

constexpr std::size_t buffer_bytes = std::size_t{1} << 20, buffer_alignment = 8;

// CUPTI accepts a timestamp callback in nanoseconds; with the clock of this process no conversion is needed later.
double nanoseconds_per_tick() noexcept {
  static const double ns = 1e9 / ticks_per_second();
  return ns;
}
std::uint64_t CUPTIAPI clock_now() {
  return static_cast<std::uint64_t>(static_cast<double>(now_ticks()) * nanoseconds_per_tick());
}
ticks ticks_of(std::uint64_t ns) noexcept {
  return static_cast<ticks>(static_cast<double>(ns) / nanoseconds_per_tick());
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer != nullptr ? buffer_bytes : 0;
  *most_records = 0;
}

/// Requires the lock.
void report(state& s, std::uint32_t call, activity a) {
  auto tag = s.waiting.tags.find(call);
  if (tag == s.waiting.tags.end() && (tag = s.waiting.tags_before.find(call)) == s.waiting.tags_before.end()) {
    if (s.waiting.n_early++ == halves::most) s.waiting.early.clear(), s.waiting.n_early = 0;  // drops them
    s.waiting.early[call].push_back(a);
    return;
  }
  a.tag = tag->second;
  s.heard(a);
}

/// Requires the lock.
void tagged(state& s, std::uint32_t call, std::uint64_t tag) {
  halves& w = s.waiting;
  if (w.tags.size() == halves::most) w.tags_before = std::exchange(w.tags, {});
  w.tags[call] = tag;
  const auto early = w.early.find(call);
  if (early == w.early.end()) return;
  for (activity a : early->second) {
    a.tag = tag;
    s.heard(a);
  }
  w.n_early -= std::min(w.n_early, early->second.size());
  w.early.erase(early);
}

// The numbers at the ends of these types' names increase with the library version; records of newer versions begin with
// the fields of older ones.
void take(state& s, const CUpti_Activity& r) {
  switch (r.kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& x = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(r);
      if (x.externalKind == CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0) tagged(s, x.correlationId, x.externalId);
      break;
    }
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& k = reinterpret_cast<const CUpti_ActivityKernel9&>(r);
      report(s, k.correlationId, {.begin = ticks_of(k.start), .end = ticks_of(k.end), .kernel = k.name});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& c = reinterpret_cast<const CUpti_ActivityMemcpy5&>(r);
      report(s, c.correlationId,
             {.begin = ticks_of(c.start), .end = ticks_of(c.end), .bytes = c.bytes, .kind = activity::what::copy});
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& c = reinterpret_cast<const CUpti_ActivityMemset4&>(r);
      report(s, c.correlationId,
             {.begin = ticks_of(c.start), .end = ticks_of(c.end), .bytes = c.bytes, .kind = activity::what::fill});
      break;
    }
    default:  // records of the calls themselves
      break;
  }
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t used) {
  state& s = all();
  try {
    const std::lock_guard guard(s.lock);
    CUpti_Activity* r = nullptr;
    while (s.f.next_record(buffer, used, &r) == CUPTI_SUCCESS) take(s, *r);
  } catch (...) {  // out of memory
  }
  std::free(buffer);
}

std::string find_functions(state& s, const std::string& file) {
  std::vector<std::string> names{file};
  if (file.empty()) {
    const int major = CUDA_VERSION / 1000;
    names = {fmt::format("libcupti.so.{}", major), "libcupti.so"};
    for (const char* folder : {"/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64"})
      names.push_back(fmt::format("{}/libcupti.so.{}", folder, major));
  }
  auto opened = probe::shared_library::open(names);
  if (!opened) return opened.error().message;
  s.library.emplace(*std::move(opened));
  const probe::shared_library& l = *s.library;
  const bool found =
      l.find("cuptiActivityRegisterCallbacks", s.f.register_callbacks) &&
      l.find("cuptiActivityRegisterTimestampCallback", s.f.register_clock) &&
      l.find("cuptiActivityEnable", s.f.enable) && l.find("cuptiActivityGetNextRecord", s.f.next_record) &&
      l.find("cuptiActivityFlushAll", s.f.flush_all) && l.find("cuptiActivityFlushPeriod", s.f.flush_period) &&
      l.find("cuptiActivityPushExternalCorrelationId", s.f.push) &&
      l.find("cuptiActivityPopExternalCorrelationId", s.f.pop) && l.find("cuptiGetResultString", s.f.text);
  return found ? "" : "this CUPTI lacks required functions: expected CUDA 12 or newer";
}

std::string start_once(const std::string& file, listener heard) {
  state& s = all();
  if (std::string why = find_functions(s, file); !why.empty()) return why;
  s.heard = heard;
  const auto refused = [&](CUptiResult r, const char* call) {
    if (r == CUPTI_SUCCESS) return std::string();
    const char* text = nullptr;
    s.f.text(r, &text);
    return fmt::format("{}: {}", call, text != nullptr ? text : "unknown error");
  };
  if (auto why = refused(s.f.register_clock(clock_now), "cuptiActivityRegisterTimestampCallback"); !why.empty())
    return why;
  if (auto why = refused(s.f.register_callbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
      !why.empty())
    return why;
  // Tags require the records of runtime library calls.
  for (const CUpti_ActivityKind k :
       {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    if (auto why = refused(s.f.enable(k), "cuptiActivityEnable"); !why.empty()) return why;
  static_cast<void>(s.f.flush_period(100));  // ms
  return {};
}

std::string start(const std::string& file, listener heard) {
  static const std::string why = start_once(file, heard);
  return why;
}

void tag(std::uint64_t t) noexcept {
  const functions& f = all().f;
  std::uint64_t last = 0;
  if (t != 0)
    f.push(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, t);
  else
    f.pop(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

void flush() noexcept { all().f.flush_all(0); }

}  // namespace

const activity_functions* records() noexcept {
  static constexpr activity_functions functions{start, tag, flush};
  return &functions;
}

}  // namespace plx::gpu::cuda

#else

namespace plx::gpu::cuda {

const activity_functions* records() noexcept { return nullptr; }

}  // namespace plx::gpu::cuda

#endif
