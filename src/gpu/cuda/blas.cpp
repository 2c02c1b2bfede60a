#include "gpu/cuda/blas.hpp"

#include <fmt/format.h>

#include "gpu/error.hpp"

#if PLX_HAVE_CUBLAS

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "gpu/backend.hpp"
#include "probe/monitor/shared_library.hpp"

namespace plx::gpu::cuda {
namespace {

// The functions of cuBLAS.
struct functions {
  decltype(cublasCreate_v2)* create = nullptr;
  decltype(cublasSetStream_v2)* set_stream = nullptr;
  decltype(cublasZgemmStridedBatched)* zgemm = nullptr;
  decltype(cublasGetStatusString)* text = nullptr;
};

struct library {
  std::string missing;  // why it cannot be used, or ""
  std::optional<probe::shared_library> file;
  functions f;
};

library open_library() {
  library l;
  const int major = CUDA_VERSION / 1000;
  const std::string name = fmt::format("libcublas.so.{}", major);
  auto opened = probe::shared_library::open({name, "/usr/local/cuda/lib64/" + name});
  if (!opened) {
    l.missing = fmt::format("cuBLAS of CUDA {} is not found: {}; LD_LIBRARY_PATH names its folder", major,
                            opened.error().message);
    return l;
  }
  l.file.emplace(*std::move(opened));
  const bool found =
      l.file->find("cublasCreate_v2", l.f.create) && l.file->find("cublasSetStream_v2", l.f.set_stream) &&
      l.file->find("cublasZgemmStridedBatched", l.f.zgemm) && l.file->find("cublasGetStatusString", l.f.text);
  if (!found) l.missing = fmt::format("{} lacks required functions: expected cuBLAS of CUDA {}", name, major);
  return l;
}

// The library initializes itself on a thread with a large stack: the caller may be a task.
template <class F>
void on_a_thread(F&& f) {
  std::thread(std::forward<F>(f)).join();
}

const library& the_library() {
  static const library* const opened = [] {
    const library* l = nullptr;  // never closed
    on_a_thread([&l] { l = new library(open_library()); });
    return l;
  }();
  return *opened;
}

void expect(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const failure kind = status == CUBLAS_STATUS_ALLOC_FAILED    ? failure::out_of_memory
                       : status == CUBLAS_STATUS_NOT_SUPPORTED ? failure::unsupported
                       : status == CUBLAS_STATUS_ARCH_MISMATCH ? failure::unsupported
                       : status == CUBLAS_STATUS_INVALID_VALUE ? failure::wrong_use
                                                               : failure::other;
  static_cast<void>(cudaGetLastError());  // so that a later call does not return it
  std::string message = fmt::format("cuda: {}: {} ({})", call, the_library().f.text(status), int{status});
  if (kind != failure::other) message += fmt::format(" [{}]", name_of(kind));
  throw error({kind, status, call, "", std::move(message)});
}

// The handle of a stream of the current device; it lives as long as the process. A stream that is destroyed leaves its
// handle to the next one with its address.
cublasHandle_t handle_of(cudaStream_t stream) {
  static std::mutex lock;
  static auto& all = *new std::map<std::pair<int, cudaStream_t>, cublasHandle_t>;
  int device = 0;
  if (const cudaError_t e = cudaGetDevice(&device); e != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw make_error(find_backend("cuda"), {e, "cudaGetDevice"}, "", "");
  }
  const std::lock_guard guard(lock);
  cublasHandle_t& handle = all[{device, stream}];
  if (handle == nullptr) {
    cublasStatus_t created = CUBLAS_STATUS_NOT_INITIALIZED;
    on_a_thread([&] {
      if (cudaSetDevice(device) == cudaSuccess) created = the_library().f.create(&handle);
    });
    expect(created, "cublasCreate");
  }
  expect(the_library().f.set_stream(handle, stream), "cublasSetStream");
  return handle;
}

}  // namespace

std::string blas_missing() { return the_library().missing; }

void multiply(const launch& where, int n, const std::complex<double>* a, const std::complex<double>* b,
              std::complex<double>* c, std::ptrdiff_t stride, int count) {
  if (const std::string& missing = the_library().missing; !missing.empty())
    throw error({failure::unsupported, 0, "cublasCreate", "", "cuda: " + missing});
  cublasHandle_t handle = handle_of(reinterpret_cast<cudaStream_t>(where.stream));
  const cuDoubleComplex one{1, 0}, zero{0, 0};
  const auto of = [](const std::complex<double>* x) { return reinterpret_cast<const cuDoubleComplex*>(x); };
  expect(the_library().f.zgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, of(a), n, stride, of(b), n, stride,
                               &zero, reinterpret_cast<cuDoubleComplex*>(c), n, stride, count),
         "cublasZgemmStridedBatched");
}

}  // namespace plx::gpu::cuda

#else

namespace plx::gpu::cuda {

std::string blas_missing() { return "this program was built without cuBLAS (cublas_v2.h was not found)"; }

void multiply(const launch&, int, const std::complex<double>*, const std::complex<double>*, std::complex<double>*,
              std::ptrdiff_t, int) {
  throw error({failure::unsupported, 0, "cublasCreate", "", "cuda: " + blas_missing()});
}

}  // namespace plx::gpu::cuda

#endif
