// The shared source of the backends cuda and hip, in CUDA's names. Included once by each, with PLX_GPU_CODE_OF as the
// name of its namespace; hip includes gpu/hip/cuda_names.hpp first.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <system_error>

#include "gpu/backend.hpp"

// The library's own name of a function, after the macros of cuda_names.hpp.
#define PLX_GPU_TEXT(name) #name
#define PLX_GPU_NAME(name) PLX_GPU_TEXT(name)

namespace plx::gpu::PLX_GPU_CODE_OF {
namespace {

// A device is represented by its index plus one, so that it is not null.
int number_of(native_device d) noexcept { return static_cast<int>(reinterpret_cast<std::uintptr_t>(d)) - 1; }
cudaStream_t of(native_stream s) noexcept { return reinterpret_cast<cudaStream_t>(s); }
cudaEvent_t of(native_event e) noexcept { return reinterpret_cast<cudaEvent_t>(e); }
cudaGraphExec_t of(native_graph g) noexcept { return reinterpret_cast<cudaGraphExec_t>(g); }

// Each thread has a current device. With several devices every call selects its device.
std::atomic<int> devices_seen{0};
void use(native_device d) noexcept {
  if (devices_seen.load(std::memory_order_relaxed) != 1) static_cast<void>(cudaSetDevice(number_of(d)));
}

outcome outcome_of(cudaError_t e, const char* call) noexcept {
  // The caller reports the error; clear it, so that a later call does not return it.
  if (e != cudaSuccess && e != cudaErrorNotReady) static_cast<void>(cudaGetLastError());
  return {static_cast<int>(e), call};
}

// ------------------------------------------------------------------------------------------------------------ devices

outcome count(const backend&, int& n) {
  n = 0;
  const cudaError_t e = cudaGetDeviceCount(&n);
  if (e != cudaSuccess) n = 0;
  devices_seen.store(n, std::memory_order_relaxed);
  // Without a driver the library reports an insufficient driver of version 0.
  int driver = 0;
  if (e == cudaErrorInsufficientDriver && (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0))
    return outcome_of(cudaErrorSystemDriverMismatch, PLX_GPU_NAME(cudaGetDeviceCount));
#ifdef PLX_GPU_CODE_IS_HIP
  // HIP reports the same error without a driver as without a device.
  if (std::error_code none; e == cudaErrorNoDevice && !std::filesystem::exists("/dev/kfd", none))
    return outcome_of(cudaErrorSystemDriverMismatch, PLX_GPU_NAME(cudaGetDeviceCount));
#endif
  if (e == cudaSuccess && n == 0) return outcome_of(cudaErrorNoDevice, PLX_GPU_NAME(cudaGetDeviceCount));
  return outcome_of(e, PLX_GPU_NAME(cudaGetDeviceCount));
}

outcome open(const backend& b, int index, native_device& d) {
  int n = 0;
  if (const outcome o = count(b, n); !o) return o;
  if (index < 0 || index >= n) return {cudaErrorInvalidDevice, PLX_GPU_NAME(cudaSetDevice)};
  d = reinterpret_cast<native_device>(static_cast<std::uintptr_t>(index) + 1);
  // The first call that needs the device creates its context, which takes 0.1 to 1 s.
  if (const cudaError_t e = cudaSetDevice(index); e != cudaSuccess) return outcome_of(e, PLX_GPU_NAME(cudaSetDevice));
  return outcome_of(cudaFree(nullptr), PLX_GPU_NAME(cudaFree));
}
void close(native_device) noexcept {}

outcome describe(native_device d, device_info& info) {
  cudaDeviceProp p{};
  if (const cudaError_t e = cudaGetDeviceProperties(&p, number_of(d)); e != cudaSuccess)
    return outcome_of(e, PLX_GPU_NAME(cudaGetDeviceProperties));
  info.name = p.name;
  info.memory_bytes = p.totalGlobalMem;
  info.multiprocessors = static_cast<unsigned>(p.multiProcessorCount);
#ifdef PLX_GPU_CODE_IS_HIP
  info.group_bytes = p.sharedMemPerBlock;
#else
  info.group_bytes = p.sharedMemPerBlockOptin;
#endif
  info.architecture = fmt::format("{}.{}", p.major, p.minor);
  info.bus = fmt::format("{:04x}:{:02x}:{:02x}", p.pciDomainID, p.pciBusID, p.pciDeviceID);
  int version = 0;
  const cudaError_t e = cudaDriverGetVersion(&version);
  info.driver = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  return outcome_of(e, PLX_GPU_NAME(cudaDriverGetVersion));
}

// ------------------------------------------------------------------------------------------------------------ streams

outcome make_stream(native_device d, native_stream& s) {
  use(d);
  cudaStream_t made = nullptr;
  const cudaError_t e = cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
  s = reinterpret_cast<native_stream>(made);
  return outcome_of(e, PLX_GPU_NAME(cudaStreamCreateWithFlags));
}
void free_stream(native_device d, native_stream s) noexcept {
  use(d);
  outcome_of(cudaStreamDestroy(of(s)), PLX_GPU_NAME(cudaStreamDestroy));
}
outcome synchronize(native_device d, native_stream s) {
  use(d);
  return outcome_of(cudaStreamSynchronize(of(s)), PLX_GPU_NAME(cudaStreamSynchronize));
}
outcome query_stream(native_device d, native_stream s, bool& done) {
  use(d);
  const cudaError_t e = cudaStreamQuery(of(s));
  done = e != cudaErrorNotReady;
  return outcome_of(done ? e : cudaSuccess, PLX_GPU_NAME(cudaStreamQuery));
}

// ------------------------------------------------------------------------------------------------------------- events

outcome make_event(native_device d, bool timed, native_event& ev) {
  use(d);
  cudaEvent_t made = nullptr;
  const cudaError_t e = cudaEventCreateWithFlags(&made, timed ? cudaEventDefault : cudaEventDisableTiming);
  ev = reinterpret_cast<native_event>(made);
  return outcome_of(e, PLX_GPU_NAME(cudaEventCreateWithFlags));
}
void free_event(native_device d, native_event e) noexcept {
  use(d);
  outcome_of(cudaEventDestroy(of(e)), PLX_GPU_NAME(cudaEventDestroy));
}
outcome record(native_device d, native_event e, native_stream s) {
  use(d);
  return outcome_of(cudaEventRecord(of(e), of(s)), PLX_GPU_NAME(cudaEventRecord));
}
outcome query(native_device d, native_event ev, bool& done) {
  use(d);
  const cudaError_t e = cudaEventQuery(of(ev));
  done = e != cudaErrorNotReady;
  return outcome_of(done ? e : cudaSuccess, PLX_GPU_NAME(cudaEventQuery));
}
outcome wait(native_device d, native_stream s, native_event e) {
  use(d);
  return outcome_of(cudaStreamWaitEvent(of(s), of(e), 0), PLX_GPU_NAME(cudaStreamWaitEvent));
}
outcome elapsed(native_device d, native_event begin, native_event end, double& seconds) {
  use(d);
  float ms = 0;
  const cudaError_t e = cudaEventElapsedTime(&ms, of(begin), of(end));
  seconds = 1e-3 * static_cast<double>(ms);
  return outcome_of(e, PLX_GPU_NAME(cudaEventElapsedTime));
}

// ------------------------------------------------------------------------------------------------------------- memory

outcome allocate(native_device d, memory_kind kind, std::size_t bytes, void*& p) {
  use(d);
  p = nullptr;
  if (kind == memory_kind::device) return outcome_of(cudaMalloc(&p, bytes), PLX_GPU_NAME(cudaMalloc));
  return outcome_of(cudaHostAlloc(&p, bytes, cudaHostAllocPortable | cudaHostAllocMapped), PLX_GPU_NAME(cudaHostAlloc));
}
void release(native_device d, memory_kind kind, void* p) noexcept {
  use(d);
  if (kind == memory_kind::device)
    outcome_of(cudaFree(p), PLX_GPU_NAME(cudaFree));
  else
    outcome_of(cudaFreeHost(p), PLX_GPU_NAME(cudaFreeHost));
}
outcome copy(native_device d, native_stream s, void* to, const void* from, std::size_t bytes) {
  use(d);
  return outcome_of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, of(s)), PLX_GPU_NAME(cudaMemcpyAsync));
}
outcome fill(native_device d, native_stream s, void* to, std::uint8_t byte, std::size_t bytes) {
  use(d);
  return outcome_of(cudaMemsetAsync(to, byte, bytes, of(s)), PLX_GPU_NAME(cudaMemsetAsync));
}
outcome call(native_device d, native_stream s, void (*f)(void*), void* arg);
outcome write_flag(native_device d, native_stream s, std::uint32_t* flag, std::uint32_t value);

// ------------------------------------------------------------------------------------------------- kernels and graphs

launch_function kernel_of(const any_operation& op);

outcome launch(native_device d, const any_operation& op, const gpu::launch& where, const void* items, unsigned n,
               item_errors) {
  const launch_function f = kernel_of(op);
  if (f == nullptr) return {cudaErrorInvalidDeviceFunction, "kernel launch"};
  use(d);
  f(where, items, n);
  return {static_cast<int>(cudaGetLastError()), "kernel launch"};
}

outcome begin_capture(native_device d, native_stream s) {
  use(d);
  return outcome_of(cudaStreamBeginCapture(of(s), cudaStreamCaptureModeRelaxed), PLX_GPU_NAME(cudaStreamBeginCapture));
}
outcome end_capture(native_device d, native_stream s, native_graph& g) {
  use(d);
  g = nullptr;
  cudaGraph_t captured = nullptr;
  cudaError_t e = cudaStreamEndCapture(of(s), &captured);
  if (e != cudaSuccess) return outcome_of(e, PLX_GPU_NAME(cudaStreamEndCapture));
  cudaGraphExec_t made = nullptr;
  e = cudaGraphInstantiateWithFlags(&made, captured, 0);
  g = reinterpret_cast<native_graph>(made);
  static_cast<void>(cudaGraphDestroy(captured));
  return outcome_of(e, PLX_GPU_NAME(cudaGraphInstantiateWithFlags));
}
outcome launch_graph(native_device d, native_graph g, native_stream s) {
  use(d);
  return outcome_of(cudaGraphLaunch(of(g), of(s)), PLX_GPU_NAME(cudaGraphLaunch));
}
void free_graph(native_device d, native_graph g) noexcept {
  use(d);
  outcome_of(cudaGraphExecDestroy(of(g)), PLX_GPU_NAME(cudaGraphExecDestroy));
}

// -------------------------------------------------------------------------------------------------------------- codes

std::string_view code_name(int code) { return cudaGetErrorName(static_cast<cudaError_t>(code)); }
std::string_view code_text(int code) {
  if (code == cudaErrorSystemDriverMismatch) return "no driver is installed, or it does not support this program";
  return cudaGetErrorString(static_cast<cudaError_t>(code));
}

failure kind_of(int code) {
#if !defined(PLX_GPU_CODE_IS_HIP)
  // cudaErrorContained, cudaErrorTensorMemoryLeak: returned by newer drivers, unnamed in older toolkits.
  if (code == 226 || code == 721) return failure::device_lost;
#endif
  switch (static_cast<cudaError_t>(code)) {
    case cudaSuccess:
      return failure::none;
    case cudaErrorMemoryAllocation:
      return failure::out_of_memory;
    case cudaErrorSystemDriverMismatch:
      return failure::no_driver;
    case cudaErrorInsufficientDriver:
      return failure::driver_too_old;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      return failure::no_device;
    case cudaErrorNotSupported:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorNoKernelImageForDevice:
      return failure::unsupported;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidConfiguration:
      return failure::wrong_use;
    // After these errors every call of this process fails.
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
#if !defined(PLX_GPU_CODE_IS_HIP)
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorMpsConnectionFailed:
#endif
      return failure::device_lost;
    default:
      return failure::other;
  }
}

}  // namespace
}  // namespace plx::gpu::PLX_GPU_CODE_OF

#define PLX_GPU_TABLE(name)                                                                                            \
  backend {                                                                                                            \
    name, nullptr, count, open, close, describe, make_stream, free_stream, synchronize, query_stream, make_event,      \
        free_event, record, query, wait, elapsed, allocate, release, copy, fill, call, write_flag, launch,             \
        begin_capture, end_capture, launch_graph, free_graph, code_name, code_text, kind_of, false, nullptr, records() \
  }
