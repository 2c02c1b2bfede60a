// Where the records of a trace go while it is recorded, and where a reader of a trace file passes them: the same calls
// in both directions (trace/file/trace_writer.hpp writes them, trace/file/trace_reader.hpp makes them from a file).
//
// Thread safety: one thread at a time calls a sink. Errors: a sink keeps its errors; no call throws.
// Example: trace/file/test/trace_file_test.cpp
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "probe/record/device_lanes.hpp"
#include "probe/record/trace_data.hpp"
#include "probe/record/worker_log.hpp"

namespace plx::probe {

/// The process and the clock of the records.
struct trace_start {
  ticks origin = 0;  // the start of the run
  double ticks_per_second = 1;
  double unix_s = 0;  // the time of day at `origin`, seconds since 1970
  std::uint32_t locality = 0, localities = 1;
  std::uint32_t space = 0;    // of the recorder's ids (detail::first_id_of)
  std::uint32_t process = 0;  // of the system
  std::string host{};
};

/// The number of records so far.
struct trace_totals {
  std::uint64_t records = 0;
  std::uint64_t lost = 0;  // dropped because a buffer was full, or the file could not be written
  double share = 1;        // as trace_data::share
  bool ended = false;      // the program has ended the trace
};

/// A parcel or a message of MPI that was sent or received. Both ends of it have the same sender, receiver, channel, tag
/// and number.
struct trace_parcel {
  ticks when = 0;
  task_id task = 0;           // the sending task (0: none); on the receiver, the join that represents the parcel
  std::uint64_t number = 0;   // assigned by its sender; of a message: among those with the other four, from 1 on
  std::uint64_t bytes = 0;    // of a parcel: including its header
  std::uint32_t peer = 0;     // the receiver or sender
  name_id name = unnamed;     // of the action; unnamed for received replies; of a message: the function of MPI
  std::uint32_t channel = 0;  // 0: a parcel; otherwise identifies the communicator in all processes
  std::int32_t tag = 0;       // of a message
};

/// The reading `there` of another clock corresponds to `here` of this clock, within `uncertainty` ticks.
struct clock_point {
  ticks there = 0;
  ticks here = 0;
  ticks uncertainty = 0;
};

/// Each function does nothing unless it is overridden.
class trace_sink {
 public:
  virtual ~trace_sink() = default;
  /// Before all other calls, once.
  virtual void begin(const trace_start&) {}
  /// The name of a worker ("": "worker 3"), or of a stream of a device, whose number is `device` - 1.
  virtual void row(unsigned /*row*/, std::string_view /*name*/, std::uint32_t /*device*/) {}
  /// Records of a worker, in the order in which it wrote them. Their names are ids of this process.
  virtual void records(unsigned /*row*/, std::span<const trace_record>) {}
  /// Operations of a stream, in any order.
  virtual void operations(unsigned /*row*/, std::span<const device_operation>) {}
  /// A value of a counter.
  virtual void sample(const trace_sample&) {}
  /// An event.
  virtual void mark(const trace_mark&) {}
  /// Parcels that this process sent, or received, in any order.
  virtual void parcels(bool /*sent*/, std::span<const trace_parcel>) {}
  /// A point of the map from another locality's clock, of `ticks_per_second` by its own measure.
  virtual void clock(unsigned /*locality*/, double /*ticks_per_second*/, const clock_point&) {}
  /// The latest totals replace earlier ones.
  virtual void totals(const trace_totals&) {}
  /// After each round of the calls above.
  virtual void drained() {}
};

/// Adds to a trace beside the recorder: the log of parcels, the map of clocks.
class trace_source {
 public:
  virtual ~trace_source() = default;
  /// Passes what was recorded since the last call. Called by one thread at a time.
  virtual void drain(trace_sink& to) = 0;
};

}  // namespace plx::probe
