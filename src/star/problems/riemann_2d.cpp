// Two-dimensional Riemann problems: four uniform states in the quadrants around the middle of the box, in x and y.
//
// Source: Lax & Liu (1998), SIAM J. Sci. Comput. 19, 319, whose numbers of configurations are used; the selection is
// that of Liska & Wendroff (2003), SIAM J. Sci. Comput. 25, 995.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/config.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

struct quadrant {
  double density, vx, vy, pressure;
};
struct configuration {
  const char* number;
  quadrant state[4];  ///< upper right, upper left, lower left, lower right
};

constexpr configuration configurations[] = {
    {"3", {{1.5, 0, 0, 1.5}, {0.5323, 1.206, 0, 0.3}, {0.138, 1.206, 1.206, 0.029}, {0.5323, 0, 1.206, 0.3}}},
    {"4", {{1.1, 0, 0, 1.1}, {0.5065, 0.8939, 0, 0.35}, {1.1, 0.8939, 0.8939, 1.1}, {0.5065, 0, 0.8939, 0.35}}},
    {"6", {{1, 0.75, -0.5, 1}, {2, 0.75, 0.5, 1}, {1, -0.75, 0.5, 1}, {3, -0.75, -0.5, 1}}},
    {"12", {{0.5313, 0, 0, 0.4}, {1, 0.7276, 0, 1}, {0.8, 0, 0, 1}, {1, 0, 0.7276, 1}}},
    {"15", {{1, 0.1, -0.3, 1}, {0.5197, -0.6259, -0.3, 0.4}, {0.8, 0.1, -0.3, 0.4}, {0.5313, 0.1, 0.4276, 0.4}}},
    {"17", {{1, 0, -0.4, 1}, {2, 0, -0.3, 1}, {1.0625, 0, 0.2145, 0.4}, {0.5197, 0, -1.1259, 0.4}}},
};

class riemann_2d_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("riemann_2d", "Two-dimensional Riemann problem");
    t.add("riemann_2d.configuration", configuration_,
          {.help = "the four states, by the numbers of Lax & Liu (1998); use hydro.gamma = 1.4",
           .choices = {"3", "4", "6", "12", "15", "17"}});
  }

  primitive at(const vector& x, double) const override {
    const vector middle = box_centre();
    const bool right = x[0] >= middle[0], upper = x[1] >= middle[1];
    const quadrant& q = chosen_->state[upper ? (right ? 0 : 1) : (right ? 3 : 2)];
    primitive w;
    w.density = q.density, w.pressure = q.pressure;
    w.velocity = {q.vx, q.vy, 0.0};
    return w;
  }

 protected:
  std::array<int, 3> samples(const cell& c, double) const override {
    const vector middle = box_centre();
    const auto along = [&](int axis) {
      return std::abs(c.centre[axis] - middle[axis]) < 0.499 * c.width[axis] ? 16 : 1;
    };
    return {along(0), along(1), 1};
  }

  result<void> do_prepare() override {
    const auto found = std::find_if(std::begin(configurations), std::end(configurations),
                                    [&](const configuration& c) { return configuration_ == c.number; });
    if (found == std::end(configurations))
      return error{fmt::format("riemann_2d.configuration = \"{}\": expected 3, 4, 6, 12, 15 or 17", configuration_)};
    chosen_ = &*found;
    return {};
  }

 private:
  std::string configuration_ = "3";
  const configuration* chosen_ = &configurations[0];
};

}  // namespace

std::unique_ptr<problem> make_riemann_2d() { return std::make_unique<riemann_2d_problem>(); }

}  // namespace plx::star
