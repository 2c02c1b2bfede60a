#include "qmc/measure/vertex_transform.hpp"

#include <algorithm>
#include <cmath>

#include "num/clones.hpp"
#include "num/dense/linear_algebra.hpp"

namespace plx::detail {
namespace {

constexpr int width = 8;  // numbers in one register, with AVX-512
// A typedef: Clang ignores the alignment in a using-declaration.
typedef double lanes __attribute__((vector_size(width * sizeof(double)), aligned(sizeof(double)), may_alias));
static_assert(alignof(lanes) == sizeof(double));

// As replace_by_sums, of that many registers. Inlined, to be compiled for the caller's instruction set.
template <int Registers>
[[gnu::always_inline]] inline void replace_registers(double* numbers, std::ptrdiff_t stride, const site_term* terms,
                                                     const int* ends, int rows, double* block) {
  for (int g = 0; g < rows; ++g)
    for (int i = 0; i < Registers; ++i)
      reinterpret_cast<lanes*>(block)[g * Registers + i] = reinterpret_cast<const lanes*>(numbers + g * stride)[i];
  for (int f = 0, t = 0; f < rows; ++f) {
    lanes sum[Registers] = {};
    for (; t < ends[f]; ++t)
      for (int i = 0; i < Registers; ++i)
        sum[i] += terms[t].factor * reinterpret_cast<const lanes*>(block)[terms[t].from * Registers + i];
    for (int i = 0; i < Registers; ++i) reinterpret_cast<lanes*>(numbers + f * stride)[i] = sum[i];
  }
}

}  // namespace

PLX_NUM_CLONES void copy_in_order(const double* from, const int* order, int n, double* to) {
  for (int i = 0; i < n; ++i) to[i] = from[order[i]];
}

// Replaces numbers [from][i], i < length, of which each row `from` begins stride behind the one before, by the sums of
// terms. block: scratch space of 2 width numbers per row.
PLX_NUM_CLONES void replace_by_sums(double* numbers, std::ptrdiff_t stride, int length, const site_term* terms,
                                    const int* ends, int rows, double* block) {
  int i = 0;
  for (; i + 2 * width <= length; i += 2 * width) replace_registers<2>(numbers + i, stride, terms, ends, rows, block);
  for (; i + width <= length; i += width) replace_registers<1>(numbers + i, stride, terms, ends, rows, block);
  for (; i < length; ++i) {
    for (int g = 0; g < rows; ++g) block[g] = numbers[g * stride + i];
    for (int f = 0, t = 0; f < rows; ++f) {
      double sum = 0;
      for (; t < ends[f]; ++t) sum += terms[t].factor * block[terms[t].from];
      numbers[f * stride + i] = sum;
    }
  }
}

}  // namespace plx::detail

namespace plx::qmc {

// The sums over sites lead from exp(-i w tau) to exp(-i w tau + i K r): from the real and imaginary parts of all sites
// to those of all momenta.
vertex_transform::vertex_transform(const cluster& c, double beta, int n_frequencies)
    : cluster_(&c), beta_(beta), n_frequencies_(n_frequencies) {
  const int n = c.n_sites();
  constexpr double rounding = 1e-12;  // of the zeros among the phases
  const auto add = [&](int from, double factor) {
    if (std::abs(factor) > rounding) terms_.push_back({from, factor});
  };
  for (int part : {0, 1})
    for (int k = 0; k < n; ++k) {
      for (int r = 0; r < n; ++r) {
        const auto phase = c.phase(k, r);
        add(2 * r, part == 0 ? phase.real() : phase.imag());
        add(2 * r + 1, part == 0 ? -phase.imag() : phase.real());
      }
      ends_.push_back(static_cast<int>(terms_.size()));
    }
  block_.resize(static_cast<std::size_t>(2 * n) * 2 * detail::width);
  const int size = 2 * n * n_frequencies;
  for (auto& t : transforms_) t = real_matrix(size, size);
}

void vertex_transform::sort_by_site(const std::vector<vertex>& vertices) {
  const int k = static_cast<int>(vertices.size()), n_sites = cluster_->n_sites();
  first_.assign(n_sites + 1, 0);
  for (const vertex& v : vertices) ++first_[v.site + 1];
  for (int r = 0; r < n_sites; ++r) first_[r + 1] += first_[r];
  order_.resize(k);
  next_.assign(first_.begin(), first_.end());
  for (int p = 0; p < k; ++p) order_[next_[vertices[p].site]++] = p;
}

void vertex_transform::make_waves(const std::vector<vertex>& vertices) {
  const int k = static_cast<int>(vertices.size()), n_w = n_frequencies_;
  waves_.reshape(k, 2 * n_w);
  waves_of_vertex_.reshape(2 * n_w, k);
  for (int i = 0; i < k; ++i) {
    const double angle = M_PI * vertices[order_[i]].tau / beta_;
    const auto step = std::polar(1.0, -2 * angle);
    auto wave = std::polar(1.0, -angle);
    double* of_vertex = waves_of_vertex_.column(i);
    for (int n = 0; n < n_w; ++n) {
      waves_(i, n) = of_vertex[n] = wave.real();
      waves_(i, n_w + n) = of_vertex[n_w + n] = wave.imag();
      wave *= step;
    }
  }
}

void vertex_transform::take(const snapshot& s) {
  const int k = static_cast<int>(s.vertices.size()), n_sites = cluster_->n_sites(), of_site = 2 * n_frequencies_;
  const int size = n_sites * of_site;
  sign_ = s.sign;
  sort_by_site(s.vertices);
  make_waves(s.vertices);
  sorted_.reshape(k, k);
  half_.reshape(k, size);
  for (int sigma = 0; sigma < 2; ++sigma) {
    for (int j = 0; j < k; ++j)
      detail::copy_in_order(s.m[sigma].column(order_[j]), order_.data(), k, sorted_.column(j));
    for (int r = 0; r < n_sites; ++r) {
      const int first = first_[r], n = first_[r + 1] - first;
      multiply(1, sorted_.view().block(0, first, k, n), waves_.view().block(first, 0, n, of_site), 0,
               half_.view().block(0, r * of_site, k, of_site));
    }
    real_matrix& t = transforms_[sigma];
    for (int r = 0; r < n_sites; ++r) {
      const int first = first_[r], n = first_[r + 1] - first;
      multiply(1, waves_of_vertex_.view().block(0, first, of_site, n), half_.view().block(first, 0, n, size), 0,
               t.view().block(r * of_site, 0, of_site, size));
    }
    for (int j = 0; j < size; ++j) sum_over_sites(t.column(j), n_frequencies_, n_frequencies_);
    sum_over_sites(t.data(), static_cast<std::ptrdiff_t>(t.stride()) * n_frequencies_, size * n_frequencies_);
  }
}

void vertex_transform::sum_over_sites(double* numbers, std::ptrdiff_t stride, int length) {
  detail::replace_by_sums(numbers, stride, length, terms_.data(), ends_.data(), static_cast<int>(ends_.size()),
                          block_.data());
}

std::complex<double> vertex_transform::operator()(int sigma, int k, int n, int k2, int n2) const noexcept {
  const int positive = cluster_->n_sites() * n_frequencies_;
  const bool conjugate = n < 0;  // M(x, x') = conj M(-x, -x')
  if (conjugate) k = cluster_->negative(k), n = -1 - n, k2 = cluster_->negative(k2), n2 = -1 - n2;
  const bool mixed = n2 < 0;
  if (mixed) k2 = cluster_->negative(k2), n2 = -1 - n2;
  const int i = k * n_frequencies_ + n, j = k2 * n_frequencies_ + n2;
  const real_matrix& z = transforms_[sigma];
  const double rr = z(i, j), ri = z(i, positive + j), ir = z(positive + i, j), ii = z(positive + i, positive + j);
  const std::complex<double> m = mixed ? std::complex(rr - ii, -ri - ir) : std::complex(rr + ii, ri - ir);
  return conjugate ? std::conj(m) : m;
}

}  // namespace plx::qmc
