// Whole iterations with a device beside those of the workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>

#include "gpu/cpu/cpu_backend.hpp"
#include "gpu/device.hpp"
#include "gpu/test/each_device_test.hpp"
#include "net/collectives.hpp"
#include "net/team.hpp"
#include "net/test/threads_test.hpp"
#include "parquet/device/resident_vertices.hpp"
#include "parquet/solver/solver.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/runtime.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

struct watch final : solver_observer {
  std::vector<iteration_report> reports;
  solver_state last;
  std::vector<std::vector<complex>> vectors;
  std::function<void(int)> then = [](int) {};
  std::function<void(int)> before = [](int) {};  // the iteration of that number
  int stop_after = 1000;
  void iterated(const iteration_report& r) override {
    reports.push_back(r);
    then(r.iteration);
  }
  bool stop_requested() override {
    const int made = static_cast<int>(reports.size());
    before(made);
    return made >= stop_after;
  }
  void save(const solver_state& s) override {
    last = s;
    vectors.clear();
    for (const auto& v : s.vectors) vectors.emplace_back(v.begin(), v.end());
  }
};

// Where a run continues: what a watch has saved.
struct saved final : saved_solver_state {
  explicit saved(const watch& w) : from(w) {}
  const std::vector<double>& numbers() const override { return from.last.numbers; }
  result<void> read(int, int, const std::vector<std::span<complex>>& to) const override {
    EXPECT_EQ(to.size(), from.vectors.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      EXPECT_EQ(to[i].size(), from.vectors[i].size());
      std::copy(from.vectors[i].begin(), from.vectors[i].end(), to[i].begin());
    }
    return {};
  }
  const watch& from;
};

solver_settings few(int iterations) {
  solver_settings s;
  s.iterations = iterations;
  s.history = 3;
  s.sigma_frequencies = 32;
  s.gather = true;
  return s;
}

result<parquet_solution> solve_here(const hubbard_model& model, solver_settings s, watch& w, gpu::device* on,
                                    const team& members = {}, const saved_solver_state* from = nullptr) {
  s.device = on;
  return solve(model, std::make_shared<const vertex_grid>(model.lattice, 2, 3), s, w, members, from);
}

template <class Vector>
bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(complex)) == 0;
}

void expect_same(const parquet_solution& a, const parquet_solution& b, const watch& wa, const watch& wb) {
  EXPECT_TRUE(same_bits(a.phi, b.phi));
  EXPECT_TRUE(same_bits(a.limits, b.limits));
  for (int k = 0; k < a.sigma.n_momenta(); ++k) EXPECT_EQ(a.sigma(k, 3), b.sigma(k, 3));
  ASSERT_EQ(wa.reports.size(), wb.reports.size());
  for (std::size_t i = 0; i < wa.reports.size(); ++i) {
    EXPECT_EQ(wa.reports[i].residual, wb.reports[i].residual);
    EXPECT_EQ(wa.reports[i].asymmetry, wb.reports[i].asymmetry);
    EXPECT_EQ(wa.reports[i].density, wb.reports[i].density);
    EXPECT_EQ(wa.reports[i].eigenvalues, wb.reports[i].eigenvalues);
  }
}

// Memory for everything, and for one lane.
const std::size_t much = std::size_t{1} << 30, little = 150000;

TEST(SolverOnDevice, HasTheBitsOfTheWorkers) {
  for (const auto& model : {test::atom(2, 0.1, 1), test::dimer(1, 0.3, 1), test::plaquette(2, 0.2, 1)})
    for (const bool symmetrize : {true, false})
      for (const std::size_t memory : {much, little}) {
        SCOPED_TRACE(std::to_string(model.n_momenta()) + " momenta, " + std::to_string(memory) + " bytes");
        auto s = few(7);
        s.symmetrize = symmetrize;
        plx::runtime rt({.workers = 2, .bind = false});
        gpu::cpu::testing_backend b({.memory_bytes = memory});
        gpu::device d(rt, b.get());
        watch here, there;
        std::size_t allocated = 0;
        there.then = [&](int) { allocated = b.allocated_bytes(); };
        const auto expected = rt.run([&] { return solve_here(model, s, here, nullptr); }).value();
        const auto found = rt.run([&] { return solve_here(model, s, there, &d); }).value();
        expect_same(found, expected, there, here);
        const std::size_t vectors = 2 * 4 * expected.phi.size() * sizeof(complex);
        if (model.n_momenta() == 4) {
          EXPECT_EQ(allocated >= vectors, memory == much) << allocated;
        }
      }
}

// All arrays are counted, up to the rounding of the pools.
TEST(SolverOnDevice, TakesTheMemoryThatItSays) {
  plx::runtime rt({.workers = 2, .bind = false});
  for (const auto& model : {test::atom(2, 0.1, 1), test::plaquette(2, 0.2, 1)})
    for (const int slots : {1, 4}) {
      const vertex_grid grid(model.lattice, 5, 4);
      gpu::cpu::testing_backend b({.memory_bytes = much});
      gpu::device d(rt, b.get());
      const double bytes = resident_vertices::device_bytes(grid, slots) + resident_vertices::pinned_bytes(grid);
      const double taken = rt.run([&] {
        const std::size_t before = b.allocated_bytes();
        const resident_vertices vertices(d, grid, slots);
        return static_cast<double>(b.allocated_bytes() - before);
      });
      EXPECT_GE(taken, bytes);
      EXPECT_LE(taken, 1.25 * bytes + 21 * 256);
    }
}

// Streams advance in an order that the seed decides: copies, kernels and the host must wait for each other.
TEST(SolverOnDevice, HasTheSameBitsUnderEverySchedule) {
  const auto model = test::atom(2, 0.1, 1);
  const auto solve_small = [&](gpu::device* on) {
    auto s = few(3);
    s.device = on;
    watch w;
    return solve(model, std::make_shared<const vertex_grid>(model.lattice, 2, 4), s, w).value();
  };
  plx::runtime two({.workers = 2, .bind = false});
  const auto expected = two.run([&] { return solve_small(nullptr); });
  plx::testing::on_stepped_devices(
      [&](plx::runtime& rt, gpu::device& d) {
        const auto found = rt.run([&] { return solve_small(&d); });
        EXPECT_TRUE(same_bits(found.phi, expected.phi));
        EXPECT_EQ(found.last.eigenvalues, expected.last.eigenvalues);
        EXPECT_EQ(found.last.asymmetry, expected.last.asymmetry);
      },
      40);
}

// On a card: the residual of the equations vanishes for both, and results agree within its tolerance.
TEST(SolverOnDevice, ConvergesToTheSameSolutionOnEachBackend) {
  const auto model = test::plaquette(2, 0.2, 1);
  for (const gpu::backend* b : gpu::backends()) {
    if (gpu::device_count(*b) == 0 || b->name == "hip" || b->name == "sycl") continue;
    plx::runtime rt({.workers = 2, .bind = false});
    gpu::device d(rt, *b);
    auto s = few(200);
    s.tolerance = 1e-11;
    watch here, there;
    const auto expected = rt.run([&] { return solve_here(model, s, here, nullptr); }).value();
    const auto found = rt.run([&] { return solve_here(model, s, there, &d); }).value();
    EXPECT_TRUE(expected.converged && found.converged);
    double largest = 0;
    for (std::size_t i = 0; i < expected.phi.size(); ++i)
      largest = std::max(largest, std::abs(expected.phi[i] - found.phi[i]));
    EXPECT_LT(largest, 1e-9) << b->name;
    // One iteration from zero has no mixing: products alone differ.
    EXPECT_NEAR(here.reports[1].residual, there.reports[1].residual, 1e-12) << b->name;
    EXPECT_NEAR(here.reports[1].asymmetry, there.reports[1].asymmetry, 1e-12) << b->name;
  }
}

TEST(SolverOnDevice, StopsAndContinuesHereAndThere) {
  const auto model = test::plaquette(2, 0.2, 1);
  plx::runtime rt({.workers = 2, .bind = false});
  watch whole;
  const auto expected = rt.run([&] { return solve_here(model, few(8), whole, nullptr); }).value();
  for (const std::size_t memory : {much, little})
    for (const bool begins_here : {true, false}) {
      gpu::cpu::testing_backend b({.memory_bytes = memory});
      gpu::device d(rt, b.get());
      watch first, second;
      first.stop_after = 5;
      const auto begun = rt.run([&] { return solve_here(model, few(8), first, begins_here ? nullptr : &d); }).value();
      EXPECT_TRUE(begun.stopped);
      const saved from(first);
      const auto ended =
          rt.run([&] { return solve_here(model, few(8), second, begins_here ? &d : nullptr, {}, &from); }).value();
      EXPECT_TRUE(same_bits(ended.phi, expected.phi));
      EXPECT_EQ(second.reports.back().residual, whole.reports.back().residual);
    }
}

// The state before the iteration in which the device fails is saved, and the workers continue with it.
TEST(SolverOnDevice, ALostDeviceEndsTheRunWithOneLineAndItsState) {
  const auto model = test::plaquette(2, 0.2, 1);
  plx::runtime rt({.workers = 2, .bind = false});
  watch whole, lost, continued;
  const auto expected = rt.run([&] { return solve_here(model, few(8), whole, nullptr); }).value();
  gpu::cpu::testing_backend b({.memory_bytes = little});
  gpu::device d(rt, b.get());
  lost.then = [&](int i) {
    if (i == 3) b.lose(0);
  };
  const auto r = rt.run([&] { return solve_here(model, few(8), lost, &d); });
  ASSERT_FALSE(r.has_value());
  EXPECT_THAT(r.error().message, ::testing::StartsWith("run.device: cpu: "));
  EXPECT_THAT(r.error().message, ::testing::HasSubstr("device lost"));
  EXPECT_EQ(r.error().message.find('\n'), std::string::npos);
  EXPECT_EQ(lost.reports.size(), 4u);
  const saved from(lost);
  const auto ended = rt.run([&] { return solve_here(model, few(8), continued, nullptr, {}, &from); }).value();
  EXPECT_TRUE(same_bits(ended.phi, expected.phi));
}

// A copy of the history that does not fit: the device is used without the memory for all vertices.
TEST(SolverOnDevice, StreamsSlabsIfVerticesDoNotFit) {
  const auto model = test::plaquette(2, 0.2, 1);
  plx::runtime rt({.workers = 2, .bind = false});
  watch whole, first;
  const auto expected = rt.run([&] { return solve_here(model, few(8), whole, nullptr); }).value();
  first.stop_after = 3;
  ASSERT_TRUE(rt.run([&] { return solve_here(model, few(8), first, nullptr); }).value().stopped);
  const saved from(first);
  // Four tables of the grid, then an input and a residual of each earlier iteration, and the present input.
  for (const unsigned after : {0u, 4u, 5u, 10u}) {
    SCOPED_TRACE(after);
    gpu::cpu::testing_backend b({.memory_bytes = much});
    gpu::device d(rt, b.get());
    b.fail_call("copy", gpu::cpu::out_of_memory, after);
    watch there;
    const auto found = rt.run([&] { return solve_here(model, few(8), there, &d, {}, &from); });
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_TRUE(same_bits(found->phi, expected.phi));
    EXPECT_EQ(there.reports.back().residual, whole.reports.back().residual);
  }
}

// The vertices are still on the device: the state before the iteration is saved.
TEST(SolverOnDevice, ACallThatFailsLeavesTheState) {
  const auto model = test::dimer(1, 0.3, 1);
  plx::runtime rt({.workers = 2, .bind = false});
  watch whole;
  const auto expected = rt.run([&] { return solve_here(model, few(8), whole, nullptr); }).value();
  struct place {
    const char* call;
    unsigned after;
  };
  for (const place& p : {place{"fill", 0}, {"copy", 0}, {"copy", 3}, {"launch", 0}, {"launch", 4}}) {
    SCOPED_TRACE(std::string(p.call) + " " + std::to_string(p.after));
    gpu::cpu::testing_backend b({.memory_bytes = much});
    gpu::device d(rt, b.get());
    watch failed, continued;
    failed.before = [&](int made) {
      if (made == 5) b.fail_call(p.call, gpu::cpu::out_of_memory, p.after);
    };
    const auto r = rt.run([&] { return solve_here(model, few(8), failed, &d); });
    ASSERT_FALSE(r.has_value());
    EXPECT_THAT(r.error().message, ::testing::HasSubstr("out of memory"));
    ASSERT_EQ(failed.reports.size(), 5u);
    ASSERT_FALSE(failed.vectors.empty());
    const saved from(failed);
    const auto ended = rt.run([&] { return solve_here(model, few(8), continued, nullptr, {}, &from); }).value();
    EXPECT_TRUE(same_bits(ended.phi, expected.phi));
    EXPECT_EQ(continued.reports.size(), 3u);
  }
}

// With the device its vertices are lost; what was saved before remains.
TEST(SolverOnDevice, AnyCallThatFailsEndsTheRunWithOneLine) {
  const auto model = test::dimer(1, 0.3, 1);
  plx::runtime rt({.workers = 2, .bind = false});
  struct place {
    const char* call;
    unsigned after;
  };
  for (const place& p : {place{"launch", 0},
                         {"launch", 40},
                         {"launch", 41},
                         {"launch", 45},
                         {"launch", 90},
                         {"copy", 0},
                         {"copy", 30},
                         {"copy", 50},
                         {"fill", 0},
                         {"record", 7},
                         {"wait", 1}}) {
    SCOPED_TRACE(std::string(p.call) + " " + std::to_string(p.after));
    gpu::cpu::testing_backend b({.memory_bytes = much});
    gpu::device d(rt, b.get());
    watch w;
    b.fail_call(p.call, gpu::cpu::device_lost, p.after, 100000);
    const auto r = rt.run([&] { return solve_here(model, few(8), w, &d); });
    ASSERT_FALSE(r.has_value());
    EXPECT_THAT(r.error().message, ::testing::HasSubstr("device lost"));
    EXPECT_EQ(r.error().message.find('\n'), std::string::npos);
    EXPECT_TRUE(w.vectors.empty());
  }
}

// Three localities, one device each.
TEST(SolverOnDevice, LocalitiesHaveADeviceEach) {
  const auto model = test::plaquette(2, 0.2, 1);
  plx::runtime rt({.workers = 2, .bind = false});
  watch alone;
  const auto expected = rt.run([&] { return solve_here(model, few(5), alone, nullptr); }).value();
  for (const bool fails : {false, true}) {
    gpu::cpu::testing_backend b({.devices = 3});
    net::test::localities job(3, 2);
    std::mutex lock;
    job.run_all([&] {
      const team members{communicator("parquet")};
      gpu::device d(net::node_here().home(), b.get(), static_cast<int>(members.rank()));
      watch own;
      own.then = [&](int i) {
        if (fails && i == 2 && members.rank() == 1) b.lose(1);
      };
      const auto r = solve_here(model, few(5), own, &d, members);
      const std::lock_guard guard(lock);
      ASSERT_EQ(r.has_value(), !fails);
      if (r) {
        EXPECT_TRUE(same_bits(r->phi, expected.phi));
        EXPECT_EQ(own.reports.back().residual, alone.reports.back().residual);
        return;
      }
      EXPECT_EQ(own.reports.size(), 3u);
      if (members.rank() == 0) {
        EXPECT_THAT(r.error().message, ::testing::StartsWith("run.device: locality 1: cpu: "));
      } else {
        EXPECT_EQ(r.error().message, "");
      }
    });
  }
}

}  // namespace
}  // namespace plx::parquet
