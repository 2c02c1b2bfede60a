// The directory of some objects dies, and with some seeds the next one as well. Calls and posts that living localities
// make as soon as they know of it reach the objects, which live: none fails, none is dropped, none runs twice. That
// holds as well if another locality dies at the same time, whether the callers know of that or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <vector>

#include "net/archive.hpp"
#include "net/component.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/simulation.hpp"
#include "rt/test/every_schedule_test.hpp"
#include "rt/thread.hpp"

namespace directory_loss {

using namespace plx;

constexpr unsigned n_localities = 5;

struct tally {
  int calls = 0;
  int add() { return ++calls; }
  int get() const { return calls; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(calls);
  }
};

// One locality of a simulation runs at a time.
std::vector<global<tally>> held[n_localities];

void hold(const global<tally>& c) { held[find_here()].push_back(c); }
void take_over(const global<tally>& c, locality_id to) { migrate(c, to).get(); }

namespace {

// Whether no call of the object depends on locality 3, which may be the next directory.
bool avoids_locality_3(const gid& id) { return hash_of(id) % n_localities != 3; }

// A fifth of those of other tests.
std::uint64_t seed_count() { return std::max<std::uint64_t>(plx::testing::seed_count() / 5, 1); }

// Objects of locality 4, which dies, on the survivors. Their callers take them to be on the lost locality, or on one
// that they have left, or know where they are.
void make_objects(unsigned survivors) {
  const locality_id here = find_here(), next = (here + 1) % survivors, after = (here + 2) % survivors;
  for (int i = 0; i < 3; ++i) {
    const auto c = new_<tally>(4).get();
    async<&hold>(after, c).get();
    async<&take_over>(next, c, next).get();
    if (i > 0) async<&hold>(here, c).get();
    if (i == 2) {
      EXPECT_EQ(locate(c).get(), next);  // known here from now on
      async<&take_over>(next, c, after).get();
    }
    async<&hold>(next, c).get();
  }
}

TEST(DirectoryLoss, CallsAndPostsOfLivingObjectsWait) {
  std::uint64_t early = 0;
  const std::uint64_t seeds = seed_count();
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const std::set<locality_id> dead = seed % 3 == 0 ? std::set<locality_id>{3, 4} : std::set<locality_id>{4};
    const bool only_one = seed % 3 == 0 && seed % 2 == 0;  // the callers do not wait until they know of both losses
    const unsigned survivors = n_localities - 2;           // locality 3 has no objects
    net::simulation sim({.localities = n_localities, .seed = seed});
    sim.run([&] {
      if (find_here() < survivors) make_objects(survivors);
    });
    for (const locality_id l : dead) sim.kill(l);
    std::map<gid, int> sent;
    sim.run([&] {
      const locality_id here = find_here();
      if (here >= survivors) return;
      net::node& n = net::node_here();
      for (const locality_id l : dead)
        while (!n.is_lost(l) && !(only_one && l != 4)) this_thread::sleep_for(std::chrono::microseconds(1));
      early += n.get<net::agas>().losses() < dead.size();
      std::vector<future<int>> calls;
      std::vector<future<void>> moves;
      for (const auto& c : held[here]) {
        if (only_one && !avoids_locality_3(c.id())) continue;
        post<&tally::add>(c);
        calls.push_back(async<&tally::add>(c));
        sent[c.id()] += 2;
        if (seed % 4 == 0) moves.push_back(migrate(c, here));
      }
      for (auto& f : calls) EXPECT_NO_THROW(f.get());
      for (auto& f : moves) EXPECT_NO_THROW(f.get());
    });
    sim.run([&] {
      for (const auto& c : held[find_here()]) EXPECT_EQ(async<&tally::get>(c).get(), sent[c.id()]);
    });
    for (locality_id i = 0; i < survivors; ++i) {
      EXPECT_EQ(sim.at(i).replies().size(), 0u);
    }
    sim.run([] { held[find_here()].clear(); });
    for (locality_id i = 0; i < survivors; ++i) {
      const auto c = sim.at(i).get<net::agas>().counts();
      EXPECT_EQ(c.objects + c.references + c.entries + c.lost, 0u) << "locality " << i;
    }
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
  EXPECT_TRUE(early > 0 || seeds < 20) << "no call was made before the loss was handled";
}

// A post is in flight until it has reached its object, also while it waits for the loss to be handled: the job does not
// end before.
TEST(DirectoryLoss, TheEndWaitsForPosts) {
  for (std::uint64_t seed = 1; seed <= seed_count(); ++seed) {
    net::simulation sim({.localities = n_localities, .seed = seed});
    sim.run_root([] {
      const auto c = new_<tally>(4).get();
      async<&take_over>(1, c, 1).get();  // this locality does not learn it
      hold(c);
    });
    sim.kill(4);
    sim.run_root([] {
      while (!net::node_here().is_lost(4)) this_thread::sleep_for(std::chrono::microseconds(1));
      for (int i = 0; i < 3; ++i) post<&tally::add>(held[0][0]);
    });
    sim.run_root([] {
      EXPECT_EQ(async<&tally::get>(held[0][0]).get(), 3);
      held[0].clear();
    });
    if (HasFailure()) {
      ADD_FAILURE() << "seed " << seed;
      return;
    }
  }
}

}  // namespace
}  // namespace directory_loss
