// OpenMP as its own runtime tells it (OMPT, OpenMP 5.0 section 4): parallel regions and worksharing as timers by the
// function they stand in, waiting at barriers and for locks as waits. LLVM's libomp, and the runtimes of Intel and AMD
// that are made of it, have the interface; GCC's libgomp has not, and its threads are measured as threads alone.
//
// Thread safety: each callback is called by the thread that it is about. Cost: two reads of the clock per region, wait
// or loop and thread. The declarations below are those of the standard that are used here.
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/symbols.hpp"
#include "probe/preload/program.hpp"
#include "probe/preload/real.hpp"

using namespace plx::probe;

namespace {

union ompt_data {
  std::uint64_t value;
  void* ptr;
};
using ompt_interface_fn = void (*)();
using ompt_lookup = ompt_interface_fn (*)(const char*);
struct ompt_result {
  int (*initialize)(ompt_lookup, int, ompt_data*);
  void (*finalize)(ompt_data*);
  ompt_data tool_data;
};
enum event : int {
  parallel_begin = 3,
  parallel_end = 4,
  task_create = 5,
  task_schedule = 6,
  implicit_task = 7,
  sync_region_wait = 16,
  work = 20,
  mutex_acquire = 26,
  mutex_acquired = 27,
};
enum endpoint : int { scope_begin = 1, scope_end = 2 };

/// The function that an address stands in; of the functions that the compiler makes of regions, the one around.
std::string function_around(const void* code, name_id region) {
  const std::string name = code == nullptr ? std::string() : plx::function_name(static_cast<const char*>(code) - 1);
  if (!name.starts_with(".omp_")) return readable_name(name);
  const std::string_view parallel = name_of(region);  // "omp parallel in f"
  const std::size_t at = parallel.find(" in ");
  return at == parallel.npos ? std::string() : std::string(parallel.substr(at + 4));
}

/// A timer by the code that it stands in: "omp for in f". Kept per address: names are looked up once.
name_id timer_of(const char* what, unsigned index, const void* code, name_id region = unnamed) {
  struct known {
    std::atomic<const void*> code{nullptr};
    std::atomic<name_id> id{unnamed};
  };
  constexpr unsigned places = 512, kinds = 8;
  static std::array<std::array<known, places>, kinds> all;
  known& k = all[index % kinds][(reinterpret_cast<std::uintptr_t>(code) >> 2) % places];
  if (k.code.load(std::memory_order_acquire) == code)  // pairs with the release below
    if (const name_id id = k.id.load(std::memory_order_relaxed); id != unnamed && code != nullptr) return id;
  const inside_scope inside;
  const std::string function = function_around(code, region);
  const name_id id = register_name(std::string("omp ") + what + (function.empty() ? "" : " in " + function));
  if (k.code.load(std::memory_order_relaxed) == nullptr) {  // the first stays
    k.id.store(id, std::memory_order_relaxed);
    k.code.store(code, std::memory_order_release);
  }
  return id;
}

void start(name_id id) {
  program::event([&](thread_row& row, plx::ticks now) { return row.start(id, no_key, now), true; });
}
void stop(name_id id) {
  program::event([&](thread_row& row, plx::ticks now) { return row.stop(id, now); });
}

const char* kind_of_region(int kind) {
  if (kind == 5) return "omp_taskwait";
  if (kind == 6) return "omp_taskgroup";
  return "omp_barrier";
}

// ----------------------------------------------------------------------------------------------------------- callbacks

void on_parallel_begin(ompt_data*, const void*, ompt_data* parallel, unsigned, int, const void* code) {
  parallel->value = timer_of("parallel", 0, code);
}
void on_parallel_end(ompt_data*, ompt_data*, int, const void*) {}

void on_implicit_task(int endpoint, ompt_data* parallel, ompt_data* task, unsigned, unsigned, int flags) {
  constexpr int initial_task = 1;
  if ((flags & initial_task) != 0) return;
  if (endpoint == scope_begin) {
    task->value = parallel != nullptr && parallel->value != 0 ? parallel->value : timer_of("parallel", 0, nullptr);
    start(static_cast<name_id>(task->value));
  } else if (task != nullptr && task->value != 0) {
    stop(static_cast<name_id>(task->value));
  }
}

void on_work(int type, int endpoint, ompt_data* parallel, ompt_data*, std::uint64_t, const void* code) {
  constexpr std::array names{"work", "for", "sections", "single", "single", "workshare", "distribute", "taskloop"};
  if (type == 4) return;  // the threads that leave a single region to another
  const unsigned index = type >= 10 ? 1 : static_cast<unsigned>(type) < names.size() ? static_cast<unsigned>(type) : 0;
  const name_id id = timer_of(names[index], 1 + index % 6, code,
                              parallel == nullptr ? unnamed : static_cast<name_id>(parallel->value));
  if (endpoint == scope_begin) start(id);
  if (endpoint == scope_end) stop(id);
}

void on_sync_wait(int kind, int endpoint, ompt_data*, ompt_data*, const void* code) {
  if (endpoint == scope_begin) {
    program::event([](thread_row& row, plx::ticks now) { return row.begin_wait(now); });
  } else if (endpoint == scope_end) {
    program::event([&](thread_row& row, plx::ticks now) {
      if (!row.waits()) return false;
      program::book_wait(row, kind_of_region(kind), code, row.end_wait(now));
      return true;
    });
  }
}

void on_mutex_acquire(int, unsigned, unsigned, std::uint64_t, const void*) {
  program::event([](thread_row& row, plx::ticks now) { return row.begin_wait(now); });
}
void on_mutex_acquired(int, std::uint64_t lock, const void*) {
  program::event([&](thread_row& row, plx::ticks now) {
    if (!row.waits()) return false;
    const plx::ticks waited = row.end_wait(now);
    // Told of free locks as well: what took less than a call of the kernel was none.
    static const plx::ticks least = plx::ticks_from(1e-6);
    if (waited >= least) program::book_wait(row, "omp_lock", reinterpret_cast<const void*>(lock), waited);
    return true;
  });
}

// Explicit tasks: the data of a task is its timer.
void on_task_create(ompt_data*, const void*, ompt_data* task, int flags, int, const void* code) {
  constexpr int explicit_task = 4;
  if ((flags & explicit_task) != 0) task->value = std::uint64_t{1} << 32 | timer_of("task", 7, code);
}
void on_task_schedule(ompt_data* prior, int status, ompt_data* next) {
  constexpr std::uint64_t is_task = std::uint64_t{1} << 32;
  (void)status;
  if (prior != nullptr && (prior->value & is_task) != 0) stop(static_cast<name_id>(prior->value));
  if (next != nullptr && (next->value & is_task) != 0) start(static_cast<name_id>(next->value));
}

int initialize(ompt_lookup lookup, int, ompt_data*) {
  using set_callback = int (*)(int, ompt_interface_fn);
  auto set = reinterpret_cast<set_callback>(lookup("ompt_set_callback"));
  if (set == nullptr) return 0;
  const auto on = [&](event e, auto* function) { set(e, reinterpret_cast<ompt_interface_fn>(function)); };
  on(parallel_begin, &on_parallel_begin);
  on(parallel_end, &on_parallel_end);
  on(implicit_task, &on_implicit_task);
  on(work, &on_work);
  on(sync_region_wait, &on_sync_wait);
  on(mutex_acquire, &on_mutex_acquire);
  on(mutex_acquired, &on_mutex_acquired);
  on(task_create, &on_task_create);
  on(task_schedule, &on_task_schedule);
  return 1;
}

void finalize(ompt_data*) {}

}  // namespace

// The OpenMP runtime looks for this function when it starts.
PLX_HOOK void* ompt_start_tool(unsigned /*version*/, const char* /*runtime*/) {
  static ompt_result result{&initialize, &finalize, {0}};
  return program::begun() && program::measures() ? &result : nullptr;
}
