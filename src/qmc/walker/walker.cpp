#include "qmc/walker/walker.hpp"

#include <algorithm>
#include <cmath>

#include "num/clones.hpp"
#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {

double expansion::gamma() const { return std::acosh(1 + u * beta * n_sites / (2 * k)); }

expansion expansion::of(double u, double beta, int n_sites, double k) {
  PLX_ASSERT(u >= 0 && beta > 0 && n_sites >= 1 && k > 0, u, beta, n_sites, k);
  expansion e{u, beta, n_sites, k};
  e.exp_gamma = {std::exp(-e.gamma()), std::exp(e.gamma())};
  return e;
}

proposal proposal::draw(random_stream& r, const expansion& e) {
  proposal p;
  const double what = r.uniform(), place = r.uniform(), time = r.uniform(), spin = r.uniform();
  p.accept = r.uniform();
  p.what = what < 0.4 ? kind::insert : what < 0.8 ? kind::remove : kind::flip;
  p.inserted = {time * e.beta, std::min(static_cast<int>(place * e.n_sites), e.n_sites - 1), spin < 0.5 ? -1 : 1};
  p.choice = place;
  return p;
}

walker::walker(const free_propagator& g0, expansion e, random_stream stream)
    : g0_(&g0), expansion_(e), stream_(stream), equal_time_(g0(0, 0, 0)) {
  PLX_ASSERT(g0.n_sites() == e.n_sites && g0.beta() == e.beta, g0.n_sites(), e.n_sites, g0.beta(), e.beta);
}

double walker::weight_ratio(proposal::kind what, int order, double determinants) const {
  switch (what) {
    case proposal::kind::insert:
      return expansion_.k / (order + 1) * determinants;
    case proposal::kind::remove:
      return order / expansion_.k * determinants;
    case proposal::kind::flip:
      break;
  }
  return determinants;
}

PLX_NUM_CLONES void walker::m_matrix(int sigma, real_matrix& m) const {
  const int k = order();
  m.reshape(k, k);
  const double of_s[2] = {expansion_.exp_v(sigma, -1) - 1, expansion_.exp_v(sigma, 1) - 1};
  std::vector<double> of_row(k);
  for (int i = 0; i < k; ++i) of_row[i] = of_s[vertices_[i].s > 0];
  const double* factors = of_row.data();
  for (int j = 0; j < k; ++j) {
    const double* from = inverse_[sigma].column(j);
    double* to = m.column(j);
    for (int i = 0; i < k; ++i) to[i] = factors[i] * from[i];
  }
}

void snapshot::take(const walker& w) {
  vertices = w.vertices();
  sign = w.sign();
  for (int sigma = 0; sigma < 2; ++sigma) w.m_matrix(sigma, m[sigma]);
}

void walker::rebuild() {
  const int k = order();
  sign_ = 1;
  for (int sigma = 0; sigma < 2; ++sigma) {
    real_matrix a(k, k);
    for (int j = 0; j < k; ++j) {
      for (int i = 0; i < k; ++i)
        if (i != j) a(i, j) = off_diagonal(vertices_[i], vertices_[j], sigma);
      const double e = expansion_.exp_v(sigma, vertices_[j].s);
      a(j, j) = e - equal_time_ * (e - 1);
    }
    const auto det = invert(a);
    PLX_ASSERT(det.sign != 0, k, sigma);
    sign_ *= det.sign;
    for (int j = 0; j < k; ++j)
      for (int i = 0; i < k; ++i)
        statistics_.largest_drift = std::max(statistics_.largest_drift, std::abs(a(i, j) - inverse_[sigma](i, j)));
    inverse_[sigma] = std::move(a);
  }
}

void walker::save(number_writer& to) const {
  to.add(static_cast<double>(stream_.position()));
  to.add(static_cast<double>(statistics_.proposed));
  to.add(static_cast<double>(statistics_.accepted));
  to.add(statistics_.largest_drift);
  to.add(sign_);
  to.add(order());
  for (const vertex& v : vertices_)
    for (double x : {v.tau, static_cast<double>(v.site), static_cast<double>(v.s)}) to.add(x);
  for (const auto& n : inverse_) to.add(n);
}

void walker::load(number_reader& from) {
  stream_.seek(from.integer<std::uint64_t>());
  statistics_.proposed = from.integer<std::uint64_t>();
  statistics_.accepted = from.integer<std::uint64_t>();
  statistics_.largest_drift = from.number();
  sign_ = from.number();
  vertices_.resize(from.integer<std::uint32_t>());
  for (vertex& v : vertices_) {
    v.tau = from.number();
    v.site = from.integer<int>();
    v.s = from.integer<int>();
  }
  for (auto& n : inverse_) n = from.matrix();
}

void rank_one_walker::advance(int n) {
  for (int m = 0; m < n; ++m) {
    const auto p = proposal::draw(stream_, expansion_);
    ++statistics_.proposed;
    last_ratio_ = 0;
    bool accepted = false;
    if (p.what == proposal::kind::insert)
      accepted = insert(p);
    else if (order() > 0)
      accepted = p.what == proposal::kind::remove ? remove(p) : flip(p);
    if (trace_ != nullptr) trace_->push_back(last_ratio_);
    if (!accepted) continue;
    ++statistics_.accepted;
    if (last_ratio_ < 0) sign_ = -sign_;
  }
}

// A' = [[A, u], [v^T, d]]: with s = d - v^T N u, det A' / det A = s and
// N' = [[N + N u v^T N / s, -N u / s], [-v^T N / s, 1 / s]].
bool rank_one_walker::insert(const proposal& p) {
  const int k = order();
  std::array<double, 2> schur{};
  border_column_.resize(k);
  border_row_.resize(k);
  for (int sigma = 0; sigma < 2; ++sigma) {
    for (int i = 0; i < k; ++i) {
      border_column_[i] = off_diagonal(vertices_[i], p.inserted, sigma);
      border_row_[i] = off_diagonal(p.inserted, vertices_[i], sigma);
    }
    const double e = expansion_.exp_v(sigma, p.inserted.s);
    column_[sigma].resize(k);
    multiply_vector(1, inverse_[sigma], border_column_.data(), 0, column_[sigma].data());
    row_[sigma] = border_row_;
    schur[sigma] = e - equal_time_ * (e - 1) - dot(k, border_row_.data(), column_[sigma].data());
  }
  last_ratio_ = weight_ratio(p.what, k, schur[0] * schur[1]);
  if (!(p.accept < std::abs(last_ratio_))) return false;
  for (int sigma = 0; sigma < 2; ++sigma) {
    real_matrix& n = inverse_[sigma];
    border_row_.resize(k);
    multiply_vector(1, n, row_[sigma].data(), 0, border_row_.data(), transposed::yes);
    add_outer(1 / schur[sigma], column_[sigma].data(), border_row_.data(), n);
    n.resize(k + 1, k + 1);
    for (int i = 0; i < k; ++i) {
      n(i, k) = -column_[sigma][i] / schur[sigma];
      n(k, i) = -border_row_[i] / schur[sigma];
    }
    n(k, k) = 1 / schur[sigma];
  }
  vertices_.push_back(p.inserted);
  return true;
}

// The last vertex takes the place of the removed one; then det A' / det A = N_ll and N' = N - N_:l N_l: / N_ll.
bool rank_one_walker::remove(const proposal& p) {
  const int k = order(), at = std::min(static_cast<int>(p.choice * k), k - 1), last = k - 1;
  last_ratio_ = weight_ratio(p.what, k, inverse_[0](at, at) * inverse_[1](at, at));
  if (!(p.accept < std::abs(last_ratio_))) return false;
  for (real_matrix& n : inverse_) {
    if (at != last) {
      for (int i = 0; i < k; ++i) std::swap(n(i, at), n(i, last));
      for (int j = 0; j < k; ++j) std::swap(n(at, j), n(last, j));
    }
    border_row_.resize(k);
    for (int j = 0; j < last; ++j) border_row_[j] = n(last, j);
    const double pivot = n(last, last);
    add_outer(-1 / pivot, n.column(last), border_row_.data(), n.view().block(0, 0, last, last));
    n.resize(last, last);
  }
  vertices_[at] = vertices_[last];
  vertices_.pop_back();
  return true;
}

// Column p of A changes by (e^V' - e^V)(e_p - g0_:p), and N (e_p - g0_:p) = (e_p - N_:p) / (e^V - 1). With
// w = (e^V' - e^V) / (e^V - 1) (e_p - N_:p), det A' / det A = 1 + w_p and N' = N - w N_p: / (1 + w_p).
bool rank_one_walker::flip(const proposal& p) {
  const int k = order(), at = std::min(static_cast<int>(p.choice * k), k - 1);
  const int s = vertices_[at].s;
  std::array<double, 2> factor{}, ratio{};
  for (int sigma = 0; sigma < 2; ++sigma) {
    const double before = expansion_.exp_v(sigma, s), after = expansion_.exp_v(sigma, -s);
    factor[sigma] = (after - before) / (before - 1);
    ratio[sigma] = 1 + factor[sigma] * (1 - inverse_[sigma](at, at));
  }
  last_ratio_ = weight_ratio(p.what, k, ratio[0] * ratio[1]);
  if (!(p.accept < std::abs(last_ratio_))) return false;
  border_column_.resize(k);
  border_row_.resize(k);
  for (int sigma = 0; sigma < 2; ++sigma) {
    real_matrix& n = inverse_[sigma];
    for (int i = 0; i < k; ++i) {
      border_column_[i] = factor[sigma] * ((i == at) - n(i, at));
      border_row_[i] = n(at, i);
    }
    add_outer(-1 / ratio[sigma], border_column_.data(), border_row_.data(), n);
  }
  vertices_[at].s = -s;
  return true;
}

}  // namespace plx::qmc
