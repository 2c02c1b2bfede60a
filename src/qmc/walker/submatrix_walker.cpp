#include "qmc/walker/submatrix_walker.hpp"

#include <algorithm>
#include <cmath>

#include "num/dense/linear_algebra.hpp"

namespace plx::qmc {
namespace {

// A difference of two numbers that is smaller than this part of them has lost too many digits.
constexpr double least_difference = 1e-6;

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
  for (int i = 0; i < k; ++i) {
    slots_.push_back({vertices_[i], vertices_[i].s, -1});
    order_[i] = i;
  }
  for (int m = first; m < end; ++m)
    if (proposals_[m].what == proposal::kind::insert) slots_.push_back({proposals_[m].inserted, 0, -1});
  const int c = static_cast<int>(slots_.size()) - k;
  // Lookups of g0 serve both spins.
  from_candidate_.reshape(c, k);
  to_candidate_.reshape(k, c);
  between_.reshape(c, c);
  for (int i = 0; i < c; ++i) {
    const vertex& v = slots_[k + i].v;
    double* to = to_candidate_.column(i);
    for (int j = 0; j < k; ++j) {
      const auto [out, back] = g0_->both(v.site, vertices_[j].site, v.tau - vertices_[j].tau);
      from_candidate_(i, j) = out;
      to[j] = back;
    }
    for (int j = 0; j < i; ++j) {
      const vertex& u = slots_[k + j].v;
      const auto [out, back] = g0_->both(v.site, u.site, v.tau - u.tau);
      between_(i, j) = out;
      between_(j, i) = back;
    }
    between_(i, i) = equal_time_;
  }
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    q.change.clear();
    q.gamma_inverse.reshape(0, 0);
    q.weighted.reshape(c, k);
    q.rows.reshape(c, k);
    q.columns.reshape(k, c);
    q.corner.reshape(c, c);
    for (int j = 0; j < k; ++j) {
      const double e = expansion_.exp_v(sigma, vertices_[j].s) - 1;
      for (int i = 0; i < c; ++i) q.weighted(i, j) = e * from_candidate_(i, j);
    }
    for (int j = 0; j < c; ++j) std::copy_n(between_.column(j), c, q.corner.column(j));
    multiply(1, q.weighted, inverse_[sigma], 0, q.rows);
    multiply(1, inverse_[sigma], to_candidate_, 0, q.columns);
    multiply(1, q.weighted, q.columns, 1, q.corner);
  }
}

// Base columns: N A = 1 gives G (e^V - 1) = N e^V - 1.
double submatrix_walker::green(int sigma, int i, int j) const {
  const side& q = sides_[sigma];
  if (j >= n_base_) return i < n_base_ ? q.columns(i, j - n_base_) : q.corner(i - n_base_, j - n_base_);
  const double e = expansion_.exp_v(sigma, vertices_[j].s);
  if (i >= n_base_) return q.rows(i - n_base_, j) * e / (e - 1);
  return (inverse_[sigma](i, j) * e - (i == j)) / (e - 1);
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
  const int s_reference = at < n_base_ ? vertices_[at].s : 0, index = slots_[at].changed;
  const int size = static_cast<int>(changed_.size());
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    q.d_new = exp_now(sigma, s_new) / exp_now(sigma, s_reference) - 1;
    if (index < 0) {
      q.column.resize(size);
      q.row.resize(size);
      q.left.resize(size);
      for (int i = 0; i < size; ++i) {
        q.column[i] = green(sigma, changed_[i], at);
        q.row[i] = green(sigma, at, changed_[i]);
      }
      multiply_vector(1, q.gamma_inverse, q.column.data(), 0, q.left.data());
      const double diagonal = green(sigma, at, at) - (1 + q.d_new) / q.d_new,
                   rest = dot(size, q.row.data(), q.left.data());
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
    for (side& q : sides_) {
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
    }
    slots_[at].changed = size;
    changed_.push_back(at);
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

void submatrix_walker::drop_changed(int index) {
  const int size = static_cast<int>(changed_.size()), last = size - 1;
  for (side& q : sides_) {
    real_matrix& g = q.gamma_inverse;
    if (index != last) {
      for (int i = 0; i < size; ++i) std::swap(g(i, index), g(i, last));
      for (int j = 0; j < size; ++j) std::swap(g(index, j), g(last, j));
    }
    q.right.resize(size);
    for (int j = 0; j < last; ++j) q.right[j] = g(last, j);
    add_outer(-1 / g(last, last), g.column(last), q.right.data(), g.view().block(0, 0, last, last));
    g.resize(last, last);
    q.change[index] = q.change[last];
    q.change.pop_back();
  }
  slots_[changed_[last]].changed = index;
  slots_[changed_[index]].changed = -1;  // the order matters if index is last
  changed_[index] = changed_[last];
  changed_.pop_back();
}

void submatrix_walker::apply_batch() {
  const int size = static_cast<int>(changed_.size()), k = static_cast<int>(order_.size());
  if (size == 0) return;
  // Most vertices keep their place: columns are copied, and corrected at the places that have moved.
  const int kept = std::min(k, n_base_);
  moved_.clear();
  for (int i = 0; i < k; ++i)
    if (i >= kept || order_[i] != i) moved_.push_back(i);
  for (int sigma = 0; sigma < 2; ++sigma) {
    side& q = sides_[sigma];
    // N of all slots: candidates have rows, and columns of the identity.
    const real_matrix& n = inverse_[sigma];
    const auto reference = [&](int i, int j) { return i < n_base_ ? n(i, j) : q.rows(i - n_base_, j); };
    q.x.reshape(k, size);
    q.y.reshape(size, k);
    q.xg.reshape(k, size);
    q.result.reshape(k, k);
    // 1 - G; for a base column that is e^V / (e^V - 1) (1 - N).
    for (int a = 0; a < size; ++a) {
      const int at = changed_[a];
      double* x = q.x.column(a);
      if (at < n_base_) {
        const double e = expansion_.exp_v(sigma, vertices_[at].s), scale = e / (e - 1);
        const double* from = n.column(at);
        for (int i = 0; i < kept; ++i) x[i] = -scale * from[i];
        if (at < kept) x[at] += scale;
      } else {
        const double* from = q.columns.column(at - n_base_);
        for (int i = 0; i < kept; ++i) x[i] = -from[i];
      }
      for (int i : moved_) x[i] = (order_[i] == at) - green(sigma, order_[i], at);
    }
    for (int j = 0; j < k; ++j) {
      const int from = order_[j];
      double *y = q.y.column(j), *out = q.result.column(j);
      if (from >= n_base_) {
        for (int a = 0; a < size; ++a) y[a] = changed_[a] == from;
        for (int i = 0; i < k; ++i) out[i] = i == j;
        continue;
      }
      for (int a = 0; a < size; ++a) y[a] = reference(changed_[a], from);
      std::copy_n(n.column(from), kept, out);
      for (int i : moved_) out[i] = reference(order_[i], from);
    }
    multiply(1, q.x, q.gamma_inverse, 0, q.xg);
    multiply(1, q.xg, q.y, 1, q.result);
  }
  present_.clear();
  for (int at : order_) present_.push_back({slots_[at].v.tau, slots_[at].v.site, slots_[at].s_now});
  std::swap(vertices_, present_);
  for (int sigma = 0; sigma < 2; ++sigma) std::swap(inverse_[sigma], sides_[sigma].result);
}

}  // namespace plx::qmc
