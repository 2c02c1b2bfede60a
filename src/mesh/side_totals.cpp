#include "mesh/side_totals.hpp"

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

void side_totals::resize(const block_mesh& mesh) {
  entry_.assign(mesh.slot_count() * face_count, -1);
  std::int32_t entries = 0;
  for (const slot_id slot : mesh.blocks())
    for (int f = 0; f < face_count; ++f)
      if (mesh.across(slot, f).kind == relation::side) entry_[slot * face_count + f] = entries++;
  parts_.assign(static_cast<std::size_t>(entries) * variables_, 0.0);
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

// Neumaier's compensated sum: a run adds millions of small parts.
void side_totals::fold(const block_mesh& mesh) {
  for (const slot_id slot : mesh.blocks())
    for (int f = 0; f < face_count; ++f) {
      const std::int32_t entry = entry_[slot * face_count + f];
      if (entry < 0) continue;
      for (int v = 0; v < variables_; ++v) {
        const double part = parts_[static_cast<std::size_t>(entry) * variables_ + v];
        double* t = &totals_[2 * (f * variables_ + v)];
        const double sum = t[0] + part;
        t[1] += std::fabs(t[0]) >= std::fabs(part) ? (t[0] - sum) + part : (part - sum) + t[0];
        t[0] = sum;
      }
    }
  std::fill(parts_.begin(), parts_.end(), 0.0);
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
