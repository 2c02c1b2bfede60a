// Checkpoints on disk: restored with any number of localities; damaged, truncated, missing and foreign files.
#include "net/checkpoint.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/file.hpp"
#include "net/agas/checkpoint/test/stored_block_test.hpp"
#include "net/partitioned_vector.hpp"
#include "net/test/threads_test.hpp"

namespace {

namespace fs = std::filesystem;
using namespace plx;
using namespace plx::stored_test;
using net::test::localities;

/// An element that locality 1 cannot read while `refuses`.
struct picky {
  int n = 0;
  static inline std::atomic<bool> refuses{false};

  template <class Archive>
  void serialize(Archive& archive) {
    if (refuses && find_here() == 1) throw std::runtime_error("no device");
    archive(n);
  }
};

class Checkpoint : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = (fs::temp_directory_path() / ("plx-checkpoint-" + std::to_string(getpid()))).string();
    fs::remove_all(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  /// A checkpoint of n_blocks blocks, and a counter of each locality.
  void save(unsigned n, int version) const {
    localities all(n);
    all.run_all([&] {
      const communicator world;
      const named_blocks blocks = make_blocks(n_blocks, version, static_cast<int>(n));
      checkpoint_set mine = set_of(blocks);
      const auto c = new_<counter>(find_here(), counter{static_cast<int>(find_here())}).get();
      mine.add("counter " + std::to_string(find_here()), c);
      save_checkpoint(world, folder, mine);
    });
  }
  /// The common version of the restored blocks.
  [[nodiscard]] int restored(unsigned n) const {
    localities all(n);
    std::atomic<int> version{-3};
    all.run_all([&] {
      const auto back = restore_checkpoint<block, counter>(communicator(), folder);
      const int v = common_version(back, n_blocks);
      if (find_here() == 0) version = v;
    });
    return version;
  }
  /// The error on all localities; empty if they differ, or if an object was made.
  [[nodiscard]] std::string error(localities& all, unsigned n) const {
    std::vector<std::string> errors(n);
    std::atomic<std::uint64_t> made{0};
    all.run_all([&] {
      errors[find_here()] =
          error_of([&] { static_cast<void>(restore_checkpoint<block, counter>(communicator(), folder)); });
      made += net::node_here().get<net::agas>().counts().created;
    });
    for (const auto& e : errors)
      if (e != errors[0] || (made != 0 && e != "no error")) return "";
    return errors[0];
  }
  [[nodiscard]] std::string error(unsigned n) const {
    localities all(n);
    return error(all, n);
  }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& f : fs::directory_iterator(folder)) names.insert(f.path().filename().string());
    return names;
  }
  void replace(const std::string& name, const std::string& content) const {
    std::ofstream(folder + "/" + name, std::ios::binary) << content;
  }
  [[nodiscard]] std::string content(const std::string& name) const { return read_file(folder + "/" + name).value(); }

  std::string folder;
};

TEST_F(Checkpoint, IsRestoredWithAnyNumberOfLocalities) {
  save(3, 5);
  EXPECT_EQ(files(), (std::set<std::string>{"checkpoint.plx", "checkpoint-1-0.plx", "checkpoint-1-1.plx",
                                            "checkpoint-1-2.plx"}));
  for (const unsigned n : {1u, 2u, 3u, 4u, 7u}) EXPECT_EQ(restored(n), 5) << n;
}

TEST_F(Checkpoint, WithTheSameNumberEachMemberHasWhatItStored) {
  save(3, 1);
  localities all(3);
  all.run_all([&] {
    const auto back = restore_checkpoint<block, counter>(communicator(), folder);
    std::vector<std::string> keys, expected;
    for (const auto& each : back.local<block>()) keys.push_back(each.first);
    for (int i = static_cast<int>(find_here()); i < n_blocks; i += 3) expected.push_back(key_of(i));
    EXPECT_EQ(keys, expected);
    ASSERT_EQ(back.local<counter>().size(), 1u);
    EXPECT_EQ(async<&counter::get>(back.local<counter>()[0].second).get(), static_cast<int>(find_here()));
    const std::string next = "counter " + std::to_string((find_here() + 1) % 3);
    EXPECT_EQ(async<&counter::get>(back.find<counter>({next})[0]).get(), static_cast<int>((find_here() + 1) % 3));
    EXPECT_NE(error_of([&] { static_cast<void>(back.find<counter>({key_of(1)})); }).find("another type"),
              std::string::npos);
  });
}

TEST_F(Checkpoint, ReplacesTheOneBefore) {
  save(4, 1);
  save(2, 2);
  EXPECT_EQ(files(), (std::set<std::string>{"checkpoint.plx", "checkpoint-2-0.plx", "checkpoint-2-1.plx"}));
  EXPECT_EQ(restored(4), 2);
}

// As after a crash before the manifest was renamed, at any point.
TEST_F(Checkpoint, TheOneBeforeRemainsUntilTheManifestIsReplaced) {
  save(2, 1);
  replace("checkpoint-2-0.plx", "half a fi");
  replace("checkpoint-2-1.plx.77-3.part", "");
  replace("checkpoint.plx.77-4.part", "nothing");
  replace("checkpoint-of-mine.txt", "kept");
  const std::set<std::string> of_a_user{"checkpoint-1-0.plx.backup", "checkpoint-2026-11-30.plx", "checkpoint2.plx",
                                        "checkpoint-7.plx",          "checkpoint--1.plx",         "checkpoint-1-.plx",
                                        "checkpoint2.plx.1.part",    "checkpoint.plx.part"};
  for (const auto& name : of_a_user) replace(name, "kept");
  EXPECT_EQ(restored(2), 1);
  save(2, 3);
  std::set<std::string> expected{"checkpoint.plx", "checkpoint-2-0.plx", "checkpoint-2-1.plx",
                                 "checkpoint-of-mine.txt"};
  expected.insert(of_a_user.begin(), of_a_user.end());
  EXPECT_EQ(files(), expected);
  EXPECT_EQ(restored(3), 3);
}

TEST_F(Checkpoint, DamageAnywhereIsDetected) {
  save(2, 1);
  localities two(2);
  for (const std::string name : {"checkpoint.plx", "checkpoint-1-0.plx", "checkpoint-1-1.plx"}) {
    const std::string whole = content(name);
    const std::size_t step = std::max<std::size_t>(whole.size() / 40, 1);
    for (std::size_t at = 0; at < whole.size(); at += at < 64 ? 3 : step) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
      replace(name, damaged);
      const std::string e = error(two, 2);
      EXPECT_NE(e.find(name), std::string::npos) << name << " " << at << ": " << e;
    }
    for (const std::size_t size : {std::size_t{0}, std::size_t{31}, whole.size() / 2, whole.size() - 1}) {
      replace(name, whole.substr(0, size));
      EXPECT_NE(error(two, 2).find("' is damaged: "), std::string::npos) << name << " " << size;
    }
    replace(name, whole + "x");
    EXPECT_NE(error(two, 2).find("' is damaged: "), std::string::npos) << name;
    replace(name, whole);
  }
  EXPECT_EQ(restored(2), 1);
}

TEST_F(Checkpoint, OtherFilesAreRefused) {
  save(2, 1);
  const std::string part = content("checkpoint-1-1.plx"), all = content("checkpoint.plx");
  std::string later = all;
  later[8] = 7;
  replace("checkpoint.plx", later);
  EXPECT_EQ(error(2), "'" + folder + "/checkpoint.plx' has version 7 of the format; this program reads version 1");
  replace("checkpoint.plx", part);
  EXPECT_EQ(error(2), "'" + folder + "/checkpoint.plx' is not a file of a checkpoint of this kind");
  replace("checkpoint.plx", all);
  save(2, 2);  // a file of the same name and size, of another checkpoint
  fs::remove(folder + "/checkpoint.plx");
  save(2, 3);
  replace("checkpoint-1-1.plx", part);
  EXPECT_EQ(error(2),
            "'" + folder + "/checkpoint-1-1.plx' is damaged: it belongs to another checkpoint; use another checkpoint");
  fs::remove(folder + "/checkpoint-1-1.plx");
  EXPECT_EQ(error(2), "cannot read '" + folder +
                          "/checkpoint-1-1.plx': No such file or directory; use a folder that all hosts share");
  fs::remove(folder + "/checkpoint.plx");
  EXPECT_EQ(error(2), "cannot read '" + folder +
                          "/checkpoint.plx': No such file or directory; use a folder that all hosts share");
}

TEST_F(Checkpoint, OtherTypesAreRefused) {
  save(2, 1);
  localities all(2);
  all.run_all([&] {
    const std::string e = error_of([&] { static_cast<void>(restore_checkpoint<block>(communicator(), folder)); });
    EXPECT_EQ(e, "'" + folder +
                     "/checkpoint-1-0.plx': 'counter 0' is a 'plx::stored_test::counter'; the program restores "
                     "'plx::stored_test::block' only");
    const net::checkpoint::stored_type& known = net::checkpoint::object_stored<block>();
    const net::checkpoint::stored_type other = known;  // as another class of an anonymous namespace
    const std::vector<const net::checkpoint::stored_type*> two{&known, &other};
    EXPECT_EQ(error_of([&] { static_cast<void>(net::checkpoint::restore_files(communicator(), folder, two)); }),
              "two types to be restored have the name 'plx::stored_test::block': rename one");
    EXPECT_EQ(net::node_here().get<net::agas>().counts().created, 0u);
  });
}

// The one before stays, and no file of the failed one remains.
TEST_F(Checkpoint, AnObjectThatCannotBeStoredIsAnErrorOnAll) {
  save(2, 1);
  const auto before = files();
  localities all(2);
  all.run_all([&] {
    const communicator world;
    const locality_id here = find_here();
    const auto blocks = make_blocks(n_blocks, 2, 2);
    const auto save_error = [&](const checkpoint_set& s) {
      return error_of([&] { save_checkpoint(world, folder, s); });
    };
    if (here == 1) async<&block::fail_next>(blocks[1].second).get();
    EXPECT_EQ(save_error(set_of(blocks)),
              "locality 1: cannot store 'block 3', a 'plx::stored_test::block': the cells are on a device");
    checkpoint_set handles, twice, elsewhere;
    const auto p = new_<pointing>(here).get();
    handles.add("p", p);
    EXPECT_EQ(save_error(handles), "no error");
    async<&pointing::point>(p, new_<counter>(here).get()).get();
    EXPECT_NE(
        save_error(handles).find("locality 0: cannot store 'p', a 'plx::stored_test::pointing': it contains handles"),
        std::string::npos);
    if (here == 1) twice.add("a", p), twice.add("a", p);
    EXPECT_EQ(save_error(twice), "locality 1: two objects have the key 'a'");
    if (here == 0) elsewhere.add("there", new_<counter>(1).get());
    EXPECT_NE(save_error(elsewhere).find("locality 0: 'there' is not on this locality"), std::string::npos);
    EXPECT_THROW(elsewhere.add("empty", global<counter>()), std::invalid_argument);
    world.barrier().get();
  });
  EXPECT_EQ(files().size(), before.size());
}

TEST_F(Checkpoint, AFolderThatCannotBeWrittenIsAnErrorOnAll) {
  save(1, 1);
  localities all(2);
  all.run_all([&] {
    const std::string e = error_of([&] { save_checkpoint(communicator(), folder + "/checkpoint.plx/below", {}); });
    EXPECT_NE(e.find("checkpoint.plx"), std::string::npos) << e;
    EXPECT_NE(e, "no error");
  });
}

// The one before stays, and no file of the failed one remains.
TEST_F(Checkpoint, AFileThatCannotBeWrittenIsAnErrorOnAll) {
  save(2, 1);
  fs::create_directory(folder + "/checkpoint-2-1.plx");
  const auto before = files();
  localities all(2);
  all.run_all([&] {
    const std::string e = error_of([&] { save_checkpoint(communicator(), folder, {}); });
    EXPECT_NE(e.find("/checkpoint-2-1.plx"), std::string::npos) << e;
  });
  EXPECT_EQ(files(), before);
  EXPECT_EQ(restored(2), 1);
}

TEST_F(Checkpoint, AManifestThatCannotBeReachedIsAnErrorOnAll) {
  fs::create_directories(folder);
  fs::create_symlink("checkpoint.plx", folder + "/checkpoint.plx");  // a loop
  localities all(2);
  all.run_all([&] {
    const std::string e = error_of([&] { save_checkpoint(communicator(), folder, {}); });
    EXPECT_EQ(e.find("cannot read '" + folder + "/checkpoint.plx': "), 0u) << e;
  });
  EXPECT_EQ(files(), std::set<std::string>{"checkpoint.plx"});
}

TEST_F(Checkpoint, ElementsThatCannotBeReadAreAnErrorOnAll) {
  localities all(2);
  all.run_all([&] {
    const communicator world;
    partitioned_vector<picky> v("picky", 6);
    checkpoint_set mine;
    mine.add("picky", v);
    save_checkpoint(world, folder, mine);
    const auto back = restore_checkpoint<>(world, folder);
    picky::refuses = true;
    world.barrier().get();
    // Archives report whatever serialize() throws while it reads as invalid bytes.
    EXPECT_EQ(error_of([&] { back.read("picky", v); }),
              "the elements of the vector 'picky' cannot be read: its data are not those of this type: has serialize() "
              "changed?");
    world.barrier().get();
    picky::refuses = false;
    world.barrier().get();
    EXPECT_EQ(error_of([&] { back.read("picky", v); }), "no error");
  });
}

TEST_F(Checkpoint, TheCodeOfTheDocumentationRuns) {
  using block_type = block;
  localities all(3);
  all.run_all([&] {
    const communicator world;
    const named_blocks blocks = make_blocks(n_blocks, 6, 3);
    std::size_t steps = 0;
    const auto step = [&](const global<block_type>& b) { steps += b ? 1 : 0; };
    plx::checkpoint_set mine;
    for (const auto& [key, block] : blocks) mine.add(key, block);
    plx::save_checkpoint(world, folder, mine);
    // later, with any number of localities
    const auto back = plx::restore_checkpoint<block_type>(world, folder);
    for (const auto& [key, block] : back.local<block_type>()) step(block);
    const auto neighbours = back.find<block_type>({"block 3", "block 7"});
    EXPECT_EQ(steps, blocks.size());
    EXPECT_EQ(async<&block_type::value>(neighbours.at(1)).get(), block_type(7, 6));
    world.barrier().get();
  });
  all.run_all([&] {
    const communicator world;
    const named_blocks blocks = make_blocks(n_blocks, 8, 3);
    const plx::checkpoint_set mine = set_of(blocks);
    plx::memory_checkpoint copies("blocks");
    copies.store(world, mine);  // between two steps
    // after a locality_lost e, as soon as find_all_localities() excludes e.which():
    const plx::communicator rest("rest", plx::find_all_localities());
    const auto back = copies.restore<block_type>(rest);
    plx::checkpoint_set again;
    for (const auto& [key, block] : back.local<block_type>()) again.add(key, block);
    copies.store(rest, again);  // there are two copies again
    EXPECT_EQ(again.size(), blocks.size());
    EXPECT_EQ(common_version(copies.restore<block_type>(rest), n_blocks), 8);
    world.barrier().get();
  });
}

// With elements that are bytes and others, beside objects.
TEST_F(Checkpoint, VectorsAreRestoredWithAnyNumberOfLocalities) {
  constexpr std::size_t size = 1013;
  const auto expected = [](std::size_t i) { return std::sqrt(static_cast<double>(i)); };
  localities before(3);
  before.run_all([&] {
    partitioned_vector<double> density("density", size);
    partitioned_vector<std::string> names("names", 5);
    for (std::size_t i = 0; i < density.local().size(); ++i) density.local()[i] = expected(density.first() + i);
    for (std::size_t i = 0; i < names.local().size(); ++i) names.local()[i] = std::string(names.first() + i, 'n');
    const auto blocks = make_blocks(n_blocks, 4, 3);
    checkpoint_set mine = set_of(blocks);
    mine.add("density", density);
    mine.add("names", names);
    save_checkpoint(communicator(), folder, mine);
  });
  for (const unsigned n : {1u, 3u, 4u}) {
    localities after(n);
    after.run_all([&] {
      const auto back = restore_checkpoint<block>(communicator(), folder);
      EXPECT_EQ(common_version(back, n_blocks), 4);
      partitioned_vector<double> density("density");
      partitioned_vector<std::string> names("names", 7, "?");
      back.read("density", density);
      back.read("names", names);
      ASSERT_EQ(density.size(), size);
      for (std::size_t i = 0; i < density.local().size(); ++i)
        EXPECT_EQ(density.local()[i], expected(density.first() + i));
      EXPECT_EQ(names.get(0, names.size()).get(), (std::vector<std::string>{"", "n", "nn", "nnn", "nnnn"}));
      EXPECT_EQ(
          error_of([&] { back.read("density", names); }).find("the elements of the vector 'density' are 'double', not"),
          0u);
      EXPECT_EQ(error_of([&] { back.read("pressure", density); }), "the checkpoint has no vector 'pressure'");
      density.fence().get();
    });
  }
}

TEST_F(Checkpoint, KeysThatTwoMembersUseAreReported) {
  localities all(2);
  all.run_all([&] {
    const auto c = new_<counter>(find_here()).get();
    checkpoint_set mine;
    mine.add("same", c);
    save_checkpoint(communicator(), folder, mine);
    const auto back = restore_checkpoint<counter>(communicator(), folder);
    EXPECT_EQ(error_of([&] { static_cast<void>(back.find<counter>({"same"})); }),
              "2 objects of the checkpoint have the key 'same'");
  });
}

}  // namespace
