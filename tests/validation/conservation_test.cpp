// Periodic boundaries and refinement: mass, momentum and energy drift by rounding only.
#include <fmt/format.h>

#include <cmath>

#include "harness.hpp"

namespace plx::star::validation {
namespace {

const char* const periodic = R"(mesh.sides=["periodic","periodic","periodic","periodic","periodic","periodic"])";

void check(table& t, const std::string& what, solved& s) {
  s.sim().start();
  const std::vector<double> first = s.sim().totals();
  std::size_t most = s.sim().state().mesh.block_count(), least = most;
  while (!s.sim().finished()) {
    ASSERT_TRUE(s.sim().step());
    most = std::max(most, s.sim().state().mesh.block_count());
    least = std::min(least, s.sim().state().mesh.block_count());
  }
  const std::vector<double> last = s.sim().totals();
  const double momentum = std::sqrt(2 * first[i_density] * first[i_energy]);
  t.at_most(what + ": mass", std::abs(last[0] - first[0]) / first[0], 1e-13);
  for (int a = 0; a < 3; ++a)
    t.at_most(fmt::format("{}: momentum {}, relative to sqrt(2 M E)", what, "xyz"[a]),
              std::abs(last[i_momentum + a] - first[i_momentum + a]) / momentum, 1e-13);
  t.at_most(what + ": energy", std::abs(last[i_energy] - first[i_energy]) / first[i_energy], 1e-13);
  t.note(what + ": floors applied", double(s.sim().floors().density + s.sim().floors().pressure));
  t.note(what + ": steps", double(s.sim().steps()));
  t.at_least(what + ": blocks, most over least", double(most) / double(least), 1.2);
}

TEST(Conservation, BlastInAPeriodicBox) {
  table t("drift of totals, periodic, refinement on");
  solved s("sedov", {periodic, "sedov.centre=[0.11,-0.07,0.19]", "run.t_end=0.05", "refinement.coarsen_after=1",
                     "sedov.pressure=1e-3"});
  check(t, "blast", s);
}

TEST(Conservation, BlastWithFull3d) {
  table t("drift of totals, periodic, refinement on, full3d");
  solved s("sedov", {full3d, periodic, "sedov.centre=[0.11,-0.07,0.19]", "run.t_end=0.01", "refinement.coarsen_after=1",
                     "sedov.pressure=1e-3"});
  check(t, "blast", s);
}

}  // namespace
}  // namespace plx::star::validation
