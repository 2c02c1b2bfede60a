// Named numbers, read on demand from where they are kept. One registry per runtime.
//
// A name has the form "/object{instance}/name@parameters"; {instance} and @parameters are optional:
//   "/threads{locality#0/worker-thread#1}/count/steals", "/machine/memory/resident".
// In a pattern, '*' stands for any text within its part. A pattern without {instance} matches counters without one and
// those of an instance that ends in "total"; "{*}" matches all of this locality. Statistics over time and arithmetic of
// counters are counters as well, created on request (counter_registry_detail.hpp):
//   "/statistics{/threads/idle-rate}/rolling_average@100,20",
//   "/arithmetics/max@/threads{*/worker-thread#*}/idle-rate".
//
// Thread safety: all functions are thread-safe. A pull function runs on the reading thread, one call at a time, under a
// lock of its counter: it may read other counters, but must not end its own registration. Counters whose functions read
// each other have no value, on any thread. Once a registration has ended, its function is not called again. Reading
// never stops a worker. Cost: none until a counter is read; a counter_handle avoids the look-up.
// Errors: one line, with the nearest name. If a function throws, the message becomes the counter's `problem`; other
// counters are still read.
// Example: probe/counters/test/counter_registry_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace plx::probe {

class periodic_thread;
class counter_source;

/// Name and description of a counter.
struct counter_info {
  std::string name;
  std::string unit = {};
  std::string help = {};
  bool monotonic = false;  // it never decreases, and reset() sets its origin to the present value
};

/// The result of reading a counter.
struct counter_value {
  std::string name;
  double value = 0;
  std::string unit;
  std::string problem = {};                        // why there is no value; `value` is then NaN
  std::shared_ptr<const counter_info> about = {};  // never null in results of a registry
};

/// Whether reading resets a counter.
enum class after_reading : std::uint8_t { keep, reset };

/// Whether a query creates the statistics and the arithmetic that it names. `never` is for readers without write
/// access: the registry stays unchanged.
enum class making : std::uint8_t { as_needed, never };

namespace detail {
struct registry_state;
struct counter_entry;
/// The source of an entry's value.
struct pull_base {
  virtual ~pull_base() = default;
  virtual double pull() = 0;
  /// Resets state other than the entry's own base, to the last pull().
  virtual void reset() {}
  /// For a family: registers the counters of these parameters.
  virtual result<void> make(std::string_view) { return {}; }
};
template <class F>
struct family_of final : pull_base {
  explicit family_of(F f) : function(std::move(f)) {}
  double pull() override { return 0; }
  result<void> make(std::string_view parameters) override { return function(parameters); }
  F function;
};
template <class F>
struct pull_of final : pull_base {
  explicit pull_of(F f) : function(std::move(f)) {}
  double pull() override { return static_cast<double>(function()); }
  F function;
};
/// A quotient of two sums, both counted since the last reset.
template <class F>
struct ratio_of final : pull_base {
  explicit ratio_of(F f) : function(std::move(f)) {}
  double pull() override {
    last = function();
    const double below = last.second - base.second;
    return below > 0 ? (last.first - base.first) / below : 0.0;
  }
  void reset() override { base = last; }
  F function;
  std::pair<double, double> base{}, last{};
};
}  // namespace detail

/// Keeps a counter registered while it exists. It may outlive the registry.
class registration {
 public:
  registration() = default;
  registration(registration&&) noexcept;
  registration& operator=(registration&&) noexcept;
  ~registration();

 private:
  friend class counter_registry;
  registration(std::shared_ptr<detail::registry_state> state, std::shared_ptr<detail::counter_entry> entry);
  void remove() noexcept;
  std::shared_ptr<detail::registry_state> state_;
  std::shared_ptr<detail::counter_entry> entry_;
};

/// A handle of one counter, for frequent reading without a look-up. It may outlive the counter and the registry.
/// Thread safety: all functions are thread-safe. Cost: a lock shared only with readers of this counter, and its
/// function; see bench/probe.
class counter_handle {
 public:
  counter_handle() = default;
  /// The value; NaN if it cannot be read.
  [[nodiscard]] double value() const;
  /// The value, or the reason why there is none.
  [[nodiscard]] result<double> read(after_reading then = after_reading::keep) const;
  /// Requires: made by counter_registry::find().
  [[nodiscard]] const counter_info& about() const noexcept;
  /// Whether it was made by find().
  explicit operator bool() const noexcept { return entry_ != nullptr; }

 private:
  friend class counter_registry;
  friend struct detail::registry_state;
  explicit counter_handle(std::shared_ptr<detail::counter_entry> entry) : entry_(std::move(entry)) {}
  std::shared_ptr<detail::counter_entry> entry_;
};

class counter_registry {
 public:
  /// `locality`: the number in "locality#N" of this process's counters.
  explicit counter_registry(unsigned locality = 0);
  ~counter_registry();
  counter_registry(const counter_registry&) = delete;
  counter_registry& operator=(const counter_registry&) = delete;

  /// The number of this process within the job.
  [[nodiscard]] unsigned locality() const noexcept;
  /// "locality#0", for names.
  [[nodiscard]] std::string locality_name() const;

  /// Adds a counter. Requires: a well-formed name without '*' that is not yet registered. `pull` returns a number, on
  /// any thread.
  template <class F>
  [[nodiscard]] registration add(counter_info info, F pull) {
    return add_pull(std::move(info), std::make_unique<detail::pull_of<F>>(std::move(pull)));
  }
  /// Adds a quotient such as a rate or a mean: `pull` returns std::pair(numerator, denominator), two sums that never
  /// decrease. The value is their quotient since the last reset, 0 while the denominator is 0.
  template <class F>
  [[nodiscard]] registration add_ratio(counter_info info, F pull) {
    return add_pull(std::move(info), std::make_unique<detail::ratio_of<F>>(std::move(pull)));
  }

  /// Adds a family of counters that are created on request: `info.name` has no parameters, and `make(parameters)`, a
  /// result<void>, registers the counters of "info.name@parameters", under that name or, if there are several, as
  /// "...@parameters,more". It may be called again for the same parameters, one call at a time. `info.help` describes
  /// the parameters.
  template <class F>
  [[nodiscard]] registration add_family(counter_info info, F make) {
    return add_makers(std::move(info), std::make_unique<detail::family_of<F>>(std::move(make)));
  }

  /// The values of all matching counters, in order of registration. An error with the nearest name if none matches, and
  /// if the only match cannot be read. `reset` restarts each from exactly the value read; all statistics are read
  /// before the first is reset, because those of one counter share their samples. With making::never a derived counter
  /// is found if it exists, by the full name that list() returns, and in this locality only.
  result<std::vector<counter_value>> query(std::string_view pattern, after_reading then = after_reading::keep,
                                           making derived = making::as_needed) const;
  /// The counter of that name. A name without an instance may refer to the total. Counters of other localities have no
  /// handle.
  [[nodiscard]] result<counter_handle> find(std::string_view name) const;
  /// Descriptions of all matching counters; possibly none.
  [[nodiscard]] std::vector<counter_info> list(std::string_view pattern = "/*{*}/*@*") const;
  /// Restarts the matching monotonic counters, quotients and statistics.
  result<void> reset(std::string_view pattern);
  /// Appends a line time_s,name,value,unit for each matching counter; a new file starts with the header.
  result<void> append_csv(const std::string& path, double time_s, std::string_view pattern = "/*{*}/*@*") const;

  /// Keeps the last value of counters that match one of `patterns` and end from now on: each is read once more when it
  /// ends. Without patterns, values kept so far are discarded.
  void keep_last_values(std::vector<std::string> patterns);
  /// The kept last values of counters that match `pattern`, except those registered again. At most 4096 are kept.
  [[nodiscard]] std::vector<counter_value> last_values(std::string_view pattern) const;
  /// Sets the source of counters of other localities; null: none.
  void set_source(std::shared_ptr<counter_source> source);
  /// Calls `added(arg, info)` for each counter registered from now on, one at a time; null removes it. It must not call
  /// the registry.
  void on_added(void (*added)(void* arg, const counter_info& info), void* arg);
  /// Sets the thread that samples statistics; null: a thread of the registry, created when needed.
  /// Requires: `periodic` lives until this is called again.
  void sample_with(periodic_thread* periodic);
  /// Calls `f()` every `period_s` seconds on the sampling thread, as long as the returned handle exists.
  template <class F>
  [[nodiscard]] std::shared_ptr<void> every(double period_s, F f) {
    return sample_every(period_s, std::make_unique<detail::pull_of<call_of<F>>>(call_of<F>{std::move(f)}));
  }

 private:
  template <class F>
  struct call_of {
    double operator()() { return f(), 0.0; }
    F f;
  };
  registration add_pull(counter_info info, std::unique_ptr<detail::pull_base> pull);
  registration add_makers(counter_info info, std::unique_ptr<detail::pull_base> pull);
  std::shared_ptr<void> sample_every(double period_s, std::unique_ptr<detail::pull_base> f);
  std::shared_ptr<detail::registry_state> state_;
};

}  // namespace plx::probe
