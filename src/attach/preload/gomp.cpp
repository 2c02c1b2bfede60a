// Measures GCC's OpenMP by wrapping the functions of libgomp that compiled programs call: parallel regions and tasks
// are timers named after the enclosing function; waiting at barriers, for tasks and for locks is recorded as waits. A
// separate library, which plx-exec loads into programs linked with libgomp: in those all calls go to that libgomp.
// Other programs may contain a libgomp of their own, or several, so the library removes itself from the environment
// that children inherit.
//
// The threads of a team wait in libgomp after the outlined function has returned: the first one until the region ends,
// the others until they get work again. Tasks that they run meanwhile are work, nested in the wait.
// Thread safety: all functions. Cost: two reads of the clock per region and thread, task, and wait.
// Example: tests/exec/gomp_program.c
#include "attach/preload/call_tables.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#define PLX_HOOK extern "C" [[gnu::visibility("default"), gnu::used]]

extern "C" [[gnu::weak, gnu::visibility("default")]] const plx::probe::gomp_table* plx_exec_gomp_calls();

namespace {

using plx::probe::gomp_table;
using outlined = void (*)(void*);

/// Removes this library's path from LD_PRELOAD, in place.
[[gnu::constructor]] void leave_environment() {
  constexpr const char* variable = "LD_PRELOAD=";
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    if (std::strncmp(*e, variable, std::strlen(variable)) != 0) continue;
    char* begin = std::strstr(*e, "libplx-gomp.so");
    if (begin == nullptr) continue;
    char* end = begin + std::strcspn(begin, ": ");
    while (std::strchr("=: ", begin[-1]) == nullptr) --begin;
    if (*end != '\0')
      ++end;  // with the separator after it,
    else if (begin[-1] != '=')
      --begin;  // or before it
    std::memmove(begin, end, std::strlen(end) + 1);
  }
}

/// Null while measurement is off.
const gomp_table* measuring() {
  if (plx_exec_gomp_calls == nullptr) return nullptr;
  const gomp_table* table = plx_exec_gomp_calls();
  return table != nullptr && table->version == gomp_table::current && table->measures() ? table : nullptr;
}

/// The wrapped function of libgomp. Looked up when this library is loaded, because dlsym() takes a lock of the loader;
/// or at the first call, if a constructor of another library comes first.
template <class F>
F* real(F*& known, const char* name) {
  if (known == nullptr) known = reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
  return known;
}
#define PLX_REAL(name)                                                          \
  decltype(&::name) real_##name = nullptr;                                      \
  [[gnu::constructor]] void find_##name() {                                     \
    real_##name = reinterpret_cast<decltype(&::name)>(dlsym(RTLD_NEXT, #name)); \
  }
#define PLX_CALL(name) (real(real_##name, #name))

// -------------------------------------------------------------------------------------------------------- regions

thread_local bool waits_in_team = false;  // since the outlined function has returned

void end_of_team_wait(const gomp_table& calls, const void* code) {
  if (!waits_in_team) return;
  waits_in_team = false;
  calls.end_wait("omp_barrier", code, nullptr, 0);
}

struct region {
  outlined function;
  void* data;
  unsigned timer;
};

/// Replaces the outlined function on each thread of the team. The region lives until all of them have returned.
void run_region(void* given) {
  const region r = *static_cast<const region*>(given);
  const auto* code = reinterpret_cast<const char*>(r.function) + 1;
  const gomp_table* calls = measuring();
  if (calls == nullptr) return r.function(r.data);
  end_of_team_wait(*calls, code);
  calls->start(r.timer);
  r.function(r.data);
  calls->stop(r.timer);
  waits_in_team = calls->begin_wait();
}

/// `launch` calls the libgomp function with a function and its data.
template <class Launch>
void parallel(outlined function, void* data, Launch&& launch) {
  const gomp_table* calls = measuring();
  if (calls == nullptr) return launch(function, data);
  const auto* code = reinterpret_cast<const char*>(function) + 1;
  region r{function, data, calls->timer("parallel", code)};
  launch(&run_region, &r);
  end_of_team_wait(*calls, code);
}

// ---------------------------------------------------------------------------------------------------------- tasks

// libgomp copies the data of a task, so the wrapper's data precede it. For a loop of tasks the first two words are the
// bounds, which libgomp writes.
struct task_header {
  long bounds[2];
  outlined function;
  void (*copy)(void*, void*);
  void* data;  // source of the copy
  std::size_t offset;
  unsigned timer;
  bool is_loop;
};

void run_task(void* given) {
  const task_header h = *static_cast<const task_header*>(given);
  void* data = static_cast<char*>(given) + h.offset;
  if (h.is_loop) std::memcpy(data, h.bounds, sizeof h.bounds);
  const gomp_table* calls = measuring();
  if (calls == nullptr) return h.function(data);
  const bool waited = waits_in_team;
  waits_in_team = false;
  calls->start(h.timer);
  h.function(data);
  calls->stop(h.timer);
  waits_in_team = waited;
}

void copy_task(void* to, void* from) {
  const auto& h = *static_cast<const task_header*>(from);
  std::memcpy(to, from, sizeof h);
  h.copy(static_cast<char*>(to) + h.offset, h.data);
}

/// `launch` calls the libgomp function with a function, its data, the function that copies them, size and alignment.
template <class Launch>
void task(const gomp_table& calls, outlined function, void* data, void (*copy)(void*, void*), long size, long align,
          bool is_loop, Launch&& launch) {
  const auto most = static_cast<std::size_t>(std::max<long>(align, alignof(task_header)));
  const std::size_t offset = (sizeof(task_header) + most - 1) / most * most;
  const std::size_t whole = offset + static_cast<std::size_t>(std::max<long>(size, 2 * sizeof(long)));
  auto address = reinterpret_cast<std::uintptr_t>(__builtin_alloca(whole + most));
  address = (address + most - 1) / most * most;
  auto* block = reinterpret_cast<char*>(address);
  const auto* code = reinterpret_cast<const char*>(function) + 1;
  const task_header h{{0, 0}, function, copy, data, offset, calls.timer("task", code), is_loop};
  std::memcpy(block, &h, sizeof h);
  if (copy == nullptr && size > 0) std::memcpy(block + offset, data, static_cast<std::size_t>(size));
  launch(&run_task, block, copy == nullptr ? nullptr : &copy_task, static_cast<long>(whole), static_cast<long>(most));
}

// ---------------------------------------------------------------------------------------------------------- waits

/// `wait` calls the libgomp function.
template <class Wait>
auto waiting(const char* kind, const void* object, const void* caller, double least_s, Wait&& wait) {
  const gomp_table* calls = measuring();
  struct scope {
    const gomp_table* calls;
    const char* kind;
    const void *object, *caller;
    double least_s;
    ~scope() {
      if (calls != nullptr) calls->end_wait(kind, object, caller, least_s);
    }
  };
  const scope s{calls != nullptr && calls->begin_wait() ? calls : nullptr, kind, object, caller, least_s};
  return wait();
}

constexpr double free_lock_s = 1e-6;  // shorter than a system call: the lock was free

}  // namespace

// The functions of libgomp's ABI. Older programs omit the last arguments of GOMP_task(), which libgomp reads only if a
// flag announces them.
#define PLX_PARALLEL_LOOPS(X)                \
  X(GOMP_parallel_loop_static)               \
  X(GOMP_parallel_loop_dynamic)              \
  X(GOMP_parallel_loop_guided)               \
  X(GOMP_parallel_loop_nonmonotonic_dynamic) \
  X(GOMP_parallel_loop_nonmonotonic_guided)
#define PLX_PARALLEL_RUNTIME_LOOPS(X)        \
  X(GOMP_parallel_loop_runtime)              \
  X(GOMP_parallel_loop_nonmonotonic_runtime) \
  X(GOMP_parallel_loop_maybe_nonmonotonic_runtime)
#define PLX_BARRIERS(X) \
  X(GOMP_barrier)       \
  X(GOMP_loop_end)      \
  X(GOMP_sections_end)
#define PLX_CANCELLABLE_BARRIERS(X) \
  X(GOMP_barrier_cancel)            \
  X(GOMP_loop_end_cancel)           \
  X(GOMP_sections_end_cancel)
#define PLX_LOCKS(X)   \
  X(omp_set_lock)      \
  X(omp_set_nest_lock) \
  X(GOMP_critical_name_start)

#define PLX_DECLARE_LOOP(name) void name(outlined, void*, unsigned, long, long, long, long, unsigned);
#define PLX_DECLARE_RUNTIME_LOOP(name) void name(outlined, void*, unsigned, long, long, long, unsigned);
#define PLX_DECLARE_BARRIER(name) void name();
#define PLX_DECLARE_CANCELLABLE(name) bool name();
#define PLX_DECLARE_LOCK(name) void name(void*);
extern "C" {
void GOMP_parallel(outlined, void*, unsigned, unsigned);
void GOMP_parallel_sections(outlined, void*, unsigned, unsigned, unsigned);
PLX_PARALLEL_LOOPS(PLX_DECLARE_LOOP)
PLX_PARALLEL_RUNTIME_LOOPS(PLX_DECLARE_RUNTIME_LOOP)
void GOMP_task(outlined, void*, void (*)(void*, void*), long, long, bool, unsigned, void**, int, void*);
void GOMP_taskloop(outlined, void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int, long, long, long);
void GOMP_taskloop_ull(outlined, void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int,
                       unsigned long long, unsigned long long, unsigned long long);
PLX_BARRIERS(PLX_DECLARE_BARRIER)
PLX_CANCELLABLE_BARRIERS(PLX_DECLARE_CANCELLABLE)
PLX_LOCKS(PLX_DECLARE_LOCK)
void GOMP_taskwait();
void GOMP_taskgroup_end();
void GOMP_critical_start();
void GOMP_atomic_start();
}

namespace {
PLX_REAL(GOMP_parallel)
PLX_REAL(GOMP_parallel_sections)
PLX_PARALLEL_LOOPS(PLX_REAL)
PLX_PARALLEL_RUNTIME_LOOPS(PLX_REAL)
PLX_REAL(GOMP_task)
PLX_REAL(GOMP_taskloop)
PLX_REAL(GOMP_taskloop_ull)
PLX_BARRIERS(PLX_REAL)
PLX_CANCELLABLE_BARRIERS(PLX_REAL)
PLX_LOCKS(PLX_REAL)
PLX_REAL(GOMP_taskwait)
PLX_REAL(GOMP_taskgroup_end)
PLX_REAL(GOMP_critical_start)
PLX_REAL(GOMP_atomic_start)
}  // namespace

PLX_HOOK void GOMP_parallel(outlined function, void* data, unsigned threads, unsigned flags) {
  parallel(function, data, [&](outlined f, void* d) { PLX_CALL(GOMP_parallel)(f, d, threads, flags); });
}
PLX_HOOK void GOMP_parallel_sections(outlined function, void* data, unsigned threads, unsigned n, unsigned flags) {
  parallel(function, data, [&](outlined f, void* d) { PLX_CALL(GOMP_parallel_sections)(f, d, threads, n, flags); });
}
#define PLX_HOOK_LOOP(name)                                                                                        \
  PLX_HOOK void name(outlined function, void* data, unsigned threads, long begin, long end, long step, long chunk, \
                     unsigned flags) {                                                                             \
    parallel(function, data, [&](outlined f, void* d) {                                                            \
      PLX_CALL(name)(f, d, threads, begin, end, step, chunk, flags);                                               \
    });                                                                                                            \
  }
PLX_PARALLEL_LOOPS(PLX_HOOK_LOOP)
#define PLX_HOOK_RUNTIME_LOOP(name)                                                                                 \
  PLX_HOOK void name(outlined function, void* data, unsigned threads, long begin, long end, long step,              \
                     unsigned flags) {                                                                              \
    parallel(function, data, [&](outlined f, void* d) { PLX_CALL(name)(f, d, threads, begin, end, step, flags); }); \
  }
PLX_PARALLEL_RUNTIME_LOOPS(PLX_HOOK_RUNTIME_LOOP)

// Flags of libgomp: a task whose first word is an event to be fulfilled, and a loop with a table of reductions in its
// data, are passed to libgomp without a wrapper.
PLX_HOOK void GOMP_task(outlined function, void* data, void (*copy)(void*, void*), long size, long align, bool deferred,
                        unsigned flags, void** depend, int priority, void* event) {
  constexpr unsigned has_event = 1 << 13;
  const gomp_table* calls = (flags & has_event) != 0 ? nullptr : measuring();
  if (calls == nullptr)
    return PLX_CALL(GOMP_task)(function, data, copy, size, align, deferred, flags, depend, priority, event);
  task(*calls, function, data, copy, size, align, false, [&](auto f, auto d, auto c, long s, long a) {
    PLX_CALL(GOMP_task)(f, d, c, s, a, deferred, flags, depend, priority, event);
  });
}
#define PLX_HOOK_TASKLOOP(name, number)                                                                                \
  PLX_HOOK void name(outlined function, void* data, void (*copy)(void*, void*), long size, long align, unsigned flags, \
                     unsigned long tasks, int priority, number begin, number end, number step) {                       \
    constexpr unsigned has_reductions = 1 << 12;                                                                       \
    const gomp_table* calls = (flags & has_reductions) != 0 ? nullptr : measuring();                                   \
    if (calls == nullptr)                                                                                              \
      return PLX_CALL(name)(function, data, copy, size, align, flags, tasks, priority, begin, end, step);              \
    task(*calls, function, data, copy, size, align, true, [&](auto f, auto d, auto c, long s, long a) {                \
      PLX_CALL(name)(f, d, c, s, a, flags, tasks, priority, begin, end, step);                                         \
    });                                                                                                                \
  }
PLX_HOOK_TASKLOOP(GOMP_taskloop, long)
PLX_HOOK_TASKLOOP(GOMP_taskloop_ull, unsigned long long)

#define PLX_HOOK_WAIT(result, name, kind, least_s)                                  \
  PLX_HOOK result name() {                                                          \
    const void* caller = __builtin_return_address(0);                               \
    return waiting(kind, caller, caller, least_s, [] { return PLX_CALL(name)(); }); \
  }
#define PLX_HOOK_BARRIER(name) PLX_HOOK_WAIT(void, name, "omp_barrier", 0)
#define PLX_HOOK_CANCELLABLE(name) PLX_HOOK_WAIT(bool, name, "omp_barrier", 0)
PLX_BARRIERS(PLX_HOOK_BARRIER)
PLX_CANCELLABLE_BARRIERS(PLX_HOOK_CANCELLABLE)
PLX_HOOK_WAIT(void, GOMP_taskwait, "omp_taskwait", 0)
PLX_HOOK_WAIT(void, GOMP_taskgroup_end, "omp_taskgroup", 0)
PLX_HOOK_WAIT(void, GOMP_critical_start, "omp_lock", free_lock_s)
PLX_HOOK_WAIT(void, GOMP_atomic_start, "omp_lock", free_lock_s)
#define PLX_HOOK_LOCK(name)                                                        \
  PLX_HOOK void name(void* lock) {                                                 \
    const void* caller = __builtin_return_address(0);                              \
    waiting("omp_lock", lock, caller, free_lock_s, [&] { PLX_CALL(name)(lock); }); \
  }
PLX_LOCKS(PLX_HOOK_LOCK)
