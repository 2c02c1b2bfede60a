#include "parquet/device/resident_vertices.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <optional>
#include <span>

#include "base/assert.hpp"
#include "gpu/buffer.hpp"
#include "gpu/stream.hpp"
#include "num/dense/linear_algebra.hpp"
#include "parquet/device/grid_tables.hpp"
#include "parquet/device/operations.hpp"
#include "parquet/equations/rotation.hpp"
#include "rt/for_loop.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;
using gpu::memory_kind;

constexpr int n_streams = 3;
constexpr std::size_t group_bytes = std::size_t{256} << 20;  // of the products of a group, if it has several slabs

// The numbers of a slab, as the bits of doubles: changes by symmetrization, and the residual.
struct slab_numbers {
  std::uint64_t asymmetry[4], change;
};

template <class T>
gpu::buffer<T> copy_of(gpu::stream& s, const std::vector<T>& values) {
  gpu::buffer<T> b(s, values.size());
  s.copy(b.data(), values.data(), b.bytes());
  s.wait();
  return b;
}

// Slabs of that many rows in a group, if their transfer frequency has as many.
int slabs_in_group(int rows) {
  return std::max(1, static_cast<int>(group_bytes / (4 * sizeof(complex) * rows * rows)));
}
// Elements of the products of the largest group.
std::size_t most_in_group(const vertex_grid& grid) {
  std::size_t most = 0;
  for (int m = 0; m < grid.bosons(); ++m) {
    const auto rows = static_cast<std::size_t>(grid.rows(m));
    most = std::max(most, 4 * rows * rows * std::min(grid.n_momenta(), slabs_in_group(grid.rows(m))));
  }
  return most;
}

}  // namespace

// Slabs [first, last) of one transfer frequency.
struct resident_vertices::group {
  int first, last, rows;
  int stream;
};

struct resident_vertices::parts {
  parts(gpu::device& on, const vertex_grid& grid, int slots)
      : streams{gpu::stream(on), gpu::stream(on), gpu::stream(on)},
        size(grid.size()),
        n_slots(slots),
        vectors(streams[0], 2 * size * static_cast<std::size_t>(slots)),
        tables(grid) {
    gpu::stream& s = streams[0];
    for (int first = 0; first < grid.n_slabs();) {
      const transfer q = grid.transfer_of(first);
      const int rows = grid.rows(q.frequency), of_frequency = grid.slab({0, q.frequency}) + grid.n_momenta();
      const int last = std::min(first + slabs_in_group(rows), of_frequency);
      groups.push_back({first, last, rows, static_cast<int>(groups.size()) % n_streams});
      first = last;
    }
    const std::size_t most = most_in_group(grid);
    for (int i = 0; i < n_streams; ++i) {
      factors[i] = gpu::buffer<complex>(streams[i], most);
      products[i] = gpu::buffer<complex>(streams[i], most);
    }
    const std::size_t rows = grid.row_offset(grid.n_slabs());
    weights = gpu::buffer<complex>(s, 4 * rows);
    host_weights = gpu::buffer<complex>(s, 4 * rows, memory_kind::pinned);
    limits = gpu::buffer<complex>(s, 2 * rows, memory_kind::pinned);
    reports = gpu::buffer<slab_numbers>(s, grid.n_slabs());
    host_reports = gpu::buffer<slab_numbers>(s, grid.n_slabs(), memory_kind::pinned);
    sums = gpu::buffer<double>(s, grid.n_slabs());
    host_sums = gpu::buffer<double>(s, grid.n_slabs(), memory_kind::pinned);
    gamma = gpu::buffer<complex>(s, grid.slab_offset(grid.n_momenta()), memory_kind::pinned);
    std::vector<std::int32_t> all;
    for (const bool hole : {true, false})
      for (int i = 0; i < grid.n_slabs(); ++i) {
        const auto own = slab_partners(grid, hole, grid.transfer_of(i));
        all.insert(all.end(), own.begin(), own.end());
      }
    partners = copy_of(s, all);
    frequencies = copy_of(s, tables.frequencies);
    second = copy_of(s, tables.second);
    transfer_momenta = copy_of(s, tables.transfer);
    beyond = gpu::buffer<double>(s, 2 * static_cast<std::size_t>(tables.most + 1) * tables.n_momenta * 2);
  }
  // Memory is released after all streams have used it.
  ~parts() {
    try {
      wait();
    } catch (...) {  // the work has ended, or its device is lost
    }
  }

  complex* x(int slot) const noexcept { return vectors.data() + 2 * size * static_cast<std::size_t>(slot); }
  complex* r(int slot) const noexcept { return x(slot) + size; }
  // Waits for all streams, and throws the first error.
  void wait() {
    std::exception_ptr error;
    for (auto& s : streams) try {
        s.wait();
      } catch (...) {
        if (error == nullptr) error = std::current_exception();
      }
    if (error != nullptr) std::rethrow_exception(error);
  }

  std::array<gpu::stream, n_streams> streams;
  std::size_t size;
  int n_slots;
  gpu::buffer<complex> vectors;  // [slot][x, r][size]
  device::grid_tables tables;
  std::vector<group> groups;
  gpu::buffer<complex> factors[n_streams], products[n_streams];
  gpu::buffer<complex> weights, host_weights;  // [slab][channel][rows]
  gpu::buffer<complex> limits;                 // [slab][density, magnetic][rows]
  gpu::buffer<slab_numbers> reports, host_reports;
  gpu::buffer<double> sums, host_sums;  // [slab]
  gpu::buffer<complex> gamma;           // of the slabs at w = 0
  gpu::buffer<std::int32_t> partners;   // [2][slab][rows]
  gpu::buffer<device::frequency_row> frequencies;
  gpu::buffer<std::int32_t> second, transfer_momenta;
  gpu::buffer<double> beyond;
};

resident_vertices::resident_vertices(gpu::device& on, const vertex_grid& grid, int slots)
    : grid_(grid), on_(std::make_unique<parts>(on, grid, slots)) {
  PLX_ASSERT_LE(slots, device::mix_item::most);
}

resident_vertices::~resident_vertices() = default;

double resident_vertices::device_bytes(const vertex_grid& grid, int slots) {
  const std::size_t n = grid.n_momenta();
  const std::size_t rows = grid.row_offset(grid.n_slabs()), slabs = grid.n_slabs();
  const std::size_t complexes = 2 * grid.size() * slots + 2 * n_streams * most_in_group(grid) + 4 * rows;
  const std::size_t integers = 2 * rows + 2 * all_rotations.size() * n * n * n;
  const std::size_t beyond = 2 * (2 * static_cast<std::size_t>(grid.frequencies()) + 1) * n * 2;
  return static_cast<double>(complexes * sizeof(complex) + integers * sizeof(std::int32_t) +
                             slabs * (sizeof(slab_numbers) + sizeof(double)) +
                             grid.bosons() * sizeof(device::frequency_row) + beyond * sizeof(double));
}

double resident_vertices::pinned_bytes(const vertex_grid& grid) {
  const std::size_t rows = grid.row_offset(grid.n_slabs()), slabs = grid.n_slabs();
  return static_cast<double>((6 * rows + grid.slab_offset(grid.n_momenta())) * sizeof(complex) +
                             slabs * (sizeof(slab_numbers) + sizeof(double)));
}

void resident_vertices::make_weights(const propagator& g) {
  for_loop({probe::register_name("parquet/weights"), probe::no_key}, 0, 4 * grid_.n_slabs(), [&](int i) {
    const auto w = pair_weights(grid_, g, all_channels[i % 4], grid_.transfer_of(i / 4));
    std::copy(w.begin(), w.end(), on_->host_weights.data() + 4 * grid_.row_offset(i / 4) + (i % 4) * w.size());
  });
}

// All work of an iteration on a group of slabs.
void resident_vertices::submit(const group& g, const propagator& green, int slot, bool symmetrize) {
  gpu::stream& s = on_->streams[g.stream];
  const int n = g.rows, count = g.last - g.first;
  const std::size_t size = static_cast<std::size_t>(n) * n, begin = grid_.slab_offset(g.first);
  const complex* x = on_->x(slot) + begin;
  complex *r = on_->r(slot) + begin, *f = on_->factors[g.stream].data(), *next = on_->products[g.stream].data();
  const auto tables =
      on_->tables.at(on_->frequencies.data(), on_->second.data(), on_->transfer_momenta.data(), on_->beyond.data());
  std::vector<device::rotate_item> rotate;
  std::vector<device::weigh_item> weigh;
  std::vector<device::symmetrize_item> mean;
  std::vector<device::subtract_item> subtract;
  for (int slab = g.first; slab < g.last; ++slab) {
    const transfer q = grid_.transfer_of(slab);
    const std::size_t at = static_cast<std::size_t>(slab - g.first) * 4 * size, row = grid_.row_offset(slab);
    for (const bool hole : {true, false})
      rotate.push_back({on_->x(slot), r + at + (hole ? 0 : 2 * size), tables, hole ? 1 : 0, q.momentum, q.frequency, n,
                        green.model().u});
    for (int c = 0; c < 4; ++c) {
      weigh.push_back({r + at + c * size, x + at + c * size,
                       on_->weights.data() + 4 * row + static_cast<std::size_t>(c) * n, f + at + c * size, n});
      const std::size_t partners = c < 2 ? row : grid_.row_offset(grid_.n_slabs()) + row;
      mean.push_back(
          {next + at + c * size, on_->partners.data() + partners, &on_->reports.data()[slab].asymmetry[c], n, c});
    }
    subtract.push_back({next + at, x + at, r + at, &on_->reports.data()[slab].change, 4 * size});
  }
  s.launch(device::rotate, std::span<const device::rotate_item>(rotate));
  if (grid_.transfer_of(g.first).frequency == 0)
    s.copy(on_->gamma.data() + begin, r, 4 * size * count * sizeof(complex));
  s.launch(device::weigh, std::span<const device::weigh_item>(weigh));
  s.launch(device::multiply, device::multiply_item{r, f, next, n, 4 * count});
  if (symmetrize) s.launch(device::symmetrize_slab, std::span<const device::symmetrize_item>(mean));
  for (int slab = g.first; slab < g.last; ++slab)  // the last column of density and magnetic
    for (int c = 0; c < 2; ++c) {
      const std::size_t at = (static_cast<std::size_t>(slab - g.first) * 4 + c) * size + size - n;
      s.copy(on_->limits.data() + 2 * grid_.row_offset(slab) + static_cast<std::size_t>(c) * n, next + at,
             n * sizeof(complex));
    }
  s.launch(device::subtract, std::span<const device::subtract_item>(subtract));
}

void resident_vertices::find_eigenvalues(std::span<slab_report> reports) {
  const int n = grid_.rows(0);
  for_loop({probe::register_name("parquet/eigenvalue"), probe::no_key}, 0, 4 * grid_.n_momenta(), [&](int i) {
    const complex* w = on_->host_weights.data() + 4 * grid_.row_offset(i / 4) + static_cast<std::size_t>(i % 4) * n;
    const complex* gamma = on_->gamma.data() + grid_.offset(i / 4, all_channels[i % 4]);
    reports[i / 4].eigenvalues[i % 4] =
        leading_eigenvalue({gamma, n, n, n}, std::span(w, static_cast<std::size_t>(n))).real();
  });
}

std::vector<complex> resident_vertices::iterate(const propagator& g, int slot, bool symmetrize,
                                                std::span<slab_report> reports, const std::atomic<bool>* stop) {
  const auto is_stopping = [stop] { return stop != nullptr && stop->load(std::memory_order_relaxed); };
  make_weights(g);
  const auto beyond = on_->tables.beyond(g);
  PLX_ASSERT_EQ(beyond.size(), on_->beyond.size());
  std::vector<future<void>> gammas;
  try {
    gpu::stream& s = on_->streams[0];
    s.copy(on_->beyond.data(), beyond.data(), on_->beyond.bytes());
    s.copy(on_->weights.data(), on_->host_weights.data(), on_->weights.bytes());
    s.fill(on_->reports.data(), 0, on_->reports.bytes());
    for (int i = 1; i < n_streams; ++i) on_->streams[i].wait_for(s);
    for (const group& one : on_->groups) {
      if (is_stopping()) break;
      submit(one, g, slot, symmetrize);
      if (grid_.transfer_of(one.first).frequency == 0) gammas.push_back(on_->streams[one.stream].future());
    }
    for (auto& one : gammas) one.get();
    if (!is_stopping()) find_eigenvalues(reports);
  } catch (...) {
    const auto refused = std::current_exception();
    try {
      on_->wait();  // before `beyond` ends
    } catch (...) {
    }
    std::rethrow_exception(refused);
  }
  on_->wait();
  gpu::stream& s = on_->streams[0];
  s.copy(on_->host_reports.data(), on_->reports.data(), on_->reports.bytes());
  s.wait();
  std::vector<complex> limits(grid_.row_offset(grid_.n_slabs()));
  if (is_stopping()) return limits;
  for (int slab = 0; slab < grid_.n_slabs(); ++slab) {
    const slab_numbers& found = on_->host_reports.data()[slab];
    reports[slab].change = std::bit_cast<double>(found.change);
    for (int c = 0; c < 4; ++c) reports[slab].asymmetry[c] = std::bit_cast<double>(found.asymmetry[c]);
    const std::size_t row = grid_.row_offset(slab), n = grid_.row_offset(slab + 1) - row;
    const complex* density = on_->limits.data() + 2 * row;
    for (std::size_t i = 0; i < n; ++i) limits[row + i] = density[i] + density[n + i];
  }
  return limits;
}

std::vector<double> resident_vertices::dots(int a, int b) {
  std::vector<device::dot_item> items;
  for (int slab = 0; slab < grid_.n_slabs(); ++slab) {
    const std::size_t at = grid_.slab_offset(slab);
    items.push_back({on_->r(a) + at, on_->r(b) + at, on_->sums.data() + slab, grid_.slab_offset(slab + 1) - at});
  }
  gpu::stream& s = on_->streams[0];
  s.launch(device::dot, std::span<const device::dot_item>(items));
  s.copy(on_->host_sums.data(), on_->sums.data(), on_->sums.bytes());
  s.wait();
  const auto sums = on_->host_sums.span();
  return {sums.begin(), sums.end()};
}

void resident_vertices::combine(std::span<const double> c, double damping, int next) {
  device::mix_item item{};
  for (int slot = 0; slot < on_->n_slots; ++slot)
    if (c[slot] != 0) {
      item.x[item.count] = on_->x(slot);
      item.r[item.count] = on_->r(slot);
      item.c[item.count++] = c[slot];
    }
  item.damping = damping;
  item.next = on_->x(next);
  item.size = on_->size;
  on_->streams[0].launch(device::mix, item);
  on_->streams[0].wait();
}

void resident_vertices::fetch(int slot, complex* x, complex* r) {
  gpu::stream& s = on_->streams[0];
  s.copy(x, on_->x(slot), on_->size * sizeof(complex));
  if (r != nullptr) s.copy(r, on_->r(slot), on_->size * sizeof(complex));
  s.wait();
}

void resident_vertices::put(int slot, const complex* x, const complex* r) {
  gpu::stream& s = on_->streams[0];
  s.copy(on_->x(slot), x, on_->size * sizeof(complex));
  if (r != nullptr) s.copy(on_->r(slot), r, on_->size * sizeof(complex));
  s.wait();
}

}  // namespace plx::parquet
