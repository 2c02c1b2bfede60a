// Uniform states that follow each other along x, or outward from an axis or a point; the last one may have a wave in
// its density. With the right numbers: the interacting blast waves, the shock that meets a wave in density (Shu &
// Osher), and the explosion, the Riemann problem of a circle or sphere.
//
// Source: Woodward & Colella (1984), J. Comput. Phys. 54, 115; Shu & Osher (1989), J. Comput. Phys. 83, 32; Toro
// (2009), section 17.1; Liska & Wendroff (2003), SIAM J. Sci. Comput. 25, 995.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/config.hpp"
#include "num/symmetric.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class piecewise_problem final : public problem {
 public:
  void describe(config_table& t) override {
    t.section("piecewise", "Uniform states along x, or around an axis or a point");
    t.add("piecewise.shape", shape_,
          {.help = "plane: s is the distance along x from the centre; cylinder: that from an axis along z; sphere: "
                   "from a point",
           .choices = {"plane", "cylinder", "sphere"}});
    t.add("piecewise.centre", centre_,
          {.unit = "length", .help = "where s is 0: a point of the plane or axis, or the point"});
    t.add("piecewise.edges", edges_, {.unit = "length", .help = "the values of s between the states, ascending"});
    t.add("piecewise.density", density_, {.unit = "density", .help = "of each state", .above = 0});
    t.add("piecewise.velocity", velocity_, {.unit = "velocity", .help = "of each state, along x or outward"});
    t.add("piecewise.pressure", pressure_, {.unit = "pressure", .help = "of each state", .above = 0});
    t.add("piecewise.wave", wave_,
          {.unit = "1", .help = "a in the factor 1 + a sin(k s) of the last state's density", .min = 0, .max = 0.9});
    t.add("piecewise.wave_number", wave_number_, {.unit = "1/length", .help = "k"});
  }

  primitive at(const vector& x, double) const override {
    const vector from = away(x);
    const double s = distance(from);
    const auto i = static_cast<std::size_t>(std::upper_bound(edges_.begin(), edges_.end(), s) - edges_.begin());
    primitive w;
    w.density = density_[i], w.pressure = pressure_[i];
    if (i == edges_.size()) w.density *= 1.0 + wave_ * std::sin(wave_number_ * s);
    if (shape_ == "plane")
      w.velocity[0] = velocity_[i];
    else if (s > 0.0)
      for (int a = 0; a < 3; ++a) w.velocity[a] = velocity_[i] * (from[a] / s);
    return w;
  }

 protected:
  result<void> do_prepare() override {
    const std::size_t expected = edges_.size() + 1;
    const auto check = [&](const char* key, const std::vector<double>& values) -> result<void> {
      if (values.size() == expected) return {};
      return error{fmt::format("piecewise.{}: expected {} values, one more than piecewise.edges has, found {}", key,
                               expected, values.size())};
    };
    if (auto r = check("density", density_); !r) return r;
    if (auto r = check("velocity", velocity_); !r) return r;
    if (auto r = check("pressure", pressure_); !r) return r;
    if (!std::is_sorted(edges_.begin(), edges_.end())) return error{"piecewise.edges: expected ascending values"};
    return {};
  }

  std::array<int, 3> samples(const cell& c, double) const override {
    const vector from = away(c.centre);
    const double s = distance(from), reach = shape_ == "plane" ? 0.499 * c.width[0] : c.width[0];
    const bool cut = std::any_of(edges_.begin(), edges_.end(), [&](double e) { return std::abs(s - e) < reach; });
    if (shape_ == "plane") return {cut ? 16 : wave_ > 0.0 ? 4 : 1, 1, 1};
    const bool varies = cut || wave_ > 0.0 || s < 2.0 * c.width[0];
    const int n = cut ? 8 : varies ? 4 : 2;
    return {n, n, shape_ == "sphere" ? n : 1};
  }

 private:
  vector away(const vector& x) const {
    return {x[0] - centre_[0], x[1] - centre_[1], shape_ == "sphere" ? x[2] - centre_[2] : 0.0};
  }
  double distance(const vector& from) const {
    return shape_ == "plane" ? from[0] : std::sqrt(symmetric_norm2(from[0], from[1], from[2]));
  }

  std::string shape_ = "plane";
  vector centre_{0, 0, 0};
  std::vector<double> edges_{0.0}, density_{1.0, 0.125}, velocity_{0.0, 0.0}, pressure_{1.0, 0.1};
  double wave_ = 0.0, wave_number_ = 0.0;
};

}  // namespace

std::unique_ptr<problem> make_piecewise() { return std::make_unique<piecewise_problem>(); }

}  // namespace plx::star
