// Kokkos' profiling interface for tools (version 20171029 and newer): kernels and regions are timers with their names;
// copies are counted with their bytes, and memory by space. plx-exec names this library in KOKKOS_TOOLS_LIBS; if a user
// sets that variable without plx-exec, PLX_PROFILE and the other variables select the measurements.
//
// Thread safety: as for Kokkos' calls; kernels and regions begin and end in one thread. The timer of an asynchronous
// kernel (on a device) covers only its launch.
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "attach/core/program.hpp"
#include "attach/plx_probe.h"
#include "attach/preload/real.hpp"

using namespace plx::probe;

namespace {

struct space {  // Kokkos passes it by value
  char name[64];
};

struct memory {
  plx_probe_counter* now;
  plx_probe_counter* allocations;
};

/// A part of a counter name: letters and digits.
std::string plain(const char* name) {
  std::string text;
  for (const char* c = name; *c != '\0' && c < name + 64; ++c)
    if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9')) text += *c;
  return text.empty() ? "other" : text;
}

memory& memory_of(const space& s) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<std::string, memory>;
  const inside_scope inside;
  const std::string name = plain(s.name);
  const std::lock_guard lock(mutex);
  const auto [it, fresh] = all.try_emplace(name);
  if (fresh) {
    it->second.now =
        plx_probe_counter_named(("/kokkos/memory/" + name).c_str(), "bytes", "Currently allocated by Kokkos");
    it->second.allocations =
        plx_probe_counter_named(("/kokkos/allocations/" + name).c_str(), "1", "Allocations of Kokkos");
  }
  return it->second;
}

void begin(const char* name, std::uint64_t* id) {
  *id = plx_probe_timer_named(name);
  plx_probe_start(static_cast<plx_probe_timer>(*id));
}
void end(std::uint64_t id) { plx_probe_stop(static_cast<plx_probe_timer>(id)); }

thread_local std::uint64_t copy = 0;

}  // namespace

PLX_HOOK void kokkosp_init_library(int /*sequence*/, std::uint64_t /*version*/, std::uint32_t /*devices*/, void*) {
  plx_probe_init();
}
PLX_HOOK void kokkosp_finalize_library() { plx_probe_finalize(); }

PLX_HOOK void kokkosp_begin_parallel_for(const char* name, std::uint32_t, std::uint64_t* id) { begin(name, id); }
PLX_HOOK void kokkosp_end_parallel_for(std::uint64_t id) { end(id); }
PLX_HOOK void kokkosp_begin_parallel_reduce(const char* name, std::uint32_t, std::uint64_t* id) { begin(name, id); }
PLX_HOOK void kokkosp_end_parallel_reduce(std::uint64_t id) { end(id); }
PLX_HOOK void kokkosp_begin_parallel_scan(const char* name, std::uint32_t, std::uint64_t* id) { begin(name, id); }
PLX_HOOK void kokkosp_end_parallel_scan(std::uint64_t id) { end(id); }
PLX_HOOK void kokkosp_begin_fence(const char* name, std::uint32_t, std::uint64_t* id) { begin(name, id); }
PLX_HOOK void kokkosp_end_fence(std::uint64_t id) { end(id); }

namespace {
thread_local std::uint64_t regions[64];
thread_local unsigned depth = 0;
}  // namespace
PLX_HOOK void kokkosp_push_profile_region(const char* name) {
  std::uint64_t id = 0;
  begin(name, &id);
  if (depth < 64) regions[depth] = id;
  ++depth;
}
PLX_HOOK void kokkosp_pop_profile_region() {
  if (depth == 0) return;
  --depth;
  if (depth < 64) end(regions[depth]);
}

PLX_HOOK void kokkosp_allocate_data(space s, const char* /*label*/, const void*, std::uint64_t bytes) {
  const memory& m = memory_of(s);
  plx_probe_count(m.now, static_cast<double>(bytes));
  plx_probe_count(m.allocations, 1);
}
PLX_HOOK void kokkosp_deallocate_data(space s, const char* /*label*/, const void*, std::uint64_t bytes) {
  plx_probe_count(memory_of(s).now, -static_cast<double>(bytes));
}

PLX_HOOK void kokkosp_begin_deep_copy(space to, const char*, const void*, space from, const char*, const void*,
                                      std::uint64_t bytes) {
  static plx_probe_counter* copied =
      plx_probe_counter_named("/kokkos/deep-copy/bytes", "bytes", "Copied by Kokkos' deep_copy");
  plx_probe_count(copied, static_cast<double>(bytes));
  const inside_scope inside;  // for the text below
  const std::string name = "deep_copy " + plain(from.name) + " to " + plain(to.name);
  --this_slot.inside;
  begin(name.c_str(), &copy);
  ++this_slot.inside;
}
PLX_HOOK void kokkosp_end_deep_copy() { end(copy); }

PLX_HOOK void kokkosp_profile_event(const char* name) { plx_probe_mark(name); }
