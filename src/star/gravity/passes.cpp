// The passes of gravity for workers and for the CPU as a device.
#define PLX_HYDRO_ISA isa_one_lane
#define PLX_HYDRO_ONE_LANE
#include "star/gravity/passes.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "star/device/portable_operation.hpp"
#include "star/gravity/bodies.hpp"
#include "star/gravity/kernels.hpp"

namespace plx::star::gravity {

namespace {

namespace one = isa_one_lane;

const kernel_table& kernels() { return kernels_of(active_isa()); }

// Memory of this thread for tiles; a pass does not suspend.
double* scratch(std::size_t doubles) {
  thread_local std::vector<double> memory;
  if (memory.size() < doubles) memory.resize(doubles);
  return memory.data();
}

// Memory of this thread for tile_view::filled, all zeros.
std::uint8_t* filled_rows(int rows) {
  thread_local std::vector<std::uint8_t> memory;
  memory.assign(static_cast<std::size_t>(rows), 0);
  return memory.data();
}

kernel_memory* memory() {
  thread_local kernel_memory own;
  return &own;
}

// A tile of values [value][n^3] of the nodes around `node`: source(node) gives them, and how many there are of `count`.
struct source_values {
  const double* values = nullptr;
  int count = 0;
};

template <class Source>
tile_view fill_tile(const pass_view& v, std::int32_t node, int count, int reach, Source&& source) {
  const int n = v.n, width = n + 2 * reach, stride = tile_view::stride_of(n, reach);
  const std::ptrdiff_t row = std::ptrdiff_t{count} * stride;
  double* tile = scratch(static_cast<std::size_t>(row) * static_cast<std::size_t>(width * width));
  std::uint8_t* filled = filled_rows(width * width);
  bool all = true;
  const int begin[3] = {-reach, 0, n}, end[3] = {0, n, n + reach};
  for (int z = 0; z < 3; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 3; ++x) {
        const std::int32_t there = v.around(node, 9 * z + 3 * y + x);
        const source_values from = there < 0 ? source_values{} : source(there);
        const int cells = end[x] - begin[x];
        all = all && from.count > 0;
        for (int k = begin[z]; k < end[z]; ++k)
          for (int j = begin[y]; j < end[y]; ++j) {
            double* to = tile + (std::ptrdiff_t{k + reach} * width + j + reach) * row + begin[x] + reach;
            const std::ptrdiff_t at = ((k - (z - 1) * n) * n + j - (y - 1) * n) * n + begin[x] - (x - 1) * n;
            if (from.count > 0) filled[(k + reach) * width + j + reach] |= static_cast<std::uint8_t>(1 << x);
            for (int q = 0; q < count; ++q)
              if (q < from.count)
                std::copy_n(from.values + std::ptrdiff_t{q} * v.cells() + at, cells, to + std::ptrdiff_t{q} * stride);
              else
                std::fill_n(to + std::ptrdiff_t{q} * stride, cells, 0.0);
          }
      }
  return {tile, count, reach, stride, all ? nullptr : filled};
}

// A tile whose values are given per cell: value(i, j, k, to) sets those that are not zero.
template <class Value>
tile_view fill_cells(const pass_view& v, int count, int reach, Value&& value) {
  const int n = v.n, width = n + 2 * reach, stride = tile_view::stride_of(n, reach);
  const std::size_t doubles = static_cast<std::size_t>(count) * static_cast<std::size_t>(stride * width * width);
  double* tile = scratch(doubles);
  std::fill_n(tile, doubles, 0.0);
  for (int k = -reach; k < n + reach; ++k)
    for (int j = -reach; j < n + reach; ++j)
      for (int i = -reach; i < n + reach; ++i)
        value(i, j, k, tile + (std::ptrdiff_t{k + reach} * width + j + reach) * count * stride + i + reach, stride);
  return {tile, count, reach, stride};
}

template <int order>
void interactions_on_worker(const layout& l, const pass_view& v, std::int32_t node) {
  constexpr int count = count_up_to(order);
  double* to = v.field(l.locals, node);
  std::fill_n(to, std::ptrdiff_t{count} * v.cells(), 0.0);
  if (one::is_above_top(l, v, node)) return;
  const bool top = one::is_top(l, v, node);
  const double* table = v.table(top ? l.images : l.table);
  const tile_view tile = fill_tile(v, node, count, top ? l.top_reach : l.reach, [&](std::int32_t there) {
    return v.is_block(there) ? source_values{v.field(l.masses, there), 1}
                             : source_values{v.field(l.moments, there), count};
  });
  for (int p = least_order; p <= order; ++p) kernels().far({table, tile, v.n, to, memory()}, p);
  if (!top) return;
  const one::background rest = one::background_of(l, v, node);
  for (int a = 0; a < 4; ++a)
    for (int c = 0; c < v.cells(); ++c) to[a * v.cells() + c] = to[a * v.cells() + c] + rest.of[a];
}

// The cells of a node that has a parent, for kernels that take the parent's local expansions.
parent_task parents_of(const layout& l, const pass_view& v, std::int32_t node, int child, double* to) {
  const double* from = v.field(l.locals, v.parent(node)) + one::cell_of_parent(v, child, 0, 0, 0);
  return {v.table(l.table), from, v.n, to};
}

template <int order>
void translations_on_worker(const layout& l, const pass_view& v, std::int32_t node) {
  if (v.parent(node) < 0) return;
  kernels().translate(parents_of(l, v, node, one::child_number(v, node), v.field(l.locals, node)), order);
}

template <int order>
void accelerations_on_worker(const layout& l, const pass_view& v, std::int32_t node) {
  constexpr int count = count_up_to(order);
  const int n = v.n, cells = v.cells();
  const std::int32_t parent = v.parent(node);
  const int child = one::child_number(v, node);
  const one::surroundings beside = one::around_block(v, node, parent);
  const double* table = v.table(l.table);
  double* to = v.field(l.results, node);
  kernels().evaluate(parents_of(l, v, node, child, to), order);
  const tile_view masses = fill_tile(v, node, 1, l.reach, [&](std::int32_t there) {
    return v.is_block(there) ? source_values{v.field(l.masses, there), 1} : source_values{};
  });
  kernels().points({table, masses, n, to, memory()}, partners::direct);
  if (beside.refined) {
    const tile_view moments = fill_tile(v, node, count, l.reach, [&](std::int32_t there) {
      return v.is_block(there) ? source_values{} : source_values{v.field(l.moments, there), count};
    });
    for (int p = least_order; p <= order; ++p) kernels().far_points({table, moments, n, to, memory()}, p);
    const tile_view finer = fill_cells(v, 8, l.near, [&](int i, int j, int k, double* at, int stride) {
      const one::node_cell there = one::cell_around(v, node, i, j, k);
      if (there.node < 0 || v.is_block(there.node)) return;
      const one::children_of_cell below =
          one::children_at(v, there.node, there.cell % n, there.cell / n % n, there.cell / (n * n));
      const double* from = v.field(l.masses, below.node);
      for (int c = 0; c < 8; ++c)
        at[c * stride] = from[((below.k + (c >> 2)) * n + below.j + (c >> 1 & 1)) * n + below.i + (c & 1)];
    });
    kernels().finer({table, finer, n, to, memory()});
  }
  if (beside.coarser) {
    const int half = n / 2;
    const tile_view coarser = fill_cells(v, 1, l.reach, [&](int i, int j, int k, double* at, int) {
      const auto halved = [](int x) { return (x - (x & 1)) / 2; };
      const one::node_cell there =
          one::cell_around(v, parent, halved(i) + (child & 1) * half, halved(j) + (child >> 1 & 1) * half,
                           halved(k) + (child >> 2) * half);
      if (there.node >= 0 && v.is_block(there.node)) *at = v.field(l.masses, there.node)[there.cell];
    });
    kernels().points({table, coarser, n, to, memory()}, partners::coarser);
  }
  const double width = v.nodes.width[node], potential = l.constant / width, force = potential / width;
  double* own_potential = v.field(l.potential, node);
  const double* own_masses = v.field(l.masses, node);
  for (int c = 0; c < cells; ++c) {
    to[c] = own_potential[c] = potential * (to[c] - own_part * own_masses[c]);
    for (int a = 1; a < 4; ++a) to[a * cells + c] = 0.0 - force * to[a * cells + c];
  }
}

template <pass_kind kind>
std::unique_ptr<portable_code> with_order(const layout& l) {
  switch (l.order) {
    case 3:
      return device::portable(pass<kind, 3>{l});
    case 4:
      return device::portable(pass<kind, 4>{l});
    case 5:
      return device::portable(pass<kind, 5>{l});
    default:
      return device::portable(pass<kind, 6>{l});
  }
}

}  // namespace

template <pass_kind kind, int order>
void pass<kind, order>::operator()(const pass_view& v, std::int32_t node, int thread) const {
  one::mass_tile tile;
  if constexpr (kind == pass_kind::accelerations) {
    // As on a device, the threads of a node share a copy of the masses; here they run one after the other.
    const std::size_t bytes = tile_bytes(kind, v.n, l.reach);
    if (bytes > 0 && !one::is_skipped(l, v)) {
      thread_local std::vector<double> values;
      if (thread == 0) {
        values.resize(bytes / sizeof(double));
        one::copy_masses(l, v, node, 0, 1, values.data());
      }
      tile = {values.data(), l.reach};
    }
  }
  one::run_pass<kind, order>(l, v, node, thread, threads, tile);
}

template <pass_kind kind, int order>
void pass<kind, order>::on_worker(const pass_view& v, std::int32_t node) const {
  if (one::is_skipped(l, v)) return;
  if constexpr (kind == pass_kind::interactions)
    interactions_on_worker<order>(l, v, node);
  else if constexpr (kind == pass_kind::translations)
    translations_on_worker<order>(l, v, node);
  else if constexpr (kind == pass_kind::accelerations)
    accelerations_on_worker<order>(l, v, node);
  else if constexpr (kind == pass_kind::node_sums || kind == pass_kind::totals)
    for (int sum = 0; sum < threads; ++sum) one::run_pass<kind, order>(l, v, node, sum, threads);
  else
    one::run_pass<kind, order>(l, v, node, 0, 1);
}

std::unique_ptr<portable_code> make_pass(pass_kind kind, const layout& l) {
  switch (kind) {
    case pass_kind::totals:
      return device::portable(pass<pass_kind::totals, 0>{l});
    case pass_kind::mean:
      return device::portable(pass<pass_kind::mean, 0>{l});
    case pass_kind::masses:
      return device::portable(pass<pass_kind::masses, 0>{l});
    case pass_kind::moments:
      return with_order<pass_kind::moments>(l);
    case pass_kind::interactions:
      return with_order<pass_kind::interactions>(l);
    case pass_kind::translations:
      return with_order<pass_kind::translations>(l);
    case pass_kind::accelerations:
      return with_order<pass_kind::accelerations>(l);
    case pass_kind::energy:
      return device::portable(pass<pass_kind::energy, 0>{l});
    case pass_kind::node_sums:
      return device::portable(pass<pass_kind::node_sums, 0>{l});
    case pass_kind::corrections:
      return device::portable(pass<pass_kind::corrections, 0>{l});
    case pass_kind::around:
      return device::portable(pass<pass_kind::around, 0>{l});
    case pass_kind::balance:
      return device::portable(pass<pass_kind::balance, 0>{l});
    case pass_kind::source:
      break;
  }
  return device::portable(pass<pass_kind::source, 0>{l});
}

const kernel_table& kernels_of(isa which) noexcept {
#if defined(__x86_64__)
  if (which == isa::avx2) return isa_avx2::table;
  if (which == isa::avx512) return isa_avx512::table;
#endif
  (void)which;
  return isa_baseline::table;
}

}  // namespace plx::star::gravity
