// What the live page reads, as JSON.
//
// Thread safety: as the recorder's and the registry's. Cost: of what is asked; each makes one text.
// Example: probe/live/live_json_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/counter_registry.hpp"
#include "probe/live/live_picture.hpp"
#include "probe/live/recent_slices.hpp"
#include "probe/recorder.hpp"

namespace plx::probe {

/// The shortest text that reads back to the same value; null for what JSON has no number for.
std::string json_number(double value);

/// {"time_s":..,"counters":[{"name":..,"value":..,"unit":..,"help":..,"monotonic":..},..]}
result<std::string> counters_json(const counter_registry& counters, std::string_view pattern, double time_s);

/// The same in two pieces, for who asks every second: what the counters are, and their values in the same order.
struct counter_catalog {
  std::string list;          // [{"name":..,"unit":..,"help":..,"monotonic":..},..]
  std::string values;        // [1,2,..]
  std::uint32_t number = 0;  // of the list: the same for the same counters
};
/// All counters there are, as JSON.
counter_catalog catalog_of(const counter_registry& counters);

/// [{"name":..,"calls":..,"total_s":..,"mean_s":..,"min_s":..,"max_s":..,"stddev_s":..,"share":..},..], the largest
/// total first, at most 500.
std::string tasks_json(const std::vector<task_statistics>& tasks);

/// The last `window` ticks before `end`:
/// {"window_s":..,"names":[..],"from":[..],"workers":[[[name,begin,length,count],..],..],"lanes":["gpu 0, stream
/// 1",..], "lane_from":[..],"lane_rows":[..]} with times in microseconds since the window's begin; "from" tells since
/// when a worker's pieces are known. What is shorter than a pixel is drawn together: pieces shorter than window / bins
/// become one per bin, which has the name that took most of its time, and their number. The same of the lanes of
/// devices.
std::string timeline_json(const std::vector<recent_work>& workers, const std::vector<recent_work>& lanes, ticks end,
                          ticks window, std::size_t bins);
/// The same of a recorder's workers, from their flight rings. Cost: memory of the text alone, however many pieces the
/// rings hold.
std::string timeline_json(const recorder& r, const std::vector<recent_work>& lanes, ticks end, ticks window,
                          std::size_t bins);

/// The values as base64 of 16-bit numbers (little-endian; 65535 is no number), between "low" and "high", logarithmic
/// where they are all above 0 and span more than a factor of 20: "log":true.
std::string picture_json(const live_picture& picture, std::uint64_t number);

}  // namespace plx::probe
