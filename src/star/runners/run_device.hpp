// The device on which a locality runs: each locality has one (docs/decisions/0022-one-device-per-locality.md). A device
// with its stream, and the error if there is none.
//
// Thread safety: that of its parts. Cost: opening a device. Errors: gpu::error, thrown, unless a result is returned.
// Example: star/runners/distributed_device.cpp
#pragma once

#include <type_traits>
#include <utility>

#include "base/result.hpp"
#include "gpu/backend.hpp"
#include "gpu/device.hpp"
#include "gpu/error.hpp"
#include "star/device/data/machine.hpp"

namespace plx::step {
class exchange;
}

namespace plx::star {

struct run_options;
struct setup;
namespace device {
struct gas_options;
}

/// Members in order of construction.
struct run_device {
  run_device(runtime& rt, const gpu::backend& b, int index) : device(rt, b, index), machine(device) {}

  gpu::device device;
  device::machine machine;
};

/// Options of a device's values, without totals.
device::gas_options gas_options_of(const setup& s);

/// The backend that run.device names, or `on` if it is not null. Errors: gpu::error if this program lacks the backend.
const gpu::backend& backend_of(const run_options& run, const gpu::backend* on);

/// One line: the request, the reason of the failure, and what to do.
error device_error(const run_options& run, const gpu::error& why);

/// The index of a locality's device: the localities of a host take its devices in turn, and share them if there are too
/// few. `rank`: rank_on_host().
int device_index(const gpu::backend& b, int rank);
/// The number of localities on this host with lower numbers. Collective, in a task.
int rank_on_host(step::exchange& net);

/// f(backend), or the error of device_error().
template <class F>
auto on_backend(const run_options& run, const gpu::backend* on, F&& f)
    -> result<std::invoke_result_t<F, const gpu::backend&>> {
  try {
    return std::forward<F>(f)(backend_of(run, on));
  } catch (const gpu::error& e) {
    return device_error(run, e);
  }
}

}  // namespace plx::star
