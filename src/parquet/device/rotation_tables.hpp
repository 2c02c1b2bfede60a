// Arrays by which a device reads the vertices of other slabs: vertex_grid, the momenta of the rotations, and the
// vertices beyond the largest transfer, as arrays; and the element of an irreducible vertex, one text for host and
// device.
//
// Thread safety: pure. Cost: two reads of two channels per element. Source: parquet/equations/rotation.hpp, whose bits
// it gives. Example: parquet/device/test/operations_test.cpp
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PLX_PARQUET_DEVICE __host__ __device__
#else
#define PLX_PARQUET_DEVICE
#endif

namespace plx::parquet::device {

/// The slabs of one transfer frequency.
struct frequency_row {
  std::int64_t begin;                       // of the slab of the first momentum
  std::int32_t first_hole, first_particle;  // the first frequencies, particle-hole and particle-particle
  std::int32_t columns, rows;
};

/// Addresses in the memory of the device.
struct rotation_tables {
  const frequency_row* frequencies;      // [bosons]
  const std::int32_t* second;            // [rotation][Q][K'][K], the momentum of the second argument
  const std::int32_t* transfer;          // [rotation][Q][K'][K], that of the transfer
  const double* beyond;                  // [2][most + 1][Q][2]: u^2 X_ph and -2 u^2 X_pp, real and imaginary parts
  std::int32_t n_momenta, bosons, most;  // most: the largest |w| that rotations read
};

/// A complex number on either side, with the arithmetic of std::complex: each operation rounds once.
struct number {
  double re, im;
};
struct number_pair {
  number a, b;
};
PLX_PARQUET_DEVICE inline number operator+(number x, number y) { return {x.re + y.re, x.im + y.im}; }
PLX_PARQUET_DEVICE inline number operator-(number x, number y) { return {x.re - y.re, x.im - y.im}; }
PLX_PARQUET_DEVICE inline number operator*(double f, number x) { return {f * x.re, f * x.im}; }
PLX_PARQUET_DEVICE inline number operator+(double f, number x) { return {f + x.re, x.im}; }
PLX_PARQUET_DEVICE inline number operator-(double f, number x) { return {f - x.re, -x.im}; }
PLX_PARQUET_DEVICE inline number conjugate(number x) { return {x.re, -x.im}; }

/// The vertices of two channels at (K, n; K', n'; Q, m): vertex_reader.
PLX_PARQUET_DEVICE inline number_pair read_vertex(const rotation_tables& t, const number* phi, bool hole, int k, int n,
                                                  int kp, int np, int q, int m) {
  const bool negative = m < 0;
  if (negative) {
    m = -m;
    n = -1 - n;
    np = -1 - np;
  }
  number_pair v;
  if (m >= t.bosons) {
    const double* at = t.beyond + ((static_cast<std::int64_t>(hole ? 0 : 1) * (t.most + 1) + m) * t.n_momenta + q) * 2;
    v.a = {at[0], at[1]};
    v.b = hole ? v.a : number{0, 0};
  } else {
    const frequency_row& f = t.frequencies[m];
    const std::int64_t size = static_cast<std::int64_t>(f.rows) * f.rows;
    const int first = hole ? f.first_hole : f.first_particle;
    const auto place = [&](int momentum, int frequency) {
      const int column = frequency - first;
      return column >= 0 && column < f.columns ? column * t.n_momenta + momentum : f.rows - 1;
    };
    const number* at = phi + f.begin + (4 * q + (hole ? 0 : 2)) * size + place(k, n) +
                       static_cast<std::int64_t>(place(kp, np)) * f.rows;
    v = {at[0], at[size]};
  }
  return negative ? number_pair{conjugate(v.a), conjugate(v.b)} : v;
}

/// Gamma of two channels at row i and column j of a slab, neither of which is the outside.
PLX_PARQUET_DEVICE inline number_pair irreducible_element(const rotation_tables& t, const number* phi, bool hole,
                                                          int momentum, int m, double u, int i, int j) {
  const int n_momenta = t.n_momenta;
  const frequency_row& f = t.frequencies[m];
  const int first = hole ? f.first_hole : f.first_particle;
  const int k = i % n_momenta, n = first + i / n_momenta, kp = j % n_momenta, np = first + j / n_momenta;
  // Rotations in the order of parquet::rotation: crossed, pairs, direct, exchanged.
  const auto momenta = [&](int rotation) {
    return ((static_cast<std::int64_t>(rotation) * n_momenta + momentum) * n_momenta + kp) * n_momenta + k;
  };
  const std::int64_t one = momenta(hole ? 0 : 2), two = momenta(hole ? 1 : 3);
  const number_pair x =
      read_vertex(t, phi, true, k, n, t.second[one], hole ? n + m : m - 1 - np, t.transfer[one], np - n);
  const number_pair y =
      read_vertex(t, phi, !hole, k, n, t.second[two], np, t.transfer[two], hole ? n + np + m + 1 : m - 1 - n - np);
  number_pair cx, cy;
  if (hole) {
    cx = {u - 0.5 * x.a - 1.5 * x.b, -u - 0.5 * x.a + 0.5 * x.b};
    cy = {0.5 * y.a + 1.5 * y.b, 0.5 * y.b - 0.5 * y.a};
  } else {
    cx = {2 * u + 0.5 * x.a - 1.5 * x.b, 0.0 - 0.5 * x.a - 0.5 * x.b};
    cy = {0.5 * y.a - 1.5 * y.b, 0.5 * y.a + 0.5 * y.b};
  }
  const number zero{0, 0};
  return {zero + cx.a + cy.a, zero + cx.b + cy.b};
}

/// Gamma of the outside: Lambda of the two channels.
PLX_PARQUET_DEVICE inline number_pair outside_element(bool hole, double u) {
  return hole ? number_pair{{u, 0}, {-u, 0}} : number_pair{{2 * u, 0}, {0, 0}};
}

}  // namespace plx::parquet::device
