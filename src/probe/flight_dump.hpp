// The flight recorder's file: the last pieces of tasks of every worker and what each does now, as Trace Event JSON that
// opens in Perfetto, written in the midst of a crash.
//
// Thread safety: everything. write() is async-signal-safe: no heap, no lock, no stdio; a fixed buffer, and open, write,
// rename. Cost: nothing until it is written. One file at a time is written: another thread waits for it, up to 5 s.
// While a file is written, its thread takes no signals but faults: a request is served afterwards, and a fault in the
// midst of it ends at once, without another file. Example: probe/flight_dump_test.cpp; the signals:
// probe/flight_signals.hpp
#pragma once

#include <cstdint>
#include <string_view>

#include "base/clock.hpp"
#include "probe/names.hpp"

namespace plx::probe {

class recorder;

/// What a worker does at this moment.
struct flight_now {
  bool busy = false;  // in a task
  name_id name = unnamed;
  std::uint64_t key = no_key;
  ticks since = 0;  // when this piece of the task began
};

/// Whose workers are told. All functions are async-signal-safe.
struct flight_source {
  const recorder* rec = nullptr;
  void* context = nullptr;
  /// What worker `i` does; it may run meanwhile.
  flight_now (*now)(void* context, unsigned i) noexcept = nullptr;
  /// Which worker the caller is, or -1.
  int (*here)(void* context) noexcept = nullptr;
  const char* folder = "plx-run";  // made when the first file is written
  double seconds = 10;             // how far back it goes
};

/// While one lives, its workers are in the file. At most 16 at a time; further ones are not told.
class flight_registration {
 public:
  flight_registration() = default;
  /// Copies `s`, but not its folder's text, which must outlive this.
  explicit flight_registration(const flight_source& s);
  /// Waits for a file that is being written.
  ~flight_registration();
  flight_registration(const flight_registration&) = delete;
  flight_registration& operator=(const flight_registration&) = delete;

 private:
  int place_ = -1;
};

/// Writes <folder>/flight-<pid>.json, or with a number above 0 flight-<pid>-<number>.json, and one line on stderr that
/// says so, or why not. `reason`: "SIGSEGV", ... False when nobody is registered, when it cannot be written, or when
/// this process has written the file of its crash (number 0) before.
bool write_flight(std::string_view reason, unsigned number = 0) noexcept;

/// The next number for write_flight(): 1, 2, ...
unsigned next_flight_number() noexcept;

/// The most pieces of one worker in a file: the last ones.
inline constexpr std::uint64_t most_flight_pieces = 1u << 14;

}  // namespace plx::probe
