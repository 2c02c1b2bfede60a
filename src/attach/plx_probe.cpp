// The functions of plx_probe.h. A program linked with them may be started by plx-exec, whose library also has them:
// then this copy forwards every call, so that there is one measurement.
#include "attach/plx_probe.h"

#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "attach/core/program.hpp"
#include "attach/preload/call_tables.hpp"
#include "base/log.hpp"
#include "probe/counters/counter_name.hpp"

using namespace plx;
using namespace plx::probe;

struct plx_probe_counter {
  std::string name, unit, help;
  std::atomic<double> value{0};
  registration kept;  // while measuring
};

namespace {

thread_local char last_error[256] = "";

void say(const std::string& message) { std::snprintf(last_error, sizeof last_error, "%s", message.c_str()); }

// -------------------------------------------------------------------------------------------------------- own counters

struct own_counters {
  std::mutex mutex;
  std::deque<plx_probe_counter> all;  // elements are never moved or removed
  std::map<int, registration> pulled;
  int last_number = 0;
};
own_counters& counters_of_the_program() {
  static auto* c = new own_counters;
  return *c;
}

bool well_formed(const char* name) {
  if (name != nullptr && counter_name::parse(name) && std::string_view(name).find('*') == std::string_view::npos)
    return true;
  say(std::string("'") + (name == nullptr ? "" : name) +
      "' is not a counter name: expected /object/name, as in /mesh/blocks");
  return false;
}

bool taken(const counter_registry& r, const std::string& name) {
  for (const counter_info& i : r.list(name))
    if (i.name == name) return true;
  return false;
}

/// Requires: mutex of own_counters.
void register_now(plx_probe_counter& c) {
  program* p = program::get();
  if (p == nullptr || taken(p->counters(), c.name)) return;
  c.kept = p->counters().add({c.name, c.unit, c.help}, [&c] { return c.value.load(std::memory_order_relaxed); });
}

plx_probe_counter* counter_named(const char* name, const char* unit, const char* help) {
  if (!well_formed(name)) return nullptr;
  const inside_scope inside;
  own_counters& own = counters_of_the_program();
  const std::lock_guard lock(own.mutex);
  for (plx_probe_counter& c : own.all)
    if (c.name == name) return &c;
  plx_probe_counter& c = own.all.emplace_back();
  c.name = name;
  c.unit = unit == nullptr ? "1" : unit;
  c.help = help == nullptr ? "" : help;
  register_now(c);
  return &c;
}

void count(plx_probe_counter* c, double n) {
  if (c == nullptr) return;
  double seen = c->value.load(std::memory_order_relaxed);
  while (!c->value.compare_exchange_weak(seen, seen + n, std::memory_order_relaxed)) {
  }
}

int add_counter(const char* name, const char* unit, const char* help, double (*pull)(void*), void* context) {
  if (!well_formed(name)) return 0;
  const inside_scope inside;
  program* p = program::get();
  if (p == nullptr || pull == nullptr) return say("measurement is off, so no counter can be added"), 0;
  own_counters& own = counters_of_the_program();
  const std::lock_guard lock(own.mutex);
  if (taken(p->counters(), name)) return say(std::string("a counter '") + name + "' already exists"), 0;
  own.pulled[++own.last_number] =
      p->counters().add({name, unit == nullptr ? "1" : unit, help == nullptr ? "" : help}, [pull, context] {
        const struct outside_scope {  // the program's own code, whose locks are measured; it may throw
          outside_scope() noexcept { --this_slot.inside; }
          ~outside_scope() { ++this_slot.inside; }
        } outside;
        return pull(context);
      });
  return own.last_number;
}

void remove_counter(int number) {
  const inside_scope inside;
  own_counters& own = counters_of_the_program();
  registration gone;
  const std::lock_guard lock(own.mutex);
  if (const auto it = own.pulled.find(number); it != own.pulled.end()) {
    gone = std::move(it->second);
    own.pulled.erase(it);
  }
}

// ----------------------------------------------------------------------------------------------------- the measurement

int begin_with(result<settings> s) {
  if (program::begun()) return program::measures() ? 1 : 0;
  if (!s) {
    say(s.error().message);
    log_error("{}", s.error().message);
    return 0;
  }
  if (!s->any()) return say("no measurement is requested: set PLX_PROFILE=1 or another option of docs/probe.md"), 0;
  if (auto done = program::begin(*std::move(s), {}); !done) return say(done.error().message), 0;
  own_counters& own = counters_of_the_program();
  const inside_scope inside;
  const std::lock_guard lock(own.mutex);
  for (plx_probe_counter& c : own.all) register_now(c);
  std::atexit([] { program::get()->finish(); });
  return 1;
}

int init() {
  const inside_scope inside;
  return begin_with(settings_from_environment());
}

int init_arguments(int* argc, char** argv) {
  const inside_scope inside;
  return begin_with(settings_from_arguments(*argc, argv));
}

void finalize() {
  if (program* p = program::get(); p != nullptr && p->ends_on_request()) p->finish();
}

int write_files() {
  program* p = program::get();
  if (p == nullptr || !program::measures()) return say("measurement is off"), 0;
  if (auto done = p->write_now(); !done) return say(done.error().message), 0;
  return 1;
}

int measuring() { return program::measures() && program::begun() ? 1 : 0; }
const char* error_text() { return last_error; }

// -------------------------------------------------------------------------------------------------------------- timers

plx_probe_timer timer_named(const char* name) {
  const inside_scope inside;
  return register_name(name == nullptr ? "" : name);
}
void start_on(plx_probe_timer t, uint64_t key) {
  program::event([&](thread_row& row, ticks now) { return row.start(t, key, now), true; });
}
void start(plx_probe_timer t) { start_on(t, no_key); }
void stop(plx_probe_timer t) {
  program::event([&](thread_row& row, ticks now) { return row.stop(t, now); });
}
plx_probe_paused yield() {
  plx_probe_paused out{};
  program::event([&](thread_row& row, ticks now) {
    paused_timer t;
    if (!row.yield(t, now)) return false;
    out = {.key = t.key, .begin = t.begin, .earlier = t.earlier, .away = t.away, .timer = t.name, .valid = 1};
    return true;
  });
  return out;
}
void resume(plx_probe_paused t) {
  if (t.valid == 0) return;
  program::event([&](thread_row& row, ticks now) {
    row.resume({.name = t.timer, .key = t.key, .begin = t.begin, .earlier = t.earlier, .away = t.away}, now);
    return true;
  });
}

void sample(const char* name, double value) {
  if (name != nullptr && program::measures()) program::get()->sample(name, value);
}
void mark(const char* text) {
  if (text == nullptr || !program::measures()) return;
  const inside_scope inside;
  program::get()->rec().mark("mark", text);
}
void name_this_thread(const char* name) {
  if (name != nullptr && program::measures()) program::get()->name_thread(name);
}
void name_that_object(const void* object, const char* name) {
  if (name == nullptr) return;
  const inside_scope inside;
  name_object(object, name);
}

constexpr call_table own_calls{call_table::current,
                               &init,
                               &init_arguments,
                               &finalize,
                               &measuring,
                               &write_files,
                               &error_text,
                               &timer_named,
                               &start,
                               &start_on,
                               &stop,
                               &yield,
                               &resume,
                               &sample,
                               &mark,
                               &counter_named,
                               &count,
                               &add_counter,
                               &remove_counter,
                               &name_this_thread,
                               &name_that_object};

std::atomic<const call_table*> chosen{nullptr};

[[gnu::cold, gnu::noinline]] const call_table& choose() {
  const call_table* table = &own_calls;
  if (auto* preloaded = reinterpret_cast<const call_table* (*)()>(dlsym(RTLD_DEFAULT, "plx_probe_preloaded_calls")))
    if (const call_table* theirs = preloaded(); theirs != nullptr && theirs->version == call_table::current)
      table = theirs;
  chosen.store(table, std::memory_order_release);
  return *table;
}

const call_table& calls() {
  const call_table* table = chosen.load(std::memory_order_acquire);
  return table != nullptr ? *table : choose();
}

}  // namespace

const call_table* plx::probe::own_call_table() noexcept { return &own_calls; }

extern "C" {
int plx_probe_init(void) { return calls().init(); }
int plx_probe_init_arguments(int* argc, char** argv) { return calls().init_arguments(argc, argv); }
void plx_probe_finalize(void) { calls().finalize(); }
int plx_probe_measuring(void) { return calls().measuring(); }
int plx_probe_write(void) { return calls().write(); }
const char* plx_probe_error(void) { return calls().error(); }
plx_probe_timer plx_probe_timer_named(const char* name) { return calls().timer_named(name); }
void plx_probe_start(plx_probe_timer t) { calls().start(t); }
void plx_probe_start_on(plx_probe_timer t, uint64_t key) { calls().start_on(t, key); }
void plx_probe_stop(plx_probe_timer t) { calls().stop(t); }
plx_probe_paused plx_probe_yield(void) { return calls().yield(); }
void plx_probe_resume(plx_probe_paused t) { calls().resume(t); }
void plx_probe_sample(const char* name, double value) { calls().sample(name, value); }
void plx_probe_mark(const char* text) { calls().mark(text); }
plx_probe_counter* plx_probe_counter_named(const char* name, const char* unit, const char* help) {
  return calls().counter_named(name, unit, help);
}
void plx_probe_count(plx_probe_counter* c, double n) { calls().count(c, n); }
int plx_probe_add_counter(const char* name, const char* unit, const char* help, double (*pull)(void*), void* context) {
  return calls().add_counter(name, unit, help, pull, context);
}
void plx_probe_remove_counter(int number) { calls().remove_counter(number); }
void plx_probe_name_thread(const char* name) { calls().name_thread(name); }
void plx_probe_name_object(const void* object, const char* name) { calls().name_object(object, name); }
}
