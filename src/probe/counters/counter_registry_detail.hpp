// Internal: the data of a registry. For counter_registry.cpp, counter_lookup.cpp and derived_counters.cpp.
//
// Thread safety and locks: registry_state::mutex guards the members below it and is never held while a pull function
// runs or a periodic_thread is used. An entry's mutex is held while its function runs, which may read other entries.
// Lock order: an entry's, the state's, that of sampling.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "probe/counters/counter_name.hpp"
#include "probe/counters/counter_registry.hpp"
#include "probe/counters/periodic_thread.hpp"

namespace plx::probe::detail {

struct reading {
  double value = 0;
  std::string problem = {};
};

struct counter_entry {
  counter_entry(counter_info i, std::unique_ptr<pull_base> p)
      : about(std::make_shared<const counter_info>(std::move(i))),
        parts(*counter_name::parse(about->name)),
        pull(std::move(p)) {}

  const std::shared_ptr<const counter_info> about;
  const counter_name parts;  // views into about->name
  std::mutex mutex;
  std::atomic<const void*> owner{nullptr};  // identifies the thread that holds `mutex` in read()
  std::unique_ptr<pull_base> pull;          // null: no longer registered
  double base = 0;                          // set by the last reset

  reading read(after_reading then);
  reading read_locked(after_reading then);
  result<void> make(std::string_view parameters);
  void end();
};
using entry_ptr = std::shared_ptr<counter_entry>;

/// The periodic functions, on the periodic_thread currently in use.
class sampling {
 public:
  using function = std::shared_ptr<pull_base>;
  std::uint64_t every(double period_s, function f);
  void remove(std::uint64_t id);
  /// null: a periodic_thread of its own. After it returns, no function runs on the previous periodic_thread.
  void use(periodic_thread* other);
  /// Ends all calls.
  void end();

 private:
  struct entry {
    std::uint64_t id;
    double period_s;
    function f;
    periodic_thread* on;
    std::uint64_t id_there;
  };
  periodic_thread& chosen();  // requires: mutex_ held
  void begin(entry& e);

  std::mutex mutex_;
  std::vector<entry> entries_;
  std::uint64_t last_id_ = 0;
  periodic_thread* given_ = nullptr;
  std::unique_ptr<periodic_thread> own_;
  bool ended_ = false;
};

/// Repeated samples of one counter and their statistics: over all samples, and over the most recent ones. All functions
/// are thread-safe. sample() reads the counter and is O(1); a median sorts a copy.
/// Statistics of n samples: running mean and variance (Welford 1962), minimum and maximum. For the median, the samples
/// themselves; beyond 4096, a uniform random selection of that size (Vitter 1985, algorithm R).
class sample_series {
 public:
  static constexpr std::size_t most_kept = 4096;

  explicit sample_series(counter_handle source) : source_(std::move(source)) {}

  /// Enables rolling_* over the last `n` samples; the largest n is used.
  void keep_last(std::size_t n);
  /// Reads the counter once. A value that cannot be read is skipped.
  void sample();
  /// As sample(), with a given value and time in seconds.
  void add(double value, double time_s);
  void reset();

  /// `statistic`: "average", "stddev", ..., "rolling_max", "rate", "count". Throws std::runtime_error with one line if
  /// there is no sample.
  double value(std::string_view statistic, std::size_t window) const;

 private:
  double over_all(std::string_view statistic) const;
  double over_last(std::string_view statistic, std::size_t window) const;

  const counter_handle source_;
  mutable std::mutex mutex_;
  std::uint64_t n_ = 0;
  double mean_ = 0, squares_ = 0, least_ = 0, greatest_ = 0;
  std::vector<double> kept_;
  std::uint64_t random_ = 0x9e3779b97f4a7c15u;
  std::vector<double> last_;     // a ring: sample i is at i % size()
  std::uint64_t ring_from_ = 0;  // the first sample in the ring
  double value_before_ = 0, time_before_ = 0, rate_ = 0;
  std::string problem_;  // of the last sample
};

struct registry_state {
  explicit registry_state(unsigned l) : locality(l) {}

  const unsigned locality;
  mutable std::mutex mutex;
  std::vector<entry_ptr> entries;  // in the order of registration
  std::vector<entry_ptr> families;
  std::unordered_map<std::string_view, entry_ptr> by_name;
  std::map<std::string, std::weak_ptr<sample_series>> series;  // of derived_counters.cpp
  std::size_t n_derived = 0;
  std::shared_ptr<counter_source> source;
  std::vector<std::string> kept_patterns;  // counters that match them keep their last value
  std::map<std::string, counter_value> last_values;
  void (*added)(void*, const counter_info&) = nullptr;
  void* added_arg = nullptr;
  sampling sampler;

  /// Matching counters of this locality, created if derived; an error with the nearest name if none matches.
  result<std::vector<entry_ptr>> resolve(std::string_view pattern);
  /// The same, without creating any.
  [[nodiscard]] result<std::vector<entry_ptr>> existing(std::string_view pattern) const;
  static counter_handle handle(entry_ptr e) { return counter_handle(std::move(e)); }
  entry_ptr find_exact(std::string_view name) const;
  /// Requires: mutex held.
  [[nodiscard]] std::vector<entry_ptr> matching(const counter_name& wanted) const;
  /// Matching counters of a family, created if needed; none if the family does not exist.
  result<std::vector<entry_ptr>> made(const counter_name& wanted);
  void insert(const entry_ptr& e);  // requires: mutex held
  /// Keeps the last value if the name matches a kept pattern. Requires: the counter is still registered.
  void keep_last_value(counter_entry& e);
  [[nodiscard]] error no_match(std::string_view pattern, const counter_name& wanted) const;
};

/// "'x' is not a counter name: expected ...".
error malformed(std::string_view pattern);

/// Whether the name is that of a derived counter.
bool is_derived(const counter_name& name);
/// Finds or creates derived counters.
result<std::vector<entry_ptr>> derived(registry_state& state, std::string_view text, const counter_name& wanted);

// Counters derived from other counters, created on request by name.
//
//   /statistics{COUNTER}/average@MS        also stddev, median, min, max, rate (per second), count: of the values of
//                                          COUNTER read every MS milliseconds since the first request, or the reset
//   /statistics{COUNTER}/rolling_average@MS,N   also rolling_stddev, rolling_median, rolling_min, rolling_max: of the
//                                          last N values. Without @MS,N: every 1000 ms, the last 10.
//   /arithmetics/add@COUNTER,COUNTER,...   also subtract, multiply, divide (the first by all others), mean, variance,
//                                          median, min, max, count: of the present values
//
// COUNTER may be a pattern: /statistics then means one counter for each match, while /arithmetics uses all matches at
// the time of the first request as operands. In a list of counters, braces around an element keep its commas together:
//   /arithmetics/divide@{/statistics{/a/x}/rolling_max@100,5},/b/y
// A derived counter exists as long as the registry; there are at most 1000.
// Thread safety: all functions are thread-safe. Example: probe/counters/test/derived_counters_test.cpp

/// The available derived counters: names as above, with units and descriptions.
std::vector<counter_info> derived_counter_kinds();

}  // namespace plx::probe::detail
