#include "star/problems/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/assert.hpp"
#include "num/exact_sum.hpp"
#include "num/symmetric.hpp"
#include "star/units/code_units.hpp"

namespace plx::star {
namespace {

constexpr int max_samples = 16;
constexpr int max_variables = variable_count(max_species);

// Offsets of the sampling points from the centre in units of the width, bitwise antisymmetric. Pairs of Gauss points in
// equal parts of the cell: exact for cubic polynomials, and all weights are equal.
std::array<double, max_samples> offsets(int n) {
  PLX_ASSERT(n == 1 || n == 2 || n == 4 || n == 8 || n == 16, n);
  std::array<double, max_samples> at{};
  if (n == 1) return at;
  const int parts = n / 2;
  const double half = 0.5 / parts, gauss = half / std::sqrt(3.0);
  for (int part = 0; part < parts; ++part) {
    const double middle = (2 * part + 1 - parts) * half;
    at[2 * part] = middle - gauss;
    at[2 * part + 1] = middle + gauss;
  }
  for (int i = 0; i < parts; ++i) at[i] = -at[n - 1 - i];
  return at;
}

}  // namespace

result<void> problem::prepare(const problem_setting& setting) {
  setting_ = setting;
  PLX_ASSERT(setting.eos.gamma() > 1, setting.eos.gamma());
  for (int axis = 0; axis < 3; ++axis) PLX_ASSERT_LT(setting.lower[axis], setting.upper[axis]);
  const eos_kind kind = setting.eos.parameters().kind;
  if (needs_ideal_gas() && kind != eos_kind::ideal)
    return error{
        fmt::format("eos.kind = \"{}\": expected \"ideal\", the only equation of state for which the formulas "
                    "of this problem hold; choose it, or another problem",
                    name_of(kind))};
  return do_prepare();
}

double problem::internal_energy(const double* u, std::ptrdiff_t stride) {
  const double* m = u + i_momentum * stride;
  return u[i_energy * stride] - 0.5 * symmetric_norm2(m[0], m[stride], m[2 * stride]) * (1.0 / u[i_density * stride]);
}

result<void> problem::check_mass(const std::string& key, double mass) const { return expect_code_mass(key, mass); }

// A box in centimetres as well is found by its size in [units].
result<void> problem::check_length(const std::string& key, double length) const {
  constexpr double most_cm = 1e20;  // 30 pc
  const vector width = box_width();
  const double box = std::min({width[0], width[1], width[2]});
  const double box_cm = setting_.code_units.to_cgs(box, dimensions::length);
  if (auto fine = expect_code_length(key, length, box); !fine) return fine;
  if (setting_.code_units.known && box_cm > most_cm)
    return error{
        fmt::format("mesh.lower, mesh.upper: expected code units, found a box that is {:.3g} cm wide with {} = {:g}; "
                    "divide lengths in centimetres by the unit of [units], {:.4g} cm",
                    box_cm, key, length, setting_.code_units.length_cm)};
  return {};
}

vector problem::box_centre() const {
  vector c{};
  for (int axis = 0; axis < 3; ++axis) c[axis] = 0.5 * (setting_.lower[axis] + setting_.upper[axis]);
  return c;
}

vector problem::box_width() const {
  vector w{};
  for (int axis = 0; axis < 3; ++axis) w[axis] = setting_.upper[axis] - setting_.lower[axis];
  return w;
}

const primitive& problem::valid(const primitive& w, const vector& x) const {
  const double least = w.density > 0.0 ? eos().least_pressure(w.density) : 0.0;
  if (w.density > 0.0 && w.pressure > least) return w;
  const std::string expected =
      least == 0.0 ? "density and pressure above 0" : fmt::format("a pressure above {:g}, that of cold gas", least);
  throw std::invalid_argument(fmt::format(
      "the problem's state at ({:.6g}, {:.6g}, {:.6g}): expected {}, found density {:g} and pressure {:g}; change the "
      "problem's options, or its function at()",
      x[0], x[1], x[2], expected, w.density, w.pressure));
}

std::vector<int> problem::star_of_species() const {
  std::vector<int> stars(static_cast<std::size_t>(species_count()));
  std::iota(stars.begin(), stars.end(), 0);
  return stars;
}

result<double> problem::frame_velocity() const {
  return error{
      "frame.of_problem = true: expected a problem whose state rotates, binary or rotating_star; set frame.omega for "
      "others"};
}

result<double> problem::orbital_period() const {
  return error{
      "run.time_unit = \"orbit\": expected a problem with an orbit, binary, two_stars or rotating_star; use \"code\" "
      "for others"};
}

void problem::average(const cell& c, double t, double* u, std::ptrdiff_t stride) const {
  const std::array<int, 3> n = samples(c, t);
  const int count = n[0] * n[1] * n[2];
  if (count == 1) return to_conserved(eos(), valid(at(c.centre, t), c.centre), species_count(), u, stride);
  const std::array<double, max_samples> offset[3] = {offsets(n[0]), offsets(n[1]), offsets(n[2])};
  const int n_var = variable_count(species_count());
  std::array<exact_sum, max_variables> sum;
  std::array<double, max_variables> sample;
  for (int i = 0; i < count; ++i) {
    const int index[3] = {i % n[0], i / n[0] % n[1], i / (n[0] * n[1])};
    vector x{};
    for (int axis = 0; axis < 3; ++axis) x[axis] = c.centre[axis] + offset[axis][index[axis]] * c.width[axis];
    to_conserved(eos(), valid(at(x, t), x), species_count(), sample.data(), 1);
    for (int v = 0; v < n_var; ++v) sum[v].add(sample[v]);
  }
  for (int v = 0; v < n_var; ++v) u[v * stride] = sum[v].value() / count;
  u[i_tracer * stride] = eos().tracer(u[i_density * stride], internal_energy(u, stride));
}

std::array<int, 3> problem::samples(const cell&, double) const { return {2, 2, 2}; }

profile_table problem::exact_profile(double) const { return {}; }

std::vector<named_value> problem::references(double) const { return {}; }

primitive problem::inflow(int face) const {
  vector x = box_centre();
  x[face / 2] = face % 2 == 0 ? setting_.lower[face / 2] : setting_.upper[face / 2];
  return at(x, 0);
}

bool problem::gives_outside(int, double t_end) const { return has_exact(0.5 * t_end) && has_exact(t_end); }

std::optional<primitive> problem::outside(int, const vector& x, double t) const { return at(x, t); }

void fill_block(const problem& p, const block_cells& cells, double t, double* u) {
  const int n = cells.n;
  cell c;
  c.width = {cells.width, cells.width, cells.width};
  for (int k = 0; k < n; ++k) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        c.centre = {cells.centre[0][i], cells.centre[1][j], cells.centre[2][k]};
        p.average(c, t, u + (k * n + j) * n + i, static_cast<std::ptrdiff_t>(n) * n * n);
      }
    }
  }
}

}  // namespace plx::star
