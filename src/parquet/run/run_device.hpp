// The device that run.device names.
//
// Thread safety: collective, in a task. Errors: one line. Example: parquet/run/test/run_device_test.cpp
#pragma once

#include <memory>

#include "base/result.hpp"
#include "gpu/device.hpp"

namespace plx {
class runtime;
class team;
}  // namespace plx

namespace plx::parquet {

struct parquet_options;

/// Null if run.device = "cpu". The processes of a host take its devices in turn, and share them if there are too few.
/// `on`: for tests, instead of the backend that run.device names. Error on all processes; one of them has
/// the message: the program lacks the backend, there is no device, or cuBLAS is not found.
result<std::unique_ptr<gpu::device>> open_device(const parquet_options& o, runtime& rt, const team& members,
                                                 const gpu::backend* on = nullptr);

}  // namespace plx::parquet
