#include "parquet/distribution/network_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "control/actuator.hpp"
#include "net/core/node.hpp"
#include "net/parcels/collector.hpp"
#include "probe/settings.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

net::network_time time_here() {
  net::node& here = net::node_here();
  return net::network_time_of(here.port(), here.home().recorder());
}

}  // namespace

network_share::network_share() : begin_(time_here()) {}

double network_share::value() const { return std::clamp((time_here() - begin_).share(), 0.0, 1.0); }

coalescing coalescing_of(std::uint16_t action) {
  net::node& here = net::node_here();
  const coalescing how = here.port().how_collected(action);
  if (how.way != coalescing_way::adaptive) return how;
  const auto of = fmt::format("@{}", net::function_of(*net::all_actions()[action]));
  const auto& actuators = here.home().actuators();
  // An adaptive setting of all actions has actuators without a name.
  for (const auto& name : {of, std::string()}) {
    const auto way = actuators.find_as<probe::choice>("coalesce-way" + name);
    const auto parcels = actuators.find_as<std::int64_t>("coalesce-parcels" + name);
    const auto interval = actuators.find_as<double>("coalesce-interval" + name);
    const auto bytes = actuators.find_as<std::int64_t>("coalesce-bytes" + name);
    if (!way || !parcels || !interval || !bytes) continue;
    coalescing chosen = self_clocking;
    chosen.bytes = static_cast<std::size_t>((*bytes)->get());
    if ((*way)->get().index == 0) return chosen;
    chosen.way = coalescing_way::fixed;
    chosen.parcels = static_cast<unsigned>((*parcels)->get());
    chosen.interval_us = (*interval)->get();
    return chosen;
  }
  return {.bytes = how.bytes, .way = coalescing_way::self_clocking};
}

bool user_coalesces(std::uint16_t action) {
  const auto settings = parse_coalescing(net::node_here().home().options().measure->coalesce);
  if (!settings) return false;
  return std::any_of(settings->begin(), settings->end(), [action](const coalescing_setting& s) {
    if (s.action.empty()) return true;
    const auto found = net::find_action(s.action);
    return found && (*found)->index == action;
  });
}

}  // namespace plx::parquet
