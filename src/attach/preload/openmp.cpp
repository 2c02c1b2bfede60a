// OpenMP's tool interface (OMPT, OpenMP 5.0 section 4): parallel regions and worksharing are timers named after the
// enclosing function; waiting at barriers and for locks is recorded as waits. LLVM's libomp and the runtimes of Intel
// and AMD based on it have the interface; GCC's libgomp does not, and is measured by gomp.cpp.
//
// Thread safety: each callback is called by the thread it concerns. Cost: two reads of the clock per region, wait or
// loop and thread. The declarations below are those parts of the standard that are used here.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <string>

#include "attach/core/program.hpp"
#include "attach/preload/call_tables.hpp"
#include "attach/preload/real.hpp"
#include "base/symbols.hpp"

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
  nest_lock = 28,
};
enum endpoint : int { scope_begin = 1, scope_end = 2 };

/// The function that contains an address; for outlined functions, the enclosing one.
std::string function_around(const void* code, name_id region) {
  const std::string name = code == nullptr ? std::string() : plx::function_name(static_cast<const char*>(code) - 1);
  if (const std::size_t suffix = name.find("._omp_fn."); suffix != std::string::npos) {  // GCC's
    const std::size_t clone = name.rfind(" [clone", suffix);
    return readable_name(name.substr(0, std::min(clone, suffix)));
  }
  if (!name.starts_with(".omp_")) return readable_name(name);
  const std::string_view parallel = name_of(region);  // "omp parallel in f"
  const std::size_t at = parallel.find(" in ");
  return at == parallel.npos ? std::string() : std::string(parallel.substr(at + 4));
}

/// A timer named after the code that contains it: "omp for in f". Cached by address.
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
  if (k.code.load(std::memory_order_relaxed) == nullptr) {  // the first entry is kept
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

// The data of a task: for an implicit task its timer, without flags; for a tied explicit task its timer and flags; for
// an untied one, which may resume on another thread, a pointer to the following struct, with the flag is_untied.
constexpr std::uint64_t is_tied = 1, is_untied = 2, has_begun = 4;
constexpr unsigned name_shift = 32;

struct untied_task {
  name_id name;
  bool begun = false, away = false;
  paused_timer paused{};
};

untied_task* untied_in(std::uint64_t value) {
  if ((value & (is_tied | is_untied)) != is_untied) return nullptr;
  return reinterpret_cast<untied_task*>(static_cast<std::uintptr_t>(value & ~is_untied));
}
name_id name_in(std::uint64_t value) {
  const untied_task* t = untied_in(value);
  return t != nullptr ? t->name : static_cast<name_id>(value >> name_shift);
}

/// The task stops running on this thread. A task that waits for another one stays on the thread's stack, and the other
/// one runs on top of it; so does every tied task.
void leave(ompt_data& task, bool ends) {
  if (untied_task* t = untied_in(task.value)) {
    if (ends) {
      if (t->begun) stop(t->name);
      const inside_scope inside;
      delete t;
      task.value = 0;
    } else {
      program::event([&](thread_row& row, plx::ticks now) { return t->away = row.yield(t->paused, now); });
    }
  } else if (ends && (task.value & is_tied) != 0 && (task.value & has_begun) != 0) {
    stop(name_in(task.value));
  }
}

/// The task starts or resumes on this thread.
void enter(ompt_data& task) {
  if (untied_task* t = untied_in(task.value)) {
    if (!t->begun)
      start(t->name);
    else if (t->away)
      program::event([&](thread_row& row, plx::ticks now) { return row.resume(t->paused, now), true; });
    t->begun = true;
    t->away = false;
  } else if ((task.value & is_tied) != 0 && (task.value & has_begun) == 0) {
    task.value |= has_begun;
    start(name_in(task.value));
  }
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
    const std::uint64_t name =
        parallel != nullptr && parallel->value != 0 ? parallel->value : timer_of("parallel", 0, nullptr);
    task->value = name << name_shift;
    start(name_in(task->value));
  } else if (task != nullptr && task->value != 0) {
    stop(name_in(task->value));
  }
}

void on_work(int type, int endpoint, ompt_data* parallel, ompt_data*, std::uint64_t, const void* code) {
  constexpr std::array names{"work", "for", "sections", "single", "single", "workshare", "distribute", "taskloop"};
  if (type == 4) return;  // threads that do not execute a single region
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
      program::record_wait(row, kind_of_region(kind), code, code, nullptr, row.end_wait(now));
      return true;
    });
  }
}

/// omp_test_lock() does not wait, and reports no end if the lock is taken.
bool is_test(int kind) { return kind == 2 || kind == 4; }

void on_mutex_acquire(int kind, unsigned, unsigned, std::uint64_t, const void*) {
  if (!is_test(kind)) program::event([](thread_row& row, plx::ticks now) { return row.begin_wait(now); });
}
void end_of_lock_wait(std::uint64_t lock) {
  program::event([&](thread_row& row, plx::ticks now) {
    if (!row.waits()) return false;
    const plx::ticks waited = row.end_wait(now);
    // Free locks are reported too: an acquisition shorter than a system call was not a wait.
    static const plx::ticks least = plx::ticks_from(1e-6);
    const auto* object = reinterpret_cast<const void*>(lock);
    if (waited >= least) program::record_wait(row, "omp_lock", object, nullptr, nullptr, waited);
    return true;
  });
}
void on_mutex_acquired(int kind, std::uint64_t lock, const void*) {
  if (!is_test(kind)) end_of_lock_wait(lock);
}
/// A nested lock already held by this thread; only the first acquisition is reported as acquired.
void on_nest_lock(int endpoint, std::uint64_t lock, const void*) {
  if (endpoint == scope_begin) end_of_lock_wait(lock);
}

void on_task_create(ompt_data* creator, const void*, ompt_data* task, int flags, int, const void* code) {
  constexpr int explicit_task = 4, may_move = 0x10000000;
  if ((flags & explicit_task) == 0) return;
  const name_id name = timer_of("task", 7, code, creator == nullptr ? unnamed : name_in(creator->value));
  if ((flags & may_move) == 0) {
    task->value = std::uint64_t{name} << name_shift | is_tied;
    return;
  }
  const inside_scope inside;
  auto* t = new (std::nothrow) untied_task{name};
  task->value = t == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(t) | is_untied;
}

void on_task_schedule(ompt_data* prior, int status, ompt_data* next) {
  constexpr int complete = 1, cancel = 3, detach = 4, early_fulfill = 5, late_fulfill = 6;
  if (status == early_fulfill || status == late_fulfill) return;  // of an event: no task starts or ends on this thread
  if (prior != nullptr) leave(*prior, status == complete || status == cancel || status == detach);
  if (next != nullptr) enter(*next);
}

std::atomic<bool> has_own_tool_interface{
    false};  // then libgomp's functions belong to another runtime, which reports its own events

int initialize(ompt_lookup lookup, int, ompt_data*) {
  has_own_tool_interface = true;
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
  on(nest_lock, &on_nest_lock);
  on(task_create, &on_task_create);
  on(task_schedule, &on_task_schedule);
  return 1;
}

void finalize(ompt_data*) {}

const gomp_table calls_of_gomp{
    .version = gomp_table::current,
    .measures = [] { return program::measures() && program::begun() && !has_own_tool_interface.load(); },
    .timer = [](const char* what, const void* code) { return timer_of(what, *what == 't' ? 7 : 0, code); },
    .start = [](unsigned timer) { start(timer); },
    .stop = [](unsigned timer) { stop(timer); },
    .begin_wait = [] { return program::event([](thread_row& row, plx::ticks now) { return row.begin_wait(now); }); },
    .end_wait =
        [](const char* kind, const void* object, const void* caller, double least_s) {
          program::event([&](thread_row& row, plx::ticks now) {
            if (!row.waits()) return false;
            const plx::ticks waited = row.end_wait(now);
            if (waited >= plx::ticks_from(least_s)) program::record_wait(row, kind, object, caller, nullptr, waited);
            return true;
          });
        }};

}  // namespace

PLX_HOOK const gomp_table* plx_exec_gomp_calls() { return program::begun() ? &calls_of_gomp : nullptr; }

// The OpenMP runtime looks this function up when it starts.
PLX_HOOK void* ompt_start_tool(unsigned /*version*/, const char* /*runtime*/) {
  static ompt_result result{&initialize, &finalize, {0}};
  return program::begun() && program::measures() ? &result : nullptr;
}
