// Named numbers, pulled from where they live anyway. One registry per runtime.
//
// A name reads "/object{instance}/name@parameters"; {instance} and @parameters may be absent:
//   "/threads{locality#0/worker-thread#1}/count/steals", "/machine/memory/resident".
// In a pattern, '*' stands for any text within its part. A pattern without {instance} means counters without one and
// those of an instance that ends in "total"; "{*}" means all.
//
// Thread safety: everything. Pull functions run under the registry's lock: they must not call it, and once a
//   registration is gone its function runs no more. Cost: none until somebody asks.
// Example: probe/counter_registry_test.cpp
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace plx::probe {

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
};

namespace detail {
struct registry_state;
struct pull_base {
  virtual ~pull_base() = default;
  virtual double pull() = 0;
};
template <class F>
struct pull_of final : pull_base {
  explicit pull_of(F f) : function(std::move(f)) {}
  double pull() override { return static_cast<double>(function()); }
  F function;
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
  registration(std::shared_ptr<detail::registry_state> state, std::string name);
  void remove() noexcept;
  std::shared_ptr<detail::registry_state> state_;
  std::string name_;
};

class counter_registry {
 public:
  counter_registry();
  ~counter_registry();
  counter_registry(const counter_registry&) = delete;
  counter_registry& operator=(const counter_registry&) = delete;

  /// Requires: a well-formed name without '*' that is not registered yet. `pull` returns a number, from any thread.
  template <class F>
  [[nodiscard]] registration add(counter_info info, F pull) {
    return add_pull(std::move(info), std::make_unique<detail::pull_of<F>>(std::move(pull)));
  }

  /// The values of all counters that match, in the order of their registration. An error with the nearest name when
  /// none does.
  result<std::vector<counter_value>> query(std::string_view pattern) const;
  /// What the counters that match are; none may.
  std::vector<counter_info> list(std::string_view pattern = "/*{*}/*@*") const;
  /// Monotonic counters that match count from here on.
  result<void> reset(std::string_view pattern);
  /// Appends time_s,name,value,unit for each that matches; the header comes first in a new file.
  result<void> append_csv(const std::string& path, double time_s, std::string_view pattern = "/*{*}/*@*") const;

 private:
  registration add_pull(counter_info info, std::unique_ptr<detail::pull_base> pull);
  std::shared_ptr<detail::registry_state> state_;
};

}  // namespace plx::probe
