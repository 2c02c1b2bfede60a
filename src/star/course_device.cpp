#include "star/course_device.hpp"

#include <fmt/format.h>

namespace plx::star {

device::gas_options gas_options_of(const setup& s) { return {s.hydro, s.scheme, s.cfl, s.sides, 0}; }

const gpu::backend& backend_of(const run_options& run, const gpu::backend* on) {
  return on != nullptr ? *on : gpu::find_backend(run.device == "emulated" ? "cpu" : run.device);
}

bool is_opened_often(const run_options& run, const gpu::backend* on) {
  return run.device == "emulated" && on == nullptr;
}

error device_error(const run_options& run, const gpu::error& why) {
  return {fmt::format("run.device = \"{}\"{}: {}; run.device = \"cpu\" needs none", run.device,
                      run.devices > 1 ? fmt::format(", run.devices = {}", run.devices) : "", why.what())};
}

result<void> expect_one_process(const run_options& run, const gas& g) {
  if (g.net.is_alone()) return {};
  return error{fmt::format("run.device = \"{}\": expected one process, found {}; several run on run.device = \"cpu\"",
                           run.device, g.net.count())};
}

}  // namespace plx::star
