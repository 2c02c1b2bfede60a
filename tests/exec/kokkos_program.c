/* Calls the tool of KOKKOS_TOOLS_LIBS as Kokkos does: loads the library, and looks up each function by its name. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct space {
  char name[64];
} space;

static void* tool;
static void* find(const char* name) {
  void* f = dlsym(tool, name);
  if (f == NULL) exit(4);
  return f;
}
#define CALL(type, name, ...)                   \
  do {                                          \
    void* found = find(name);                   \
    type function;                              \
    memcpy(&function, &found, sizeof function); \
    function(__VA_ARGS__);                      \
  } while (0)

typedef void (*init)(int, uint64_t, uint32_t, void*);
typedef void (*nothing)(void);
typedef void (*begin)(const char*, uint32_t, uint64_t*);
typedef void (*end)(uint64_t);
typedef void (*text)(const char*);
typedef void (*data)(space, const char*, const void*, uint64_t);
typedef void (*copy)(space, const char*, const void*, space, const char*, const void*, uint64_t);

int main(void) {
  const char* path = getenv("KOKKOS_TOOLS_LIBS");
  uint64_t outer = 0, id = 0;
  int i = 0;
  space host;
  memset(&host, 0, sizeof host);
  strcpy(host.name, "Host");
  if (path == NULL) return 2;
  tool = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (tool == NULL) return fprintf(stderr, "%s\n", dlerror()), 3;
  CALL(init, "kokkosp_init_library", 0, 20211015, 0, NULL);
  CALL(text, "kokkosp_push_profile_region", "step");
  CALL(data, "kokkosp_allocate_data", host, "field", &host, 1000);
  for (i = 0; i < 7; ++i) {
    CALL(begin, "kokkosp_begin_parallel_for", "axpy", 0, &outer);
    CALL(begin, "kokkosp_begin_parallel_reduce", "dot", 0, &id);
    CALL(end, "kokkosp_end_parallel_reduce", id);
    CALL(end, "kokkosp_end_parallel_for", outer);
    CALL(copy, "kokkosp_begin_deep_copy", host, "a", &host, host, "b", &host, 100);
    CALL(nothing, "kokkosp_end_deep_copy");
  }
  CALL(data, "kokkosp_allocate_data", host, "other", &host, 500);
  CALL(data, "kokkosp_deallocate_data", host, "field", &host, 1000);
  CALL(nothing, "kokkosp_pop_profile_region");
  CALL(nothing, "kokkosp_finalize_library");
  printf("kernels %d\n", 14);
  return 0;
}
