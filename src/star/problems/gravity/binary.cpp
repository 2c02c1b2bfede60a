// Two stars in equilibrium on a circular orbit, counterclockwise in the plane z = 0, the first at x > 0, the centre of
// mass at the origin.
#include <fmt/format.h>

#include "base/config.hpp"
#include "star/problems/gravity/model_problem.hpp"
#include "star/problems/registry.hpp"

namespace plx::star {
namespace {

class binary_problem final : public model_problem {
 public:
  binary_problem() : model_problem("binary") {}

  void describe(config_table& t) override {
    t.section("binary", "Two stars in equilibrium");
    t.add("binary.masses", masses_, {.unit = "mass", .help = "of the stars; the first is at x > 0"});
    t.add("binary.separation", separation_,
          {.unit = "length", .help = "of the centres of mass; 0: from the angular momentum", .min = 0});
    t.add("binary.angular_momentum", momentum_,
          {.unit = "code",
           .help = "of the orbit, m1 m2 / (m1 + m2) separation^2 omega, instead of the separation",
           .min = 0});
    t.add("binary.period", period_, {.unit = "time", .help = "of the orbit, instead of the separation", .min = 0});
    t.add("binary.fillout", fillout_,
          {.unit = "1",
           .help = "above 0: a common envelope, whose surface has the effective potential of L1 plus this part of the "
                   "difference to L2; both stars have the same index, filling 0, and one of them core_fraction 0",
           .min = 0});
    t.add("binary.matter", matter_,
          {.help = "of each star; white dwarfs need eos.kind = white_dwarf",
           .choices = {"polytrope", "core_envelope", "white_dwarf"}});
    t.add(
        "binary.filling", filling_,
        {.unit = "1",
         .help = "distance of the surface from the centre of the star towards the other one, over that of the edge of "
                 "the Roche lobe; 0: of white dwarfs, and of a polytrope with the same K as the other star",
         .min = 0});
    t.add("binary.index", index_,
          {.unit = "1", .help = "n of p = K rho^(1 + 1/n), of a polytrope or an envelope", .min = 0.5, .max = 4.5});
    t.add("binary.core_index", core_index_, {.unit = "1", .help = "n of the core", .min = 0.5, .max = 4.5});
    t.add("binary.core_fraction", core_,
          {.unit = "1",
           .help = "mass of the core over that of the star; 0: below a common envelope, from the mass",
           .min = 0,
           .max = 0.99});
    t.add("binary.density_jump", jump_,
          {.unit = "1",
           .help = "density of the core over that of the envelope where they meet, the ratio of their mean molecular "
                   "weights",
           .min = 1,
           .max = 10});
    t.add("binary.synchronous", synchronous_,
          {.help = "the stars rotate with the orbit; otherwise they move without rotation"});
    describe_model(t, true);
  }

 protected:
  std::vector<models::matter_kind> kinds() const override {
    std::vector<models::matter_kind> all;
    for (const std::string& m : matter_)
      all.push_back(models::matter_kind_of(m).value_or(models::matter_kind::polytrope));
    return all;
  }

  result<models::request> make_request() const override {
    models::request q;
    q.separation = separation_, q.angular_momentum = momentum_, q.period = period_, q.fillout = fillout_;
    q.synchronous = synchronous_;
    for (std::size_t s = 0; s < 2; ++s) {
      models::star_request one;
      one.mass = masses_[s], one.filling = filling_[s];
      one.gas.index = index_[s], one.gas.core_index = core_index_[s], one.gas.core_fraction = core_[s];
      one.gas.jump = jump_[s];
      if (auto fine = set_kind(one.gas, matter_[s], fmt::format("binary.matter[{}]", s)); !fine) return fine.error();
      q.stars.push_back(one);
    }
    return q;
  }

 private:
  std::array<double, 2> masses_{0.5, 0.35}, filling_{0.0, 0.9}, index_{1.5, 1.5}, core_index_{1.5, 1.5},
      core_{0.5, 0.5}, jump_{1.0, 1.0};
  std::array<std::string, 2> matter_{"polytrope", "polytrope"};
  double separation_ = 0.45, momentum_ = 0.0, period_ = 0.0, fillout_ = 0.0;
  bool synchronous_ = true;
};

}  // namespace

std::unique_ptr<problem> make_binary() { return std::make_unique<binary_problem>(); }

}  // namespace plx::star
