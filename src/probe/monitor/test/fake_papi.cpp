// A substitute for PAPI: component 0 counts threads, component 1 the machine. For papi_test.cpp.
#include <cstring>

namespace {
constexpr int version = (7 << 24) | (1 << 16);
constexpr int no_event = -7, invalid = -1, conflict = -8, no_attach = -7;
struct set {
  int used, component, n, codes[8];
  unsigned long thread;
  bool started;
};
set sets[64];
int begun = 0, started = 0;
const char* const names[] = {"PAPI_TOT_INS", "PAPI_TOT_CYC", "PAPI_FP_OPS", "rapl::ENERGY"};
}  // namespace

extern "C" {
int fake_papi_started() { return started; }
int PAPI_get_opt(int option, void*) { return option == 21 ? version + 0x0200 : invalid; }
int PAPI_library_init(int v) { return v == version ? (begun = 1, v) : invalid; }
void PAPI_shutdown() { begun = 0; }
char* PAPI_strerror(int code) {
  static char event[] = "Event does not exist", conflicts[] = "Event exists, but cannot be counted due to hardware";
  return code == conflict ? conflicts : event;
}
int PAPI_event_name_to_code(const char* name, int* code) {
  for (int i = 0; i < 4; ++i)
    if (std::strcmp(name, names[i]) == 0) return *code = i, 0;
  return no_event;
}
int PAPI_get_event_component(int code) { return code == 3 ? 1 : 0; }
int PAPI_create_eventset(int* s) {
  for (int i = 0; i < 64; ++i)
    if (sets[i].used == 0) return sets[i] = {1, 0, 0, {}, 0, false}, *s = i, 0;
  return invalid;
}
int PAPI_assign_eventset_component(int s, int c) { return sets[s].component = c, 0; }
int PAPI_attach(int s, unsigned long thread) {
  if (sets[s].component == 1) return no_attach;
  return sets[s].thread = thread, 0;
}
int PAPI_add_event(int s, int code) {
  if (code == 2) return conflict;
  return sets[s].codes[sets[s].n++] = code, 0;
}
int PAPI_start(int s) { return sets[s].started = true, ++started, 0; }
int PAPI_stop(int s, long long*) { return sets[s].started = false, --started, 0; }
int PAPI_read(int s, long long* values) {
  for (int i = 0; i < sets[s].n; ++i)
    values[i] = 1000 * (sets[s].codes[i] + 1) + static_cast<long long>(sets[s].thread);
  return 0;
}
int PAPI_cleanup_eventset(int) { return 0; }
int PAPI_destroy_eventset(int* s) { return sets[*s].used = 0, *s = -1, 0; }
}
