// A tool for tests that NVTX loads (NVTX_INJECTION64_PATH): it writes down every call of the domain functions.
#include <nvtx3/nvToolsExt.h>

#include <deque>
#include <mutex>
#include <string>

namespace {

std::mutex mutex;
std::string& events() {
  static std::string& text = *new std::string;
  return text;
}
void note(const std::string& line) {
  const std::lock_guard lock(mutex);
  events() += line + "\n";
}

/// Handles are addresses of texts.
std::string* kept(const char* text) {
  const std::lock_guard lock(mutex);
  static std::deque<std::string>& all = *new std::deque<std::string>;
  return &all.emplace_back(text);
}

thread_local int depth = 0;  // slices do not nest

nvtxDomainHandle_t create(const char* name) {
  note(std::string("domain ") + name);
  return reinterpret_cast<nvtxDomainHandle_t>(kept(name));
}
void destroy(nvtxDomainHandle_t) { note("end of the domain"); }
nvtxStringHandle_t registered(nvtxDomainHandle_t, const char* text) {
  note(std::string("name ") + text);
  return reinterpret_cast<nvtxStringHandle_t>(kept(text));
}
int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* e) {
  const std::string& name = *reinterpret_cast<const std::string*>(e->message.registered);
  if (++depth != 1) note("push within a range");
  std::string line = "push ";
  line += *reinterpret_cast<const std::string*>(domain);
  line += ' ';
  line += name;
  if (e->payloadType == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64) line += ' ', line += std::to_string(e->payload.ullValue);
  note(line);
  return 0;
}
int pop(nvtxDomainHandle_t) {
  note(--depth == 0 ? "pop" : "pop without a range");
  return 0;
}

}  // namespace

/// All calls so far, a line each; the next call returns those that follow.
extern "C" const char* fake_nvtx_events() {
  const std::lock_guard lock(mutex);
  static std::string& last = *new std::string;
  last = events();
  events().clear();
  return last.c_str();
}

extern "C" int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(tables(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks == nullptr || callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0) return 0;
  const auto set = [&](unsigned id, auto* f) { *table[id] = reinterpret_cast<NvtxFunctionPointer>(f); };
  set(NVTX_CBID_CORE2_DomainCreateA, create);
  set(NVTX_CBID_CORE2_DomainDestroy, destroy);
  set(NVTX_CBID_CORE2_DomainRegisterStringA, registered);
  set(NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(NVTX_CBID_CORE2_DomainRangePop, pop);
  return 1;
}
