// A star in uniform rotation about the z axis through the origin.
#include "base/config.hpp"
#include "star/problems/gravity/model_problem.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class rotating_star_problem final : public model_problem {
 public:
  rotating_star_problem() : model_problem("rotating_star") {}

  void describe(config_table& t) override {
    t.section("rotating_star", "A star in uniform rotation");
    t.add("rotating_star.mass", mass_, {.unit = "mass", .help = "of the star", .above = 0});
    t.add("rotating_star.radius", radius_,
          {.unit = "length", .help = "at the equator; 0: of a white dwarf, the mass decides", .min = 0});
    t.add("rotating_star.axis_ratio", ratio_,
          {.unit = "1", .help = "polar over equatorial radius, without rotating_star.omega", .max = 1, .above = 0});
    t.add("rotating_star.omega", omega_,
          {.unit = "1/code time", .help = "angular velocity; negative: from rotating_star.axis_ratio"});
    t.add("rotating_star.matter", matter_,
          {.help = "a white dwarf needs eos.kind = white_dwarf",
           .choices = {"polytrope", "core_envelope", "white_dwarf"}});
    t.add("rotating_star.index", index_,
          {.unit = "1", .help = "n of p = K rho^(1 + 1/n), of a polytrope or an envelope", .min = 0.1, .max = 4.5});
    t.add("rotating_star.core_index", core_index_, {.unit = "1", .help = "n of the core", .min = 0.1, .max = 4.5});
    t.add("rotating_star.core_fraction", core_,
          {.unit = "1", .help = "mass of the core over that of the star", .max = 0.99, .above = 0});
    t.add("rotating_star.density_jump", jump_,
          {.unit = "1",
           .help = "density of the core over that of the envelope where they meet, the ratio of their mean molecular "
                   "weights",
           .min = 1,
           .max = 10});
    describe_model(t, false);
  }

 protected:
  std::vector<models::matter_kind> kinds() const override {
    return {models::matter_kind_of(matter_).value_or(models::matter_kind::polytrope)};
  }

  result<models::request> make_request() const override {
    models::request q;
    q.radius = radius_, q.axis_ratio = ratio_, q.omega = omega_;
    models::star_request one;
    one.mass = mass_;
    one.gas.index = index_, one.gas.core_index = core_index_, one.gas.core_fraction = core_, one.gas.jump = jump_;
    if (auto fine = set_kind(one.gas, matter_, "rotating_star.matter"); !fine) return fine.error();
    q.stars.push_back(one);
    return q;
  }

 private:
  double mass_ = 1.0, radius_ = 0.35, ratio_ = 0.8, omega_ = -1.0, index_ = 1.5, core_index_ = 1.5, core_ = 0.5,
         jump_ = 1.0;
  std::string matter_ = "polytrope";
};

}  // namespace

std::unique_ptr<problem> make_rotating_star() { return std::make_unique<rotating_star_problem>(); }

}  // namespace plx::star
