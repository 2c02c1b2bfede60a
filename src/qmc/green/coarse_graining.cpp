#include "qmc/green/coarse_graining.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "num/dense/linear_algebra.hpp"
#include "num/quadrature.hpp"

namespace plx::qmc {
namespace {

// Nodes of the same energy, which symmetries of the patch give, become one.
patch_states merged(const patch_states& s) {
  std::vector<std::size_t> order(s.energies.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return std::pair(s.energies[a], a) < std::pair(s.energies[b], b); });
  patch_states m;
  for (std::size_t i : order) {
    if (!m.energies.empty() && s.energies[i] - m.energies.back() < 1e-12) {
      m.weights.back() += s.weights[i];
    } else {
      m.energies.push_back(s.energies[i]);
      m.weights.push_back(s.weights[i]);
    }
  }
  return m;
}

// The energies of a fine quadrature over a polygon around k.
patch_states fine_rule(const std::vector<std::array<double, 2>>& polygon, std::array<double, 2> k,
                       const dispersion& e) {
  patch_states s;
  for (const auto& p : patch_points(polygon, 40)) {
    s.energies.push_back(e(k[0] + p.x, k[1] + p.y));
    s.weights.push_back(p.weight);
  }
  return merged(s);
}

// The Gauss rule of n nodes for a discrete measure: the Lanczos process with full reorthogonalization gives the Jacobi
// matrix, whose eigenvalues are the nodes and whose eigenvectors' first components give the weights.
patch_states gauss_rule(const patch_states& measure, int n) {
  const std::size_t m = measure.energies.size();
  std::vector<std::vector<double>> basis(1, std::vector<double>(m));
  for (std::size_t i = 0; i < m; ++i) basis[0][i] = std::sqrt(measure.weights[i]);
  real_matrix jacobi(n, n);
  int size = 0;
  while (size < n) {
    const auto& v = basis[size];
    std::vector<double> next(m);
    double diagonal = 0;
    for (std::size_t i = 0; i < m; ++i) {
      next[i] = measure.energies[i] * v[i];
      diagonal += next[i] * v[i];
    }
    jacobi(size, size) = diagonal;
    ++size;
    for (int repeat = 0; repeat < 2; ++repeat)
      for (const auto& u : basis) {
        const double overlap = dot(static_cast<int>(m), u.data(), next.data());
        for (std::size_t i = 0; i < m; ++i) next[i] -= overlap * u[i];
      }
    const double norm = std::sqrt(dot(static_cast<int>(m), next.data(), next.data()));
    if (size == n || norm < 1e-12) break;  // a patch with few different energies has an exact rule of fewer nodes
    for (double& x : next) x /= norm;
    jacobi(size, size - 1) = jacobi(size - 1, size) = norm;
    basis.push_back(std::move(next));
  }
  real_matrix used(size, size);
  for (int j = 0; j < size; ++j)
    for (int i = 0; i < size; ++i) used(i, j) = jacobi(i, j);
  patch_states rule;
  rule.energies = diagonalize_symmetric(used);
  for (int j = 0; j < size; ++j) rule.weights.push_back(used(0, j) * used(0, j));
  return rule;
}

}  // namespace

// Triangles are images of a square.
std::vector<patch_point> patch_points(const std::vector<std::array<double, 2>>& polygon, int n) {
  const auto rule = gauss_legendre(n);
  std::vector<patch_point> points;
  double area = 0;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const auto &a = polygon[i], &b = polygon[(i + 1) % polygon.size()];
    const double twice = a[0] * b[1] - a[1] * b[0];
    for (std::size_t p = 0; p < rule.nodes.size(); ++p)
      for (std::size_t q = 0; q < rule.nodes.size(); ++q) {
        const double u = 0.5 * (1 + rule.nodes[p]), v = 0.5 * (1 + rule.nodes[q]);  // the point u (a + v (b - a))
        points.push_back({u * (a[0] + v * (b[0] - a[0])), u * (a[1] + v * (b[1] - a[1])),
                          0.25 * rule.weights[p] * rule.weights[q] * twice * u});
        area += points.back().weight;
      }
  }
  for (auto& p : points) p.weight /= area;
  return points;
}

double patch_states::mean() const {
  double sum = 0;
  for (std::size_t j = 0; j < energies.size(); ++j) sum += weights[j] * energies[j];
  return sum;
}

coarse_graining::coarse_graining(const cluster& c, const dispersion& e, int n_nodes) : patches_(c.n_sites()) {
  PLX_ASSERT(n_nodes >= 1, n_nodes);
  const auto polygon = c.patch();
  for (int k = 0; k < c.n_sites(); ++k) {
    // A symmetry gives the same density of states; computed once, it has the same bits.
    int first = k;
    for (const auto& g : c.symmetries()) first = std::min(first, g.momenta[k]);
    if (first < k) {
      patches_[k] = patches_[first];
    } else if (const auto q = c.momentum(k); n_nodes == 1) {
      patches_[k] = {{e(q[0], q[1])}, {1.0}};
    } else {
      patches_[k] = gauss_rule(fine_rule(polygon, q, e), n_nodes);
    }
  }
}

matsubara_function coarse_graining::green(const matsubara_function& sigma, double mu, double beta) const {
  matsubara_function g(n_momenta(), sigma.n_frequencies());
  for (int k = 0; k < n_momenta(); ++k)
    for (int n = 0; n < sigma.n_frequencies(); ++n) {
      const std::complex<double> z = std::complex<double>(mu, matsubara_frequency(n, beta)) - sigma(k, n);
      double re = 0, im = 0;  // sum of w / (z - eps)
      for (std::size_t j = 0; j < patches_[k].energies.size(); ++j) {
        const double x = z.real() - patches_[k].energies[j];
        const double scale = patches_[k].weights[j] / (x * x + z.imag() * z.imag());
        re += scale * x;
        im -= scale * z.imag();
      }
      g(k, n) = {re, im};
    }
  return g;
}

matsubara_function coarse_graining::pair_bubble(const matsubara_function& sigma, double mu, double beta,
                                                int n_frequencies) const {
  PLX_ASSERT(n_frequencies <= sigma.n_frequencies(), n_frequencies, sigma.n_frequencies());
  matsubara_function bubble(n_momenta(), n_frequencies);
  for (int k = 0; k < n_momenta(); ++k)
    for (int n = 0; n < n_frequencies; ++n) {
      const std::complex<double> z = std::complex<double>(mu, matsubara_frequency(n, beta)) - sigma(k, n);
      double sum = 0;
      for (std::size_t j = 0; j < patches_[k].energies.size(); ++j)
        sum += patches_[k].weights[j] / std::norm(z - patches_[k].energies[j]);
      bubble(k, n) = sum;
    }
  return bubble;
}

double coarse_graining::density(const matsubara_function& sigma, double mu, double beta) const {
  const auto g = green(sigma, mu, beta);
  double n = 0;
  for (int k = 0; k < n_momenta(); ++k) {
    // The self-energy's limit at high frequency is part of the second moment; it is zero at half filling.
    double limit = 0;
    const int count = std::max(1, sigma.n_frequencies() / 8);
    for (int i = 0; i < count; ++i) limit += sigma(k, sigma.n_frequencies() - 1 - i).real() / count;
    n += occupation(g.of_momentum(k), g.n_frequencies(), patches_[k].mean() - mu + limit, beta) / n_momenta();
  }
  return n;
}

// The mean of eps / (z - eps) is z Gbar - 1, whose tail m1 / iw + (m2 + m1 (limit - mu)) / (iw)^2 is summed in closed
// form.
double coarse_graining::kinetic_energy(const matsubara_function& sigma, double mu, double limit, double beta) const {
  const auto g = green(sigma, mu, beta);
  double energy = 0;
  for (int k = 0; k < n_momenta(); ++k) {
    const auto& p = patches_[k];
    const double m1 = p.mean();
    double m2 = 0;
    for (std::size_t j = 0; j < p.energies.size(); ++j) m2 += p.weights[j] * p.energies[j] * p.energies[j];
    const double second = m2 + m1 * (limit - mu);
    double sum = 0;
    for (int n = 0; n < g.n_frequencies(); ++n) {
      const double w = matsubara_frequency(n, beta);
      const auto z = std::complex<double>(mu, w) - sigma(k, n);
      sum += (z * g(k, n)).real() - 1 + second / (w * w);
    }
    energy += 2 * (0.5 * m1 - 0.25 * beta * second + 2 * sum / beta) / n_momenta();
  }
  return energy;
}

result<double> coarse_graining::find_mu(const matsubara_function& sigma, double target, double beta) const {
  double low = 0, high = 0;
  for (const auto& p : patches_) {
    low = std::min(low, p.energies.front());
    high = std::max(high, p.energies.back());
  }
  low -= 100;
  high += 100;
  const double n_low = density(sigma, low, beta), n_high = density(sigma, high, beta);
  if (!(n_low < target && target < n_high))
    return error{fmt::format(
        "density {}: expected one between {:.6g} and {:.6g}, which chemical potentials within 100 of the band give",
        target, n_low, n_high)};
  // The density is monotonic, and flat far from the band: bisection there, then false position with halved weights
  // (Illinois).
  double f_low = n_low - target, f_high = n_high - target;
  int side = 0;
  for (int step = 0; step < 200; ++step) {
    const bool bisect = high - low > 1 || step % 16 == 15;
    const double mu = bisect ? 0.5 * (low + high) : high - f_high * (high - low) / (f_high - f_low);
    if (!(low < mu && mu < high)) return 0.5 * (low + high);
    const double f = density(sigma, mu, beta) - target;
    if (std::abs(f) < 1e-10) return mu;
    if (f < 0) {
      low = mu;
      f_low = f;
      if (side < 0) f_high *= 0.5;
      side = -1;
    } else {
      high = mu;
      f_high = f;
      if (side > 0) f_low *= 0.5;
      side = 1;
    }
  }
  return 0.5 * (low + high);
}

matsubara_function exclude_cluster(const matsubara_function& mean_green, const matsubara_function& sigma) {
  matsubara_function g0(mean_green.n_momenta(), mean_green.n_frequencies());
  for (int k = 0; k < g0.n_momenta(); ++k)
    for (int n = 0; n < g0.n_frequencies(); ++n) g0(k, n) = 1.0 / (1.0 / mean_green(k, n) + sigma(k, n));
  return g0;
}

void symmetrize(const cluster& c, matsubara_function& f) {
  PLX_ASSERT_EQ(f.n_momenta(), c.n_sites());
  const auto before = f;
  const double weight = 1.0 / static_cast<double>(c.symmetries().size());
  for (int n = 0; n < f.n_frequencies(); ++n) {
    for (int k = 0; k < f.n_momenta(); ++k) f(k, n) = 0;
    for (const auto& g : c.symmetries())
      for (int k = 0; k < f.n_momenta(); ++k) f(g.momenta[k], n) += weight * before(k, n);
    // The sums of equivalent momenta differ in their last bits; all of them get those of the first.
    for (int k = 0; k < f.n_momenta(); ++k) {
      int first = k;
      for (const auto& g : c.symmetries()) first = std::min(first, g.momenta[k]);
      f(k, n) = f(first, n);
    }
  }
}

}  // namespace plx::qmc
