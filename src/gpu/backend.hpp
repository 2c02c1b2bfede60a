// A backend: one table of functions over a library of devices. Headers of that library stay in the backend's folder;
// everything above sees this header. Streams, futures and pools know nothing else of a device.
//
// Thread safety: all functions, from any thread; two calls for the same stream in turn, unless said otherwise. None
//   waits unless it says so. Errors: outcomes; nothing throws. To add a backend: docs/gpu.md.
// Example: gpu/core/test/backend_test.cpp runs every function on every backend that is there.
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

/// Where memory lies. device: only devices read and write it. pinned: in the host's memory, which all devices of the
/// backend reach at the same address.
enum class memory_kind : std::uint8_t { device, pinned };

/// What a call of a backend gave: 0, or the library's code and the name of its call.
struct outcome {
  int code = 0;
  const char* call = "";
  explicit operator bool() const noexcept { return code == 0; }
};

/// What a device is.
struct device_info {
  std::string name;
  std::size_t memory_bytes = 0;
  unsigned multiprocessors = 0;
  std::string architecture;     // compute capability, such as "9.0"
  std::string bus;              // PCI address, "" when it has none
  std::string driver;           // its version
  std::size_t group_bytes = 0;  // most shared memory that a group of threads may have; 0: no limit
};

/// Where the cpu backend leaves what items have thrown: one place per item, of the launch's maker, who keeps it until
/// the launch has ended.
using item_errors = std::exception_ptr*;

/// What the library of a device tells of something that ran there. Of one tag there may be several: the kernels of a
/// graph.
struct activity {
  enum class what : std::uint8_t { kernel, copy, fill };
  std::uint64_t tag = 0;             // of the submission, see activity_functions
  std::uint64_t begin = 0, end = 0;  // ticks of this process
  const char* kernel = nullptr;      // its name as the library has it; null for a copy or a fill
  std::uint64_t bytes = 0;
  what kind = what::kernel;
};

/// A library's own records, for timelines. Any thread.
struct activity_functions {
  /// From now on heard() is called for each record, some time later, by any thread. "" or why there are none. Once per
  /// process. `library`: its file, "" for where it usually is.
  std::string (*start)(const std::string& library, void (*heard)(const activity&) noexcept);
  /// What the calling thread submits from now on has this tag; 0: none.
  void (*tag)(std::uint64_t tag) noexcept;
  /// Has heard() called for what is done now.
  void (*flush)() noexcept;
};

struct backend {
  std::string_view name;  // "cpu", "cuda", "hip", "sycl"
  void* self = nullptr;

  // --- devices. count: 0 devices are an error with the reason. close() requires that all that was made of it is gone,
  // or that its work never ends: then nothing of it is used any more but by what runs there.
  outcome (*count)(const backend& b, int& n);
  outcome (*open)(const backend& b, int index, native_device& d);
  void (*close)(native_device d) noexcept;
  outcome (*describe)(native_device d, device_info& info);

  // --- streams: what is put in one runs in that order, later. synchronize() waits. query() gives an error that the
  // device has, and whether everything in the stream is done; any thread, at any time but while the stream captures.
  outcome (*make_stream)(native_device d, native_stream& s);
  void (*free_stream)(native_device d, native_stream s) noexcept;
  outcome (*synchronize)(native_device d, native_stream s);
  outcome (*query_stream)(native_device d, native_stream s, bool& done);

  // --- events: recorded in a stream, done when all before them is. Timed ones tell seconds between two that are done.
  outcome (*make_event)(native_device d, bool timed, native_event& e);
  void (*free_event)(native_device d, native_event e) noexcept;
  outcome (*record)(native_device d, native_event e, native_stream s);
  outcome (*query)(native_device d, native_event e, bool& done);
  outcome (*wait)(native_device d, native_stream s, native_event e);  // what follows in s begins after e
  outcome (*elapsed)(native_device d, native_event begin, native_event end, double& seconds);

  // --- memory. allocate() and release() may wait for the device.
  outcome (*allocate)(native_device d, memory_kind kind, std::size_t bytes, void*& p);
  void (*release)(native_device d, memory_kind kind, void* p) noexcept;
  outcome (*copy)(native_device d, native_stream s, void* to, const void* from, std::size_t bytes);
  outcome (*fill)(native_device d, native_stream s, void* to, std::uint8_t byte, std::size_t bytes);

  // --- the host hears of the stream. call(): f(arg) runs on a thread of the backend, and must neither wait nor call
  // the backend; it may never run once the device has failed. write_flag(): `flag` lies in pinned memory.
  outcome (*call)(native_device d, native_stream s, void (*f)(void*), void* arg);
  outcome (*write_flag)(native_device d, native_stream s, std::uint32_t* flag, std::uint32_t value);

  // --- kernels. `errors` may be null; only the cpu backend knows errors of items.
  outcome (*launch)(native_device d, const any_operation& op, const gpu::launch& where, const void* items,
                    unsigned count, item_errors errors);

  // --- graphs. Between begin_capture and end_capture what is put in the stream becomes the graph instead.
  outcome (*begin_capture)(native_device d, native_stream s);
  outcome (*end_capture)(native_device d, native_stream s, native_graph& g);  // g may be null after an error
  outcome (*launch_graph)(native_device d, native_graph g, native_stream s);
  void (*free_graph)(native_device d, native_graph g) noexcept;

  // --- codes.
  std::string_view (*code_name)(int code);
  std::string_view (*code_text)(int code);
  failure (*kind_of)(int code);

  // A kernel may fail and its stream goes on, with a flag or a callback behind it as if nothing were: an event tells.
  bool kernels_fail_alone = false;
  /// When a timed event that is done was reached, on our own clock. Null where the device has a clock of its own: then
  /// elapsed() tells.
  outcome (*event_time)(native_device d, native_event e, std::uint64_t& when) = nullptr;
  const activity_functions* records = nullptr;  // null: the library has none
};

/// The error of `o` as an exception: what every error of a device is made by. `about`: more for its line, or "".
error make_error(const backend& b, const outcome& o, std::string_view kernel, std::string_view device,
                 std::string_view about = {});

/// The backends of this program, the one to prefer first: those that were built, and `cpu` last.
std::vector<const backend*> backends();
/// The one of that name. Errors: throws gpu::error when there is none, with the names of those there are.
const backend& find_backend(std::string_view name);
/// The first backend that has a device: never fails, since `cpu` has one. What the others said comes in `why_not`, one
/// line each, when that is not null.
const backend& best_backend(std::vector<std::string>* why_not = nullptr);

}  // namespace plx::gpu
