// What the live page reads, as JSON.
//
// Thread safety: as the recorder's and the registry's. Cost: of what is asked; each makes one text.
// Example: probe/live/test/live_json_test.cpp
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/live/live_timeline.hpp"
#include "probe/record/recorder.hpp"

namespace plx::probe {

/// A slice through what a program simulates, for the live page: a grid of values, and its blocks with what they cost.
///
/// The program draws it when that suits it (between two steps) and only when somebody looks:
///   if (board && board->wanted()) board->publish(picture_of(...));
/// Thread safety: picture_board: everything; a published picture never changes. Cost: wanted() is two relaxed loads and
/// a clock read; nothing else happens while nobody looks. Example: probe/live/test/live_picture_test.cpp
struct live_picture {
  /// A rectangle in the same coordinates as `lower` and `upper`.
  struct block {
    double x = 0, y = 0, width = 0, height = 0;
    double cost_s = 0;  // seconds of work per step
    int level = 0;
    unsigned worker = 0;
  };

  std::string title{};  // "density in the plane z = 0.004"
  std::string unit{};   // of the values
  std::int64_t step = 0;
  double time = 0;
  double lower[2] = {0, 0};
  double upper[2] = {1, 1};
  int width = 0;
  int height = 0;
  std::vector<float> values{};  // [height][width], the lowest row first
  std::vector<block> blocks{};
};

/// Where a program puts the picture of itself that clients ask for.
class picture_board {
 public:
  /// Whether somebody has looked in the last seconds, and the newest picture is a second old.
  [[nodiscard]] bool wanted() const noexcept;
  /// Requires: values.size() == width * height, width and height at most 512.
  void publish(live_picture picture);

  /// A picture and its number, which grows with each.
  struct numbered {
    std::shared_ptr<const live_picture> picture;  // null: none yet
    std::uint64_t number = 0;                     // grows with every picture
  };
  /// The newest one; asking for it is looking.
  [[nodiscard]] numbered look() noexcept;

 private:
  std::atomic<double> looked_s_{-1e9};  // relaxed, as the next: they order nothing
  std::atomic<double> published_s_{-1e9};
  std::mutex mutex_;
  numbered newest_;  // under mutex_
};

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
