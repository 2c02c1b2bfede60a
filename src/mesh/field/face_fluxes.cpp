#include "mesh/field/face_fluxes.hpp"

#include <algorithm>
#include <cmath>

#include "base/assert.hpp"
#include "mesh/field/symmetric.hpp"

namespace plx::mesh {

namespace {

// The axes tangential to a face, lower first.
constexpr int tangent(int face, int which) {
  const int axis = face_axis(face);
  return which == 0 ? (axis == 0 ? 1 : 0) : (axis == 2 ? 1 : 2);
}

}  // namespace

void flux_register::resize(const block_mesh& mesh, std::span<const slot_id> blocks) {
  PLX_ASSERT_EQ(mesh.block_size(), n_);
  entry_.assign(mesh.slot_count() * face_count, -1);
  std::int32_t entries = 0;
  for (const slot_id slot : blocks)
    for (int f = 0; f < face_count; ++f)
      if (mesh.across(slot, f).kind == relation::finer) entry_[slot * face_count + f] = entries++;
  std::int32_t sent = 0;
  sent_entry_.assign(mesh.slot_count() * face_count, -1);
  for (const slot_id slot : blocks)
    for (const face_neighbour& c : mesh.coarser_face_neighbours(slot))
      if (!has_entry(c.slot, opposite_face(c.face))) sent_entry_[slot * face_count + c.face] = sent++;
  sent_.resize(quarter_doubles() * sent);
  fluxes_.resize(2 * face_doubles() * entries);  // values of the previous mesh are overwritten before they are read
}

std::uint32_t flux_register::wanted_faces(const block_mesh& mesh, slot_id slot) {
  std::uint32_t mask = 0;
  for (int f = 0; f < face_count; ++f) {
    const relation r = mesh.across(slot, f).kind;
    if (r == relation::coarser || r == relation::finer) mask |= 1u << f;
  }
  return mask;
}

void flux_register::put(const block_mesh& mesh, slot_id slot, int face, const double* flux) {
  const neighbour& n = mesh.across(slot, face);
  if (n.kind == relation::finer) {
    std::copy_n(flux, face_doubles(), own(slot, face));
    return;
  }
  const std::int32_t sent = sent_entry_[slot * face_count + face];
  if (sent >= 0)
    coarsen(flux, sent_.data() + quarter_doubles() * sent, n_ / 2);
  else
    coarsen(flux, quarter(mesh, slot, face), n_);
}

// The position of a fine face in the mean that its coarser neighbour keeps.
double* flux_register::quarter(const block_mesh& mesh, slot_id slot, int face) {
  const neighbour& n = mesh.across(slot, face);
  PLX_ASSERT(n.kind == relation::coarser && has_entry(n.slots[0], opposite_face(face)), slot, face);
  const location& l = mesh.where(slot);
  const int half = n_ / 2;
  return own(n.slots[0], opposite_face(face)) + face_doubles() + (l.x[tangent(face, 0)] & 1) * half +
         (l.x[tangent(face, 1)] & 1) * half * n_;
}

// Averages to a face `width` cells wide; the mean fills a quarter of it.
void flux_register::coarsen(const double* flux, double* mean, int width) const {
  const int half = n_ / 2;
  for (int v = 0; v < variables_; ++v)
    for (int b = 0; b < half; ++b)
      for (int a = 0; a < half; ++a) {
        const double* f = flux + (v * n_ + 2 * b) * n_ + 2 * a;
        mean[(v * width + b) * width + a] = 0.25 * sum4(f[0], f[1], f[n_], f[n_ + 1]);
      }
}

void flux_register::put_coarsened(const block_mesh& mesh, slot_id slot, int face, const double* mean) {
  const int half = n_ / 2;
  double* to = quarter(mesh, slot, face);
  for (int v = 0; v < variables_; ++v)
    for (int b = 0; b < half; ++b) std::copy_n(mean + (v * half + b) * half, half, to + (v * n_ + b) * n_);
}

// The contribution, per weight, of the flux difference at a face to a cell there.
double flux_register::term(slot_id slot, int face, int variable, const int cell[3]) const {
  const std::size_t i =
      (static_cast<std::size_t>(variable) * n_ + cell[tangent(face, 1)]) * n_ + cell[tangent(face, 0)];
  const double* coarse = own(slot, face);
  const double* fine = coarse + face_doubles();
  return face_is_upper(face) ? coarse[i] - fine[i] : fine[i] - coarse[i];
}

// A cell at an edge or corner may be at two or three such faces. All its terms are added in one symmetric sum, when the
// lowest of its axes is visited.
void flux_register::apply(const block_mesh& mesh, slot_id slot, double weight, double* values) const {
  if (mesh.finer_face_count(slot) == 0) return;
  const auto active_face = [&](int axis, const int cell[3]) {
    if (cell[axis] == 0 && has_entry(slot, 2 * axis)) return 2 * axis;
    if (cell[axis] == n_ - 1 && has_entry(slot, 2 * axis + 1)) return 2 * axis + 1;
    return -1;
  };
  for (int f = 0; f < face_count; ++f) {
    if (!has_entry(slot, f)) continue;
    const int axis = face_axis(f), ta = tangent(f, 0), tb = tangent(f, 1);
    for (int b = 0; b < n_; ++b)
      for (int a = 0; a < n_; ++a) {
        int cell[3];
        cell[axis] = face_is_upper(f) ? n_ - 1 : 0;
        cell[ta] = a;
        cell[tb] = b;
        const int fa = active_face(ta, cell), fb = active_face(tb, cell);
        if ((fa >= 0 && ta < axis) || (fb >= 0 && tb < axis)) continue;
        double* u = values + (cell[2] * n_ + cell[1]) * n_ + cell[0];
        for (int v = 0; v < variables_; ++v)
          u[v * n_ * n_ * n_] += weight * sum3(term(slot, f, v, cell), fa >= 0 ? term(slot, fa, v, cell) : 0.0,
                                               fb >= 0 ? term(slot, fb, v, cell) : 0.0);
      }
  }
}

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
