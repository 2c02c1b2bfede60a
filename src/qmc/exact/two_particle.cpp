// The two-particle Green's function of exact_diagonalization.
//
// For each order of the three times the integral over tau_1 > tau_2 > tau_3 is the divided difference of the
// exponential at four points (Hermite, Genocchi), of which at most the first and third, or the second and fourth,
// coincide: the others differ by fermionic frequencies. Written with divided differences of two points it is a sum of
// terms that depend on pairs of states, so that the sum over four states becomes products of matrices.
#include <algorithm>
#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "qmc/exact/exact_diagonalization.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;

// The divided difference of exp at two points, which are -beta E plus multiples of i pi; `boltzmann` are exp of them.
complex divided_difference(complex x, complex y, double exp_x, double exp_y) {
  const complex d = x - y;
  if (d.imag() != 0) return (exp_x - exp_y) / d;
  const double r = d.real();
  if (std::abs(r) > 1) return (exp_x - exp_y) / r;
  return r == 0 ? exp_y : exp_y * std::expm1(r) / r;
}

// out_ik = sum_j a_ij b_jk
complex_matrix product(const complex_matrix& a, const complex_matrix& b) {
  complex_matrix c(a.rows(), b.columns());
  multiply(complex(1), a, b, complex(0), c);
  return c;
}

template <class F>
complex_matrix scaled(const complex_matrix& m, F&& factor) {
  complex_matrix s(m.rows(), m.columns());
  for (int j = 0; j < m.columns(); ++j)
    for (int i = 0; i < m.rows(); ++i) s(i, j) = m(i, j) * factor(i, j);
  return s;
}

// sum_ij a_ij b_ji
complex trace_of_product(const complex_matrix& a, const complex_matrix& b) {
  complex sum = 0;
  for (int j = 0; j < a.columns(); ++j)
    for (int i = 0; i < a.rows(); ++i) sum += a(i, j) * b(j, i);
  return sum;
}

}  // namespace

std::complex<double> exact_diagonalization::two_particle(const std::array<fermion_operator, 4>& o,
                                                         const std::array<int, 3>& n) const {
  std::array<operator_blocks, 4> blocks;
  for (int k = 0; k < 4; ++k) blocks[k] = blocks_of(o[k]);
  std::array<int, 3> order = {0, 1, 2};
  complex sum = 0;
  do {
    const bool odd = (order[0] > order[1]) != ((order[0] > order[2]) != (order[1] > order[2]));
    const auto term = time_ordered({&blocks[order[0]], &blocks[order[1]], &blocks[order[2]], &blocks[3]},
                                   {n[order[0]], n[order[1]], n[order[2]]});
    sum += odd ? -term : term;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum;
}

std::complex<double> exact_diagonalization::time_ordered(const std::array<const operator_blocks*, 4>& o,
                                                         const std::array<int, 3>& n) const {
  // Phases in units of pi after the first, second and third operator.
  const double p1 = 2 * n[0] + 1, p2 = p1 + 2 * n[1] + 1, p3 = p2 + 2 * n[2] + 1;
  complex total = 0;
  for (std::size_t start = 0; start < sectors_.size(); ++start) {
    // <i|o0|j><j|o1|k><k|o2|l><l|o3|i>: the sectors from the right.
    const auto& d_block = (*o[3])[start];
    if (d_block.target < 0) continue;
    const auto& c_block = (*o[2])[d_block.target];
    if (c_block.target < 0) continue;
    const auto& b_block = (*o[1])[c_block.target];
    if (b_block.target < 0) continue;
    const auto& a_block = (*o[0])[b_block.target];
    if (a_block.target != static_cast<int>(start)) continue;
    const sector &si = sectors_[start], &sl = sectors_[d_block.target], &sk = sectors_[c_block.target],
                 &sj = sectors_[b_block.target];
    const auto point = [this](const sector& s, int m, double phase) {
      return complex(-h_.beta * s.energies[m], M_PI * phase);
    };
    const auto exp_i = [&](int m) { return si.weights[m]; };
    const auto exp_j = [&](int m) { return -sj.weights[m]; };
    const auto exp_k = [&](int m) { return sk.weights[m]; };
    const auto exp_l = [&](int m) { return -sl.weights[m]; };
    const auto x0 = [&](int m) { return point(si, m, 0); };
    const auto x1 = [&](int m) { return point(sj, m, p1); };
    const auto x2 = [&](int m) { return point(sk, m, p2); };
    const auto x3 = [&](int m) { return point(sl, m, p3); };

    // exp[x0 x1 x2 x3] = (exp[x0 x1 x2] - exp[x1 x2 x3]) / (x0 - x3),
    // exp[x0 x1 x2] = (exp[x0 x2] - exp[x0 x1]) / (x2 - x1), exp[x1 x2 x3] = (exp[x1 x3] - exp[x1 x2]) / (x3 - x2).
    const auto& a = a_block.elements;
    const auto d = scaled(d_block.elements, [&](int l, int i) { return 1.0 / (x0(i) - x3(l)); });
    const auto cd = product(c_block.elements, d);  // [k][i]
    const auto b_over = scaled(b_block.elements, [&](int j, int k) { return 1.0 / (x2(k) - x1(j)); });
    const auto first =
        scaled(product(a, b_over), [&](int i, int k) { return divided_difference(x0(i), x2(k), exp_i(i), exp_k(k)); });
    const auto a_difference =
        scaled(a, [&](int i, int j) { return divided_difference(x0(i), x1(j), exp_i(i), exp_j(j)); });
    const auto da = product(d, a);  // [l][j]
    const auto c_over = scaled(c_block.elements, [&](int k, int l) { return 1.0 / (x3(l) - x2(k)); });
    const auto third = scaled(product(b_block.elements, c_over),
                              [&](int j, int l) { return divided_difference(x1(j), x3(l), exp_j(j), exp_l(l)); });
    const auto b_difference =
        scaled(b_block.elements, [&](int j, int k) { return divided_difference(x1(j), x2(k), exp_j(j), exp_k(k)); });
    total += trace_of_product(first, cd) - trace_of_product(product(a_difference, b_over), cd) -
             trace_of_product(third, da) + trace_of_product(product(b_difference, c_over), da);
  }
  return h_.beta * h_.beta * h_.beta * total;
}

}  // namespace plx::qmc
