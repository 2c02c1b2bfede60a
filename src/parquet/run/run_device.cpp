#include "parquet/run/run_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "gpu/error.hpp"
#include "net/team.hpp"
#include "parquet/run/memory.hpp"
#include "parquet/run/options.hpp"
#if defined(PLX_GPU_CUDA)
#include "gpu/cuda/blas.hpp"
#endif

namespace plx::parquet {
namespace {

std::string missing_for([[maybe_unused]] const gpu::backend& b) {
#if defined(PLX_GPU_CUDA)
  if (b.name == "cuda") return gpu::cuda::blas_missing();
#endif
  return {};
}

}  // namespace

result<std::unique_ptr<gpu::device>> open_device(const parquet_options& o, runtime& rt, const team& members,
                                                 const gpu::backend* on) {
  std::unique_ptr<gpu::device> opened;
  if (o.device == "cpu") return opened;
  const unsigned rank = host_share_of(members).rank;
  std::string why;
  try {
    const gpu::backend& b = on != nullptr ? *on : gpu::find_backend(o.device == "emulated" ? "cpu" : o.device);
    const auto devices = static_cast<unsigned>(std::max(1, gpu::device_count(b)));  // of none, opening fails
    opened = std::make_unique<gpu::device>(rt, b, static_cast<int>(rank % devices));
    why = missing_for(b);
  } catch (const gpu::error& e) {
    why = e.what();
  }
  const auto all = members.agree(
      why.empty() ? result<void>()
                  : error{fmt::format("run.device = \"{}\": {}; run.device = \"cpu\" needs none", o.device, why)});
  if (!all) return all.error();
  return opened;
}

}  // namespace plx::parquet
