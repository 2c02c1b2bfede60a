// A cube and a ball, each of its own species, carried by a uniform flow through a periodic box. A third species fills
// the rest, so fractions sum to one. Averages are exact at all times: the parts of a cell inside both bodies are known
// in closed form.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/exact/ball_box.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class advection_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("advection", "Advected cube and ball (exact)");
    t.add("advection.velocity", velocity_, {.unit = "code", .help = "of the flow"});
    t.add("advection.density", density_, {.unit = "code", .help = "of the gas, everywhere", .above = 0});
    t.add("advection.pressure", pressure_, {.unit = "code", .help = "of the gas, everywhere", .above = 0});
    t.add("advection.cube_centre", cube_centre_, {.unit = "code", .help = "at the start"});
    t.add("advection.cube_edge", cube_edge_, {.unit = "code", .help = "of the cube (species 0)", .above = 0});
    t.add("advection.ball_centre", ball_centre_, {.unit = "code", .help = "at the start"});
    t.add("advection.ball_radius", ball_radius_, {.unit = "code", .help = "of the ball (species 1)", .above = 0});
  }

  int species_count() const override { return 3; }
  bool has_exact(double) const override { return true; }

  primitive at(const vector& x, double t) const override {
    const vector c = from(cube_centre_, x, t), b = from(ball_centre_, x, t);
    const double half = 0.5 * cube_edge_;
    const bool in_cube = std::abs(c[0]) < half && std::abs(c[1]) < half && std::abs(c[2]) < half;
    const bool in_ball = symmetric_norm2(b[0], b[1], b[2]) < ball_radius_ * ball_radius_;
    return state(in_cube ? 1 : 0, in_ball ? 1 : 0);
  }

  void average(const cell& cell, double t, double* u, std::ptrdiff_t stride) const override {
    const vector c = from(cube_centre_, cell.centre, t);
    vector part{};
    for (int axis = 0; axis < 3; ++axis) {
      const double half = 0.5 * cell.width[axis], edge = 0.5 * cube_edge_;
      const double inside = std::min(c[axis] + half, edge) - std::max(c[axis] - half, -edge);
      part[axis] = std::clamp(inside / cell.width[axis], 0.0, 1.0);
    }
    std::sort(part.begin(), part.end());
    const double cube = part[0] * part[1] * part[2];
    const double ball = ball_fraction(ball_radius_, from(ball_centre_, cell.centre, t), cell.width);
    to_conserved(eos(), valid(state(cube, ball), cell.centre), species_count(), u, stride);
  }

  std::vector<named_value> references(double) const override {
    return {{"cube_volume", "code", cube_edge_ * cube_edge_ * cube_edge_},
            {"ball_volume", "code", 4.0 / 3 * std::acos(-1.0) * ball_radius_ * ball_radius_ * ball_radius_}};
  }

 protected:
  result<void> do_prepare() override {
    const vector width = box_width();
    const double shortest = std::min({width[0], width[1], width[2]});
    if (cube_edge_ > 0.5 * shortest || 2 * ball_radius_ > 0.5 * shortest) {
      return error{"advection: expected bodies of at most half the box (" + fmt::format("{:g}", 0.5 * shortest) +
                   "), found cube_edge " + fmt::format("{:g}", cube_edge_) + " and ball_radius " +
                   fmt::format("{:g}", ball_radius_)};
    }
    vector gap = from(cube_centre_, ball_centre_, 0);  // from the cube's surface to the ball's centre
    for (double& g : gap) g = std::max(std::abs(g) - 0.5 * cube_edge_, 0.0);
    if (symmetric_norm2(gap[0], gap[1], gap[2]) < ball_radius_ * ball_radius_) {
      return error{"advection: expected cube and ball not to overlap, found an overlap; move advection.ball_centre"};
    }
    return {};
  }

 private:
  primitive state(double cube, double ball) const {
    primitive w;
    w.density = density_;
    w.velocity = velocity_;
    w.pressure = pressure_;
    w.fraction[0] = cube;
    w.fraction[1] = ball;
    w.fraction[2] = 1 - (cube + ball);
    return w;
  }

  // Position relative to a body that moves with the flow, to its nearest image.
  vector from(const vector& body, const vector& x, double t) const {
    const vector width = box_width();
    vector d{};
    for (int axis = 0; axis < 3; ++axis) {
      const double away = (x[axis] - body[axis]) - velocity_[axis] * t;
      d[axis] = away - width[axis] * std::nearbyint(away / width[axis]);
    }
    return d;
  }

  vector velocity_{1, 1, 1};
  double density_ = 1, pressure_ = 1;
  vector cube_centre_{-0.2, -0.2, -0.2}, ball_centre_{0.2, 0.2, 0.2};
  double cube_edge_ = 0.3, ball_radius_ = 0.15;
};

}  // namespace

std::unique_ptr<problem> make_advection() { return std::make_unique<advection_problem>(); }

}  // namespace plx::star
