// What the courses of a run on devices (device_course.hpp, shared_course.hpp) are made of: a device with its stream,
// and what is said where there is none.
//
// Thread safety: as its parts. Cost: of opening a device. Errors: gpu::error, thrown, but where a result is given.
// Example: star/shared_course.cpp
#pragma once

#include <type_traits>
#include <utility>

#include "base/result.hpp"
#include "gpu/backend.hpp"
#include "gpu/device.hpp"
#include "gpu/error.hpp"
#include "star/device/device_gas.hpp"
#include "star/device/machine.hpp"
#include "star/gas.hpp"
#include "star/options.hpp"

namespace plx::star {

/// In the order in which they are made.
struct course_device {
  course_device(runtime& rt, const gpu::backend& b, int index) : device(rt, b, index), machine(device) {}

  gpu::device device;
  device::machine machine;
};

/// The options of a gas on a device, which takes no totals by itself.
device::gas_options gas_options_of(const setup& s);

/// The backend that run.device names; `on`, where that is not null. Errors: gpu::error: this program has none.
const gpu::backend& backend_of(const run_options& run, const gpu::backend* on);

/// Is the one device of the backend opened as often as is asked for?
bool is_opened_often(const run_options& run, const gpu::backend* on);

/// One line: what was asked for, why it cannot be, what to do.
error device_error(const run_options& run, const gpu::error& why);

/// The device of the backend that this locality takes as its `which`th: localities of one host take them in turn, and
/// share them where there are fewer than all want. `rank`: rank_on_host().
int device_index(const run_options& run, const gpu::backend& b, int rank, int which);
/// How many localities with lower numbers are on this host. All call it, each in a task.
int rank_on_host(exchange& net);

/// f(backend), or the line that says why not.
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
