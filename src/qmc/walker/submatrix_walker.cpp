#include "qmc/walker/submatrix_walker.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {
namespace {

// A difference of two numbers that is smaller than this part of them has lost too many digits.
constexpr double least_difference = 1e-6;

// How many of the k columns of N a batch changes together: they stay in the L2 cache from one product to the next.
int columns_together(int k) {
  constexpr int cached = 32768, least = 32;  // numbers; columns
  const int most = std::max(least, cached / k), parts = (k + most - 1) / most;
  return (k + parts - 1) / parts;
}

// The columns as rows: OpenBLAS multiplies small matrices twice as fast if none is transposed.
void transpose(const std::vector<const double*>& columns, int k, real_matrix& to) {
  const int n = static_cast<int>(columns.size());
  to.reshape(n, k);
  for (int j = 0; j < k; ++j) {
    double* row = to.column(j);
    for (int i = 0; i < n; ++i) row[i] = columns[i][j];
  }
}

}  // namespace

submatrix_walker::submatrix_walker(const free_propagator& g0, expansion e, random_stream stream, int batch)
    : walker(g0, e, stream), batch_(batch) {
  PLX_ASSERT(batch >= 1, batch);
}

void submatrix_walker::advance(int n) {
  const int batches = (n + batch_ - 1) / batch_;
  for (int batch = 0, done = 0; batch < batches; ++batch) {
    const int count = (n - done) / (batches - batch);  // batches of almost equal size
    done += count;
    proposals_.clear();
    for (int m = 0; m < count; ++m) proposals_.push_back(proposal::draw(stream_, expansion_));
    statistics_.proposed += static_cast<std::uint64_t>(count);
    int at = 0;
    while (at < count) {
      begin_batch(at, count);
      int candidate = n_base_;
      for (; at < count; ++at) {
        const auto& p = proposals_[at];
        last_ratio_ = 0;
        const auto result = decide(p, candidate);
        // With an empty set S nothing is subtracted, so that the second attempt always decides.
        if (result == outcome::inaccurate) break;
        if (p.what == proposal::kind::insert) ++candidate;
        if (trace_ != nullptr) trace_->push_back(last_ratio_);
        if (result != outcome::accepted) continue;
        ++statistics_.accepted;
        if (last_ratio_ < 0) sign_ = -sign_;
      }
      apply_batch();
    }
  }
}

void submatrix_walker::begin_batch(int first, int end) {
  const int k = order();
  n_base_ = k;
  slots_.clear();
  order_.resize(k);
  changed_.clear();
  of_base_.clear();
  inserted_.clear();
  inserted_sites_.clear();
  inserted_taus_.clear();
  base_sites_.resize(k);
  base_taus_.resize(k);
  for (int i = 0; i < k; ++i) {
    slots_.push_back({vertices_[i], vertices_[i].s, -1});
    order_[i] = i;
    base_sites_[i] = vertices_[i].site;
    base_taus_[i] = vertices_[i].tau;
  }
  for (int m = first; m < end; ++m)
    if (proposals_[m].what == proposal::kind::insert) slots_.push_back({proposals_[m].inserted, 0, -1});
  const int c = static_cast<int>(slots_.size()) - k;
  to_candidate_.reshape(k, c);
  out_.resize(std::max(k, batch_));
  back_.resize(batch_);
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    q.weighted.reshape(k, c);
    q.weights.resize(k);
    for (int j = 0; j < k; ++j) q.weights[j] = expansion_.exp_v(sigma, vertices_[j].s) - 1;
  }
  for (int i = 0; i < c; ++i) {
    const vertex& v = slots_[k + i].v;
    g0_->both(v.site, v.tau, base_sites_, base_taus_.data(), out_.data(), to_candidate_.column(i));
    for (side& q : sides_) {
      double* w = q.weighted.column(i);
      for (int j = 0; j < k; ++j) w[j] = q.weights[j] * out_[j];
    }
  }
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    q.change.clear();
    q.gamma_inverse.reshape(0, 0);
    q.basis.reshape(k, 0);
    q.columns.reshape(k, c);
    multiply(1, inverse_[sigma], to_candidate_, 0, q.columns);
    factors_.clear();
    for (int i = 0; i < c; ++i) factors_.push_back(q.weighted.column(i));
    transpose(factors_, k, q.left_factor);
    q.pairs.reshape(c, c);
    multiply(1, q.left_factor, q.columns, 0, q.pairs);
  }
}

auto submatrix_walker::decide(const proposal& p, int candidate) -> outcome {
  const int order = static_cast<int>(order_.size());
  if (p.what == proposal::kind::insert) {
    const auto result = change(candidate, p.inserted.s, p, order);
    if (result == outcome::accepted) order_.push_back(candidate);
    return result;
  }
  if (order == 0) return outcome::rejected;
  const int index = std::min(static_cast<int>(p.choice * order), order - 1), at = order_[index];
  if (p.what == proposal::kind::flip) return change(at, -slots_[at].s_now, p, order);
  const auto result = change(at, 0, p, order);
  if (result == outcome::accepted) {
    order_[index] = order_.back();
    order_.pop_back();
  }
  return result;
}

// A change of one vertex relative to the reference: a new row and column of Gamma, one less, or another diagonal
// element.
auto submatrix_walker::change(int at, int s_new, const proposal& p, int order) -> outcome {
  const bool is_candidate = at >= n_base_;
  const int s_reference = is_candidate ? 0 : vertices_[at].s, index = slots_[at].changed;
  const int size = static_cast<int>(changed_.size()), n_inserted = static_cast<int>(inserted_.size());
  if (index < 0 && is_candidate)
    g0_->both(slots_[at].v.site, slots_[at].v.tau, inserted_sites_, inserted_taus_.data(), out_.data(), back_.data());
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    q.d_new = exp_now(sigma, s_new) / exp_now(sigma, s_reference) - 1;
    if (index < 0) {
      // Row and column of G between `at` and S, and its diagonal element. N A = 1 gives G (e^V - 1) = N e^V - 1.
      q.column.resize(size);
      q.row.resize(size);
      q.left.resize(size);
      double diagonal = 0;
      factors_.clear();
      if (is_candidate) {
        const int c = at - n_base_;
        const double* g = q.columns.column(c);
        for (int i : of_base_) {
          q.column[i] = g[changed_[i]];
          factors_.push_back(q.basis.column(i));
        }
        q.dots.resize(of_base_.size());
        multiply_columns(static_cast<int>(factors_.size()), n_base_, factors_.data(), q.weighted.column(c),
                         q.dots.data());
        for (std::size_t i = 0; i < of_base_.size(); ++i) q.row[of_base_[i]] = q.dots[i];
        for (int i = 0; i < n_inserted; ++i) {
          const int other = changed_[inserted_[i]] - n_base_;
          q.column[inserted_[i]] = q.pairs(other, c) + back_[i];
          q.row[inserted_[i]] = q.pairs(c, other) + out_[i];
        }
        diagonal = equal_time_ + q.pairs(c, c);
      } else {
        const double e = exp_now(sigma, s_reference), scale = e / (e - 1);
        const double* g = inverse_[sigma].column(at);
        for (int i : of_base_) q.column[i] = scale * g[changed_[i]];
        for (int i : inserted_) factors_.push_back(q.weighted.column(changed_[i] - n_base_));
        q.dots.resize(n_inserted);
        multiply_columns(n_inserted, n_base_, factors_.data(), g, q.dots.data());
        for (int i = 0; i < n_inserted; ++i) q.column[inserted_[i]] = scale * q.dots[i];
        for (int i = 0; i < size; ++i) q.row[i] = q.basis(at, i);
        diagonal = (g[at] * e - 1) / (e - 1);
      }
      diagonal -= (1 + q.d_new) / q.d_new;
      multiply_vector(1, q.gamma_inverse, q.column.data(), 0, q.left.data());
      const double rest = dot(size, q.row.data(), q.left.data());
      q.schur = diagonal - rest;
      if (size > 0 && std::abs(q.schur) < least_difference * (std::abs(diagonal) + std::abs(rest)))
        return outcome::inaccurate;
      q.ratio = -q.d_new * q.schur;
    } else if (s_new == s_reference) {
      q.ratio = q.gamma_inverse(index, index) / -q.change[index];
    } else {
      const double shift = (1 + q.change[index]) / q.change[index] - (1 + q.d_new) / q.d_new;
      const double term = shift * q.gamma_inverse(index, index);
      if (std::abs(1 + term) < least_difference) return outcome::inaccurate;
      q.schur = shift / (1 + term);
      q.ratio = q.d_new / q.change[index] * (1 + term);
    }
  }
  last_ratio_ = weight_ratio(p.what, order, sides_[0].ratio * sides_[1].ratio);
  if (!(p.accept < std::abs(last_ratio_))) return outcome::rejected;
  slots_[at].s_now = s_new;
  if (index < 0) {
    add_changed(at);
  } else if (s_new == s_reference) {
    drop_changed(index);
  } else {
    for (side& q : sides_) {
      q.left.resize(size);
      q.right.resize(size);
      for (int i = 0; i < size; ++i) {
        q.left[i] = q.gamma_inverse(i, index);
        q.right[i] = q.gamma_inverse(index, i);
      }
      add_outer(-q.schur, q.left.data(), q.right.data(), q.gamma_inverse);
      q.change[index] = q.d_new;
    }
  }
  return outcome::accepted;
}

void submatrix_walker::add_changed(int at) {
  const int size = static_cast<int>(changed_.size());
  const bool is_candidate = at >= n_base_;
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    q.right.resize(size);
    multiply_vector(1, q.gamma_inverse, q.row.data(), 0, q.right.data(), transposed::yes);
    add_outer(1 / q.schur, q.left.data(), q.right.data(), q.gamma_inverse);
    q.gamma_inverse.resize(size + 1, size + 1);
    for (int i = 0; i < size; ++i) {
      q.gamma_inverse(i, size) = -q.left[i] / q.schur;
      q.gamma_inverse(size, i) = -q.right[i] / q.schur;
    }
    q.gamma_inverse(size, size) = 1 / q.schur;
    q.change.push_back(q.d_new);
    q.basis.resize(n_base_, size + 1);
    if (is_candidate) {
      std::copy_n(q.columns.column(at - n_base_), n_base_, q.basis.column(size));
    } else {
      const double e = expansion_.exp_v(sigma, vertices_[at].s), scale = e / (e - 1);
      const double* from = inverse_[sigma].column(at);
      double* to = q.basis.column(size);
      for (int i = 0; i < n_base_; ++i) to[i] = scale * from[i];
    }
  }
  slots_[at].changed = size;
  changed_.push_back(at);
  if (!is_candidate) return of_base_.push_back(size);
  inserted_.push_back(size);
  inserted_sites_.push_back(slots_[at].v.site);
  inserted_taus_.push_back(slots_[at].v.tau);
}

// The last member of S takes the place of the dropped one.
void submatrix_walker::drop_changed(int index) {
  const int size = static_cast<int>(changed_.size()), last = size - 1;
  for (side& q : sides_) {
    real_matrix& g = q.gamma_inverse;
    if (index != last) {
      for (int i = 0; i < size; ++i) std::swap(g(i, index), g(i, last));
      for (int j = 0; j < size; ++j) std::swap(g(index, j), g(last, j));
      std::copy_n(q.basis.column(last), n_base_, q.basis.column(index));
    }
    q.right.resize(size);
    for (int j = 0; j < last; ++j) q.right[j] = g(last, j);
    add_outer(-1 / g(last, last), g.column(last), q.right.data(), g.view().block(0, 0, last, last));
    g.resize(last, last);
    q.basis.resize(n_base_, last);
    q.change[index] = q.change[last];
    q.change.pop_back();
  }
  if (changed_[index] >= n_base_) {
    const auto at = static_cast<std::size_t>(std::find(inserted_.begin(), inserted_.end(), index) - inserted_.begin());
    inserted_[at] = inserted_.back(), inserted_.pop_back();
    inserted_sites_[at] = inserted_sites_.back(), inserted_sites_.pop_back();
    inserted_taus_[at] = inserted_taus_.back(), inserted_taus_.pop_back();
  } else {
    *std::find(of_base_.begin(), of_base_.end(), index) = of_base_.back();
    of_base_.pop_back();
  }
  if (index != last)
    for (auto* indices : {&inserted_, &of_base_}) std::replace(indices->begin(), indices->end(), last, index);
  slots_[changed_[last]].changed = index;
  slots_[changed_[index]].changed = -1;  // the order matters if index is last
  changed_[index] = changed_[last];
  changed_.pop_back();
}

// N' = N - B Z outside of S, with B the columns of G and Z = Gamma^-1 N_S:, because 1 and G differ in rows of S only;
// in these, (1 - G)_SS = -1 / d - Gamma gives N'_S: = -Z / d. A vertex moves towards the first place, if at all, so
// that places are filled in ascending order: columns first, without those removed, and rows while a column is in the
// cache. Until then the rows of inserted vertices follow those of the base.
void submatrix_walker::apply_batch() {
  const int size = static_cast<int>(changed_.size()), n_inserted = static_cast<int>(inserted_.size());
  const int k = n_base_, all = k + n_inserted, k_new = static_cast<int>(order_.size());
  if (size == 0) return;
  place_.resize(slots_.size());
  moved_.clear();
  int next = k;
  std::iota(place_.begin(), place_.begin() + k, 0);
  for (int i = 0; i < k_new; ++i) {
    if (order_[i] >= k) place_[order_[i]] = next++;
    if (place_[order_[i]] != i) moved_.push_back(i);
  }
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    real_matrix& n = inverse_[sigma];
    factors_.clear();
    for (int i : inserted_) factors_.push_back(q.weighted.column(changed_[i] - k));
    transpose(factors_, k, q.left_factor);
    n.resize(all, all);
    for (int i = 0; i < k_new; ++i)
      if (order_[i] >= k)
        std::fill_n(n.column(i), k, 0.0);
      else if (order_[i] != i)
        std::copy_n(n.column(order_[i]), k, n.column(i));
    for (double& d : q.change) d = -1 / d;
    const int together = columns_together(all);  // of N, which are independent of each other
    for (int first = 0; first < k_new; first += together)
      apply_to_columns(sigma, first, std::min(together, k_new - first));
    n.resize(k_new, k_new);
  }
  present_.clear();
  for (int at : order_) present_.push_back({slots_[at].v.tau, slots_[at].v.site, slots_[at].s_now});
  std::swap(vertices_, present_);
}

// N_S: of vertices of the base is made of their columns of N; that of inserted vertices is zero but for their own row.
void submatrix_walker::apply_to_columns(int sigma, int first, int count) {
  const int size = static_cast<int>(changed_.size()), n_inserted = static_cast<int>(inserted_.size()), k = n_base_;
  side& q = sides_[sigma];
  real_matrix& n = inverse_[sigma];
  q.rows.reshape(n_inserted, count);
  multiply(1, q.left_factor, n.view().block(0, first, k, count), 0, q.rows);
  q.y.reshape(size, count);
  for (int j = 0; j < count; ++j) {
    double* y = q.y.column(j);
    const double *column = n.column(first + j), *of_inserted = q.rows.column(j);
    for (int a : of_base_) y[a] = column[changed_[a]];
    for (int i = 0; i < n_inserted; ++i) y[inserted_[i]] = of_inserted[i];
    if (const int at = order_[first + j]; at >= k) y[slots_[at].changed] = 1;
  }
  q.z.reshape(size, count);
  multiply(1, q.gamma_inverse, q.y, 0, q.z);
  multiply(-1, q.basis, q.z, 1, n.view().block(0, first, k, count));
  for (int j = 0; j < count; ++j) {
    double* to = n.column(first + j);
    const double* z = q.z.column(j);
    for (int a = 0; a < size; ++a) to[place_[changed_[a]]] = q.change[a] * z[a];
    for (int i : moved_) to[i] = to[place_[order_[i]]];
  }
}

}  // namespace plx::qmc
