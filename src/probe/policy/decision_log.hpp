// What was decided while a program ran: which policy set which actuator from what to what, and why.
//
// Thread safety: everything. Cost: a lock and an allocation per decision. The newest 65,536 are kept.
// Example: probe/policy/actuator_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace plx::probe {

class recorder;

/// One change of an actuator: when, who, from, to, why.
struct decision {
  std::uint64_t number = 0;  // 1, 2, ... in the order of time
  ticks when = 0;
  std::string who;   // a policy, or who called
  std::string what;  // an actuator, or what else was decided about
  std::string from;
  std::string to;
  std::string why;
};

class decision_log {
 public:
  /// With a recorder, each decision is a mark of category "policy" in its trace. It must live as long as decisions
  /// come.
  explicit decision_log(recorder* marks = nullptr);
  ~decision_log();
  decision_log(const decision_log&) = delete;
  decision_log& operator=(const decision_log&) = delete;

  /// Gives the decision's number.
  std::uint64_t add(std::string_view who, std::string_view what, std::string_view from, std::string_view to,
                    std::string_view why);
  /// A mark alone: something happened, nothing was decided.
  void note(std::string_view text);

  /// Those that are kept, the oldest first.
  [[nodiscard]] std::vector<decision> all() const;
  /// How many there were, with those no longer kept.
  [[nodiscard]] std::uint64_t count() const noexcept;

  /// number,time_s,who,what,from,to,why; times count from the making of the log.
  result<void> write_csv(const std::string& path) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace plx::probe
