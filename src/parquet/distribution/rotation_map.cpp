#include "parquet/distribution/rotation_map.hpp"

#include <algorithm>

namespace plx::parquet {

using complex = std::complex<double>;

std::vector<slab_run> runs_of(const vertex_grid& grid, int first, int last) {
  std::vector<slab_run> runs;
  for (int s = first; s < last; ++s) {
    const transfer q = grid.transfer_of(s);
    if (runs.empty() || runs.back().frequency != q.frequency)
      runs.push_back({q.frequency, {q.momentum, q.momentum + 1}});
    else
      ++runs.back().momenta.last;
  }
  return runs;
}

rotation_map::rotation_map(const vertex_grid& grid) : grid_(grid) {
  const auto& lattice = grid.lattice();
  for (const rotation r : all_rotations)
    for (int target = 0; target < grid.n_momenta(); ++target)
      for (int source = 0; source < grid.n_momenta(); ++source)
        for (int k = 0; k < grid.n_momenta(); ++k) {
          const int kp = partner(lattice, r, {k, 0}, {target, 0}, {source, 0}).k;
          column_.push_back(kp);
          second_.push_back(rotated(lattice, r, {k, 0}, {kp, 0}, {target, 0}).kp.k);
        }
}

auto rotation_map::columns_of(rotation r, int m, int source_m) const noexcept -> column_range {
  const int all = grid_.columns(m), begin = grid_.first(enters_particle_hole(r), m);
  // The column of k' is that of k, or its mirror image in the slab, moved by a distance.
  int distance = 0;
  switch (r) {
    case rotation::crossed:
    case rotation::direct:
      distance = source_m;
      break;
    case rotation::pairs:  // n + n' = source_m - m - 1, while 2 begin + all - 1 is the middle of all sums
      distance = source_m - m - 1 - (2 * begin + all - 1);
      break;
    case rotation::exchanged:
      distance = m - 1 - source_m - (2 * begin + all - 1);
      break;
  }
  const bool mirrored = r == rotation::pairs || r == rotation::exchanged;
  const int first = std::max(0, mirrored ? distance : -distance);
  return {first, std::max(0, all - std::abs(distance))};
}

// A step touches lines that are far from each other, so the processor cannot foresee the next one: those of the next
// frequency are requested while this one is moved. Shape: [columns][rows].
template <int to_write>
void prefetch_block(const complex* at, int rows, int columns, std::ptrdiff_t column_step) {
  constexpr int per_line = 64 / sizeof(complex);
  for (int j = 0; j < columns; ++j, at += column_step) {
    for (int i = 0; i < rows; i += per_line) __builtin_prefetch(at + i, to_write);
    __builtin_prefetch(at + rows - 1, to_write);
  }
}

template <rotation r>
void rotation_map::gather_as(const vertex_window& from, double u, const step& s, const momentum_range& source,
                             complex* out) const {
  const int n_momenta = grid_.n_momenta();
  const std::ptrdiff_t row = from.row_step(), column = from.column_step(), other = from.channel_step();
  const std::ptrdiff_t ahead = from.distance_to_next(n_momenta, r == rotation::crossed ? 1 : -1);
  for (int q = source.first; q < source.last; ++q) {
    prefetch_block<0>(from.begin(q) + ahead, row == 0 ? 1 : n_momenta, column == 0 ? 1 : n_momenta, column);
    prefetch_block<0>(from.begin(q) + ahead + other, row == 0 ? 1 : n_momenta, column == 0 ? 1 : n_momenta, column);
  }
  for (int target = s.target.momenta.first; target < s.target.momenta.last; ++target)
    for (int q = source.first; q < source.last; ++q) {
      const int* second = second_.data() + index(r, target, q);
      const complex* begin = from.begin(q);
      for (int k = 0; k < n_momenta; ++k, out += 2) {
        const channel_pair v = contribution(r, u, from.value(begin + k * row + second[k] * column));
        out[0] = v.a;
        out[1] = v.b;
      }
    }
}

void rotation_map::gather(const vertex_reader& from, const step& s, const momentum_range& source, complex* out) const {
  const int m = s.target.frequency, n = grid_.first(enters_particle_hole(s.r), m) + s.column;
  const int np = partner(grid_.lattice(), s.r, {0, n}, {0, m}, {0, s.source_m}).n;
  const auto place = rotated(grid_.lattice(), s.r, {0, n}, {0, np}, {0, m});
  const vertex_window window = from.at(reads_particle_hole(s.r), place.k.n, place.kp.n, place.q.m);
  const double u = from.green().model().u;
  switch (s.r) {
    case rotation::crossed:
      return gather_as<rotation::crossed>(window, u, s, source, out);
    case rotation::pairs:
      return gather_as<rotation::pairs>(window, u, s, source, out);
    case rotation::direct:
      return gather_as<rotation::direct>(window, u, s, source, out);
    case rotation::exchanged:
      return gather_as<rotation::exchanged>(window, u, s, source, out);
  }
}

void rotation_map::add(const complex* in, const step& s, const momentum_range& source, complex* slabs,
                       int first_slab) const {
  const int n_momenta = grid_.n_momenta(), m = s.target.frequency;
  const bool ph = enters_particle_hole(s.r);
  const int begin = grid_.first(ph, m),
            np = partner(grid_.lattice(), s.r, {0, begin + s.column}, {0, m}, {0, s.source_m}).n;
  const std::size_t rows = grid_.rows(m), i = static_cast<std::size_t>(s.column) * n_momenta,
                    j = static_cast<std::size_t>(np - begin) * n_momenta;
  const bool mirrored = s.r == rotation::pairs || s.r == rotation::exchanged;
  const std::ptrdiff_t column_step = static_cast<std::ptrdiff_t>(rows),
                       ahead = n_momenta * (1 + (mirrored ? -column_step : column_step));
  for (int target = s.target.momenta.first; target < s.target.momenta.last; ++target) {
    const std::size_t offset = grid_.offset(grid_.slab({target, m}), ph ? channel::density : channel::singlet);
    complex* a = slabs + (offset - grid_.slab_offset(first_slab)) + i + j * rows;
    complex* b = a + rows * rows;
    prefetch_block<1>(a + ahead, n_momenta, n_momenta, column_step);
    prefetch_block<1>(b + ahead, n_momenta, n_momenta, column_step);
    for (int q = source.first; q < source.last; ++q) {
      const int* column = column_.data() + index(s.r, target, q);
      for (int k = 0; k < n_momenta; ++k, in += 2) {
        const std::size_t at = k + column[k] * rows;
        a[at] += in[0];
        b[at] += in[1];
      }
    }
  }
}

void rotation_map::start(const vertex_reader& beyond, bool particle_hole, transfer q, matrix_view<complex> a,
                         matrix_view<complex> b) const {
  const auto& lattice = grid_.lattice();
  const double u = beyond.green().model().u;
  const int n_momenta = grid_.n_momenta(), m = q.frequency, first = grid_.first(particle_hole, m),
            columns = grid_.columns(m);
  const rotation rs[2] = {particle_hole ? rotation::crossed : rotation::direct,
                          particle_hole ? rotation::pairs : rotation::exchanged};
  const rotation_momenta momenta[2] = {{lattice, rs[0], q.momentum}, {lattice, rs[1], q.momentum}};
  for (int np = 0; np < columns; ++np)
    for (int n = 0; n < columns; ++n) {
      bool is_beyond[2];
      vertex_window window[2];
      for (int x = 0; x < 2; ++x) {
        const auto place = rotated(lattice, rs[x], {0, first + n}, {0, first + np}, {0, m});
        is_beyond[x] = std::abs(place.q.m) >= grid_.bosons();
        if (is_beyond[x]) window[x] = beyond.at(reads_particle_hole(rs[x]), place.k.n, place.kp.n, place.q.m);
      }
      for (int kp = 0; kp < n_momenta; ++kp)
        for (int k = 0; k < n_momenta; ++k) {
          channel_pair sum{0, 0};
          for (int x = 0; x < 2; ++x)
            if (is_beyond[x]) {
              const auto v = contribution(rs[x], u, window[x](k, momenta[x].second(k, kp), momenta[x].transfer(k, kp)));
              sum.a += v.a;
              sum.b += v.b;
            }
          a(n * n_momenta + k, np * n_momenta + kp) = sum.a;
          b(n * n_momenta + k, np * n_momenta + kp) = sum.b;
        }
    }
  set_outside(particle_hole, u, a, b);
}

}  // namespace plx::parquet
