#include "qmc/cluster/cluster.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <numbers>

namespace plx::qmc {
namespace {

int modulo(int a, int n) { return (a % n + n) % n; }

using point = std::array<double, 2>;

// The part of a polygon where p . v <= limit (Sutherland, Hodgman).
std::vector<point> clip(const std::vector<point>& polygon, point v, double limit) {
  std::vector<point> kept;
  const auto excess = [&](const point& p) { return p[0] * v[0] + p[1] * v[1] - limit; };
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const point &p = polygon[i], &q = polygon[(i + 1) % polygon.size()];
    const double ep = excess(p), eq = excess(q), tiny = 1e-12 * limit;
    if (ep <= tiny) kept.push_back(p);
    if ((ep < -tiny && eq > tiny) || (ep > tiny && eq < -tiny)) {
      const double s = ep / (ep - eq);
      kept.push_back({p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])});
    }
  }
  return kept;
}

}  // namespace

double dispersion::operator()(double kx, double ky) const {
  return -2 * t * (std::cos(kx) + std::cos(ky)) - 4 * t_prime * std::cos(kx) * std::cos(ky);
}

result<cluster> cluster::spanned_by(lattice_vector a1, lattice_vector a2) {
  const long long n = std::llabs(static_cast<long long>(a1[0]) * a2[1] - static_cast<long long>(a1[1]) * a2[0]);
  const bool near = std::max({std::abs(a1[0]), std::abs(a1[1]), std::abs(a2[0]), std::abs(a2[1])}) <= 10 * max_sites;
  if (!near || n < 1 || n > max_sites)
    return error{
        fmt::format("cluster ({}, {}), ({}, {}): expected vectors that span 1 to {} sites, found {}; use other vectors",
                    a1[0], a1[1], a2[0], a2[1], max_sites, n)};
  return cluster(a1, a2);
}

result<cluster> cluster::named(std::string_view name) {
  if (name == "4A") return spanned_by({2, 0}, {0, 2});
  if (name == "8A") return spanned_by({2, 2}, {2, -2});
  // Three of the plaquettes at (+-2, 0), (0, +-2) differ in 16A, two in 16B (Maier et al. 2005, PRL 95, 237001).
  if (name == "16A") return spanned_by({4, 2}, {0, 4});
  if (name == "16B") return spanned_by({4, 0}, {0, 4});
  int width = 0, height = 0;
  const char* end = name.data() + name.size();
  auto [p, failed] = std::from_chars(name.data(), end, width);
  if (failed == std::errc() && p != end && *p == 'x') {
    const auto [q, failed_too] = std::from_chars(p + 1, end, height);
    if (failed_too == std::errc() && q == end && width > 0 && height > 0) return spanned_by({width, 0}, {0, height});
  }
  return error{fmt::format(
      "cluster '{}': expected WIDTHxHEIGHT (as 4x4), 4A, 8A, 16A or 16B; give others by two vectors", name)};
}

cluster::cluster(lattice_vector a1, lattice_vector a2) : a1_(a1), a2_(a2) {
  determinant_ = a1[0] * a2[1] - a1[1] * a2[0];
  const int n = std::abs(determinant_);
  // Sites: every class has a representative with coordinates below n.
  for (int y = 0; y < n && static_cast<int>(sites_.size()) < n; ++y)
    for (int x = 0; x < n && static_cast<int>(sites_.size()) < n; ++x) {
      const int key = site_key({x, y});
      const auto at = std::lower_bound(site_of_key_.begin(), site_of_key_.end(), std::pair(key, 0));
      if (at != site_of_key_.end() && at->first == key) continue;
      site_of_key_.insert(at, {key, static_cast<int>(sites_.size())});
      sites_.push_back({x, y});
    }
  // Momenta: combinations of the reciprocal vectors (a2y, -a2x) and (-a1y, a1x) in units of 2 pi / determinant.
  const int s = determinant_ > 0 ? 1 : -1;
  std::vector<lattice_vector> found;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      found.push_back({modulo(s * (i * a2[1] - j * a1[1]), n), modulo(s * (j * a1[0] - i * a2[0]), n)});
  std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return std::pair(a[1], a[0]) < std::pair(b[1], b[0]); });
  found.erase(std::unique(found.begin(), found.end()), found.end());
  PLX_ASSERT(static_cast<int>(sites_.size()) == n && static_cast<int>(found.size()) == n, sites_.size(), found.size(),
             n);
  momenta_ = std::move(found);
  momentum_of_key_.assign(static_cast<std::size_t>(n) * n, -1);
  for (int k = 0; k < n; ++k) momentum_of_key_[momenta_[k][0] * n + momenta_[k][1]] = k;

  roots_.resize(n);
  for (int k = 0; k < n; ++k) roots_[k] = std::polar(1.0, 2 * std::numbers::pi * k / n);
  negative_.resize(n);
  site_difference_.resize(static_cast<std::size_t>(n) * n);
  momentum_sum_.resize(static_cast<std::size_t>(n) * n);
  for (int a = 0; a < n; ++a) {
    negative_[a] = momentum_at({-momenta_[a][0], -momenta_[a][1]});
    for (int b = 0; b < n; ++b) {
      site_difference_[a * n + b] = site_at({sites_[a][0] - sites_[b][0], sites_[a][1] - sites_[b][1]});
      momentum_sum_[a * n + b] = momentum_at({momenta_[a][0] + momenta_[b][0], momenta_[a][1] + momenta_[b][1]});
    }
  }
  for (const auto& m : {std::array{1, 0, 0, 1},
                        {0, -1, 1, 0},
                        {-1, 0, 0, -1},
                        {0, 1, -1, 0},
                        {1, 0, 0, -1},
                        {-1, 0, 0, 1},
                        {0, 1, 1, 0},
                        {0, -1, -1, 0}}) {
    const auto image = [&](lattice_vector v) -> lattice_vector {
      return {m[0] * v[0] + m[1] * v[1], m[2] * v[0] + m[3] * v[1]};
    };
    if (site_at(image(a1)) != 0 || site_at(image(a2)) != 0) continue;
    cluster_symmetry symmetry;
    for (const auto& r : sites_) symmetry.sites.push_back(site_at(image(r)));
    for (const auto& k : momenta_) symmetry.momenta.push_back(momentum_at(image(k)));
    symmetries_.push_back(std::move(symmetry));
  }
}

int cluster::site_key(lattice_vector r) const noexcept {
  const int n = std::abs(determinant_);
  return modulo(r[0] * a2_[1] - r[1] * a2_[0], n) * n + modulo(r[1] * a1_[0] - r[0] * a1_[1], n);
}

int cluster::site_at(lattice_vector r) const {
  const auto at = std::lower_bound(site_of_key_.begin(), site_of_key_.end(), std::pair(site_key(r), 0));
  return at->second;
}

std::array<double, 2> cluster::momentum(int k) const {
  const double unit = 2 * std::numbers::pi / n_sites();
  return {unit * momenta_[k][0], unit * momenta_[k][1]};
}

int cluster::momentum_at(lattice_vector v) const {
  const int n = static_cast<int>(momenta_.size());
  return momentum_of_key_[modulo(v[0], n) * n + modulo(v[1], n)];
}

int cluster::find_momentum(double kx, double ky) const {
  const double unit = 2 * std::numbers::pi / n_sites();
  const double x = kx / unit, y = ky / unit;
  if (std::abs(x - std::round(x)) > 1e-9 / unit || std::abs(y - std::round(y)) > 1e-9 / unit) return -1;
  return momentum_at({static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y))});
}

std::complex<double> cluster::phase(int k, int r) const {
  return roots_[modulo(momenta_[k][0] * sites_[r][0] + momenta_[k][1] * sites_[r][1], n_sites())];
}

std::vector<std::array<double, 2>> cluster::patch() const {
  // The shortest vectors equivalent to zero bound the patch: the basis is reduced (Gauss), then the six or eight
  // shortest combinations are enough.
  const double unit = 2 * std::numbers::pi / determinant_;
  point b1 = {unit * a2_[1], -unit * a2_[0]}, b2 = {-unit * a1_[1], unit * a1_[0]};
  const auto dot = [](const point& a, const point& b) { return a[0] * b[0] + a[1] * b[1]; };
  for (;;) {
    if (dot(b1, b1) > dot(b2, b2)) std::swap(b1, b2);
    const double ratio = dot(b1, b2) / dot(b1, b1), m = std::round(ratio);
    if (std::abs(ratio) < 0.5 + 1e-9) break;  // with a margin: +-1/2 would alternate
    b2 = {b2[0] - m * b1[0], b2[1] - m * b1[1]};
  }
  const double far = 2 * std::sqrt(dot(b2, b2));
  std::vector<point> polygon = {{-far, -far}, {far, -far}, {far, far}, {-far, far}};
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j) {
      if (i == 0 && j == 0) continue;
      const point v = {i * b1[0] + j * b2[0], i * b1[1] + j * b2[1]};
      polygon = clip(polygon, v, 0.5 * dot(v, v));
    }
  return polygon;
}

real_matrix cluster::hopping(const dispersion& e) const {
  const int n = n_sites();
  std::vector<double> at(n, 0.0);  // by difference
  for (int r = 0; r < n; ++r)
    for (int k = 0; k < n; ++k) {
      const auto q = momentum(k);
      at[r] += e(q[0], q[1]) * phase(k, r).real() / n;
    }
  real_matrix t(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) t(i, j) = at[difference(i, j)];
  return t;
}

}  // namespace plx::qmc
