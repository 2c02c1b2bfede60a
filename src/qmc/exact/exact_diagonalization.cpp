#include "qmc/exact/exact_diagonalization.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {
namespace {

using complex = std::complex<double>;

// The sign of c_i or c+_i on a state with the orbitals in the order up 0, up 1, ..., down 0, ...: the number of
// occupied orbitals before it.
double sign_before(std::uint32_t state, int orbital) {
  return std::popcount(state & ((std::uint32_t{1} << orbital) - 1)) % 2 == 0 ? 1 : -1;
}

}  // namespace

exact_diagonalization::exact_diagonalization(cluster_hamiltonian h) : h_(std::move(h)) {
  const int n = n_sites();
  PLX_ASSERT(n >= 1 && n <= 4 && h_.hopping.columns() == n, n, h_.hopping.columns());
  PLX_ASSERT(h_.beta > 0, h_.beta);
  sectors_.resize((n + 1) * (n + 1));
  for (int up = 0; up <= n; ++up)
    for (int down = 0; down <= n; ++down) {
      sector& s = sectors_[sector_index(up, down)];
      s.n_up = up;
      s.n_down = down;
    }
  const std::uint32_t mask = (1u << n) - 1;
  for (std::uint32_t state = 0; state < 1u << (2 * n); ++state)
    sectors_[sector_index(std::popcount(state & mask), std::popcount(state >> n))].states.push_back(state);
  ground_energy_ = std::numeric_limits<double>::infinity();
  for (sector& s : sectors_) {
    diagonalize(s);
    ground_energy_ = std::min(ground_energy_, s.energies[0]);
  }
  double z = 0;
  for (sector& s : sectors_)
    for (double& e : s.energies) {
      e -= ground_energy_;
      s.weights.push_back(std::exp(-h_.beta * e));
      z += s.weights.back();
    }
  for (sector& s : sectors_)
    for (double& w : s.weights) w /= z;
  log_z_ = std::log(z) - h_.beta * ground_energy_;
  measure();
}

double exact_diagonalization::log_partition_function() const noexcept { return log_z_; }

void exact_diagonalization::diagonalize(sector& s) const {
  const int n = n_sites(), size = static_cast<int>(s.states.size());
  real_matrix h(size, size);
  for (int a = 0; a < size; ++a) {
    const std::uint32_t state = s.states[a];
    double diagonal = -h_.mu * (s.n_up + s.n_down);
    for (int i = 0; i < n; ++i) {
      const double up = state >> i & 1, down = state >> (n + i) & 1;
      diagonal += h_.u * (up - 0.5) * (down - 0.5) + h_.hopping(i, i) * (up + down);
    }
    h(a, a) = diagonal;
    for (int from = 0; from < 2 * n; ++from)
      for (int to = from / n * n; to < (from / n + 1) * n; ++to) {
        if (to == from || (state >> from & 1) == 0 || (state >> to & 1) != 0) continue;
        const std::uint32_t without = state & ~(1u << from), after = without | 1u << to;
        const int b = static_cast<int>(std::lower_bound(s.states.begin(), s.states.end(), after) - s.states.begin());
        h(b, a) += h_.hopping(to % n, from % n) * sign_before(state, from) * sign_before(without, to);
      }
  }
  s.energies = diagonalize_symmetric(h);
  s.vectors = std::move(h);
}

void exact_diagonalization::measure() {
  const int n = n_sites();
  for (const sector& s : sectors_)
    for (std::size_t m = 0; m < s.energies.size(); ++m) {
      const int particles = s.n_up + s.n_down;
      density_ += s.weights[m] * particles / n;
      energy_ += s.weights[m] * (s.energies[m] + ground_energy_ + h_.mu * particles) / n;
      for (std::size_t a = 0; a < s.states.size(); ++a) {
        const double amplitude = s.vectors(static_cast<int>(a), static_cast<int>(m));
        const int pairs = std::popcount(s.states[a] & s.states[a] >> n);  // the bits above n are zero in the second
        double_occupancy_ += s.weights[m] * amplitude * amplitude * pairs / n;
      }
    }
}

auto exact_diagonalization::blocks_of(const fermion_operator& o) const -> operator_blocks {
  const int n = n_sites();
  PLX_ASSERT(static_cast<int>(o.coefficients.size()) == n, o.coefficients.size(), n);
  operator_blocks result(sectors_.size());
  const int change = o.creates ? 1 : -1, shift = o.spin == spin::up ? 0 : n;
  for (std::size_t source = 0; source < sectors_.size(); ++source) {
    const sector& from = sectors_[source];
    const int up = from.n_up + (shift == 0 ? change : 0), down = from.n_down + (shift == 0 ? 0 : change);
    if (up < 0 || down < 0 || up > n || down > n) continue;
    result[source].target = sector_index(up, down);
    const sector& to = sectors_[result[source].target];
    const int columns = static_cast<int>(from.states.size()), rows = static_cast<int>(to.states.size());
    complex_matrix bare(rows, columns);
    for (int a = 0; a < columns; ++a)
      for (int i = 0; i < n; ++i) {
        const std::uint32_t state = from.states[a], bit = 1u << (i + shift);
        if (((state & bit) != 0) == o.creates) continue;
        const int b =
            static_cast<int>(std::lower_bound(to.states.begin(), to.states.end(), state ^ bit) - to.states.begin());
        const complex c = o.creates ? std::conj(o.coefficients[i]) : o.coefficients[i];
        bare(b, a) += c * sign_before(state, i + shift);
      }
    const auto complex_copy = [](const real_matrix& m) {
      complex_matrix z(m.rows(), m.columns());
      for (int j = 0; j < m.columns(); ++j)
        for (int i = 0; i < m.rows(); ++i) z(i, j) = m(i, j);
      return z;
    };
    complex_matrix half(rows, columns);
    multiply(complex(1), bare, complex_copy(from.vectors), complex(0), half);
    result[source].elements = complex_matrix(rows, columns);
    multiply(complex(1), complex_copy(to.vectors), half, complex(0), result[source].elements, transposed::yes);
  }
  return result;
}

std::complex<double> pole_sum::operator()(std::complex<double> z) const {
  complex sum = 0;
  for (std::size_t p = 0; p < energies.size(); ++p) sum += residues[p] / (z - energies[p]);
  return sum;
}

std::complex<double> exact_diagonalization::green(const fermion_operator& a, const fermion_operator& b, int n) const {
  return spectrum(a, b)(complex(0, (2 * n + 1) * M_PI / h_.beta));
}

pole_sum exact_diagonalization::spectrum(const fermion_operator& a, const fermion_operator& b) const {
  PLX_ASSERT(!a.creates && b.creates, a.creates, b.creates);
  const auto a_blocks = blocks_of(a), b_blocks = blocks_of(b);
  pole_sum poles;
  for (std::size_t i = 0; i < sectors_.size(); ++i) {  // <m|a|l><l|b|m>, m in the sector i
    if (b_blocks[i].target < 0) continue;
    const sector& low = sectors_[i];
    const sector& high = sectors_[b_blocks[i].target];
    const auto& b_elements = b_blocks[i].elements;
    const auto& a_block = a_blocks[b_blocks[i].target];
    if (a_block.target != static_cast<int>(i)) continue;
    for (std::size_t m = 0; m < low.energies.size(); ++m)
      for (std::size_t l = 0; l < high.energies.size(); ++l) {
        const int mi = static_cast<int>(m), li = static_cast<int>(l);
        const complex residue = (low.weights[m] + high.weights[l]) * a_block.elements(mi, li) * b_elements(li, mi);
        if (std::abs(residue) < 1e-15) continue;
        poles.energies.push_back(high.energies[l] - low.energies[m]);
        poles.residues.push_back(residue);
      }
  }
  return poles;
}

std::complex<double> exact_diagonalization::green_tau(const fermion_operator& a, const fermion_operator& b,
                                                      double tau) const {
  PLX_ASSERT(!a.creates && b.creates, a.creates, b.creates);
  PLX_ASSERT(tau >= 0 && tau <= h_.beta, tau, h_.beta);
  const auto a_blocks = blocks_of(a), b_blocks = blocks_of(b);
  complex sum = 0;
  for (std::size_t i = 0; i < sectors_.size(); ++i) {
    if (b_blocks[i].target < 0) continue;
    const sector& low = sectors_[i];
    const sector& high = sectors_[b_blocks[i].target];
    const auto& a_block = a_blocks[b_blocks[i].target];
    if (a_block.target != static_cast<int>(i)) continue;
    const double log_normal = log_z_ + h_.beta * ground_energy_;
    for (std::size_t m = 0; m < low.energies.size(); ++m)
      for (std::size_t l = 0; l < high.energies.size(); ++l) {
        const int mi = static_cast<int>(m), li = static_cast<int>(l);
        sum -= std::exp(-(h_.beta - tau) * low.energies[m] - tau * high.energies[l] - log_normal) *
               a_block.elements(mi, li) * b_blocks[i].elements(li, mi);
      }
  }
  return sum;
}

}  // namespace plx::qmc
