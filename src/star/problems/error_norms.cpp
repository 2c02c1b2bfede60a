#include "star/problems/error_norms.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

namespace plx::star {

error_norms::error_norms(const problem& p) : problem_(&p), sums_(variable_count(p.species_count())) {}

void error_norms::add_block(const block_cells& cells, double t, const double* u) {
  PLX_ASSERT(problem_->has_exact(t), t);
  const std::size_t n_cells = static_cast<std::size_t>(cells.n) * cells.n * cells.n;
  const double volume = cells.width * cells.width * cells.width;
  std::vector<double> exact(n_cells * sums_.size());
  fill_block(*problem_, cells, t, exact.data());
  for (std::size_t c = 0; c < n_cells; ++c) volume_.add(volume);
  for (std::size_t v = 0; v < sums_.size(); ++v) {
    for (std::size_t c = 0; c < n_cells; ++c) {
      const double e = std::abs(u[v * n_cells + c] - exact[v * n_cells + c]);
      sums_[v].absolute.add(e * volume);
      sums_[v].square.add(e * e * volume);
      sums_[v].largest = std::max(sums_[v].largest, e);
    }
  }
}

void error_norms::merge(const error_norms& other) {
  PLX_ASSERT_EQ(sums_.size(), other.sums_.size());
  volume_.add(other.volume_);
  for (std::size_t v = 0; v < sums_.size(); ++v) {
    sums_[v].absolute.add(other.sums_[v].absolute);
    sums_[v].square.add(other.sums_[v].square);
    sums_[v].largest = std::max(sums_[v].largest, other.sums_[v].largest);
  }
}

double error_norms::l1(int variable) const { return sums_[variable].absolute.value() / volume(); }

double error_norms::l2(int variable) const { return std::sqrt(sums_[variable].square.value() / volume()); }

double error_norms::l1_all() const {
  double squares = 0;
  for (const int v : {i_density, i_energy}) squares += l1(v) * l1(v);
  double momentum[3];
  for (int axis = 0; axis < 3; ++axis) momentum[axis] = l1(i_momentum + axis) * l1(i_momentum + axis);
  std::sort(momentum, momentum + 3);  // the same bits for permuted axes
  for (const double m : momentum) squares += m;
  return std::sqrt(squares);
}

}  // namespace plx::star
