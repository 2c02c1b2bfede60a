#include "tensor.hpp"

#include <algorithm>
#include <cstring>

namespace plx::bench {
namespace {

struct matrix {
  int a, b, c, d;
};
// Transposition, sums and differences of the two indices, as frequencies and momenta are exchanged.
constexpr matrix rotations[n_rotations] = {{0, 1, 1, 0}, {0, 1, -1, 0}, {1, 1, 0, 1},  {1, -1, 0, 1},
                                           {1, 1, 1, 2}, {2, 1, 1, 1},  {0, 1, -1, 1}, {-1, 1, 0, 1}};

unsigned within(int x, unsigned nc) noexcept {
  const int n = static_cast<int>(nc);
  return static_cast<unsigned>(((x % n) + n) % n);
}

// Element k of row (i, j): no two are the same.
number element(unsigned i, unsigned j, unsigned k) noexcept { return {1e-3 + i * 1024.0 + j, k + 1.0 / (1 + i + j)}; }

}  // namespace

rotated_tensor::rotated_tensor(unsigned nc, locality_id here, unsigned localities)
    : nc_(nc), planes_(nc / localities), here_(here) {
  const std::size_t mine = std::size_t{planes_} * nc * nc;
  from_.resize(mine);
  to_.resize(n_rotations * mine);
  for (unsigned i = first_plane(); i < first_plane() + planes_; ++i)
    for (unsigned j = 0; j < nc; ++j)
      for (unsigned k = 0; k < nc; ++k) from_[offset(i, j) + k] = element(i, j, k);
}

row_place rotated_tensor::rotated(unsigned r, unsigned i, unsigned j) const noexcept {
  const matrix& m = rotations[r];
  const int x = static_cast<int>(i), y = static_cast<int>(j);
  return {r, within(m.a * x + m.b * y, nc_), within(m.c * x + m.d * y, nc_)};
}

std::uint32_t rotated_tensor::number_of(const row_place& to) const noexcept {
  return (to.rotation * nc_ + to.i) * nc_ + to.j;
}
row_place rotated_tensor::place_of(std::uint32_t which) const noexcept {
  return {which / (nc_ * nc_), which / nc_ % nc_, which % nc_};
}

std::span<const number> rotated_tensor::row(unsigned i, unsigned j) const noexcept {
  return {from_.data() + offset(i, j), nc_};
}

bool rotated_tensor::store(std::uint32_t which, std::span<const number> row) noexcept {
  const row_place to = place_of(which);
  if (row.size() != nc_ || to.rotation >= n_rotations || owner(to) != here_) return false;
  number* at = to_.data() + to.rotation * from_.size() + offset(to.i, to.j);
  std::memcpy(at, row.data(), row.size_bytes());
  return true;
}

bool rotated_tensor::is_rotated_row(unsigned r, unsigned i, unsigned j) const noexcept {
  // The inverse matrix undoes the rotation.
  const matrix& m = rotations[r];
  const int det = m.a * m.d - m.b * m.c, x = static_cast<int>(i), y = static_cast<int>(j);
  const unsigned was_i = within(det * (m.d * x - m.b * y), nc_), was_j = within(det * (m.a * y - m.c * x), nc_);
  const number* row = to_.data() + r * from_.size() + offset(i, j);
  for (unsigned k = 0; k < nc_; ++k) {
    const number expected = element(was_i, was_j, k);
    if (std::memcmp(&row[k], &expected, sizeof expected) != 0) return false;
  }
  return true;
}

bool rotated_tensor::complete() const noexcept {
  for (unsigned r = 0; r < n_rotations; ++r)
    for (unsigned i = first_plane(); i < first_plane() + planes_; ++i)
      for (unsigned j = 0; j < nc_; ++j)
        if (!is_rotated_row(r, i, j)) return false;
  return true;
}

void rotated_tensor::clear() noexcept { std::fill(to_.begin(), to_.end(), number()); }

}  // namespace plx::bench
