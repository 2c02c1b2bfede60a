#include "star/hydro/stage.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "star/hydro/parameters.hpp"
#include "star/hydro/test/test_block.hpp"

namespace plx::star {
namespace {

class with_environment {
 public:
  explicit with_environment(const char* value) {
    if (const char* old = std::getenv("PLX_ISA")) old_ = old, had_ = true;
    if (value)
      setenv("PLX_ISA", value, 1);
    else
      unsetenv("PLX_ISA");
  }
  ~with_environment() {
    if (had_)
      setenv("PLX_ISA", old_.c_str(), 1);
    else
      unsetenv("PLX_ISA");
  }

 private:
  std::string old_;
  bool had_ = false;
};

TEST(isa, best_available_by_default) {
  for (const char* none : {static_cast<const char*>(nullptr), ""}) {
    with_environment e(none);
    ASSERT_TRUE(select_isa());
    EXPECT_EQ(*select_isa(), available_isas().back());
  }
}

TEST(isa, each_available_one_can_be_forced) {
  EXPECT_EQ(available_isas().front(), isa::baseline);
  for (isa which : available_isas()) {
    with_environment e(std::string(name_of(which)).c_str());
    ASSERT_TRUE(select_isa());
    EXPECT_EQ(*select_isa(), which);
  }
}

TEST(isa, unknown_name_is_one_line_with_the_known_ones) {
  with_environment e("sse9");
  const auto r = select_isa();
  ASSERT_FALSE(r);
  EXPECT_NE(r.error().message.find("'sse9'"), std::string::npos) << r.error().message;
  EXPECT_NE(r.error().message.find("baseline"), std::string::npos) << r.error().message;
  EXPECT_EQ(r.error().message.find('\n'), std::string::npos);
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

struct choice {
  reconstruction scheme;
  riemann_solver solver;
  int n, n_species;
  hydro_scheme shape = hydro_scheme::faces;
  bool steep = false;
  eos_kind kind = eos_kind::ideal;
};

class all_isas : public testing::TestWithParam<choice> {};

TEST_P(all_isas, agree_to_the_bit) {
  hydro_parameters p;
  p.reconstruct = GetParam().scheme, p.riemann = GetParam().solver, p.n_species = GetParam().n_species;
  p.scheme = GetParam().shape, p.contact_steepening = GetParam().steep;
  p.eos.kind = GetParam().kind, p.eos.electron_pressure = 0.01, p.eos.electron_density = 4.0;
  p.density_floor = 1.3, p.pressure_floor = 1.2;  // some cells need the floors
  const int n = GetParam().n;
  const auto tile = random_tile(p, n, 7, 20.0), old = interior(tile, n, variable_count(p.n_species));
  const stage_input in{tile.data(), old.data(), n, 1.0 / n, 0.05 / n, 0.25};
  std::vector<exact_limbs> sums(tile.size() / cells_of(n + 2 * ghost_layers)), others(sums.size());
  const stage_values first = run_stage(p, in, isa::baseline, {sums.data(), 0.75});
  EXPECT_GT(first.out.input_floors, 0);
  EXPECT_GE(first.out.added_terms, first.out.density_floors + first.out.pressure_floors);
  for (isa which : available_isas()) {
    others.assign(sums.size(), {});
    const stage_values other = run_stage(p, in, which, {others.data(), 0.75});
    EXPECT_EQ(std::memcmp(sums.data(), others.data(), sums.size() * sizeof(exact_limbs)), 0) << name_of(which);
    EXPECT_EQ(first.out.added_terms, other.out.added_terms);
    EXPECT_TRUE(same_bits(first.u, other.u)) << name_of(which);
    for (int side = 0; side < 6; ++side) EXPECT_TRUE(same_bits(first.flux[side], other.flux[side])) << name_of(which);
    EXPECT_EQ(first.out.max_signal_rate, other.out.max_signal_rate);
    EXPECT_EQ(first.out.density_floors, other.out.density_floors);
    EXPECT_EQ(first.out.pressure_floors, other.out.pressure_floors);
    EXPECT_EQ(first.out.input_floors, other.out.input_floors);
    EXPECT_EQ(first.out.first_bad_cell, other.out.first_bad_cell);
    EXPECT_EQ(kernel_table::of(which)->scratch_doubles(p, n) * sizeof(double), stage_scratch_bytes(p, n));
  }
}

INSTANTIATE_TEST_SUITE_P(
    isa, all_isas,
    testing::Values(
        choice{reconstruction::ppm, riemann_solver::hllc, 8, 0},
        choice{reconstruction::ppm, riemann_solver::hllc, 16, 3},
        choice{reconstruction::ppm, riemann_solver::hll, 8, 0},
        choice{reconstruction::ppm, riemann_solver::hllc_lm, 8, 1},
        choice{reconstruction::mp5, riemann_solver::hllc, 8, 2},
        choice{reconstruction::plm, riemann_solver::hllc, 24, 1},
        choice{reconstruction::plm, riemann_solver::lax_friedrichs, 8, 2},
        choice{reconstruction::ppm, riemann_solver::hll, 8, 0, hydro_scheme::full3d},
        choice{reconstruction::ppm, riemann_solver::hll, 16, 3, hydro_scheme::full3d, true},
        choice{reconstruction::ppm, riemann_solver::hllc, 8, 1, hydro_scheme::faces, false, eos_kind::stiffened},
        choice{reconstruction::ppm, riemann_solver::hllc, 8, 1, hydro_scheme::faces, false, eos_kind::white_dwarf},
        choice{reconstruction::mp5, riemann_solver::hllc_lm, 16, 0, hydro_scheme::faces, false, eos_kind::white_dwarf},
        choice{reconstruction::plm, riemann_solver::lax_friedrichs, 8, 0, hydro_scheme::faces, false,
               eos_kind::white_dwarf},
        choice{reconstruction::ppm, riemann_solver::hll, 8, 0, hydro_scheme::full3d, true, eos_kind::white_dwarf},
        choice{reconstruction::ppm, riemann_solver::hllc, 8, 1, hydro_scheme::faces, false, eos_kind::radiation},
        choice{reconstruction::mp5, riemann_solver::hllc_lm, 16, 0, hydro_scheme::faces, false, eos_kind::radiation},
        choice{reconstruction::ppm, riemann_solver::hll, 8, 0, hydro_scheme::full3d, true, eos_kind::radiation}));

TEST(isa, powers_agree_to_the_bit) {
  for (double x : {1e-300, 1e-30, 0.3, 0.70710678, 1.0, 1.4142135, 77.0, 1e30})
    for (double y : {0.6, 5.0 / 3.0, 1.4, 1.0 / 1.4})
      for (isa which : available_isas())
        EXPECT_EQ(kernel_table::of(which)->power(x, y), isa_baseline::table.power(x, y)) << x << " " << y;
}

}  // namespace
}  // namespace plx::star
