#include "parquet/solver/mixing.hpp"

#include <algorithm>
#include <cstring>

#include "num/dense/linear_algebra.hpp"
#include "rt/for_loop.hpp"

namespace plx::parquet {

std::vector<double> least_residual(const real_matrix& products, int base) {
  const int n = products.rows();
  std::vector<double> c(n, 0.0);
  c[base] = 1;
  if (n == 1) return c;
  // c = e_base + sum_j a_j (e_j - e_base): a solves D a = -b with D_ij = (r_i - r_b) . (r_j - r_b), b_i = (r_i - r_b) .
  // r_b.
  std::vector<int> others;
  for (int i = 0; i < n; ++i)
    if (i != base) others.push_back(i);
  real_matrix d(n - 1, n - 1);
  std::vector<double> b(n - 1);
  for (int i = 0; i + 1 < n; ++i) {
    b[i] = products(others[i], base) - products(base, base);
    for (int j = 0; j + 1 < n; ++j)
      d(i, j) =
          products(others[i], others[j]) - products(others[i], base) - products(base, others[j]) + products(base, base);
  }
  const auto values = diagonalize_symmetric(d);
  for (int v = 0; v + 1 < n; ++v) {
    if (!(values[v] > 1e-10 * values.back())) continue;
    const double a = -dot(n - 1, d.column(v), b.data()) / values[v];
    for (int i = 0; i + 1 < n; ++i) {
      c[others[i]] += a * d(i, v);
      c[base] -= a * d(i, v);
    }
  }
  return c;
}

anderson_mixing::anderson_mixing(std::vector<std::size_t> parts, int history, double damping, team members)
    : parts_(std::move(parts)),
      history_(history),
      damping_(damping),
      team_(std::move(members)),
      products_(history + 1, history + 1) {
  PLX_ASSERT(history >= 0 && damping > 0 && damping <= 1, history, damping);
  // One by one: a prototype to copy would be one vector more.
  for (auto* all : {&x_, &r_}) {
    all->reserve(history + 1);
    for (int i = 0; i <= history; ++i) all->emplace_back(parts_.back());
  }
}

void anderson_mixing::keep_in(mixing_memory& m) {
  PLX_ASSERT(team_.is_alone());
  for (const int s : used()) m.put(s, x_[s].data(), s != now_ ? r_[s].data() : nullptr);
  memory_ = &m;
}

void anderson_mixing::fetch() {
  if (memory_ == nullptr) return;
  for (const int s : used()) memory_->fetch(s, x_[s].data(), s != now_ ? r_[s].data() : nullptr);
}

double anderson_mixing::dot(int of_a, int of_b) const {
  const vector &a = r_[of_a], &b = r_[of_b];
  const int n_parts = static_cast<int>(parts_.size()) - 1;
  std::vector<double> sums(n_parts);
  for_loop({probe::register_name("parquet/dot"), probe::no_key}, first_of_host(), n_parts, [&](int p) {
    for (std::size_t i = parts_[p]; i < parts_[p + 1]; ++i)
      sums[p] += a[i].real() * b[i].real() + a[i].imag() * b[i].imag();
  });
  const double common = sums.back();
  sums.pop_back();
  if (memory_ != nullptr) sums = memory_->dots(of_a, of_b);
  double sum = 0;
  for (double s : team_.gather(std::move(sums))) sum += s;
  return sum + common;
}

std::vector<int> anderson_mixing::used() const {
  std::vector<int> slots;
  for (int i = stored_; i >= 0; --i) slots.push_back((now_ - i + history_ + 1) % (history_ + 1));
  return slots;
}

void anderson_mixing::save(number_writer& to) const {
  for (const int n : {history_, now_, stored_}) to.add(n);
  to.add(products_);
  for (const int s : used()) {
    const std::size_t begin = parts_[parts_.size() - 2], size = 2 * (parts_.back() - begin);
    to.add({reinterpret_cast<const double*>(x_[s].data() + begin), size});
    if (s != now_) to.add({reinterpret_cast<const double*>(r_[s].data() + begin), size});
  }
}

bool anderson_mixing::load(number_reader& from) {
  const int history = from.integer<int>(), now = from.integer<int>(), stored = from.integer<int>();
  const real_matrix products = from.matrix();
  if (history != history_ || now < 0 || now > history_ || stored < 0 || stored > history_ ||
      products.rows() != products_.rows() || products.columns() != products_.columns())
    return false;
  now_ = now;
  stored_ = stored;
  products_ = products;
  const std::size_t begin = parts_[parts_.size() - 2], size = 2 * (parts_.back() - begin);
  const auto load_last = [&](vector& v) {
    const auto numbers = from.numbers();
    if (numbers.size() != size) return false;
    std::memcpy(static_cast<void*>(v.data() + begin), numbers.data(), size * sizeof(double));
    return true;
  };
  for (const int s : used())
    if (!load_last(x_[s]) || (s != now_ && !load_last(r_[s]))) return false;
  return true;
}

std::vector<std::span<std::complex<double>>> anderson_mixing::stored_parts() {
  std::vector<std::span<std::complex<double>>> spans;
  const std::size_t size = parts_[parts_.size() - 2];
  for (const int s : used()) spans.emplace_back(x_[s].data(), size);
  for (const int s : used())
    if (s != now_) spans.emplace_back(r_[s].data(), size);
  return spans;
}

std::vector<double> anderson_mixing::coefficients() {
  const int slots = history_ + 1;
  const auto used = this->used();
  for (int s : used) products_(s, now_) = products_(now_, s) = dot(s, now_);
  const int n = static_cast<int>(used.size());
  real_matrix products(n, n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) products(i, j) = products_(used[i], used[j]);
  const auto c = least_residual(products, n - 1);
  std::vector<double> of_slot(slots, 0.0);
  for (int i = 0; i < n; ++i) of_slot[used[i]] = c[i];
  return of_slot;
}

void anderson_mixing::advance() {
  const auto c = coefficients();
  const int slots = history_ + 1, next = (now_ + 1) % slots, n_parts = static_cast<int>(parts_.size()) - 1;
  if (memory_ != nullptr) memory_->combine(c, damping_, next);
  for_loop({probe::register_name("parquet/mix"), probe::no_key}, first_of_host(), n_parts, [&](int p) {
    for (std::size_t i = parts_[p]; i < parts_[p + 1]; ++i) {
      std::complex<double> sum = 0;
      for (int s = 0; s < slots; ++s)
        if (c[s] != 0) sum += c[s] * (x_[s][i] + damping_ * r_[s][i]);
      x_[next][i] = sum;
    }
  });
  now_ = next;
  stored_ = std::min(stored_ + 1, history_);
}

}  // namespace plx::parquet
