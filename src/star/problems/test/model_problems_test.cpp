// Problems whose initial state is a model of stars: values of cells, species, files, and options that are refused.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdio>

#include "probe/record/test/temporary_test.hpp"
#include "star/problems/model_problem.hpp"
#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::prepared;
using testing::HasSubstr;

problem_setting coarse() {
  problem_setting s;
  s.lower = {-0.5, -0.5, -0.5}, s.upper = {0.5, 0.5, 0.5};
  s.gravity = 1.0;
  s.attraction = {.self = true, .constant = 1.0, .theta = 0.5, .order = 3};
  mesh::domain d;
  d.root_blocks = {4, 4, 4}, d.lower = s.lower, d.upper = s.upper;
  d.sides.fill(mesh::boundary::outflow);
  s.grid = d;
  return s;
}

const std::vector<std::string> quick{"binary.tolerance=1e-3"};

std::string error_of(const std::vector<std::string>& options, const problem_setting& setting = coarse()) {
  auto p = make_problem("binary").value();
  config_table table;
  p->describe(table);
  for (const std::string& o : options) table.set(o).value();
  const auto done = p->prepare(setting);
  return done ? "" : done.error().message;
}

TEST(ModelProblems, ABinaryHasItsMassesVelocitiesAndSpecies) {
  const auto p = prepared("binary", {quick[0], "binary.matter=[\"core_envelope\",\"polytrope\"]"}, coarse());
  ASSERT_EQ(p->species_count(), 4);  // core, envelope, donor, atmosphere
  EXPECT_EQ(p->star_of_species(), (std::vector{0, 0, 1, -1}));
  const test::box b(32, 1.0);
  const auto u = b.fill(*p);
  double sums[4] = {}, momentum[2] = {}, mass = 0.0;
  for (std::size_t c = 0; c < b.size(); ++c) {
    mass += u[c] * b.volume();
    for (std::size_t a = 0; a < 2; ++a) momentum[a] += u[(i_momentum + a) * b.size() + c] * b.volume();
    for (std::size_t s = 0; s < 4; ++s) sums[s] += u[(i_species + s) * b.size() + c] * b.volume();
  }
  EXPECT_NEAR(mass - sums[3], 0.85, 2e-5);
  EXPECT_NEAR(sums[0], 0.25, 0.02);
  EXPECT_NEAR(sums[0] + sums[1], 0.5, 1e-5);
  EXPECT_NEAR(sums[2], 0.35, 1e-5);
  EXPECT_LT(sums[3], 2e-4);
  const double omega = p->references(0)[0].value;
  EXPECT_NEAR(omega, std::sqrt(0.85 / std::pow(0.45, 3)), 0.05 * omega);
  EXPECT_EQ(p->frame_velocity().value(), omega);
  for (const double m : momentum) EXPECT_NEAR(m, 0.0, 1e-3 * omega);
  EXPECT_EQ(p->at({0.2, 0.0, 0.0}, 0).velocity[1], 0.2 * omega);
  EXPECT_LT(p->at({0.49, 0.4, 0.4}, 0).density, 2e-4);
}

TEST(ModelProblems, AHotAtmosphereHasTheHeatOfTheCoolestCentre) {
  const auto cold = prepared("binary", {quick[0], "binary.filling=[0.4,0.9]"}, coarse());
  const auto hot = prepared("binary", {quick[0], "binary.filling=[0.4,0.9]", "binary.atmosphere_heat=0.25"}, coarse());
  const vector outside{0.0, 0.45, 0.0};
  const primitive thin = cold->at(outside, 0), thick = hot->at(outside, 0);
  EXPECT_EQ(thick.density, thin.density);
  EXPECT_LT(thin.pressure / thin.density, 1e-3 * thick.pressure / thick.density);
  double least = 1e300;
  for (const models::star& s : dynamic_cast<const model_problem&>(*hot).stars().stars)
    least = std::min(least, s.gas.pressure(s.gas.enthalpy(s.central_density)) / s.central_density);
  EXPECT_NEAR(thick.pressure / thick.density, 0.25 * least, 1e-12 * least);
}

TEST(ModelProblems, AnAtmosphereThatOutweighsTheStarsIsRefused) {
  const auto p = prepared("binary", {quick[0], "binary.atmosphere=1e-2"}, coarse());
  const auto built = p->build();
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().message,
              HasSubstr("binary.atmosphere = 0.01: expected gas outside of the stars that weighs at "
                        "most 0.01 of them, found"));
}

TEST(ModelProblems, ARotatingStarIsAnAxisymmetricBody) {
  const auto p = prepared("rotating_star", {"rotating_star.tolerance=1e-3"}, coarse());
  EXPECT_EQ(p->species_count(), 0);
  EXPECT_TRUE(p->star_of_species().empty());
  const double omega = p->frame_velocity().value();
  const primitive w = p->at({0.1, 0.2, 0.05}, 0), turned = p->at({-0.2, 0.1, 0.05}, 0);
  EXPECT_NEAR(w.density, turned.density, 1e-10 * w.density);
  EXPECT_EQ(w.velocity[0], -omega * 0.2);
  EXPECT_GT(p->at({0.34, 0, 0}, 0).density, 0.01);  // radius 0.35, polar 0.28
  EXPECT_LT(p->at({0, 0, 0.29}, 0).density, 2e-4);
}

TEST(ModelProblems, AFileGivesTheSameBitsAndMustFit) {
  const std::string path = probe::temporary_path("model_problems_test.h5");
  const auto first = prepared("binary", quick, coarse());
  const auto& m = dynamic_cast<const model_problem&>(*first);
  ASSERT_TRUE(models::write_model(path, m.stars(), {"", "", m.identity()}));
  const auto from_file = prepared("binary", {"binary.model=" + path}, coarse());
  for (const vector& x : {vector{0.2, 0.01, 0.02}, {-0.25, 0.03, 0.0}, {0.0, 0.4, 0.1}}) {
    EXPECT_EQ(first->at(x, 0).density, from_file->at(x, 0).density);
    EXPECT_EQ(first->at(x, 0).pressure, from_file->at(x, 0).pressure);
  }
  const auto other = prepared("binary", {"binary.model=" + path, "binary.separation=0.46"}, coarse());
  const auto built = other->build();
  ASSERT_FALSE(built);
  EXPECT_THAT(built.error().message, HasSubstr("binary.separation = 0.46"));
  EXPECT_THAT(built.error().message, HasSubstr("found binary.separation = 0.45"));
  std::remove(path.c_str());
  EXPECT_FALSE(prepared("binary", {"binary.model=none.h5"}, coarse())->build());
}

TEST(ModelProblems, MatterMustFitTheEquationOfState) {
  EXPECT_THAT(error_of({"binary.matter=[\"polytrope\",\"white_dwarf\"]"}), HasSubstr("eos.kind = \"white_dwarf\""));
  problem_setting dense = coarse();
  dense.eos = eos_parameters{
      .gamma = 5.0 / 3.0, .kind = eos_kind::white_dwarf, .electron_pressure = 2.0, .electron_density = 50.0};
  EXPECT_THAT(error_of({}, dense), HasSubstr("eos.kind = \"ideal\""));
  EXPECT_THAT(error_of({"binary.masses=[0.5,1e33]"}), HasSubstr("binary.masses[1]"));
  EXPECT_EQ(error_of({}), "");
  EXPECT_FALSE(make_problem("sod").value()->frame_velocity());
}

// Threads that evaluate the problem agree about the model, and a failure is an exception of at().
TEST(ModelProblems, AModelThatFailsThrows) {
  const auto p = prepared("rotating_star", {"rotating_star.axis_ratio=0.4"}, coarse());
  EXPECT_FALSE(p->build());
  EXPECT_THROW(p->at({0, 0, 0}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace plx::star
