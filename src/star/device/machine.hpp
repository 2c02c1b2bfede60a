// What a device_gas runs on: memory, copies, operations and graphs of a device, in one stream. `cpu` computes at once,
// in the memory of the host; `cuda` puts everything into a stream.
//
// Thread safety: one thread at a time. Errors: std::runtime_error with the call and the device's own words; the machine
// is of no use afterwards. Cost: a virtual call beside what the device takes.
// Example: star/device/device_gas_test.cpp
#pragma once

#include <cstddef>
#include <memory>

#include "star/device/step_data.hpp"

namespace plx::star::device {

class machine {
 public:
  virtual ~machine() = default;
  virtual const char* name() const = 0;

  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Both in the order of the stream. The host's side may be used again after synchronize().
  virtual void to_device(void* to, const void* from, std::size_t bytes) = 0;
  virtual void from_device(void* to, const void* from, std::size_t bytes) = 0;
  virtual void within_device(void* to, const void* from, std::size_t bytes) = 0;
  virtual void synchronize() = 0;

  virtual void advance_stage(const stage_arguments& a) = 0;
  virtual void make_ghosts(const ghosts_arguments& a) = 0;
  virtual void correct_fluxes(const correction_arguments& a) = 0;
  virtual void sum_sides(const side_arguments& a) = 0;
  virtual void finish_step(const finish_arguments& a) = 0;

  /// What is put into the stream between begin_graph() and end_graph() becomes a graph instead, which replay() runs any
  /// number of times. Requires: has_graphs().
  virtual bool has_graphs() const { return false; }
  virtual void begin_graph() {}
  virtual int end_graph() { return -1; }
  virtual void replay(int /*graph*/) {}
  virtual void drop_graphs() {}
};

std::unique_ptr<machine> make_cpu_machine();
/// Errors: throws where there is no device or no driver.
std::unique_ptr<machine> make_cuda_machine();

}  // namespace plx::star::device
