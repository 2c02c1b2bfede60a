// The timeline of the live page, as JSON: the slices of every worker and of every stream of a device, as fine as pixels
// are, and single slices with what made them ready.
//
// Thread safety: as the recorder. Cost: bounded by the number of rows, bins and records that a window permits, for any
// number of workers. Example: probe/live/test/timeline_json_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"

namespace plx::probe {

/// The slices of the last seconds, of a worker or of a lane of a device.
struct recent_work {
  std::vector<trace_slice> slices{};  // in order of time
  ticks known_from = 0;               // earlier slices have been overwritten
  std::string lane{};
};

/// The recent operations by lane, in order of device and lane. Also keeps the operations of the next few seconds.
std::vector<recent_work> recent_lanes(recorder& r, ticks from);

/// A part of the run for a timeline.
struct timeline_window {
  ticks end = 0;
  ticks length = 0;
  std::size_t bins = 400;                          // per row
  double end_s = 0;                                // `end` in the time of the run, for the reader of the text
  unsigned first = 0;                              // of the workers that are shown
  unsigned workers = ~0u;                          // their number, at most
  unsigned rows = ~0u;                             // at most: rows of several workers each, if there are more
  std::uint64_t records = std::uint64_t{1} << 16;  // above that, slices shorter than a bin are sampled
};

/// {"window_s":..,"end_s":..,"end":"ticks","first":..,"of":..,"group":..,"bin_us":..,"every":..,"names":[..],"from":[..],
/// "workers":[[[name,begin,length,count],..],..],"lanes":["gpu 0, stream 1",..],"lane_from":[..],"lane_rows":[..]},
/// with times in microseconds since the beginning of the window. "of": the number of workers of the recorder; "from":
/// the time from which the slices of a row are known. Slices shorter than a bin are merged into one per bin, with the
/// name that took most of its time, and their number. Lanes of devices are treated in the same way.
///
/// If "group" is above 1, a row is that many workers from "first" on (the last one perhaps fewer), and has a list of
/// all its bins instead, each as a share in percent of these workers' time and, unless that is 0, the name that took
/// most of it: [0,0,75,1,..].
///
/// If "every" is above 1, there are more slices than `records`: of blocks of up to as many neighbours within a bin,
/// only the first and the last were read, and stand for the others. Slices that are as long as a bin are exact in any
/// case.
std::string timeline_json(const std::vector<recent_work>& workers, const std::vector<recent_work>& lanes,
                          const timeline_window& window);
/// The same for a recorder's workers, from their flight rings. Adds the number of records that were read for it to
/// `*visited`, unless that is null. Cost: reads at most some 2 records + 100 per worker + 40 per bin; memory for the
/// text and the bins only.
std::string timeline_json(const recorder& r, const std::vector<recent_work>& lanes, const timeline_window& window,
                          std::uint64_t* visited = nullptr);

/// The slice of a worker that contains the time `at`, and what made its task ready: {"slice":{"task":"id",
/// "name":..,"key":..,"length":us},"several":false,"join":false,"parent":{"task":..,"name":..,"worker":..,"begin":us,
/// "length":us}}. Times in microseconds before `at`'s origin: since `begin`. "slice" is null if none was kept. "parent"
/// is null if its task is unknown (recorder::flight_links was off), or if a thread outside of the runtime made it
/// ready; its "name" is null if none of its slices from the last 10 s is kept. "several": the parent produced the last
/// of several inputs. "join": it is the result of several tasks, and not known. "worker" and "begin" are those of the
/// parent's last slice that begins before this one.
/// Cost: reads the records of the worker at that moment, and those of all workers before it until the parent is found,
/// at most 2^20.
std::string slice_json(const recorder& r, unsigned worker, ticks at, ticks begin);

}  // namespace plx::probe
