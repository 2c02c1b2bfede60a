// Counters of other localities: what a network gives a registry, so that "{locality#1/...}" is read as if it were here.
//
// Thread safety: an implementation is called by any thread, several at a time, never under a lock of the registry.
// Example: probe/counter_source_test.cpp
#pragma once

#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/counter_registry.hpp"

namespace plx::probe {

class counter_source {
 public:
  virtual ~counter_source() = default;
  /// The localities that can be asked, without this one.
  virtual std::vector<unsigned> localities() = 0;
  /// What counter_registry::query() of that locality says, its names with "locality#N" of that one. It may block for
  /// as long as the network takes; a locality that does not answer is an error of one line.
  virtual result<std::vector<counter_value>> query(unsigned locality, std::string_view pattern, after_reading then) = 0;
  /// What counter_registry::list() of that locality says.
  virtual result<std::vector<counter_info>> list(unsigned locality, std::string_view pattern) = 0;
  /// What counter_registry::reset() of that locality does.
  virtual result<void> reset(unsigned locality, std::string_view pattern) = 0;
};

}  // namespace plx::probe
