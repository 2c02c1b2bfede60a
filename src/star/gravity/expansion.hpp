// Expansions of the gravity of cells, in one lane or many: sums over partners, and translations between a cell and its
// parent. Lengths are in cells of the level, masses in code units; G is applied at the end.
//
// The expansions are about the centres of cells, so the vector X between two of them is that of a lattice. A pair of
// point masses at z_A + a and z_B + b contributes -m_i m_j T_p[1/r](X; a - b) to the potential energy, where T_p is the
// Taylor polynomial of degree p in a - b. That is symmetric and linear in both masses: the potential energy is a
// quadratic form, and the forces of a pair are opposite. Sums over one partner, with moments M_b = sum m (-b)^b / b!:
//   potential  sum over a of L_a a^a / a!,   L_a = sum over |b| <= p - |a| of D^(a+b)(-1/r) M_b
//   acceleration  minus its gradient
// 1/r is harmonic, so moments and expansions have 2 d + 1 independent numbers of degree d (lattice.hpp): those with
// z > 1 are added to others (fold).
//
// Include it with PLX_HYDRO_ISA set. Thread safety: pure. Cost: of a group of pairs that are mirror images, sum over
// i + j <= p of (2 i + 1) (2 j + 1) multiplications and additions: 70, 155, 301 for p = 3, 4, 5.
// Source: Dehnen (2002), J. Comp. Phys. 179, 27; here with geometric centres.
// Example: star/gravity/test/kernels_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "star/gravity/lattice.hpp"
#include "star/hydro/kernel/kernel_simd.hpp"

namespace plx::star::gravity {

namespace detail {

/// to += constant * from, or -=.
struct term {
  int to = 0, constant = 0, from = 0;
  bool minus = false;
};

struct term_list {
  std::array<term, 768> terms{};
  std::size_t count = 0;
  constexpr void add(int to, int constant, int from, bool minus = false) {
    terms[count++] = {to, constant, from, minus};
  }
};

/// to[a] += powers[k] * from[a + k], where from has z <= 2.
template <int order>
constexpr term_list shift_terms() {
  term_list made;
  for (const multi_index& a : indices_up_to<order>())
    for (const multi_index& k : indices_up_to<order>())
      if (a.degree() + k.degree() <= order) made.add(number_of(a), number_of(k), number_among(a + k, order));
  return made;
}

/// to[a + k] += powers[k] * from[a], folded.
template <int order>
constexpr term_list moment_terms() {
  term_list made;
  for (const multi_index& a : indices_up_to<order>())
    for (const multi_index& k : indices_up_to<order>()) {
      const multi_index to = a + k;
      if (to.degree() > order) continue;
      if (to.z < 2) {
        made.add(number_of(to), number_of(k), number_of(a));
      } else {
        made.add(number_of({to.x + 2, to.y, 0}), number_of(k), number_of(a), true);
        made.add(number_of({to.x, to.y + 2, 0}), number_of(k), number_of(a), true);
      }
    }
  return made;
}

template <int order>
struct shift_list {
  static constexpr term_list value = shift_terms<order>();
};
template <int order>
struct moment_list {
  static constexpr term_list value = moment_terms<order>();
};

}  // namespace detail

}  // namespace plx::star::gravity

namespace plx::star::PLX_HYDRO_ISA {
namespace {

namespace gravity_lanes {

using namespace plx::star::gravity;

#if !defined(PLX_HYDRO_ONE_LANE)
/// The constants {even, odd} of an entry, for lanes that begin at an even x.
PLX_INLINE vd load_pair(const double* p) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
  return _mm512_broadcast_f64x2(_mm_loadu_pd(p));
#elif defined(__AVX2__)
  return _mm256_broadcast_pd(reinterpret_cast<const __m128d*>(p));
#else
  return load(p);
#endif
}
/// The lanes of even x from one vector, those of odd x from the other.
PLX_INLINE vd even_and_odd(vd even, vd odd) {
#if defined(__AVX512DQ__) && defined(__AVX512VL__)
  return _mm512_mask_blend_pd(0xaa, even, odd);
#elif defined(__AVX2__)
  return _mm256_blend_pd(even, odd, 0xa);
#else
  return vd{even[0], odd[1]};
#endif
}
#endif

template <class List, std::size_t t, class Constant, class From>
PLX_INLINE void add_term(Constant&& constant, From&& from, vd* to) {
  constexpr detail::term x = List::value.terms[t];
  const vd product = constant(std::integral_constant<int, x.constant>{}) * from(std::integral_constant<int, x.from>{});
  if constexpr (x.minus)
    to[x.to] = to[x.to] - product;
  else
    to[x.to] = to[x.to] + product;
}

template <class List, std::size_t first, class Constant, class From, std::size_t... t>
PLX_INLINE void add_terms(Constant&& constant, From&& from, vd* to, std::index_sequence<t...>) {
  (add_term<List, first + t>(constant, from, to), ...);
}

/// Adds constants * values to `to` for each term of a list from term `first` on. constant(k),
/// from(k): called with compile-time numbers. Clang allows at most 256 operands in a fold expression.
template <class List, std::size_t first = 0, class Constant, class From>
PLX_INLINE void add_all(Constant&& constant, From&& from, vd* to) {
  constexpr std::size_t n = std::min<std::size_t>(List::value.count - first, 128);
  add_terms<List, first>(constant, from, to, std::make_index_sequence<n>());
  if constexpr (first + n < List::value.count) add_all<List, first + n>(constant, from, to);
}

/// Adds the moments of a child, in its cells, to those of its parent. powers: child_powers(order, child, true) of
/// lattice.hpp.
template <int order, class From>
PLX_INLINE void add_moments(const double* powers, From&& child, vd* to) {
  vd scaled[count_up_to(order)];
  double f = 1.0;
  for (int d = 0, i = 0; d <= order; ++d, f *= 0.5)
    for (; i < count_up_to(d); ++i) scaled[i] = all(f) * child(i);
  add_all<detail::moment_list<order>>([&](auto k) { return all(powers[k]); }, [&](auto k) { return scaled[k]; }, to);
}

/// A local expansion with the derivatives z = 2.
template <int order, class From>
PLX_INLINE void extend(From&& from, vd* to) {
  for (int i = 0; i < count_up_to(order); ++i) to[i] = from(i);
  for (int d = 2, at = count_up_to(order); d <= order; ++d)
    for (int y = 0; y <= d - 2; ++y, ++at)
      to[at] = all(0.0) - (to[number_of({d - y, y, 0})] + to[number_of({d - y - 2, y + 2, 0})]);
}

/// Adds the local expansion of a parent, in its cells, to that of its child. power(k): number k of
/// child_powers(order, child, false).
template <int order, class Power, class From>
PLX_INLINE void add_local(Power&& power, From&& parent, vd* to) {
  vd whole[count_up_to(order) + dependent_up_to(order)], moved[count_up_to(order)];
  extend<order>(parent, whole);
  for (vd& m : moved) m = all(0.0);
  add_all<detail::shift_list<order>>(
      power, [&](auto k) { return whole[k]; }, moved);
  double f = 0.5;
  for (int d = 0, i = 0; d <= order; ++d, f *= 0.5)
    for (; i < count_up_to(d); ++i) to[i] = to[i] + all(f) * moved[i];
}

/// Potential and its gradient at the centre of a child, in its cells, from the local expansion of its parent. power(k):
/// as above.
template <int order, class Power, class From>
PLX_INLINE void evaluate(Power&& power, From&& parent, vd (&to)[4]) {
  vd whole[count_up_to(order) + dependent_up_to(order)];
  extend<order>(parent, whole);
  for (vd& t : to) t = all(0.0);
  for (int k = 0; k < count_up_to(order); ++k) to[0] = to[0] + power(k) * whole[k];
  int k = 0;
  for (int d = 0; d < order; ++d)
    for (int z = 0; z <= 1 && z <= d; ++z)
      for (int y = 0; y <= d - z; ++y, ++k)
        for (int a = 0; a < 3; ++a)
          to[1 + a] = to[1 + a] + power(k) * whole[number_among(multi_index{d - y - z, y, z}.plus(a), order)];
  to[0] = all(0.5) * to[0];
  for (int a = 1; a < 4; ++a) to[a] = all(0.25) * to[a];
}

/// Sums of values over the images of a partner along the axes of `mask`; image c is mirrored along axis a if bit a of c
/// is set. In to[s] an image has the sign of (-1)^(number of common bits of c and s); bits of s beyond the mask change
/// nothing. The images along z are added first, then those along y and x.
template <class Load>
PLX_INLINE void image_sums(int mask, Load&& load_image, vd (&to)[8]) {
  for (int c = 0; c < 4; ++c) {
    if ((c & ~mask) != 0) continue;
    const vd one = load_image(c), other = (mask & 4) != 0 ? load_image(c | 4) : one;
    to[c] = (mask & 4) != 0 ? one + other : one;
    to[c | 4] = (mask & 4) != 0 ? one - other : one;
  }
  for (int c = 0; c < 8; ++c) {
    if ((c & 2) != 0 || (c & ~mask & 1) != 0) continue;
    const vd one = to[c], other = (mask & 2) != 0 ? to[c | 2] : one;
    to[c] = (mask & 2) != 0 ? one + other : one;
    to[c | 2] = (mask & 2) != 0 ? one - other : one;
  }
  for (int c = 0; c < 8; c += 2) {
    const vd one = to[c], other = (mask & 1) != 0 ? to[c | 1] : one;
    to[c] = (mask & 1) != 0 ? one + other : one;
    to[c | 1] = (mask & 1) != 0 ? one - other : one;
  }
}

/// The signs that mirror images give to a derivative: bit a is set if it is odd along axis a.
constexpr int signs_of(const multi_index& i) { return (i.x & 1) | (i.y & 1) << 1 | (i.z & 1) << 2; }

template <int order, int base, int from, int a, class Constant>
PLX_INLINE void add_group_term(Constant&& constant, const vd (&sums)[8], vd* to) {
  constexpr multi_index index = indices_up_to<order>()[a + base] + indices_up_to<order>()[from];
  if constexpr (index.degree() <= order)
    to[a] = to[a] + constant(std::integral_constant<int, number_among(index, order)>{}) * sums[signs_of(index)];
}

template <int order, int base, int from, class Constant, class From, std::size_t... a>
PLX_INLINE void add_group_moment(Constant&& constant, From&& sums_of, vd* to, std::index_sequence<a...>) {
  if constexpr (indices_up_to<order>()[base].degree() + indices_up_to<order>()[from].degree() <= order) {
    vd sums[8];
    sums_of(std::integral_constant<int, from>{}, sums);
    (add_group_term<order, base, from, static_cast<int>(a)>(constant, sums, to), ...);
  }
}

template <int order, int base, int count, class Constant, class From, std::size_t... from>
PLX_INLINE void add_group_moments(Constant&& constant, From&& sums_of, vd* to, std::index_sequence<from...>) {
  (add_group_moment<order, base, static_cast<int>(from)>(constant, sums_of, to,
                                                         std::make_index_sequence<static_cast<std::size_t>(count)>()),
   ...);
}

/// Adds a group of far partners of this order to results of degrees first..last; to[0] is the first of them.
/// constant(k), sums_of(k, sums): called with compile-time numbers k; the second sets image_sums() of moment k.
template <int order, int first, int last, class Constant, class From>
PLX_INLINE void add_group(Constant&& constant, From&& sums_of, vd* to) {
  constexpr int base = first * first, count = count_up_to(last) - base;
  add_group_moments<order, base, count>(constant, sums_of, to,
                                        std::make_index_sequence<static_cast<std::size_t>(count_up_to(order))>());
}

/// Adds a group of point masses, by their image_sums(), to potential and gradient.
template <class Constant>
PLX_INLINE void add_masses_of_group(Constant&& constant, const vd (&sums)[8], vd (&to)[4]) {
  to[0] = to[0] + constant(0) * sums[0];
  to[1] = to[1] + constant(1) * sums[1];
  to[2] = to[2] + constant(2) * sums[2];
  to[3] = to[3] + constant(3) * sums[4];
}

}  // namespace gravity_lanes

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
