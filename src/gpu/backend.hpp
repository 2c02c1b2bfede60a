// A backend: a table of functions that wraps one device library. Headers of that library are included only in the
// backend's folder; all other code uses this header. Streams, futures and pools reach a device only through it.
//
// Thread safety: all functions, from any thread; calls for the same stream must not overlap unless stated otherwise. No
// function waits unless stated otherwise. Errors: returned as outcomes; nothing throws. To add a backend: docs/gpu.md.
// Example: gpu/core/test/backend_test.cpp runs every function on every available backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/error.hpp"
#include "gpu/operation.hpp"

namespace plx::gpu {

struct native_device_t;
struct native_event_t;
struct native_graph_t;
using native_device = native_device_t*;
using native_event = native_event_t*;
using native_graph = native_graph_t*;

/// Where memory lies. device: accessible to devices only. pinned: host memory that all devices of the backend access at
/// the same address.
enum class memory_kind : std::uint8_t { device, pinned };

/// Result of a backend call: 0, or the library's error code and the name of the failed call.
struct outcome {
  int code = 0;
  const char* call = "";
  explicit operator bool() const noexcept { return code == 0; }
};

/// Properties of a device.
struct device_info {
  std::string name;
  std::size_t memory_bytes = 0;
  unsigned multiprocessors = 0;
  std::string architecture;     // compute capability, such as "9.0"
  std::string bus;              // PCI address, "" if it has none
  std::string driver;           // driver version
  std::size_t group_bytes = 0;  // maximum shared memory of a thread group; 0: no limit
};

/// Where the cpu backend stores exceptions of items: one element per item, owned by the caller of launch() until the
/// launch has ended.
using item_errors = std::exception_ptr*;

/// A record of the device library about work that ran on the device. Several records can have the same tag: the kernels
/// of a graph.
struct activity {
  enum class what : std::uint8_t { kernel, copy, fill };
  std::uint64_t tag = 0;             // of the submission, see activity_functions
  std::uint64_t begin = 0, end = 0;  // ticks of this process
  const char* kernel = nullptr;      // the library's name of the kernel; null for a copy or a fill
  std::uint64_t bytes = 0;
  what kind = what::kernel;
};

/// Activity records of the device library, for timelines. Called from any thread.
struct activity_functions {
  /// Starts recording, once per process; heard() is called later for each record, on any thread. Returns "", or why
  /// there are no records. `library`: its file, "" for the default location.
  std::string (*start)(const std::string& library, void (*heard)(const activity&) noexcept);
  /// Tags later submissions of the calling thread; 0: no tag.
  void (*tag)(std::uint64_t tag) noexcept;
  /// Delivers the records of all completed work to heard().
  void (*flush)() noexcept;
};

struct backend {
  std::string_view name;  // "cpu", "cuda", "hip", "sycl"
  void* self = nullptr;

  // --- devices. count() fails, with the reason, if there are no devices. close() requires that everything created on
  // the device is freed, or that its work never ends: then only that running work still uses it.
  outcome (*count)(const backend& b, int& n);
  outcome (*open)(const backend& b, int index, native_device& d);
  void (*close)(native_device d) noexcept;
  outcome (*describe)(native_device d, device_info& info);

  // --- streams: work in a stream runs in submission order, asynchronously. synchronize() waits. query_stream() returns
  // an error of the device, and whether the stream is idle; from any thread, at any time except while the stream
  // captures.
  outcome (*make_stream)(native_device d, native_stream& s);
  void (*free_stream)(native_device d, native_stream s) noexcept;
  outcome (*synchronize)(native_device d, native_stream s);
  outcome (*query_stream)(native_device d, native_stream s, bool& done);

  // --- events: recorded in a stream, complete when all work before them is. elapsed() takes two complete timed events.
  outcome (*make_event)(native_device d, bool timed, native_event& e);
  void (*free_event)(native_device d, native_event e) noexcept;
  outcome (*record)(native_device d, native_event e, native_stream s);
  outcome (*query)(native_device d, native_event e, bool& done);
  outcome (*wait)(native_device d, native_stream s, native_event e);  // later work in s begins after e
  outcome (*elapsed)(native_device d, native_event begin, native_event end, double& seconds);

  // --- memory. allocate() and release() may wait for the device.
  outcome (*allocate)(native_device d, memory_kind kind, std::size_t bytes, void*& p);
  void (*release)(native_device d, memory_kind kind, void* p) noexcept;
  outcome (*copy)(native_device d, native_stream s, void* to, const void* from, std::size_t bytes);
  outcome (*fill)(native_device d, native_stream s, void* to, std::uint8_t byte, std::size_t bytes);

  // --- host notification. call(): f(arg) runs on a thread of the backend and must neither wait nor call the backend;
  // it may never run once the device has failed. write_flag(): `flag` lies in pinned memory.
  outcome (*call)(native_device d, native_stream s, void (*f)(void*), void* arg);
  outcome (*write_flag)(native_device d, native_stream s, std::uint32_t* flag, std::uint32_t value);

  // --- kernels. `errors` may be null; only the cpu backend stores exceptions of items.
  outcome (*launch)(native_device d, const any_operation& op, const gpu::launch& where, const void* items,
                    unsigned count, item_errors errors);

  // --- graphs. Work submitted between begin_capture and end_capture is added to the graph instead of running.
  outcome (*begin_capture)(native_device d, native_stream s);
  outcome (*end_capture)(native_device d, native_stream s, native_graph& g);  // g may be null after an error
  outcome (*launch_graph)(native_device d, native_graph g, native_stream s);
  void (*free_graph)(native_device d, native_graph g) noexcept;

  // --- error codes.
  std::string_view (*code_name)(int code);
  std::string_view (*code_text)(int code);
  failure (*kind_of)(int code);

  // True if a stream continues after a failed kernel, so that flags and callbacks behind it still arrive: only an event
  // reports the failure.
  bool kernels_fail_alone = false;
  /// The time of a complete timed event, on the clock of this process. Null if the device has its own clock: then
  /// elapsed() is used.
  outcome (*event_time)(native_device d, native_event e, std::uint64_t& when) = nullptr;
  const activity_functions* records = nullptr;  // null: the library has no activity records
};

/// Converts an outcome to an exception; all device errors are created here. `about`: additional text, or "".
error make_error(const backend& b, const outcome& o, std::string_view kernel, std::string_view device,
                 std::string_view about = {});

/// The backends built into this program, in order of preference; `cpu` is last.
std::vector<const backend*> backends();
/// The backend with that name. Errors: throws gpu::error, which lists the available names, if there is none.
const backend& find_backend(std::string_view name);
/// The first backend that has a device; never fails, since `cpu` has one. If `why_not` is not null, it receives one
/// line for each backend that was skipped.
const backend& best_backend(std::vector<std::string>* why_not = nullptr);

}  // namespace plx::gpu
