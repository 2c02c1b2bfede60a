#include "mesh/field/field_info.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace {

using namespace plx::mesh;

std::vector<int> members_of(const field_table& t, int group) {
  std::vector<int> all;
  for (int m = 0; m < t.group_size(group); ++m) all.push_back(t.member(group, m));
  return all;
}

TEST(FieldInfo, TheTableHasTheParities) {
  const std::vector<field_info> fields{{"density"},
                                       {"momentum", field_kind::polar, 0},
                                       {"momentum", field_kind::polar, 2},
                                       {"spin", field_kind::axial, 0},
                                       {"spin", field_kind::axial, 2}};
  const field_table t = table_of(fields);
  ASSERT_EQ(t.count, 5);
  const bool mirrored[5][3] = {
      {false, false, false}, {true, false, false}, {false, false, true}, {false, true, true}, {true, true, false}};
  for (int v = 0; v < 5; ++v)
    for (int axis = 0; axis < 3; ++axis) {
      EXPECT_EQ(t.changes_sign_at(v, axis), mirrored[v][axis]) << v << " " << axis;
      EXPECT_EQ(t.is_normal_to(v, axis), (v == 1 && axis == 0) || (v == 2 && axis == 2)) << v << " " << axis;
    }
  EXPECT_FALSE(t.has_gas());
}

TEST(FieldInfo, TheTableListsEachFieldInOneGroup) {
  const auto grouped = [](int group) { return field_info{.name = "f", .limiter_group = group}; };
  const field_table t = table_of(
      std::vector<field_info>{grouped(-1), grouped(7), grouped(-1), grouped(0), grouped(7), grouped(0), grouped(7)});
  ASSERT_EQ(t.groups, 4);
  EXPECT_EQ(members_of(t, 0), std::vector<int>{0});
  EXPECT_EQ(members_of(t, 1), (std::vector<int>{1, 4, 6}));
  EXPECT_EQ(members_of(t, 2), std::vector<int>{2});
  EXPECT_EQ(members_of(t, 3), (std::vector<int>{3, 5}));
}

std::vector<field_info> gas_fields() {
  std::vector<field_info> fields(7);
  fields[2] = {.name = "E", .role = quantity::energy};
  for (int a = 0; a < 3; ++a)
    fields[3 + a] = {.name = "m", .kind = field_kind::polar, .axis = a, .role = quantity::momentum};
  fields[6] = {.name = "rho", .role = quantity::density};
  return fields;
}

TEST(FieldInfo, TheTableHasThePlacesOfAGas) {
  const field_table t = table_of(gas_fields());
  ASSERT_TRUE(t.has_gas());
  EXPECT_EQ(t.gas.density, 6);
  EXPECT_EQ(t.gas.momentum, 3);
  EXPECT_EQ(t.gas.energy, 2);
}

TEST(FieldInfoDeathTest, EachRoleOccursOnceAndTheMomentumInARow) {
  const auto with = [](auto&& change) {
    std::vector<field_info> fields = gas_fields();
    change(fields);
    static_cast<void>(table_of(fields));
  };
  using all = std::vector<field_info>;
  EXPECT_DEATH(with([](all& f) { f[0].role = quantity::density; }), "known");
  EXPECT_DEATH(with([](all& f) { f[0].role = quantity::energy; }), "known");
  EXPECT_DEATH(with([](all& f) { f[0] = f[3]; }), "is_momentum");
  EXPECT_DEATH(with([](all& f) { f.push_back(f[3]); }), "axis < 3");
  EXPECT_DEATH(with([](all& f) { f[4].role = quantity::other; }), "is_momentum");
  EXPECT_DEATH(with([](all& f) { f[5].role = quantity::other; }), "is_momentum");
  EXPECT_DEATH(with([](all& f) { std::swap(f[4], f[5]); }), "is_momentum");
  EXPECT_DEATH(with([](all& f) { std::swap(f[5], f[6]); }), "is_momentum");
  EXPECT_DEATH(with([](all& f) { f[4].kind = field_kind::axial; }), "is_momentum");
  EXPECT_DEATH(with([](all& f) { f[3].kind = field_kind::scalar, f[3].axis = -1; }), "is_momentum");
}

}  // namespace
