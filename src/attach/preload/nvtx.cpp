// NVTX's interface for tools (NVTX 3): push/pop ranges are timers with their names, lengths of start/end ranges are
// samples, as these may overlap and end in another thread, and marks are marks. Names of other domains than the default
// one precede those of their ranges: "solver: step". Payloads, categories and colours are ignored. plx-exec names this
// library in NVTX_INJECTION64_PATH; NVTX loads it at the program's first call. If a user sets that variable without
// plx-exec, PLX_PROFILE and the other variables select the measurements.
//
// Thread safety: as for NVTX's calls. Cost: that of a timer, and of finding its name, which takes a lock, unless the
// text is registered with NVTX.
#include <nvtx3/nvToolsExt.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "attach/core/program.hpp"
#include "attach/plx_probe.h"
#include "attach/preload/real.hpp"
#include "base/clock.hpp"

using namespace plx::probe;

namespace {

// Handles of NVTX are addresses of these. They are never deleted: other threads may use them.
struct domain {
  std::string prefix;  // "name: "
};
struct registered_text {
  std::string name;  // with the prefix
  plx_probe_timer timer;
};

const domain default_domain{};
const domain& of(nvtxDomainHandle_t d) { return d != nullptr ? *reinterpret_cast<const domain*>(d) : default_domain; }

/// UTF-8 of UTF-32, as wide characters are on Linux.
std::string narrow(const wchar_t* wide) {
  std::string text;
  for (; wide != nullptr && *wide != 0; ++wide) {
    const auto c = static_cast<std::uint32_t>(*wide);
    const unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;  // bytes after the first
    constexpr std::uint32_t first[] = {0, 0xc0, 0xe0, 0xf0};
    text += static_cast<char>(first[more] | c >> 6 * more);
    for (unsigned i = more; i-- > 0;) text += static_cast<char>(0x80 | (c >> 6 * i & 0x3f));
  }
  return text;
}

std::string text_of(const char* text) { return text != nullptr ? text : ""; }

/// A range's or mark's text, with the domain's name.
std::string name_of_event(const domain& d, const nvtxEventAttributes_t* e) {
  if (e == nullptr) return d.prefix;
  switch (e->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return d.prefix + text_of(e->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return d.prefix + narrow(e->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (e->message.registered != nullptr)
        return reinterpret_cast<const registered_text*>(e->message.registered)->name;
      [[fallthrough]];
    default:
      return d.prefix + "(no text)";
  }
}

plx_probe_timer timer_of(const domain& d, const nvtxEventAttributes_t* e) {
  if (e != nullptr && e->messageType == NVTX_MESSAGE_TYPE_REGISTERED && e->message.registered != nullptr)
    return reinterpret_cast<const registered_text*>(e->message.registered)->timer;
  return plx_probe_timer_named(name_of_event(d, e).c_str());
}

// ------------------------------------------------------------------------------------------------------- thread ranges

/// Each domain has a stack of its own in each thread; deeper ranges are not recorded.
struct open_ranges {
  static constexpr int most = 128;
  struct one {
    const domain* of;
    plx_probe_timer timer;
  };
  one all[most];
  int n = 0, deeper = 0;

  [[nodiscard]] int depth(const domain& d) const {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += all[i].of == &d ? 1 : 0;
    return sum;
  }
};
/// On the heap: a library that is loaded later has little room for variables of threads.
struct open_ranges_owner {
  open_ranges* ranges = nullptr;
  ~open_ranges_owner() { delete std::exchange(ranges, nullptr); }
};
thread_local open_ranges_owner own;
open_ranges& open() {
  if (own.ranges == nullptr) own.ranges = new open_ranges;
  return *own.ranges;
}

int push(const domain& d, plx_probe_timer t) {
  open_ranges& o = open();
  if (o.n == open_ranges::most) return open_ranges::most + o.deeper++;
  const int level = o.depth(d);
  o.all[o.n++] = {&d, t};
  plx_probe_start(t);
  return level;
}

int pop(const domain& d) {
  open_ranges& o = open();
  if (o.deeper > 0) return open_ranges::most + --o.deeper;
  int i = o.n - 1;
  while (i >= 0 && o.all[i].of != &d) --i;
  if (i < 0) return NVTX_NO_PUSH_POP_TRACKING;
  plx_probe_stop(o.all[i].timer);
  for (--o.n; i < o.n; ++i) o.all[i] = o.all[i + 1];
  return o.depth(d);
}

int push_a(const char* text) { return push(default_domain, plx_probe_timer_named(text_of(text).c_str())); }
int push_w(const wchar_t* text) { return push(default_domain, plx_probe_timer_named(narrow(text).c_str())); }
int push_ex(const nvtxEventAttributes_t* e) { return push(default_domain, timer_of(default_domain, e)); }
int pop_any() { return pop(default_domain); }
int domain_push(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) { return push(of(d), timer_of(of(d), e)); }
int domain_pop(nvtxDomainHandle_t d) { return pop(of(d)); }

// ------------------------------------------------------------------------------------------------------ process ranges

struct begun_range {
  std::string name;
  plx::ticks begin;
};
struct begun_ranges {
  std::mutex mutex;
  std::map<nvtxRangeId_t, begun_range> all;
  nvtxRangeId_t last = 0;
};
begun_ranges& begun() {
  static begun_ranges& all = *new begun_ranges;
  return all;
}

nvtxRangeId_t start(std::string name) {
  const inside_scope inside;
  const std::lock_guard lock(begun().mutex);
  begun().all[++begun().last] = {std::move(name), plx::now_ticks()};
  return begun().last;
}

void end(nvtxRangeId_t id) {
  const plx::ticks now = plx::now_ticks();
  begun_range ended;
  {
    const inside_scope inside;
    const std::lock_guard lock(begun().mutex);
    const auto found = begun().all.find(id);
    if (found == begun().all.end()) return;
    ended = std::move(found->second);
    begun().all.erase(found);
  }
  plx_probe_sample(ended.name.c_str(), plx::seconds(now - ended.begin));
}

nvtxRangeId_t start_a(const char* text) { return start(text_of(text)); }
nvtxRangeId_t start_w(const wchar_t* text) { return start(narrow(text)); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* e) { return start(name_of_event(default_domain, e)); }
nvtxRangeId_t domain_start(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) {
  return start(name_of_event(of(d), e));
}
void domain_end(nvtxDomainHandle_t, nvtxRangeId_t id) { end(id); }

// -------------------------------------------------------------------------------------------------------- marks, names

void mark_a(const char* text) { plx_probe_mark(text_of(text).c_str()); }
void mark_w(const wchar_t* text) { plx_probe_mark(narrow(text).c_str()); }
void mark_ex(const nvtxEventAttributes_t* e) { plx_probe_mark(name_of_event(default_domain, e).c_str()); }
void domain_mark(nvtxDomainHandle_t d, const nvtxEventAttributes_t* e) {
  plx_probe_mark(name_of_event(of(d), e).c_str());
}

nvtxDomainHandle_t new_domain(const std::string& name) {
  return reinterpret_cast<nvtxDomainHandle_t>(new domain{name + ": "});
}
nvtxDomainHandle_t create_a(const char* name) { return new_domain(text_of(name)); }
nvtxDomainHandle_t create_w(const wchar_t* name) { return new_domain(narrow(name)); }

nvtxStringHandle_t new_text(nvtxDomainHandle_t d, const std::string& text) {
  const std::string name = of(d).prefix + text;
  return reinterpret_cast<nvtxStringHandle_t>(new registered_text{name, plx_probe_timer_named(name.c_str())});
}
nvtxStringHandle_t register_a(nvtxDomainHandle_t d, const char* text) { return new_text(d, text_of(text)); }
nvtxStringHandle_t register_w(nvtxDomainHandle_t d, const wchar_t* text) { return new_text(d, narrow(text)); }

/// A function of a module's table; later versions of NVTX may have more.
struct module_table {
  NvtxFunctionTable functions = nullptr;
  unsigned size = 0;

  template <class F>
  void set(unsigned id, F* f) const {
    if (id < size && functions[id] != nullptr) *functions[id] = reinterpret_cast<NvtxFunctionPointer>(f);
  }
};

}  // namespace

/// Called by NVTX once. 0: it calls no tool from now on.
PLX_HOOK int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  if (plx_probe_init() == 0) return 0;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  module_table core, domains;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core.functions, &core.size) == 0)
    return 0;
  core.set(NVTX_CBID_CORE_RangePushA, push_a);
  core.set(NVTX_CBID_CORE_RangePushW, push_w);
  core.set(NVTX_CBID_CORE_RangePushEx, push_ex);
  core.set(NVTX_CBID_CORE_RangePop, pop_any);
  core.set(NVTX_CBID_CORE_RangeStartA, start_a);
  core.set(NVTX_CBID_CORE_RangeStartW, start_w);
  core.set(NVTX_CBID_CORE_RangeStartEx, start_ex);
  core.set(NVTX_CBID_CORE_RangeEnd, end);
  core.set(NVTX_CBID_CORE_MarkA, mark_a);
  core.set(NVTX_CBID_CORE_MarkW, mark_w);
  core.set(NVTX_CBID_CORE_MarkEx, mark_ex);
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains.functions, &domains.size) == 0) return 1;
  domains.set(NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  domains.set(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  domains.set(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  domains.set(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  domains.set(NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  domains.set(NVTX_CBID_CORE2_DomainCreateA, create_a);
  domains.set(NVTX_CBID_CORE2_DomainCreateW, create_w);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, register_a);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringW, register_w);
  return 1;
}
