// The data of the live page, as JSON, and all counters for Prometheus.
//
// Thread safety: as the recorder and the registry. Cost: reading the data; each function builds one text.
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

#include "base/clock.hpp"
#include "base/result.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/record/recorder.hpp"
#include "probe/record/trace_data.hpp"
#include "probe/sample/sample_tree.hpp"

namespace plx::probe {

/// A picture for the live page: a grid of values, and the blocks of a mesh with their cost, if it has any.
///
/// The program creates it at a suitable time (between two steps), and if steps are frequent only while a client
/// requests it:
///   if (board && board->wanted()) board->publish(picture_of(...));
/// Thread safety: all functions of picture_board are thread-safe; a published picture never changes. Cost: wanted() is
/// two relaxed loads and a clock reading; no further cost while no client requests it. Example:
/// probe/live/test/live_picture_test.cpp
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

/// Passes pictures from the program to clients that request them.
class picture_board {
 public:
  /// Replaces monotonic_seconds() as the clock of wanted(). Requires: called before all other functions.
  void read_with(double (*now_s)() noexcept) noexcept { now_s_ = now_s; }
  /// Whether a client has requested a picture in the last seconds and the newest picture is at least a second old.
  [[nodiscard]] bool wanted() const noexcept;
  /// Requires: values.size() == width * height, width and height at most 512.
  void publish(live_picture picture);

  /// A picture and its number, which increases with each picture.
  struct numbered {
    std::shared_ptr<const live_picture> picture;  // null: none yet
    std::uint64_t number = 0;                     // increases with every picture
  };
  /// The newest picture; counts as a request.
  [[nodiscard]] numbered look() noexcept;

 private:
  double (*now_s_)() noexcept = monotonic_seconds;
  std::atomic<double> looked_s_{-1e9};  // relaxed, as the next: they order nothing
  std::atomic<double> published_s_{-1e9};
  std::mutex mutex_;
  numbered newest_;  // under mutex_
};

/// The shortest text that reads back to the same value; null for values that JSON cannot represent.
std::string json_number(double value);

/// The matching counters as counters_as_json() writes them; derived counters are not created.
result<std::string> counters_json(const counter_registry& counters, std::string_view pattern, double time_s);

/// The same in two parts, for clients that poll: descriptions of the counters, and their values in the same order.
struct counter_catalog {
  std::string list;          // [{"name":..,"unit":..,"help":..,"monotonic":..},..]
  std::string values;        // [1,2,..]
  std::uint32_t number = 0;  // of the list: unchanged as long as the counters are
};
/// All counters, with their values now; without `each` those that have no instance, and totals: their number does not
/// grow with the number of workers.
counter_catalog catalog_of(const counter_registry& counters, bool each = true);

/// [{"name":..,"calls":..,"total_s":..,"mean_s":..,"min_s":..,"max_s":..,"stddev_s":..,"p50_s":..,"p99_s":..,
/// "share":..,"idle_blame_s":..,"lock_blame_s":..},..], the largest total first, at most 500.
std::string tasks_json(const std::vector<task_statistics>& tasks);

/// Sampled stacks by function: {"hz":..,"seconds":..,"total":..,"calls":[[parent,own,below,"name"],..]}, depth first,
/// with -1 as the parent of a task type; in periods of the timer. Calls with less than a thousandth of the total are
/// omitted.
std::string stacks_json(const sample_tree& tree, double hz, double seconds);

/// The values as base64 of 16-bit integers (little-endian; 65535 is not a number), scaled between "low" and "high";
/// logarithmic ("log":true) if all are positive and span more than a factor of 20.
std::string picture_json(const live_picture& picture, std::uint64_t number);

/// All counters in Prometheus' text format (version 0.0.4), for monitoring systems that scrape /metrics.
///
/// "/threads{locality#0/worker-thread#1}/time/exec" in s becomes
/// plx_threads_time_exec_seconds_total{locality="0",worker="1"}: monotonic counters have the type counter and end in
/// _total, all others are gauges; s becomes _seconds, bytes _bytes, % _percent. If a counter exists for individual
/// workers, its total is omitted, because sum() would count it twice.
std::string metrics_text(const counter_registry& counters);
/// The same, and for each of the 500 task types with the most time plx_task_idle_blame_seconds_total{task="relax"} and
/// plx_task_lock_blame_seconds_total{task="relax"}; for 100 of them the durations of finished tasks, as the histogram
/// plx_task_duration_seconds.
std::string metrics_text(const counter_registry& counters, const recorder& r);

}  // namespace plx::probe
