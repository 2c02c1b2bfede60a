#include "mesh/field/side_totals.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"

namespace plx::mesh {

side_totals::side_totals(int variables) : variables_(variables), totals_(2 * face_count * variables, 0.0) {}

std::uint32_t side_totals::wanted_faces(const block_mesh& mesh, slot_id slot) {
  std::uint32_t mask = 0;
  for (int f = 0; f < face_count; ++f)
    if (mesh.across(slot, f).kind == relation::side) mask |= 1u << f;
  return mask;
}

void side_totals::resize(const block_mesh& mesh, std::span<const slot_id> blocks) {
  entry_.assign(mesh.slot_count() * face_count, -1);
  face_.clear();
  for (const slot_id slot : blocks)
    for (int f = 0; f < face_count; ++f)
      if (mesh.across(slot, f).kind == relation::side) {
        entry_[slot * face_count + f] = static_cast<std::int32_t>(face_.size());
        face_.push_back(static_cast<std::uint8_t>(f));
      }
  parts_.assign(face_.size() * variables_, 0.0);
}

void side_totals::add(const block_mesh& mesh, slot_id slot, int face, const double* flux, double weight_s) {
  const std::int32_t entry = entry_[slot * face_count + face];
  PLX_ASSERT(entry >= 0, slot, face);
  const int cells = mesh.block_size() * mesh.block_size();
  const double width = mesh.cell_width(slot), scale = (face_is_upper(face) ? weight_s : -weight_s) * width * width;
  for (int v = 0; v < variables_; ++v) {
    double sum = 0.0;
    for (int i = 0; i < cells; ++i) sum += flux[v * cells + i];
    parts_[static_cast<std::size_t>(entry) * variables_ + v] += scale * sum;
  }
}

std::vector<exact_sum> side_totals::take() {
  std::vector<exact_sum> sums(static_cast<std::size_t>(face_count) * variables_);
  for (std::size_t e = 0; e < face_.size(); ++e)
    for (int v = 0; v < variables_; ++v) sums[face_[e] * variables_ + v].add(parts_[e * variables_ + v]);
  std::fill(parts_.begin(), parts_.end(), 0.0);
  return sums;
}

// Neumaier's compensated sum: a run adds millions of small parts.
void side_totals::add_step(std::span<const exact_sum> sums) {
  PLX_ASSERT_EQ(2 * sums.size(), totals_.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double part = sums[i].value();
    double* t = &totals_[2 * i];
    const double sum = t[0] + part;
    t[1] += std::fabs(t[0]) >= std::fabs(part) ? (t[0] - sum) + part : (part - sum) + t[0];
    t[0] = sum;
  }
}

double side_totals::total(int face, int variable) const {
  const double* t = &totals_[2 * (face * variables_ + variable)];
  return t[0] + t[1];
}

double side_totals::total(int variable) const {
  double sum = 0.0;
  for (int f = 0; f < face_count; ++f) sum += total(f, variable);
  return sum;
}

void side_totals::restore(std::span<const double> state) {
  PLX_ASSERT_EQ(state.size(), totals_.size());
  totals_.assign(state.begin(), state.end());
}

}  // namespace plx::mesh
