// Timers for any C++ program, with or without the runtime: RAII wrappers of plx_probe.h.
//
//   static const plx::probe::timer solve("solve");   // once per call site; or just PLX_ZONE("solve");
//   const plx::probe::zone here(solve);              // until the end of the block
//
// Thread safety: a zone belongs to its thread. Cost: that of plx_probe.h. Example: tests/exec/any_program_test.cpp
#pragma once

#include <cstdint>

#include "attach/plx_probe.h"

namespace plx::probe {

/// A named timer.
class timer {
 public:
  explicit timer(const char* name) noexcept : id_(plx_probe_timer_named(name)) {}
  /// The name's id.
  [[nodiscard]] plx_probe_timer id() const noexcept { return id_; }

 private:
  plx_probe_timer id_;
};

/// Runs from its construction to the end of the block, also if an exception leaves it.
class [[nodiscard]] zone {
 public:
  explicit zone(const timer& t) noexcept : id_(t.id()) { plx_probe_start(id_); }
  /// Also records the object `key`.
  zone(const timer& t, std::uint64_t key) noexcept : id_(t.id()) { plx_probe_start_on(id_, key); }
  ~zone() { plx_probe_stop(id_); }
  zone(const zone&) = delete;
  zone& operator=(const zone&) = delete;

 private:
  plx_probe_timer id_;
};

}  // namespace plx::probe

#define PLX_DETAIL_JOIN_AGAIN(a, b) a##b
#define PLX_DETAIL_JOIN(a, b) PLX_DETAIL_JOIN_AGAIN(a, b)
/// Times the rest of the block under a constant name.
#define PLX_ZONE(name)                                                          \
  static const ::plx::probe::timer PLX_DETAIL_JOIN(plx_timer_, __LINE__)(name); \
  const ::plx::probe::zone PLX_DETAIL_JOIN(plx_zone_, __LINE__)(PLX_DETAIL_JOIN(plx_timer_, __LINE__))
