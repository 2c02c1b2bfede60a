// Bitwise equal results for 1, 2 and 4 workers, in deterministic mode, and after stop and resume; independent of costs.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "harness.hpp"
#include "mesh/files/checkpoint.hpp"
#include "star/driver/options.hpp"

namespace plx::star::validation {
namespace {

const std::vector<std::string> small_run{"mesh.max_level=2", "run.max_steps=30", "refinement.interval=2",
                                         "sedov.centre=[0.11,-0.07,0.19]"};

/// Whether meshes and values agree to the last bit; slots may differ.
bool same_state(const simulation& a, const simulation& b) {
  const gas &g = a.state(), &h = b.state();
  if (a.time() != b.time() || a.steps() != b.steps() || g.mesh.block_count() != h.mesh.block_count()) return false;
  for (std::size_t p = 0; p < g.mesh.block_count(); ++p) {
    const mesh::slot_id s = g.mesh.blocks()[p], t = h.mesh.blocks()[p];
    if (g.mesh.where(s) != h.mesh.where(t)) return false;
    if (std::memcmp(g.now.block(s), h.now.block(t), sizeof(double) * g.now.stride()) != 0) return false;
  }
  return a.totals() == b.totals() && a.floors().pressure == b.floors().pressure && a.left(0) == b.left(0);
}

TEST(Reproducibility, NumberOfWorkers) {
  table t("the same bits for any number of workers: blast, 30 steps, two levels");
  runtime one({.workers = 1}), four({.workers = 4});
  solved a("sedov", small_run, one), b("sedov", small_run), c("sedov", small_run, four);
  for (solved* s : {&a, &b, &c}) s->run();
  t.holds("2 workers as 1", same_state(a.sim(), b.sim()));
  t.holds("4 workers as 1", same_state(a.sim(), c.sim()));
  t.note("blocks", double(a.sim().state().mesh.block_count()));
}

TEST(Reproducibility, NumberOfWorkersFull3d) {
  table t("the same bits for any number of workers, full3d: blast, 10 steps, two levels");
  auto few = small_run;
  few.insert(few.end(), {full3d, "run.max_steps=10"});
  runtime one({.workers = 1}), four({.workers = 4});
  solved a("sedov", few, one), b("sedov", few), c("sedov", few, four);
  for (solved* s : {&a, &b, &c}) s->run();
  t.holds("2 workers as 1", same_state(a.sim(), b.sim()));
  t.holds("4 workers as 1", same_state(a.sim(), c.sim()));
}

TEST(Reproducibility, AnySchedule) {
  table t("the same bits for any schedule: blast, 6 steps, one level, deterministic mode");
  const std::vector<std::string> few{"mesh.max_level=1", "run.max_steps=6", "refinement.interval=2"};
  solved reference("sedov", few);
  reference.run();
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    runtime rt({.workers = 3, .deterministic = true, .seed = seed});
    solved s("sedov", few, rt);
    s.run();
    t.holds(fmt::format("seed {}", seed), same_state(reference.sim(), s.sim()));
  }
}

TEST(Reproducibility, StopAndResume) {
  table t("the same bits after stop and resume: blast, 30 steps, stopped after 13");
  solved whole("sedov", small_run);
  whole.run();

  solved first("sedov", small_run);
  first.sim().start();
  for (int i = 0; i < 13; ++i) ASSERT_TRUE(first.sim().step());
  const std::string path = fmt::format("resume-{}.h5", getpid());
  mesh::checkpoint_state state{"test", first.options().table.toml(), identity_of(first.options().table),
                               first.sim().numbers()};
  ASSERT_TRUE(mesh::write_checkpoint(path, first.sim().state().mesh, first.sim().state().now, state));

  runtime one({.workers = 1});
  solved second("sedov", small_run, one);
  const auto c = mesh::read_checkpoint(path);
  ASSERT_TRUE(c) << c.error().message;
  ASSERT_TRUE(mesh::same_input(*c, path, identity_of(second.options().table)));
  const auto restored = second.sim().restore(*c, path);
  ASSERT_TRUE(restored) << restored.error().message;
  second.sim().go_on();
  t.holds("the restored state is the stored one", same_state(first.sim(), second.sim()));
  while (!second.sim().finished()) ASSERT_TRUE(second.sim().step());
  t.holds("resumed on another number of workers as without a stop", same_state(whole.sim(), second.sim()));
  std::remove(path.c_str());
}

}  // namespace
}  // namespace plx::star::validation
