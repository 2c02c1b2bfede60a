// Driving: the gas changes by what the ledger says, and by nothing else.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "star/sources/source_terms.hpp"
#include "star/test/course_test.hpp"
#include "star/test/gas_run.hpp"
#include "star/test/localities_test.hpp"

namespace plx::star {
namespace {

using namespace test;

// A block of 8^3 cells that moves and rotates, for the passes alone.
struct block {
  std::vector<double> start, now, next, ledger;
  double time = 0.0, dt = 0.125, lower[3] = {-0.25, -0.75, 0.5}, width = 0.125;
  std::int64_t first[3] = {0, 0, 0};
  std::int32_t row = 0;

  block() : now(6 * 512), ledger(3) {
    for (int c = 0; c < 512; ++c) {
      const double x = centre(0, c % 8), y = centre(1, c / 8 % 8), density = 1.0 + 0.3 * std::sin(3.0 * c);
      const double v[3] = {0.4 - 0.9 * y, 0.1 + 0.9 * x, 0.2};
      now[c] = density;
      double kinetic = 0;
      for (int a = 0; a < 3; ++a) {
        now[(1 + a) * 512 + c] = density * v[a];
        kinetic += 0.5 * density * v[a] * v[a];
      }
      now[4 * 512 + c] = kinetic + 2.0 + 0.1 * std::cos(1.0 * c);
      now[5 * 512 + c] = std::pow(2.0 + 0.1 * std::cos(1.0 * c), 0.6);
    }
    start = next = now;
  }
  double centre(int axis, int i) const { return lower[axis] + (i + 0.5) * width; }
  pass_view view() {
    pass_view v;
    for (int p = 0; p < 3; ++p) v.nodes.values[p] = &first[p];
    v.nodes.lower = lower, v.nodes.width = &width, v.nodes.first_refined = 1;
    v.n = 8, v.n_var = 6;
    v.places[0] = start.data(), v.places[1] = now.data(), v.places[2] = next.data();
    v.start = 0, v.now = 1, v.next = 2;
    v.fields[0] = {ledger.data(), &row, 3};
    v.time = &time, v.dt = &dt, v.weight = 0.25;
    return v;
  }
  /// Angular momentum, kinetic energy, internal energy.
  std::array<double, 3> sums(const std::vector<double>& u) const {
    std::array<double, 3> s{};
    const double volume = width * width * width;
    for (int c = 0; c < 512; ++c) {
      const double mx = u[512 + c], my = u[1024 + c], mz = u[1536 + c];
      const double kinetic = 0.5 * (mx * mx + my * my + mz * mz) / u[c];
      s[0] += volume * (centre(0, c % 8) * my - centre(1, c / 8 % 8) * mx);
      s[1] += volume * kinetic, s[2] += volume * (u[2048 + c] - kinetic);
    }
    return s;
  }
  template <class Pass>
  void apply(const Pass& pass) {
    for (int thread = 0; thread < Pass::threads; ++thread) pass(view(), 0, thread);
  }
};

TEST(Driving, ChangesTheGasByWhatTheLedgerSays) {
  block b;
  const driving_rates rates{.loss = 0.5, .heat = -0.3, .gamma = 5.0 / 3.0, .begin = 0.0, .end = 1.0};
  const auto before = b.sums(b.now);
  b.ledger = {8.0, -4.0, 2.0};
  b.apply(driving_ledger{rates, 0, false});
  b.apply(driving_source{rates});
  const double step = 0.25 * b.dt;
  const auto after = b.sums(b.next);
  const double gained[3] = {b.ledger[0] - 2.0, b.ledger[1] + 1.0, b.ledger[2] - 0.5};
  EXPECT_NEAR(after[0] - before[0], gained[0], 1e-15);
  EXPECT_NEAR(gained[0], -0.5 * step * before[0], 1e-15);
  EXPECT_NEAR(gained[2], -0.3 * step * before[2], 1e-15);
  EXPECT_LT(gained[1], 0.0);
  // The energies together; each of them only to the order of the scheme, since the work is that of the old momentum.
  EXPECT_NEAR(after[1] + after[2] - before[1] - before[2], gained[1] + gained[2], 5e-15);
  EXPECT_NEAR(after[1] - before[1], gained[1], 3e-4 * before[1]);
  EXPECT_NEAR(b.next[5 * 512] / b.now[5 * 512], 1.0 - 0.3 * 0.6 * step, 1e-15);
  EXPECT_EQ(b.next[3 * 512], b.now[3 * 512]);
}

TEST(Driving, IsOffBeforeAndAfterItsTime) {
  for (const double time : {-0.01, 1.0}) {
    block b;
    b.time = time;
    const driving_rates rates{.loss = 0.5, .heat = 0.3, .gamma = 1.4, .begin = 0.0, .end = 1.0};
    b.apply(driving_source{rates});
    b.apply(driving_ledger{rates, 0, true});
    EXPECT_EQ(b.next, b.now);
    EXPECT_EQ(b.ledger, (std::vector<double>{0, 0, 0}));
  }
  block b;
  b.apply(driving_source{{.loss = 0.5, .end = 1.0, .least_density = 10.0}});
  EXPECT_EQ(b.next, b.now);
}

std::vector<std::string> stars(const std::vector<std::string>& more) {
  std::vector<std::string> sets{"gravity.self=true",
                                "gravity.order=3",
                                "problem.name=two_stars",
                                "two_stars.separation=1",
                                "two_stars.index=1",
                                "two_stars.radii=[0.35,0.35]",
                                "mesh.root_blocks=[2,2,1]",
                                "mesh.lower=[-1,-1,-0.5]",
                                "mesh.upper=[1,1,0.5]",
                                "mesh.max_level=0",
                                "driving.angular_momentum=0.3",
                                "driving.heating=0.2",
                                "driving.period=0.5",
                                "run.max_steps=4",
                                "run.t_end=1",
                                "hydro.gamma=1.6666666666666667",
                                "refinement.gradient_of=[]",
                                "hydro.integrator=rk2",
                                "hydro.reconstruction=plm",
                                "hydro.pressure_floor=1e-13"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

// Gas and gravity together: what the ledger has added, to rounding.
TEST(Driving, TheEnergyChangesByTheLedger) {
  gas_run run(stars({}));
  ASSERT_TRUE(run.sim->step());
  const auto energy = [&] {
    const std::vector<double> all = run.sim->totals();
    const auto names = sum_names(run.s.modules);
    double sum = all[i_energy] + run.sim->left(i_energy);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i] == "gravity_energy") sum += all[6 + i];
      if (names[i] == "driving_work" || names[i] == "driving_heat") sum -= all[6 + i];
    }
    return sum;
  };
  const auto added = [&](const char* name) {
    const auto names = sum_names(run.s.modules);
    const auto at = std::find(names.begin(), names.end(), name) - names.begin();
    return run.sim->totals()[static_cast<std::size_t>(6 + at)];
  };
  const double start = energy();
  run.finish();
  EXPECT_EQ(run.sim->floors().density + run.sim->floors().pressure, 0);
  EXPECT_NEAR(energy(), start, 3e-14);
  EXPECT_LT(added("driving_work"), -1e-3);
  EXPECT_GT(added("driving_heat"), 1e-3);
  const double l = 0.25;
  EXPECT_NEAR(added("driving_angular_momentum"), l * std::expm1(-0.6 * run.sim->time()), 0.01 * l);
}

// Totals over steps continue after a restart, and are the same everywhere.
TEST(Driving, TheBitsAreTheSameOnWorkersLocalitiesADeviceAndAfterARestart) {
  const std::vector<std::string> sets = stars({"run.max_steps=2"});
  const auto all = [&](unsigned n, const std::string& device) {
    outcome out;
    std::vector<outcome> each(n);
    std::mutex lock;
    on_each(n, 2, [&](int i, step::exchange& net, runtime& rt) {
      auto more = sets;
      more.push_back("run.device=" + device);
      const auto in = blast(more);
      const setup s = in->prepare().value();
      simulation sim(*in, s, rt, n == 1 ? step::exchange::alone() : net);
      run_here(sim, each[i], [](simulation&) {});
      const std::lock_guard guard(lock);
      out.take(sim);
    });
    out.totals = each[0].totals, out.numbers = each[0].numbers, out.error = each[0].error;
    return out;
  };
  const outcome one = all(1, "cpu");
  ASSERT_EQ(one.error, "");
  expect_same(all(2, "cpu"), one);
  expect_same(all(1, tested()), one);

  const std::string path = "driving-restart-" + std::to_string(getpid()) + ".h5";
  auto half = sets;
  half.erase(half.begin() + 2);
  one_run whole("two_stars", half), first("two_stars", half), second("two_stars", half);
  whole.sim->start();
  first.sim->start();
  ASSERT_TRUE(first.sim->step());
  while (!whole.sim->finished()) ASSERT_TRUE(whole.sim->step());
  continue_in(second, first, path);
  EXPECT_EQ(second.sim->totals(), whole.sim->totals());
  EXPECT_EQ(same_state(*second.sim, *whole.sim), "");
  std::remove(path.c_str());
}

TEST(Driving, WrongOptionsAreRefused) {
  EXPECT_EQ(blast(stars({"driving.period=0"}))->prepare().error().message,
            "driving.period = 0: expected a time above 0");
  const auto cold = blast(stars({"eos.kind=white_dwarf", "eos.electron_pressure=1", "eos.electron_density=1"}));
  EXPECT_EQ(cold->prepare().error().message,
            "driving.heating: expected 0 with eos.kind = \"white_dwarf\", or an ideal gas");
  const auto bright = blast(stars({"eos.kind=radiation", "eos.gas_constant=1", "eos.radiation_constant=1"}));
  EXPECT_EQ(bright->prepare().error().message,
            "driving.heating: expected 0 with eos.kind = \"radiation\", or an ideal gas");
}

}  // namespace
}  // namespace plx::star
