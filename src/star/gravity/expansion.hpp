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
// Include it with PLX_HYDRO_ISA set. Thread safety: pure. Cost: of a pair, sum over i + j <= p of (2 i + 1) (2 j + 1)
// multiplications and additions: 70, 155, 301 for p = 3, 4, 5.
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

/// Results of degrees first..last of a far partner of this order.
template <int order, int first, int last>
constexpr term_list far_terms() {
  term_list made;
  for (const multi_index& b : indices_up_to<order>())
    for (const multi_index& a : indices_up_to<order>())
      if (a.degree() >= first && a.degree() <= last && a.degree() + b.degree() <= order)
        made.add(number_of(a), number_among(a + b, order), number_of(b));
  return made;
}

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

template <int order, int first, int last>
struct far_list {
  static constexpr term_list value = far_terms<order, first, last>();
};
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
#endif

template <class List, int base, std::size_t t, class Constant, class From>
PLX_INLINE void add_term(Constant&& constant, From&& from, vd* to) {
  constexpr detail::term x = List::value.terms[t];
  const vd product = constant(std::integral_constant<int, x.constant>{}) * from(std::integral_constant<int, x.from>{});
  if constexpr (x.minus)
    to[x.to - base] = to[x.to - base] - product;
  else
    to[x.to - base] = to[x.to - base] + product;
}

template <class List, int base, std::size_t first, class Constant, class From, std::size_t... t>
PLX_INLINE void add_terms(Constant&& constant, From&& from, vd* to, std::index_sequence<t...>) {
  (add_term<List, base, first + t>(constant, from, to), ...);
}

/// Adds constants * values to `to` for each term of a list from term `first` on; to[0] is number `base`. constant(k),
/// from(k): called with compile-time numbers. Clang allows at most 256 operands in a fold expression.
template <class List, int base = 0, std::size_t first = 0, class Constant, class From>
PLX_INLINE void add_all(Constant&& constant, From&& from, vd* to) {
  constexpr std::size_t n = std::min<std::size_t>(List::value.count - first, 128);
  add_terms<List, base, first>(constant, from, to, std::make_index_sequence<n>());
  if constexpr (first + n < List::value.count) add_all<List, base, first + n>(constant, from, to);
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

/// Adds the local expansion of a parent, in its cells, to that of its child. powers: child_powers(order, child, false).
template <int order, class From>
PLX_INLINE void add_local(const double* powers, From&& parent, vd* to) {
  vd whole[count_up_to(order) + dependent_up_to(order)], moved[count_up_to(order)];
  extend<order>(parent, whole);
  for (vd& m : moved) m = all(0.0);
  add_all<detail::shift_list<order>>([&](auto k) { return all(powers[k]); }, [&](auto k) { return whole[k]; }, moved);
  double f = 0.5;
  for (int d = 0, i = 0; d <= order; ++d, f *= 0.5)
    for (; i < count_up_to(d); ++i) to[i] = to[i] + all(f) * moved[i];
}

/// Potential and its gradient at the centre of a child, in its cells, from the local expansion of its parent.
template <int order, class From>
PLX_INLINE void evaluate(const double* powers, From&& parent, vd (&to)[4]) {
  vd whole[count_up_to(order) + dependent_up_to(order)];
  extend<order>(parent, whole);
  for (vd& t : to) t = all(0.0);
  for (int k = 0; k < count_up_to(order); ++k) to[0] = to[0] + all(powers[k]) * whole[k];
  int k = 0;
  for (int d = 0; d < order; ++d)
    for (int z = 0; z <= 1 && z <= d; ++z)
      for (int y = 0; y <= d - z; ++y, ++k)
        for (int a = 0; a < 3; ++a)
          to[1 + a] = to[1 + a] + all(powers[k]) * whole[number_among(multi_index{d - y - z, y, z}.plus(a), order)];
  to[0] = all(0.5) * to[0];
  for (int a = 1; a < 4; ++a) to[a] = all(0.25) * to[a];
}

/// x + y and x - y.
PLX_INLINE void sum_and_difference(vd& x, vd& y) {
  const vd sum = x + y;
  y = x - y;
  x = sum;
}

/// Sums of values over the eight mirror images of a partner; image c is at -dx if bit 0 of c is set, and so on. In
/// to[s] an image has the sign of (-1)^(number of common bits of c and s).
template <class Load>
PLX_INLINE void mirror_sums(Load&& load_image, vd (&to)[8]) {
  to[0] = load_image(0), to[1] = load_image(1), to[2] = load_image(2), to[3] = load_image(3);
  to[4] = load_image(4), to[5] = load_image(5), to[6] = load_image(6), to[7] = load_image(7);
  sum_and_difference(to[0], to[1]), sum_and_difference(to[2], to[3]);
  sum_and_difference(to[4], to[5]), sum_and_difference(to[6], to[7]);
  sum_and_difference(to[0], to[2]), sum_and_difference(to[1], to[3]);
  sum_and_difference(to[4], to[6]), sum_and_difference(to[5], to[7]);
  sum_and_difference(to[0], to[4]), sum_and_difference(to[1], to[5]);
  sum_and_difference(to[2], to[6]), sum_and_difference(to[3], to[7]);
}

/// The signs that mirror images give to a derivative: bit a is set if it is odd along axis a.
constexpr int signs_of(const multi_index& i) { return (i.x & 1) | (i.y & 1) << 1 | (i.z & 1) << 2; }

template <int order, int base, int from, int a, class Constant>
PLX_INLINE void add_mirrored_term(Constant&& constant, const vd (&sums)[8], vd* to) {
  constexpr multi_index index = indices_up_to<order>()[a + base] + indices_up_to<order>()[from];
  if constexpr (index.degree() <= order) {
    constexpr int signs = signs_of(index);
    to[a] = to[a] + constant(std::integral_constant<int, number_among(index, order)>{}) * sums[signs];
  }
}

template <int order, int base, int from, class Constant, class From, std::size_t... a>
PLX_INLINE void add_mirrored_moment(Constant&& constant, From&& moment, vd* to, std::index_sequence<a...>) {
  if constexpr (indices_up_to<order>()[base].degree() + indices_up_to<order>()[from].degree() <= order) {
    vd sums[8];
    mirror_sums([&](int image) { return moment(std::integral_constant<int, from>{}, image); }, sums);
    (add_mirrored_term<order, base, from, static_cast<int>(a)>(constant, sums, to), ...);
  }
}

template <int order, int base, int count, class Constant, class From, std::size_t... from>
PLX_INLINE void add_mirrored_moments(Constant&& constant, From&& moment, vd* to, std::index_sequence<from...>) {
  (add_mirrored_moment<order, base, static_cast<int>(from)>(
       constant, moment, to, std::make_index_sequence<static_cast<std::size_t>(count)>()),
   ...);
}

/// Adds a mirrored partner of this order and its images to results of degrees first..last; to[0] is the first of them.
/// constant(k), moment(k, image): called with compile-time numbers k.
template <int order, int first, int last, class Constant, class From>
PLX_INLINE void add_mirrored(Constant&& constant, From&& moment, vd* to) {
  constexpr int base = first * first, count = count_up_to(last) - base;
  add_mirrored_moments<order, base, count>(constant, moment, to,
                                           std::make_index_sequence<static_cast<std::size_t>(count_up_to(order))>());
}

/// Adds mirrored point masses to potential and gradient.
template <class Constant, class From>
PLX_INLINE void add_mirrored_masses(Constant&& constant, From&& mass, vd* to) {
  vd sums[8];
  mirror_sums(mass, sums);
  to[0] = to[0] + constant(0) * sums[0];
  to[1] = to[1] + constant(1) * sums[1];
  to[2] = to[2] + constant(2) * sums[2];
  to[3] = to[3] + constant(3) * sums[4];
}

}  // namespace gravity_lanes

}  // namespace
}  // namespace plx::star::PLX_HYDRO_ISA
