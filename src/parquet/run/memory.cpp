#include "parquet/run/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/process.hpp"
#include "base/text.hpp"
#include "io/available_memory.hpp"
#include "net/team.hpp"
#include "parquet/device/resident_vertices.hpp"
#include "parquet/device/streamed_products.hpp"
#include "parquet/run/options.hpp"

namespace plx::parquet {

namespace {

// Pinned memory, and that of an emulated device. Which form a device takes is known only when it allocates its memory.
double bytes_for_device(const parquet_options& o, const vertex_grid& grid, const memory_share& share) {
  if (o.device == "cpu") return 0;
  const bool emulated = o.device == "emulated";
  const double lanes = streamed_products::lanes_for(share.workers) * streamed_products::lane_bytes(grid.rows(0));
  const double streamed = lanes * 2 / 3 + (emulated ? lanes : 0);
  if (share.localities > 1) return streamed;
  const double resident =
      resident_vertices::pinned_bytes(grid) + (emulated ? resident_vertices::device_bytes(grid, o.history + 1) : 0);
  return std::max(streamed, resident);
}

double bytes_of(const parquet_options& o, const std::shared_ptr<const qmc::cluster>& lattice, int n,
                const memory_share& share) {
  const vertex_grid grid(lattice, n, o.bosons_of(n));
  const double gathered = o.vertex && share.localities > 1 ? 2.0 * static_cast<double>(grid.size()) * 16 : 0;
  return parquet::memory_bytes(grid, o.settings(), share.workers, share.localities) + gathered +
         bytes_for_device(o, grid, share);
}

}  // namespace

host_share host_share_of(const team& members) {
  const std::uint64_t own = fnv1a(host_name());
  host_share share{0, 0};
  unsigned rank = 0;
  for (const std::uint64_t host : members.gather(std::vector<std::uint64_t>{own})) {
    if (host == own && rank < members.rank()) ++share.rank;
    share.size += host == own;
    ++rank;
  }
  return share;
}

double memory_bytes(const parquet_options& o, const memory_share& share) {
  return bytes_of(o, o.make_model()->lattice, o.frequencies.back(), share);
}

result<void> check_memory(const parquet_options& o, const memory_share& share) {
  const bool given = o.memory_gb > 0;
  const double limit = given ? 1e9 * o.memory_gb : available_memory_bytes() / share.on_host;
  const double needed = memory_bytes(o, share);
  if (needed <= limit) return check_address_space(needed, share.workers);
  const auto lattice = o.make_model()->lattice;
  int fitting = o.frequencies.back() - 1;
  while (fitting > 0 && (o.bosons > 2 * fitting || bytes_of(o, lattice, fitting, share) > limit)) --fitting;
  memory_share more = share;
  const unsigned most = 64 * share.localities;
  while (more.localities < most && bytes_of(o, lattice, o.frequencies.back(), more) > limit) ++more.localities;
  return error{fmt::format(
      "the run needs {:.3g} GB of memory per process: expected at most {:.3g} GB ({}); {}{}set a smaller loop.history "
      "({}), or use a smaller cluster",
      1e-9 * needed, 1e-9 * limit, given ? "memory.limit_gb" : "available now",
      fitting > 0 ? fmt::format("use grid.frequencies up to {}, ", fitting) : std::string(),
      more.localities < most ? fmt::format("use {} processes with that memory each, ", more.localities) : std::string(),
      o.history)};
}

}  // namespace plx::parquet
