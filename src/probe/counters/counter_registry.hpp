// Named numbers, pulled from where they live anyway. One registry per runtime.
//
// A name reads "/object{instance}/name@parameters"; {instance} and @parameters may be absent:
//   "/threads{locality#0/worker-thread#1}/count/steals", "/machine/memory/resident".
// In a pattern, '*' stands for any text within its part. A pattern without {instance} means counters without one and
// those of an instance that ends in "total"; "{*}" means all of this locality. Statistics over time and arithmetic of
// counters are counters as well, made when somebody asks for them (probe/counters/derived_counters.hpp):
//   "/statistics{/threads/idle-rate}/rolling_average@100,20",
//   "/arithmetics/max@/threads{*/worker-thread#*}/idle-rate".
//
// Thread safety: everything. A pull function runs on the thread that asks, one call at a time, under a lock of its own
//   counter: it may read other counters, but must not end its own registration. Counters whose functions read each
//   other have no value, on whichever threads they are read. Once a registration is gone its function runs no more.
//   Nobody's reading stops a worker. Cost: none until somebody asks; a counter_handle saves the search.
// Errors: of one line, with the nearest name. A function that throws is that counter's `problem`; others are read.
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

class beat;
class counter_source;

/// What a counter is called and means.
struct counter_info {
  std::string name;
  std::string unit = {};
  std::string help = {};
  bool monotonic = false;  // it only grows, and reset() makes it count from there
};

/// What a counter said when it was asked.
struct counter_value {
  std::string name;
  double value = 0;
  std::string unit;
  std::string problem = {};                        // why there is no value; then `value` is not a number
  std::shared_ptr<const counter_info> about = {};  // never null in what a registry says
};

/// What happens to a counter once it has been read.
enum class after_reading : std::uint8_t { keep, reset };

/// Whether a query makes the statistics and the arithmetic that it names. `never` is for who may only look: it leaves
/// nothing behind in the registry.
enum class making : std::uint8_t { as_needed, never };

namespace detail {
struct registry_state;
struct counter_entry;
/// What an entry asks for its value.
struct pull_base {
  virtual ~pull_base() = default;
  virtual double pull() = 0;
  /// Makes what is kept beside the entry's own base count from the last pull() on.
  virtual void reset() {}
  /// Of a family: registers the counters of these parameters.
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
/// A quotient whose parts both count from the last reset.
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

/// Keeps a counter registered while it lives. It may outlive the registry.
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

/// One counter, found once and read often. It may outlive the counter and the registry.
/// Thread safety: everything. Cost: a lock that only readers of this counter share, and its function; see bench/probe.
class counter_handle {
 public:
  counter_handle() = default;
  /// The value; not a number when it cannot be read.
  [[nodiscard]] double value() const;
  /// The value, or why there is none.
  [[nodiscard]] result<double> read(after_reading then = after_reading::keep) const;
  /// Requires: made by counter_registry::find().
  [[nodiscard]] const counter_info& about() const noexcept;
  /// Whether find() made it.
  explicit operator bool() const noexcept { return entry_ != nullptr; }

 private:
  friend class counter_registry;
  friend struct detail::registry_state;
  explicit counter_handle(std::shared_ptr<detail::counter_entry> entry) : entry_(std::move(entry)) {}
  std::shared_ptr<detail::counter_entry> entry_;
};

class counter_registry {
 public:
  /// The number that "locality#N" of this process's counters has.
  explicit counter_registry(unsigned locality = 0);
  ~counter_registry();
  counter_registry(const counter_registry&) = delete;
  counter_registry& operator=(const counter_registry&) = delete;

  /// The number of this process among those of a run.
  [[nodiscard]] unsigned locality() const noexcept;
  /// "locality#0", for names.
  [[nodiscard]] std::string locality_name() const;

  /// Requires: a well-formed name without '*' that is not registered yet. `pull` returns a number, from any thread.
  template <class F>
  [[nodiscard]] registration add(counter_info info, F pull) {
    return add_pull(std::move(info), std::make_unique<detail::pull_of<F>>(std::move(pull)));
  }
  /// A quotient such as a rate or a mean: `pull` returns std::pair(above, below), two sums that only grow. The value is
  /// above / below since the last reset, 0 while below is 0.
  template <class F>
  [[nodiscard]] registration add_ratio(counter_info info, F pull) {
    return add_pull(std::move(info), std::make_unique<detail::ratio_of<F>>(std::move(pull)));
  }

  /// Counters that are made when somebody asks for them: `info.name`, without parameters, is what they are called, and
  /// `make(parameters)`, a result<void>, registers those that "info.name@parameters" means, as "...@parameters" or,
  /// where they are several, "...@parameters,more". It is asked again for the same ones, one call at a time.
  /// `info.help` says what the parameters are.
  template <class F>
  [[nodiscard]] registration add_family(counter_info info, F make) {
    return add_makers(std::move(info), std::make_unique<detail::family_of<F>>(std::move(make)));
  }

  /// The values of all counters that match, in the order of their registration. An error with the nearest name when
  /// none does, and when the only one cannot be read. `reset` makes each count from exactly what was read; statistics
  /// are all read before the first is reset, because those of one counter share their samples. With making::never a
  /// derived counter is found if it exists, by the full name that list() tells, and in this locality only.
  result<std::vector<counter_value>> query(std::string_view pattern, after_reading then = after_reading::keep,
                                           making derived = making::as_needed) const;
  /// The one counter of that name. A name without an instance may mean the total. Counters of other localities have no
  /// handle.
  [[nodiscard]] result<counter_handle> find(std::string_view name) const;
  /// What the counters that match are; none may.
  [[nodiscard]] std::vector<counter_info> list(std::string_view pattern = "/*{*}/*@*") const;
  /// Monotonic counters, quotients and statistics that match count from here on.
  result<void> reset(std::string_view pattern);
  /// Appends time_s,name,value,unit for each that matches; the header comes first in a new file.
  result<void> append_csv(const std::string& path, double time_s, std::string_view pattern = "/*{*}/*@*") const;

  /// From now on, a counter that matches one of `patterns` and ends leaves its last value: its function is read once
  /// more while it ends. None: values left so far are forgotten.
  void keep_last_values(std::vector<std::string> patterns);
  /// The values that counters matching `pattern` left, but of those that exist again. At most 4096 are kept.
  [[nodiscard]] std::vector<counter_value> last_values(std::string_view pattern) const;
  /// Where counters of other localities are read; null: nowhere.
  void set_source(std::shared_ptr<counter_source> source);
  /// Calls `added(arg, info)` for each counter from now on, when it is registered, one at a time; null ends it. It must
  /// not call the registry.
  void on_added(void (*added)(void* arg, const counter_info& info), void* arg);
  /// The thread that samples statistics from now on; null means one of the registry's own, made when it is needed.
  /// Requires: the beat lives until this is called again.
  void sample_with(beat* periodic);
  /// Calls `f()` every `period_s` on the thread that samples, until the handle is gone.
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
