#include "star/problems/given_functions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <thread>

#include "star/problems/test/box_test.hpp"

namespace plx::star {
namespace {

using test::box;
using test::prepared;
using testing::HasSubstr;
using testing::StartsWith;

const std::vector<std::string> xy{"x", "y"};
const std::vector<named_number> constants{{"height", 0.5}};

double value(const std::string& text, double x, double y) {
  return expression::compile(text, xy, constants).value().at(std::vector{x, y});
}
std::string complaint(const std::string& text, const std::vector<named_number>& all = constants) {
  const auto e = expression::compile(text, xy, all);
  return e ? "no error" : e.error().message;
}

class Expression : public testing::Test {
 protected:
  void SetUp() override {
    if (!expression::available()) GTEST_SKIP() << "built without muParser";
  }
};

TEST_F(Expression, HasTheBitsOfTheSameFormulaInCpp) {
  for (const double x : {0.1, -1.7, 3.0})
    for (const double y : {0.3, 2.0}) {
      EXPECT_EQ(value("1 + 0.1*sin(2*pi*x)", x, y), 1 + 0.1 * std::sin(2 * std::numbers::pi * x));
      EXPECT_EQ(value("x*x + y/x - height", x, y), x * x + y / x - 0.5);
      EXPECT_EQ(value("x < 0 ? exp(-y) : sqrt(y)", x, y), x < 0 ? std::exp(-y) : std::sqrt(y));
      EXPECT_EQ(value("min(x, y) + (x >= 1 && y != 2)", x, y), std::min(x, y) + (x >= 1 && y != 2 ? 1 : 0));
    }
}

TEST_F(Expression, ErrorsNameThePlaceAndWhatIsKnown) {
  EXPECT_THAT(complaint("1 + sim(x)"), StartsWith("\"1 + sim(x)\", character 5: unknown name 'sim"));
  EXPECT_THAT(complaint("1 + hight"), HasSubstr("character 5: unknown name 'hight'; did you mean 'height'?; known are "
                                                "x, y, pi, e, height, and the functions "));
  EXPECT_THAT(complaint("1 + hight"), HasSubstr("sqrt"));
  EXPECT_EQ(complaint("(1 + x"), "\"(1 + x\", character 7: expected a closing bracket, found the end");
  EXPECT_EQ(complaint("1 +"), "\"1 +\", character 4: expected a number, a name or a bracket, found the end");
  EXPECT_EQ(complaint(""), "\"\", character 1: expected an expression, found nothing");
  EXPECT_EQ(complaint("x = 2"), "\"x = 2\", character 3: unexpected '='; comparisons are ==, <=, >= and !=");
  EXPECT_EQ(complaint("x, y"), "\"x, y\", character 2: expected one value, found 2");
  EXPECT_THAT(complaint("atan2(x)"), HasSubstr("too few arguments of the function"));
  EXPECT_THAT(complaint("x 2"), HasSubstr("character 3: unexpected '2'"));
  EXPECT_THAT(complaint("x", {{"y", 1.0}}), HasSubstr("constant 'y': the name is that of a variable"));
  EXPECT_THAT(complaint("x", {{"sin", 1.0}}), HasSubstr("constant 'sin'"));
}

using Expressions = Expression;

TEST_F(Expressions, AreTheSameProblemAsInCpp) {
  const auto wave = prepared(
      "expressions", {"expressions.density=1 + a*sin(2*pi*x)", "expressions.constants.a=0.1",
                      "expressions.velocity_y=r", "expressions.centre=[0.1,0,0]", "expressions.pressure=x<0 ? 2 : 1"});
  const primitive w = wave->at({-0.2, 0.3, 0.1}, 0);
  EXPECT_EQ(w.density, 1 + 0.1 * std::sin(2 * std::numbers::pi * -0.2));
  EXPECT_NEAR(w.velocity[1], std::sqrt(0.09 + 0.09 + 0.01), 1e-15);
  EXPECT_EQ(w.velocity[0], 0.0);
  EXPECT_EQ(w.pressure, 2.0);
  EXPECT_TRUE(wave->has_exact(0));
  EXPECT_FALSE(wave->has_exact(0.1));
}

TEST_F(Expressions, HaveTheSameBitsOnAllThreads) {
  const auto p =
      prepared("expressions", {"expressions.density=1.5 + sin(9*x)*cos(7*y) + 0.1*z", "expressions.pressure=exp(r)"});
  const box b(16);
  const auto one = b.fill(*p, 0);
  std::vector<std::vector<double>> all(8);
  std::vector<std::thread> threads;
  for (auto& each : all) threads.emplace_back([&] { each = b.fill(*p, 0); });
  for (auto& t : threads) t.join();
  for (const auto& each : all) EXPECT_EQ(each, one);
}

TEST_F(Expressions, OfTimeAreTheSolutionIfTheInputSaysSo) {
  const auto p = prepared("expressions",
                          {"expressions.density=2 + sin(x - t)", "expressions.velocity_x=1", "expressions.exact=true"});
  EXPECT_TRUE(p->has_exact(0.7));
  EXPECT_EQ(p->at({0.2, 0, 0}, 0.7).density, 2 + std::sin(0.2 - 0.7));
  EXPECT_TRUE(p->gives_outside(0, 1.0));
}

TEST_F(Expressions, HaveSpeciesWhoseSumIsOne) {
  const auto p = prepared("expressions", {"expressions.species=[\"x<0\", \"x>=0\"]"});
  EXPECT_EQ(p->species_count(), 2);
  EXPECT_EQ(p->at({-0.1, 0, 0}, 0).fraction[0], 1.0);
  EXPECT_EQ(p->at({-0.1, 0, 0}, 0).fraction[1], 0.0);
  const auto q = prepared("expressions", {"expressions.species=[\"0.5\", \"0.4\"]"});
  EXPECT_THROW(static_cast<void>(q->at({}, 0)), std::invalid_argument);
}

TEST_F(Expressions, WithAnErrorNameTheField) {
  const auto refusal = [](const std::string& set) {
    config_table t;
    const auto p = make_problem("expressions").value();
    p->describe(t);
    EXPECT_TRUE(t.set(set)) << set;
    const auto r = p->prepare({});
    return r ? "no error" : r.error().message;
  };
  EXPECT_THAT(refusal("expressions.velocity_z=1 + q"),
              StartsWith("expressions.velocity_z: \"1 + q\", character 5: unknown name 'q'"));
  EXPECT_THAT(refusal("expressions.species=[\"1\",\"x+\"]"), StartsWith("expressions.species[1]: \"x+\", character 3"));
  EXPECT_THAT(refusal("expressions.samples=3"), HasSubstr("expected 1, 2, 4, 8 or 16, found 3"));
  EXPECT_THAT(refusal("expressions.constants.t=3"), HasSubstr("constant 't'"));
}

}  // namespace
}  // namespace plx::star
