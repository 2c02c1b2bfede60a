#include "parquet/run/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/available_memory.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
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

// One slab each.
unsigned most_localities(const parquet_options& o) {
  return static_cast<unsigned>(o.make_model()->lattice->n_sites() * o.bosons_of(o.frequencies.back()));
}

// The least number of localities, more than there are, whose part is at most `limit`; 0: even one slab each is more.
// Parts become smaller with the number, but for slabs that cannot be cut.
unsigned localities_that_fit(const parquet_options& o, memory_share share, double limit) {
  const auto lattice = o.make_model()->lattice;
  const auto fits = [&](unsigned localities) {
    share.localities = localities;
    return bytes_of(o, lattice, o.frequencies.back(), share) <= limit;
  };
  unsigned none = share.localities, enough = most_localities(o);
  if (enough <= none || !fits(enough)) return 0;
  while (enough - none > 1) {
    const unsigned middle = none + (enough - none) / 2;
    (fits(middle) ? enough : none) = middle;
  }
  return enough;
}

// The effect of more processes: an advice that ends with a comma, or else a remark that begins with a semicolon.
struct answer_on_localities {
  std::string advice, remark;
};
answer_on_localities answer_of(const parquet_options& o, const memory_share& share, double limit) {
  if (const unsigned n = localities_that_fit(o, share, limit); n > 0)
    return {fmt::format("use {} processes with that memory each, ", n), {}};
  parquet_options rest = o;
  rest.vertex = false;
  if (const unsigned n = o.vertex ? localities_that_fit(rest, share, limit) : 0; n > 0)
    return {fmt::format("use {} processes with that memory each and output.vertex = false, ", n), {}};
  memory_share most = share;
  most.localities = most_localities(o);
  return {{},
          fmt::format("; more processes are not enough: each of {}, with one slab, needs {:.3g} GB", most.localities,
                      1e-9 * memory_bytes(rest, most))};
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
  const auto more = answer_of(o, share, limit);
  return error{fmt::format(
      "the run needs {:.3g} GB of memory per process: expected at most {:.3g} GB ({}); {}{}set a smaller loop.history "
      "({}), or use a smaller cluster{}",
      1e-9 * needed, 1e-9 * limit, given ? "memory.limit_gb" : "available now",
      fitting > 0 ? fmt::format("use grid.frequencies up to {}, ", fitting) : std::string(), more.advice, o.history,
      more.remark)};
}

double vertices_bytes(const parquet_options& o, std::size_t first) {
  if (!o.hdf5) return 0;
  const auto lattice = o.make_model()->lattice;
  double sum = 0;
  for (const int n : std::span(o.frequencies).subspan(std::min(first, o.frequencies.size())))  // F and Phi
    sum += 2.0 * sizeof(std::complex<double>) * static_cast<double>(vertex_grid(lattice, n, o.bosons_of(n)).size());
  return sum;
}

std::string warning_of_disk(const parquet_options& o, const std::string& folder, double free_bytes, std::size_t first) {
  const double needed = vertices_bytes(o, first);
  if (needed <= free_bytes) return {};
  return fmt::format(
      "warning: the vertices of the run (output.hdf5) take {:.3g} GB, the disk of '{}' has {:.3g} GB free; "
      "output.hdf5=false writes none",
      1e-9 * needed, printable(folder), 1e-9 * free_bytes);
}

}  // namespace plx::parquet
