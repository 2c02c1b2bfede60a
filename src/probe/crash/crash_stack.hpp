// The call stack of a thread that crashed, written in a signal handler: functions by name, with their files.
//
// Names come from the symbol tables of the loaded files, which are read from disk in small pieces. They are shortened
// here, because the demangler of the C++ runtime allocates memory: "star::step<...>" of "_ZN4star4stepIiEEvd".
// Thread safety: none; all functions are async-signal-safe. Cost: some milliseconds per frame and 10 MB of symbols.
// Example: probe/crash/test/crash_stack_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "probe/crash/flight_dump.hpp"
#include "probe/sample/stack_walk.hpp"

namespace plx::probe {

/// Writes the function of a mangled name without its parameters and template arguments; names that it cannot read are
/// written as they are. A lambda is "f()::{lambda}".
void write_function(signal_text& out, std::string_view mangled) noexcept;

/// The frames of an interrupted thread, innermost first.
class crash_stack {
 public:
  static constexpr std::size_t most_frames = 32;

  /// Finds the frames; `context` as for walk_stack(). Null: no frames.
  void walk(const void* context, stack_bounds stack) noexcept;
  /// In frames.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// False if callers are missing, because there are more than `most_frames` or no table describes one.
  [[nodiscard]] bool whole() const noexcept { return whole_; }

  /// True if two frames are at the same place of the code.
  [[nodiscard]] bool same(std::size_t i, std::size_t j) const noexcept { return frames_[i] == frames_[j]; }
  /// Writes frame i as "/path/of/file+0x1234", with the offset that addr2line expects; of a caller, it is within the
  /// call. Reads no file.
  void write_place(signal_text& out, std::size_t i) const noexcept;
  /// Writes frame i as "function (file+0x1234)", or "(file+0x1234)" without a symbol.
  void write(signal_text& out, std::size_t i) const noexcept;

 private:
  /// A return address belongs to the call before it.
  [[nodiscard]] std::uintptr_t address(std::size_t i) const noexcept { return frames_[i] - (i == 0 ? 0 : 1); }

  std::uintptr_t frames_[most_frames] = {};
  std::size_t size_ = 0;
  bool whole_ = false;
};

}  // namespace plx::probe
