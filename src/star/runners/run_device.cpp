#include "star/runners/run_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "star/device/device_gas.hpp"
#include "star/driver/options.hpp"
#include "star/output/run_summary.hpp"

namespace plx::star {

device::gas_options gas_options_of(const setup& s) { return {s.hydro, s.scheme, s.cfl, s.sides, 0, s.modules}; }

const gpu::backend& backend_of(const run_options& run, const gpu::backend* on) {
  return on != nullptr ? *on : gpu::find_backend(run.device == "emulated" ? "cpu" : run.device);
}

error device_error(const run_options& run, const gpu::error& why) {
  return {fmt::format("run.device = \"{}\": {}; run.device = \"cpu\" needs none", run.device, why.what())};
}

// If there is no device, opening reports the error.
int device_index(const gpu::backend& b, int rank) { return rank % std::max(1, gpu::device_count(b)); }

int rank_on_host(step::exchange& net) {
  if (net.is_alone()) return 0;
  const std::string name = this_machine().host + "\n" + this_process().boot;
  const auto number = static_cast<double>(std::hash<std::string>()(name) >> 12);  // exact
  const auto all = net.all_gather({number});
  int lower = 0;
  for (int i = 0; i < net.here(); ++i) lower += all[static_cast<std::size_t>(i)].at(0) == number ? 1 : 0;
  return lower;
}

}  // namespace plx::star
