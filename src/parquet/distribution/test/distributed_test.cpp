// Runs on several localities beside runs on one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

#include "control/actuator.hpp"
#include "net/action.hpp"
#include "net/archive.hpp"
#include "net/collectives.hpp"
#include "net/core/node.hpp"
#include "net/parcels/collector.hpp"
#include "net/simulation.hpp"
#include "net/team.hpp"
#include "parquet/distribution/exchange_place.hpp"
#include "parquet/distribution/network_use.hpp"
#include "parquet/distribution/rotation_exchange.hpp"
#include "parquet/solver/solver.hpp"
#include "parquet/test/small_clusters.hpp"
#include "rt/core/spinlock.hpp"
#include "rt/runtime.hpp"
#include "rt/thread.hpp"

namespace plx::parquet {
namespace {

using complex = std::complex<double>;

struct silent : solver_observer {
  void iterated(const iteration_report&) override {}
};

parquet_solution solve_here(const hubbard_model& model, rotation_form form, const team& members) {
  solver_settings s;
  s.iterations = 4;
  s.sigma_frequencies = 32;
  s.rotation = form;
  s.gather = true;
  silent observer;
  return solve(model, std::make_shared<const vertex_grid>(model.lattice, 2, 3), s, observer, members).value();
}

std::vector<parquet_solution> solve_on(unsigned localities, const hubbard_model& model, rotation_form form) {
  std::vector<parquet_solution> out(localities);
  std::mutex lock;
  net::simulation job({.localities = localities, .seed = 3});
  job.run([&] {
    const team members{communicator("parquet")};
    auto r = solve_here(model, form, members);
    const std::lock_guard guard(lock);
    out[members.rank()] = std::move(r);
  });
  return out;
}

template <class Vector>
bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(complex)) == 0;
}

constexpr rotation_form all_forms[] = {rotation_form::packed, rotation_form::coalesced, rotation_form::adaptive,
                                       rotation_form::rows};

TEST(Distributed, SlabsAreDividedEvenly) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 4, 4);
  for (unsigned ranks : {1u, 2u, 3u, 7u, 40u}) {
    EXPECT_EQ(grid.first_slab(0, ranks), 0);
    EXPECT_EQ(grid.first_slab(ranks, ranks), grid.n_slabs());
    for (unsigned r = 0; r < ranks; ++r) {
      const auto begin = grid.slab_offset(grid.first_slab(r, ranks)),
                 end = grid.slab_offset(grid.first_slab(r + 1, ranks));
      EXPECT_LE(begin, end);
      EXPECT_LE(end - begin, grid.size() / ranks + grid.slab_offset(1)) << r << ranks;
    }
  }
}

TEST(Distributed, BitsDoNotDependOnLocalities) {
  const auto model = test::plaquette(2, 0.2, 1);
  runtime rt({.workers = 2, .bind = false});
  const auto alone = rt.run([&] { return solve_here(model, rotation_form::packed, {}); });
  for (const unsigned localities : {2u, 3u})
    for (const rotation_form form : all_forms) {
      const auto all = solve_on(localities, model, form);
      for (const auto& one : all) {
        EXPECT_TRUE(same_bits(one.phi, alone.phi)) << localities << static_cast<int>(form);
        EXPECT_TRUE(same_bits(one.limits, alone.limits));
        EXPECT_EQ(one.sigma, alone.sigma);
        EXPECT_EQ(one.last.residual, alone.last.residual);
        EXPECT_EQ(one.last.eigenvalues, alone.last.eigenvalues);
        EXPECT_GT(one.last.rotation.sent_bytes, 0);
      }
    }
}

TEST(Distributed, MoreLocalitiesThanSlabs) {
  const auto model = test::atom(1, 0.2, 1);
  runtime rt({.workers = 1, .bind = false});
  const auto alone = rt.run([&] { return solve_here(model, rotation_form::packed, {}); });
  for (const rotation_form form : all_forms)
    for (const auto& one : solve_on(5, model, form))
      EXPECT_TRUE(same_bits(one.phi, alone.phi)) << static_cast<int>(form);
}

// The policy exists while rows of the adaptive form may be sent, and has the action of the rows as its target.
TEST(Distributed, APolicyChoosesHowRowsOfTheAdaptiveFormTravel) {
  const auto model = test::atom(1, 0.2, 1);
  net::simulation job({.localities = 2, .seed = 3});
  job.run([&] {
    const team members{communicator("parquet")};
    for (const rotation_form form : {rotation_form::coalesced, rotation_form::adaptive, rotation_form::rows}) {
      solve_here(model, form, members);
      bool found = false;
      for (const auto& a : net::node_here().home().actuators().list())
        found = found || a->info().name == "coalesce-parcels@plx::parquet::parquet_store_row";
      EXPECT_EQ(found, form == rotation_form::adaptive) << static_cast<int>(form);
      const auto row = net::find_action("plx::parquet::parquet_store_row").value()->index;
      EXPECT_EQ(net::node_here().port().how_collected(row), setting_of(form)) << static_cast<int>(form);
      EXPECT_EQ(coalescing_of(row).bytes, form == rotation_form::adaptive ? 65536u : 0u);
      members.communicator().barrier().get();
    }
  });
}

void sleep_ms(double t) { this_thread::sleep_for(std::chrono::duration<double, std::milli>(t)); }

// Virtual milliseconds, each since the step before: localities 0 and 1 begin their rotations, and 2 is lost.
struct plan_of_loss {
  double prepare = 0, rotate[2] = {}, dies = 0;
};

struct counting_listener final : rotation_listener {
  void complete(int, bool) override { ++slabs; }
  int slabs = 0;
};

// A rotation of three localities, of which the last is lost: it fails on the others. Afterwards nothing arrives.
void lose_one_in_a_rotation(rotation_form form, const plan_of_loss& plan) {
  const auto model = test::plaquette(2, 0.2, 1);
  const vertex_grid grid(model.lattice, 2, 3);
  int failed = 0;
  net::simulation job({.localities = 3, .seed = 5});
  job.run([&] {
    const team members{communicator("parquet")};
    const unsigned me = members.rank();
    const std::size_t first = grid.slab_offset(grid.first_slab(me, 3)),
                      end = grid.slab_offset(grid.first_slab(me + 1, 3));
    const std::vector<complex> phi(end - first);
    std::vector<complex> gamma(end - first);
    const propagator g(model, qmc::matsubara_function(grid.n_momenta(), 32), 1);
    rotation_exchange exchange(grid, members, form);
    if (plan.prepare == 0) {
      exchange.prepare(g, gamma.data());
      members.any(false);
    }
    if (me == 2) {
      sleep_ms(plan.dies);
      return job.kill(2);
    }
    if (plan.prepare > 0) {
      sleep_ms(plan.prepare);
      exchange.prepare(g, gamma.data());
    }
    sleep_ms(plan.rotate[me]);
    counting_listener listener;
    try {
      exchange.rotate({grid, g, phi.data(), grid.first_slab(me, 3)}, listener);
      ADD_FAILURE() << "a rotation without locality 2";
    } catch (const locality_lost& e) {
      EXPECT_EQ(e.which(), 2u);
      ++failed;
    }
    const auto gamma_then = gamma;
    const int slabs_then = listener.slabs;
    sleep_ms(100);
    async<&parquet_store_row>(1 - me, exchange.number(), std::uint64_t{0}, parquet_row{}).get();  // dropped
    EXPECT_THROW(async<&parquet_store_row>(1 - me, exchange.number() + 1, std::uint64_t{0}, parquet_row{}).get(),
                 std::exception);
    EXPECT_TRUE(same_bits(gamma, gamma_then)) << "locality " << me;
    EXPECT_EQ(listener.slabs, slabs_then) << "locality " << me;
  });
  EXPECT_EQ(failed, 2);
}

TEST(Distributed, ARotationFailsIfAMemberIsLostBeforeItSends) {
  for (const rotation_form form : all_forms) {
    SCOPED_TRACE(static_cast<int>(form));
    lose_one_in_a_rotation(form, {.dies = 20});  // it has received everything
  }
}

TEST(Distributed, ARotationThatBeginsAfterALossFails) {
  for (const rotation_form form : all_forms) {
    SCOPED_TRACE(static_cast<int>(form));
    lose_one_in_a_rotation(form, {.prepare = 30, .rotate = {10, 10}, .dies = 5});
    lose_one_in_a_rotation(form, {.rotate = {30, 30}, .dies = 5});
  }
}

// 1 has failed when 0 begins, which sends to 1 first.
TEST(Distributed, AFailedRotationReceivesNothingFromOthers) {
  for (const rotation_form form : all_forms) {
    SCOPED_TRACE(static_cast<int>(form));
    lose_one_in_a_rotation(form, {.rotate = {40, 7}, .dies = 5});
  }
}

TEST(Distributed, ALossAtAnyTimeEndsTheRun) {
  const auto model = test::dimer(2, 0.2, 1);
  int lost = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const rotation_form form : all_forms) {
      SCOPED_TRACE(static_cast<int>(form));
      net::simulation job({.localities = 3, .seed = seed, .detection_min_s = 1e-5, .kills = {{2, 0, 4e-3}}});
      job.run([&] {
        try {
          solve_here(model, form, team{communicator("parquet")});
        } catch (const locality_lost& e) {
          if (find_here() == 2) return;
          EXPECT_EQ(e.which(), 2u);
          ++lost;
        }
      });
    }
  EXPECT_GT(lost, 0);
}

// Rows of a rotation that a loss has ended arrive while the survivors solve the problem again: they are dropped.
TEST(Distributed, LateRowsOfAFailedRotationDoNotReachTheNextOne) {
  const auto model = test::dimer(2, 0.2, 1);
  runtime rt({.workers = 1, .bind = false});
  const auto alone = rt.run([&] { return solve_here(model, rotation_form::packed, {}); });
  int again = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const rotation_form form : all_forms) {
      SCOPED_TRACE(fmt::format("seed {}, form {}", seed, static_cast<int>(form)));
      net::simulation job({.localities = 3,
                           .seed = seed,
                           .delay_max_s = 2e-3,
                           .detection_min_s = 1e-5,
                           .detection_max_s = 1e-4,
                           .kills = {{2, 0, 0.2}}});
      job.run([&] {
        try {
          solve_here(model, form, team{communicator("parquet")});
        } catch (const locality_lost&) {
          if (find_here() == 2) return;
          const auto found = solve_here(model, form, team{communicator("survivors", {0, 1})});
          EXPECT_TRUE(same_bits(found.phi, alone.phi));
          EXPECT_EQ(found.sigma, alone.sigma);
          ++again;
        }
      });
    }
  EXPECT_GT(again, 20);
}

// Rows without an exchange are errors, unless a loss has ended theirs.
TEST(Distributed, RowsOfNoRotationAreErrors) {
  const auto model = test::atom(1, 0.2, 1);
  net::simulation job({.localities = 2, .seed = 3});
  job.run([&] {
    const team members{communicator("parquet")};
    solve_here(model, rotation_form::coalesced, members);
    solve_here(model, rotation_form::packed, members);  // numbers 1 and 2
    const locality_id other = 1 - find_here();
    const auto message_of = [](future<void> f) -> std::string {
      try {
        f.get();
      } catch (const std::exception& e) {
        return e.what();
      }
      return "none";
    };
    for (const std::uint32_t number : {1u, 2u, 3u}) {
      const std::string expected =
          number == 3 ? "which has not begun on this locality" : "which has received all of its rows";
      const auto row = message_of(async<&parquet_store_row>(other, number, std::uint64_t{0}, parquet_row{}));
      EXPECT_NE(row.find(fmt::format("exchange {}, {}", number, expected)), row.npos) << row;
      const auto block =
          message_of(async<&parquet_store_block>(other, rotation_block{.exchange = number}, buffer<complex>(1)));
      EXPECT_NE(block.find(expected), block.npos) << block;
    }
    members.communicator().barrier().get();
  });
}

// Messages take so long that everything would be on its way at the same time.
TEST(Distributed, RowsOnTheirWayAreBounded) {
  const auto model = test::plaquette(2, 0, 1);
  const auto grid = std::make_shared<const vertex_grid>(model.lattice, 12, 12);
  net::simulation job({.localities = 2, .seed = 3, .delay_min_s = 10e-3, .delay_max_s = 11e-3, .credits = 1'000'000});
  double sent = 0, in_flight = 0;
  job.run([&] {
    solver_settings s;
    s.iterations = 1;
    s.history = 0;
    s.rotation = rotation_form::rows;
    silent observer;
    const auto r = solve(model, grid, s, observer, team{communicator("parquet")}).value();
    if (find_here() != 0) return;
    sent = r.last.rotation.sent_bytes / 2;
    in_flight = static_cast<double>(job.network().counts().most_in_flight_bytes);
  });
  const double most = 16.0 * rotation_exchange::block_numbers * rotation_exchange::blocks_on_way;
  EXPECT_GT(sent, 2 * most);
  EXPECT_LT(in_flight, 1.1 * most);
}

TEST(Distributed, MemoryIsDivided) {
  const vertex_grid grid(test::plaquette(1, 0, 1).lattice, 24, 24);
  solver_settings s;
  const double one = memory_bytes(grid, s, 0);
  for (const rotation_form form : all_forms)
    for (unsigned n : {2u, 4u, 8u}) {
      s.rotation = form;
      const double ratio = n * memory_bytes(grid, s, 0, n) / one;
      EXPECT_GT(ratio, 1);
      EXPECT_LT(ratio, 1.1) << n;  // messages, Sigma, and slabs that cannot be cut
    }
}

// Bytes of this process that f() uses at most, besides those at its begin; 0: the system does not say.
template <class F>
double peak_of(F f) {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins again
  const auto in_status = [](std::string_view key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(key)) return 1024 * std::stod(line.substr(key.size()));
    return 0.0;
  };
  const double before = in_status("VmRSS:"), peak = in_status("VmHWM:");
  if (peak > 1.05 * before) return 0;  // it did not
  f();
  return in_status("VmHWM:") - before;
}

// Allocations are those of the formula, and divided by the localities within 10 %, without those of a job with the
// smallest vertices.
TEST(Distributed, MemoryIsThatOfTheFormula) {
#if defined(PLX_ASAN) || defined(PLX_TSAN)
  GTEST_SKIP() << "the sanitizer's memory counts as well";
#endif
  const auto model = test::plaquette(2, 0, 1);
  solver_settings s;
  s.iterations = 2;
  const auto run = [&](int frequencies, unsigned n) {
    return peak_of([&, frequencies, n] {
      const auto grid = std::make_shared<const vertex_grid>(model.lattice, frequencies, frequencies);
      net::simulation job({.localities = n, .seed = 3});
      job.run([&] {
        silent observer;
        solve(model, grid, s, observer, n == 1 ? team() : team{communicator("parquet")}).value();
      });
    });
  };
  const vertex_grid small(model.lattice, 2, 2), large(model.lattice, 16, 16);
  double alone = 0;
  for (const auto& [n, form] : {std::pair(1u, rotation_form::packed),
                                {2u, rotation_form::packed},
                                {4u, rotation_form::packed},
                                {2u, rotation_form::rows},
                                {4u, rotation_form::coalesced}}) {
    s.rotation = form;
    const double some = run(2, n), all = run(16, n) - some;
    if (some == 0) GTEST_SKIP() << "the system does not begin the peak of the memory again";
    const double formula = memory_bytes(large, s, 1, n) - memory_bytes(small, s, 1, n);
    EXPECT_NEAR(all / n / formula, 1, 0.05) << n << static_cast<int>(form);
    if (n == 1) alone = all;
    EXPECT_LT(all / alone, 1.1) << n << static_cast<int>(form);
  }
}

}  // namespace
}  // namespace plx::parquet
