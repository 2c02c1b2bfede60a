// Checkpoints while localities die at any time, under many seeds: what is restored is one version, whole, and no older
// than the last one that was stored.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "net/agas/checkpoint/test/stored_block_test.hpp"
#include "net/checkpoint.hpp"
#include "net/error.hpp"
#include "net/simulation.hpp"
#include "net/test/threads_test.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace {

using namespace plx;
using namespace plx::stored_test;

constexpr unsigned n_localities = 4;

// A fifth of those of other tests.
std::uint64_t seed_count() { return std::max<std::uint64_t>(plx::testing::seed_count() / 5, 1); }

/// The results on the survivors of a simulation; one locality runs at a time.
struct outcome {
  int last_stored = 0;  // the last version whose store() returned on a survivor
  int restored = 0, pairs_lost = 0, nothing_stored = 0;
};

void next_version(named_blocks& blocks, int version) {
  for (auto& [key, b] : blocks) b = new_<block>(find_here(), std::stoi(key.substr(6)), version).get();
}

// Stores version after version; continues from a restored one after each loss, until `end`.
template <class Store, class Restore>
void live(outcome& o, const std::set<locality_id>& victims, int end, const Store& store, const Restore& restore) {
  const bool dies = victims.contains(find_here());
  named_blocks blocks = make_blocks(n_blocks, 1, n_localities);
  bool lost = false;
  const auto is_dead = [&] { return dies && find_all_localities().size() == 1; };  // it sees all others as lost
  for (int version = 1; version < end && !is_dead();) try {
      const communicator all("living", find_all_localities());
      if (lost) {
        const restored_objects back = restore(all);
        const int v = common_version(back, n_blocks);
        EXPECT_TRUE(dies || v >= o.last_stored) << v << " after " << o.last_stored;
        all.barrier().get();  // before any survivor stores the next version
        if (!dies) o.last_stored = std::max(o.last_stored, v);
        blocks = back.local<block>(), version = v + 1;
        o.restored += !dies;
        lost = false;
      }
      for (; version < end; ++version) {
        next_version(blocks, version);
        store(all, set_of(blocks));
        if (!dies) o.last_stored = std::max(o.last_stored, version);
      }
    } catch (const locality_lost& e) {
      lost = true;
      // Another member may have learned of it first; until it is known here, it would be a member again.
      while (!net::node_here().is_lost(e.which())) this_thread::sleep_for(std::chrono::microseconds(10));
    } catch (const checkpoint_error& e) {
      if (dies) return;
      const std::string text = e.what();
      if (text.find("nothing has been stored") != text.npos || text.find("No such file") != text.npos) {
        EXPECT_EQ(o.last_stored, 0) << text;
        ++o.nothing_stored;
      } else {
        EXPECT_NE(text.find("and its partner"), text.npos) << text;
        ++o.pairs_lost;
      }
      return;
    }
}

outcome play(std::uint64_t seed, const std::vector<net::sim_kill>& kills, int end, unsigned distance = 1) {
  net::simulation sim(
      {.localities = n_localities, .seed = seed, .detection_min_s = 1e-4, .detection_max_s = 5e-4, .kills = kills});
  std::set<locality_id> victims;
  for (const auto& k : kills) victims.insert(k.locality);
  outcome o;
  sim.run([&] {
    memory_checkpoint copies("blocks", distance);
    live(
        o, victims, end, [&](const communicator& all, const checkpoint_set& s) { copies.store(all, s); },
        [&](const communicator& all) { return copies.restore<block>(all); });
  });
  return o;
}

TEST(MemoryCheckpoint, ALossAtAnyTimeRestoresTheNewestWholeVersion) {
  int restored = 0, nothing = 0;
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    const outcome o = play(seed, {{static_cast<locality_id>(seed % n_localities), 0, 4e-3}}, 25);
    EXPECT_EQ(o.pairs_lost, 0) << seed;
    restored += o.restored, nothing += o.nothing_stored;
    EXPECT_TRUE(o.nothing_stored != 0 || o.last_stored == 24) << seed;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(seed_count() < 10 || restored > 0);
}

TEST(MemoryCheckpoint, AnotherLossLaterIsSurvivedAfterTheNextStore) {
  int pairs = 0, twice = 0;  // twice: on both survivors
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    const outcome o = play(seed, {{1, 0, 4e-3}, {2, 0, 8e-3}}, 40);
    pairs += o.pairs_lost, twice += o.restored >= 4;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(seed_count() < 10 || (twice > 0 && pairs > 0)) << twice << " " << pairs;
}

// Partners in a row of four: 0 and 2 are none, 0 and 1 are; with a distance of 2 it is the reverse.
TEST(MemoryCheckpoint, TheLossOfAPairIsAnError) {
  const auto lose = [](locality_id a, locality_id b, unsigned distance) {
    net::simulation sim({.localities = n_localities, .seed = 3});
    std::string text = "no error";
    int version = 0;
    std::vector<std::unique_ptr<memory_checkpoint>> copies(n_localities);
    sim.run([&] {
      const auto blocks = make_blocks(n_blocks, 7, n_localities);
      auto& mine = copies[find_here()] = std::make_unique<memory_checkpoint>("blocks", distance);
      mine->store(communicator(), set_of(blocks));
    });
    sim.kill(a), sim.kill(b);
    std::vector<locality_id> others;
    for (locality_id l = 0; l < n_localities; ++l)
      if (l != a && l != b) others.push_back(l);
    sim.run([&] {
      if (find_here() == a || find_here() == b) return copies[find_here()].reset();
      const std::string e = error_of([&] {
        version = common_version(copies[find_here()]->restore<block>(communicator("others", others)), n_blocks);
      });
      EXPECT_TRUE(text == "no error" || text == e);
      text = e;
      copies[find_here()].reset();
    });
    return version == 7 ? "restored" : text;
  };
  const auto lost = [](int a, int b) {
    return "memory checkpoint 'blocks': the objects of locality " + std::to_string(a) +
           " are lost with it and its partner, locality " + std::to_string(b) + ": restore a checkpoint on disk";
  };
  EXPECT_EQ(lose(0, 1, 1), lost(0, 1));
  EXPECT_EQ(lose(3, 0, 1), lost(3, 0));
  EXPECT_EQ(lose(0, 2, 1), "restored");
  EXPECT_EQ(lose(0, 2, 2), lost(0, 2));
  EXPECT_EQ(lose(0, 1, 2), "restored");
}

TEST(MemoryCheckpoint, KeepsTwiceTheDataAndRefusesWhatCannotBeStored) {
  net::test::localities all(3);
  all.run_all([] {
    const communicator world;
    const auto blocks = make_blocks(n_blocks, 1, 3);
    {
      memory_checkpoint copies("a", 3);
      EXPECT_THROW(copies.store(world, {}), std::invalid_argument);
      EXPECT_THROW(memory_checkpoint("a"), std::logic_error);
      EXPECT_THROW(memory_checkpoint("b", 0), std::invalid_argument);
    }
    memory_checkpoint copies("a");
    const auto restore = [&] { return copies.restore<block>(world); };
    EXPECT_EQ(error_of([&] { static_cast<void>(restore()); }), "memory checkpoint 'a': nothing has been stored");
    copies.store(world, set_of(blocks));
    const std::uint64_t bytes = world.all_reduce(copies.kept_bytes(), std::plus<>()).get();
    for (int i = 0; i < 3; ++i) copies.store(world, set_of(blocks));
    EXPECT_EQ(world.all_reduce(copies.kept_bytes(), std::plus<>()).get(), bytes);
    EXPECT_GT(bytes, 2 * 97 * sizeof(double) * n_blocks * (n_blocks - 1) / 2);
    EXPECT_LT(bytes, 2.2 * 97 * sizeof(double) * n_blocks * (n_blocks - 1) / 2);
    if (find_here() == 2) async<&block::fail_next>(blocks[0].second).get();
    EXPECT_EQ(error_of([&] { copies.store(world, set_of(blocks)); }),
              "locality 2: cannot store 'block 2', a 'plx::stored_test::block': the cells are on a device");
    EXPECT_EQ(common_version(restore(), n_blocks), 1);
    EXPECT_NE(error_of([&] {
                static_cast<void>(copies.restore<counter>(world));
              }).find("memory checkpoint 'a', locality 0: 'block 0' is a 'plx::stored_test::block'; the program"),
              std::string::npos);
    world.barrier().get();
  });
}

// A partner without this checkpoint refuses the copy: the others do not wait for the member that sent it.
TEST(MemoryCheckpoint, ACopyThatCannotBeKeptIsAnErrorOnAll) {
  net::test::localities all(3);
  all.run_all([] {
    const communicator world;
    auto copies = std::make_unique<memory_checkpoint>("a");
    copies->store(world, set_of(make_blocks(n_blocks, 1, 3)));
    world.barrier().get();
    if (find_here() == 2) copies = std::make_unique<memory_checkpoint>("b");
    world.barrier().get();
    const auto error = error_of([&] { copies->store(world, set_of(make_blocks(n_blocks, 2, 3))); });
    EXPECT_EQ(error.find("memory checkpoint '"), 0u) << error;
    EXPECT_NE(error.find(" cannot keep the copy of locality "), std::string::npos) << error;
    EXPECT_NE(error.find("it has no memory_checkpoint with this name"), std::string::npos) << error;
    const std::vector<std::string> errors = world.all_gather(error).get();
    EXPECT_EQ(errors, std::vector<std::string>(3, error));
    EXPECT_EQ(common_version(copies->restore<block>(world), n_blocks), 1) << "the previous one remains";
    world.barrier().get();
    if (find_here() == 2) copies = std::make_unique<memory_checkpoint>("a");
    world.barrier().get();
    copies->store(world, set_of(make_blocks(n_blocks, 3, 3)));
    EXPECT_EQ(common_version(copies->restore<block>(world), n_blocks), 3);
    world.barrier().get();
  });
}

TEST(CheckpointLoss, ALossWhileFilesAreWrittenLeavesOneVersionWhole) {
  namespace fs = std::filesystem;
  const std::string folder = (fs::temp_directory_path() / ("plx-checkpoint-loss-" + std::to_string(getpid()))).string();
  int restored = 0;
  for (std::uint64_t seed = 1; seed <= seed_count() / 5 + 1; ++seed) {  // the disk is slow
    fs::remove_all(folder);
    const locality_id victim = static_cast<locality_id>(seed % n_localities);
    net::simulation sim(
        {.localities = n_localities, .seed = seed, .detection_min_s = 1e-4, .kills = {{victim, 5e-4, 3e-3}}});
    outcome o;
    sim.run([&] {
      live(
          o, {victim}, 9, [&](const communicator& all, const checkpoint_set& s) { save_checkpoint(all, folder, s); },
          [&](const communicator& all) { return restore_checkpoint<block>(all, folder); });
    });
    restored += o.restored;
    EXPECT_TRUE(o.nothing_stored != 0 || o.last_stored == 8) << seed;
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_TRUE(seed_count() < 10 || restored > 0);
  fs::remove_all(folder);
}

}  // namespace
