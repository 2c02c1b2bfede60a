#include "line_solver.hpp"

#include <algorithm>
#include <cmath>

namespace plx::star::validation {

namespace {

double limited(double a, double b) {
  if (a * b <= 0.0) return 0.0;
  const double size = std::min({2.0 * std::abs(a), 2.0 * std::abs(b), 0.5 * std::abs(a + b)});
  return a > 0.0 ? size : -size;
}

}  // namespace

line_solver::line_solver(int dimensions, double lower, double upper, int cells, double gamma, std::array<end, 2> ends,
                         const std::function<state(double)>& initial)
    : dimensions_(dimensions),
      cells_(cells),
      lower_(lower),
      dx_((upper - lower) / cells),
      gamma_(gamma),
      ends_(ends),
      u_(static_cast<std::size_t>(cells) + 4),
      w_(u_.size()) {
  for (int i = 0; i < cells_; ++i) u_[i + 2] = conserved(initial(lower_ + (i + 0.5) * dx_));
}

line_solver::state line_solver::primitive(const std::array<double, 3>& u) const {
  const double v = u[1] / u[0];
  return {u[0], v, std::max(1e-12, (gamma_ - 1.0) * (u[2] - 0.5 * u[1] * v))};
}

std::array<double, 3> line_solver::conserved(const state& w) const {
  return {w[0], w[0] * w[1], w[2] / (gamma_ - 1.0) + 0.5 * w[0] * w[1] * w[1]};
}

// HLLC with Einfeldt's estimates of the speeds.
std::array<double, 3> line_solver::flux(const state& l, const state& r) const {
  const auto of = [&](const state& w) {
    const auto u = conserved(w);
    return std::array<double, 3>{u[1], u[1] * w[1] + w[2], (u[2] + w[2]) * w[1]};
  };
  const double cl = std::sqrt(gamma_ * l[2] / l[0]), cr = std::sqrt(gamma_ * r[2] / r[0]);
  const double a = std::sqrt(l[0]), b = std::sqrt(r[0]), v = (a * l[1] + b * r[1]) / (a + b);
  const double d = std::sqrt((a * cl * cl + b * cr * cr) / (a + b) +
                             0.5 * a * b / ((a + b) * (a + b)) * (r[1] - l[1]) * (r[1] - l[1]));
  const double sl = std::min(l[1] - cl, v - d), sr = std::max(r[1] + cr, v + d);
  if (sl >= 0.0) return of(l);
  if (sr <= 0.0) return of(r);
  const double ml = l[0] * (sl - l[1]), mr = r[0] * (sr - r[1]);
  const double middle = (r[2] - l[2] + ml * l[1] - mr * r[1]) / (ml - mr);
  const state& w = middle >= 0.0 ? l : r;
  const double s = middle >= 0.0 ? sl : sr, rho = w[0] * (s - w[1]) / (s - middle);
  const auto u = conserved(w), f = of(w);
  const std::array<double, 3> star{rho, rho * middle,
                                   rho * (u[2] / w[0] + (middle - w[1]) * (middle + w[2] / (w[0] * (s - w[1]))))};
  std::array<double, 3> out;
  for (int k = 0; k < 3; ++k) out[k] = f[k] + s * (star[k] - u[k]);
  return out;
}

void line_solver::add_ghosts() {
  const int n = cells_;
  for (int g = 0; g < 2; ++g) {
    const bool lower_wall = ends_[0] == end::wall, upper_wall = ends_[1] == end::wall;
    u_[1 - g] = u_[lower_wall ? 2 + g : 2], u_[n + 2 + g] = u_[upper_wall ? n + 1 - g : n + 1];
    if (lower_wall) u_[1 - g][1] = -u_[1 - g][1];
    if (upper_wall) u_[n + 2 + g][1] = -u_[n + 2 + g][1];
  }
  std::transform(u_.begin(), u_.end(), w_.begin(), [&](const auto& u) { return primitive(u); });
}

double line_solver::largest_rate() const {
  double rate = 0.0;
  for (const state& w : w_) rate = std::max(rate, (std::abs(w[1]) + std::sqrt(gamma_ * w[2] / w[0])) / dx_);
  return rate;
}

// u += dt L(u).
void line_solver::stage(double dt) {
  add_ghosts();
  const auto at_face = [&](int i, double side) {
    state w = w_[i];
    for (int k = 0; k < 3; ++k) w[k] += 0.5 * side * limited(w_[i][k] - w_[i - 1][k], w_[i + 1][k] - w_[i][k]);
    return w;
  };
  std::array<double, 3> before = flux(at_face(1, 1.0), at_face(2, -1.0));
  for (int i = 2; i < cells_ + 2; ++i) {
    const std::array<double, 3> after = flux(at_face(i, 1.0), at_face(i + 1, -1.0));
    const state& w = w_[i];
    const double spread = (dimensions_ - 1) * w[1] / (lower_ + (i - 1.5) * dx_);  // of the flow away from the centre
    const std::array<double, 3> source{u_[i][0] * spread, u_[i][1] * spread, (u_[i][2] + w[2]) * spread};
    for (int k = 0; k < 3; ++k) u_[i][k] -= dt * ((after[k] - before[k]) / dx_ + source[k]);
    before = after;
  }
}

void line_solver::run(double t_end) {
  add_ghosts();
  for (double t = 0.0; t < t_end;) {
    const double dt = std::min(0.45 / largest_rate(), t_end - t);
    const auto start = u_;
    stage(dt);
    stage(dt);
    for (std::size_t i = 0; i < u_.size(); ++i)
      for (int k = 0; k < 3; ++k) u_[i][k] = 0.5 * (start[i][k] + u_[i][k]);
    add_ghosts();
    t += dt;
  }
}

double line_solver::density(double a, double b) const {
  const int first = std::max(0, static_cast<int>(std::ceil((a - lower_) / dx_ - 0.5)));
  const int last = std::min(cells_ - 1, static_cast<int>(std::floor((b - lower_) / dx_ - 0.5)));
  if (first > last) return u_[std::clamp(static_cast<int>((0.5 * (a + b) - lower_) / dx_), 0, cells_ - 1) + 2][0];
  double sum = 0.0;
  for (int i = first; i <= last; ++i) sum += u_[i + 2][0];
  return sum / (last - first + 1);
}

}  // namespace plx::star::validation
