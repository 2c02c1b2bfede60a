// The policies that come with the runtime, switched on by the setting `policies`: worker-cap and loop-grain.
//
// Thread safety: of the thread that makes the runtime. Cost: worker-cap reads a counter 50 times a second; loop-grain
// is loop_tuning.hpp's. Example: policies_test.cpp, bench/policy
#pragma once

#include <memory>

namespace plx::probe {
class actuator_registry;
class counter_registry;
class policy_registry;
struct settings;
}  // namespace plx::probe

namespace plx::detail {

class scheduler;
class loop_tuning;

/// Adds what `asked.policies` names, for the life of the registry. Gives who tunes loops, or null; it must live as long
/// as the scheduler's workers. In the deterministic mode, where only the seed decides, nothing is added, and the log
/// says so.
std::unique_ptr<loop_tuning> add_shipped_policies(const probe::settings& asked, scheduler& s,
                                                  probe::counter_registry& counters,
                                                  probe::actuator_registry& actuators,
                                                  probe::policy_registry& policies);

}  // namespace plx::detail
