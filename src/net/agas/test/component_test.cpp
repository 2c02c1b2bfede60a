#include "net/component.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "base/test/timeout_test.hpp"
#include "net/archive.hpp"
#include "net/error.hpp"
#include "net/locality.hpp"
#include "net/test/threads_test.hpp"
#include "probe/counters/counter_registry.hpp"
#include "rt/latch.hpp"
#include "rt/mutex.hpp"
#include "rt/thread.hpp"
#include "rt/when.hpp"

namespace component_test {

using namespace plx;

std::atomic<int> alive{0}, slow_ones_begun{0};

class counter {
 public:
  counter() { ++alive; }
  explicit counter(int value, std::string name = "") : value_(value), name_(std::move(name)) { ++alive; }
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;
  ~counter() { --alive; }

  // Calls of one object may run concurrently.
  int add(int n) { return std::atomic_ref(value_).fetch_add(n) + n; }
  [[nodiscard]] int value() const { return std::atomic_ref(value_).load(); }
  [[nodiscard]] std::string name() const noexcept { return name_; }
  void fail(const std::string& why) { throw std::invalid_argument(why); }
  locality_id where() { return find_here(); }
  future<int> later(int n) {
    ++slow_ones_begun;
    return async([this, n] {
      this_thread::sleep_for(std::chrono::milliseconds(2));
      return add(n);
    });
  }
  int slowly(int n) {
    ++slow_ones_begun;
    this_thread::sleep_for(std::chrono::milliseconds(3));
    return add(n);
  }
  void keep(const global<counter>& other) { other_ = other; }
  global<counter> kept() { return other_; }
  int add_to_kept(int n) { return async<&counter::add>(other_, n).get(); }
  void drop() { other_ = {}; }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(value_, name_, data_, other_);
  }

  std::vector<double> data_;

 private:
  std::atomic<int> unused_{0};
  mutable int value_ = 0;  // mutable for std::atomic_ref
  std::string name_;
  global<counter> other_;
};

// Its calls may run concurrently.
struct tally {
  std::atomic<int> value{0};
  int add(int n) { return value += n; }
  int get() { return value; }
  template <class Archive>
  void save(Archive& archive) const {
    archive(value.load());
  }
  template <class Archive>
  void load(Archive& archive) {
    int v = 0;
    archive(v);
    value = v;
  }
};

std::array<std::vector<global<tally>>, 3> known;  // by locality
void know(const std::vector<global<tally>>& all) { known[find_here()] = all; }

std::atomic<int> sum{0};
struct sink {
  void take(int n) { sum += n; }
};

struct base {
  int b = 1;
  int get_b() { return b; }
};
struct derived : std::string, base {};

int value_of(const global<counter>& c) { return async<&counter::value>(c).get(); }
global<counter> same(global<counter> c) { return c; }
int pass_round(const global<counter>& c, int hops) {
  if (hops == 0) return async<&counter::add>(c, 1).get();
  return async<&pass_round>((find_here() + 1) % locality_count(), c, hops - 1).get();
}
std::vector<global<counter>> several(int n) {
  std::vector<global<counter>> all;
  for (int i = 0; i < n; ++i) all.push_back(new_<counter>(find_here(), i).get());
  return all;
}
void nothing(const global<counter>&, const std::vector<double>&) {}

}  // namespace component_test

namespace {

using namespace component_test;

// The sum of the counts of all localities, once no work is left.
net::agas_counts sums_of(net::test::localities& all, unsigned n) {
  net::agas_counts sum;
  for (unsigned i = 0; i < n; ++i) {
    const net::agas_counts c = all.at(i).get<net::agas>().counts();
    sum.objects += c.objects, sum.references += c.references, sum.entries += c.entries, sum.holders += c.holders;
    sum.created += c.created, sum.destroyed += c.destroyed, sum.claims += c.claims, sum.releases += c.releases;
    sum.migrations += c.migrations, sum.forwards += c.forwards;
  }
  return sum;
}
void expect_nothing_left(net::test::localities& all, unsigned n) {
  net::agas_counts sum;
  const auto nothing_left = [&] {  // handles held by detached tasks are not counted as parcels
    all.settle();
    // Localities are queried one after the other: an object may move from one to another in between and be missed on
    // both, so check first whether any is alive.
    const bool none_alive = alive == 0;
    sum = sums_of(all, n);
    return none_alive && sum.objects + sum.references + sum.entries == 0;
  };
  EXPECT_TRUE(comes_true(nothing_left, [] { std::this_thread::sleep_for(std::chrono::microseconds(100)); }));
  EXPECT_EQ(sum.objects, 0u);
  EXPECT_EQ(sum.references, 0u);
  EXPECT_EQ(sum.entries, 0u);
  EXPECT_EQ(sum.holders, 0u);
  EXPECT_EQ(sum.created, sum.destroyed);
  EXPECT_EQ(sum.claims, sum.releases);
  EXPECT_EQ(alive, 0);
}

TEST(Component, IsCreatedCalledAndDestroyed) {
  for (const unsigned n : {1u, 2u, 3u}) {
    net::test::localities all(n);
    all.run(0, [n] {
      for (locality_id where = 0; where < n; ++where) {
        const global<counter> c = new_<counter>(where, 5, "five").get();
        EXPECT_TRUE(c);
        EXPECT_EQ(async<&counter::add>(c, 3).get(), 8);
        post<&counter::add>(c, 2);
        EXPECT_TRUE(comes_true([&] { return async<&counter::value>(c).get() == 10; }, this_thread::yield));
        EXPECT_EQ(async<&counter::name>(c).get(), "five");
        EXPECT_EQ(async<&counter::where>(c).get(), where);
        EXPECT_EQ(locate(c).get(), where);
        EXPECT_EQ(async<&counter::later>(c, 1).get(), 11);
        EXPECT_EQ(c.id().origin, where);
        const global<counter> copy = c;
        EXPECT_EQ(copy, c);
        EXPECT_NE(copy, global<counter>());
        EXPECT_TRUE(comes_true([] { return alive == 1; }, this_thread::yield));
        if (where == 0)
          EXPECT_EQ(get_ptr(c)->value(), 11);
        else
          EXPECT_FALSE(get_ptr(c));
      }
    });
    expect_nothing_left(all, n);
  }
}

TEST(Component, MembersOfABaseCanBeCalled) {
  net::test::localities all(2);
  all.run(0, [] {
    const auto d = new_<derived>(1).get();
    EXPECT_EQ(async<&derived::get_b>(d).get(), 1);
  });
}

TEST(Component, ExceptionsArePropagated) {
  net::test::localities all(2);
  all.run(0, [] {
    const auto far = new_<counter>(1).get(), near = new_<counter>(0).get();
    try {
      async<&counter::fail>(far, "no such block").get();
      FAIL();
    } catch (const remote_error& e) {
      EXPECT_STREQ(e.what(), "on locality 1: no such block");
    }
    EXPECT_THROW(async<&counter::fail>(near, "x").get(), std::invalid_argument);
  });
  expect_nothing_left(all, 2);
}

TEST(Component, HandlesCanBeSentAndKept) {
  net::test::localities all(3);
  all.run(0, [] {
    const auto a = new_<counter>(1, 7).get();
    EXPECT_EQ(async<&value_of>(2, a).get(), 7);
    EXPECT_EQ(async<&same>(2, a).get(), a);
    EXPECT_EQ(async<&pass_round>(1, a, 20).get(), 8);
    auto b = new_<counter>(2, 1).get();
    async<&counter::keep>(b, a).get();
    EXPECT_EQ(async<&counter::add_to_kept>(b, 2).get(), 10);
    EXPECT_EQ(async<&counter::kept>(b).get(), a);
    EXPECT_FALSE(async<&counter::kept>(a).get());
  });
  expect_nothing_left(all, 3);
}

TEST(Component, TheLastHandleMayBeAnywhere) {
  net::test::localities all(3);
  all.run(0, [] {
    auto keeper = new_<counter>(2).get();
    async<&counter::keep>(keeper, new_<counter>(1, 3).get()).get();
    this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(alive, 2);  // the keeper, and the object that only it holds
    EXPECT_EQ(async<&counter::add_to_kept>(keeper, 1).get(), 4);
    async<&counter::drop>(keeper).get();
    EXPECT_TRUE(comes_true([] { return alive == 1; }, this_thread::yield));
  });
  expect_nothing_left(all, 3);
}

TEST(Component, AChainOfHandlesIsDestroyed) {
  net::test::localities all(2);
  all.run(0, [] {
    auto first = new_<counter>(0).get();
    for (unsigned i = 1; i < 100; ++i) {
      auto next = new_<counter>(i % 2).get();
      async<&counter::keep>(next, first).get();
      first = next;
    }
    EXPECT_EQ(alive, 100);
  });
  expect_nothing_left(all, 2);
}

TEST(Component, ManyHandlesAndLargeMessages) {
  net::test::localities all(2);
  all.run(0, [] {
    const auto many = async<&several>(1, 500).get();
    ASSERT_EQ(many.size(), 500u);
    for (int i = 0; i < 500; i += 50) EXPECT_EQ(async<&counter::value>(many[static_cast<std::size_t>(i)]).get(), i);
    // The arguments are serialized more than once, and sent once.
    async<&nothing>(1, many[0], std::vector<double>(10'000)).get();
  });
  expect_nothing_left(all, 2);
}

TEST(Component, APostOutlivesTheLastHandle) {
  for (int turn = 0; turn < 50; ++turn) {
    net::test::localities all(3);
    sum = 0;
    all.run_all([] {
      for (int i = 0; i < 20; ++i) {
        auto s = new_<sink>((find_here() + static_cast<unsigned>(i)) % 3).get();
        for (int k = 0; k < 5; ++k) post<&sink::take>(s, 1);
      }
    });
    // Posts to objects that are here are tasks, and no parcels: settling does not wait for them.
    EXPECT_TRUE(comes_true([] { return sum == 3 * 20 * 5; })) << sum;
    expect_nothing_left(all, 3);
    EXPECT_EQ(sum, 3 * 20 * 5);
  }
}

TEST(Component, ManyHandlesArePassedAround) {
  net::test::localities all(3);
  all.run_all([] {
    std::vector<global<counter>> mine;
    for (unsigned i = 0; i < 30; ++i) mine.push_back(new_<counter>(i % 3, 0).get());
    std::vector<future<int>> calls;
    for (int turn = 0; turn < 10; ++turn)
      for (auto& c : mine) calls.push_back(async<&pass_round>(static_cast<locality_id>(turn) % 3, c, turn % 4));
    for (auto& c : calls) c.wait();
    mine.clear();
    for (auto& c : calls) c.get();
  });
  expect_nothing_left(all, 3);
}

TEST(Migration, IdAndStateArePreserved) {
  net::test::localities all(3);
  all.run(0, [] {
    auto c = new_<counter>(1, 5, "five").get();
    async<&counter::keep>(c, new_<counter>(2, 1).get()).get();
    for (const locality_id to : {2u, 0u, 0u, 1u, 2u, 1u, 0u}) {
      migrate(c, to).get();
      EXPECT_EQ(async<&counter::where>(c).get(), to);
      EXPECT_EQ(async<&value_of>(1, c).get(), 5);
      EXPECT_EQ(async<&counter::name>(c).get(), "five");
      EXPECT_EQ(async<&counter::add_to_kept>(c, 0).get(), 1);
      EXPECT_EQ(static_cast<bool>(get_ptr(c)), to == 0);
    }
    EXPECT_THROW(migrate(c, 3).get(), std::exception);
    EXPECT_EQ(async<&counter::value>(c).get(), 5);
    EXPECT_EQ(c.id().origin, 1u);
  });
  expect_nothing_left(all, 3);
}

TEST(Migration, LargeDataArePreserved) {
  net::test::localities all(2);
  all.run(0, [] {
    auto c = new_<counter>(0).get();
    {
      auto p = get_ptr(c);
      p->data_.resize(100'000);
      std::iota(p->data_.begin(), p->data_.end(), 0.0);
    }
    migrate(c, 1).get();
    EXPECT_FALSE(get_ptr(c));
    migrate(c, 0).get();
    EXPECT_EQ(get_ptr(c)->data_[99'999], 99'999.0);
  });
  expect_nothing_left(all, 2);
}

TEST(Migration, WaitsForRunningCallsAndPins) {
  net::test::localities all(2);
  all.run(0, [] {
    auto c = new_<counter>(0).get();
    slow_ones_begun = 0;
    auto slow = async<&counter::slowly>(c, 1);
    auto later = async<&counter::later>(c, 1);
    EXPECT_TRUE(comes_true([] { return slow_ones_begun == 2; }, this_thread::yield));
    migrate(c, 1).get();
    EXPECT_EQ(async<&counter::value>(c).get(), 2);
    EXPECT_EQ(slow.get() + later.get(), 3);
    migrate(c, 0).get();
    auto held = get_ptr(c);
    auto moved = migrate(c, 1);
    this_thread::sleep_for(std::chrono::milliseconds(5));
    EXPECT_FALSE(moved.is_ready());
    EXPECT_EQ(async<&counter::add>(c, 1).get(), 3);  // calls continue until it moves
    held = {};
    moved.get();
    EXPECT_EQ(async<&counter::where>(c).get(), 1u);
  });
  expect_nothing_left(all, 2);
}

// A class template: there Clang 16 treats `held = {}` differently (see plx::detail::counted_ptr).
template <class Held>
struct handle_and_pin {
  net::handle handle;
  net::detail::pinned pin;
  Held other{};
  void reset_handle() { handle = {}; }
  void reset_pin() { pin = {}; }
};

TEST(Component, AnAssignmentReleasesTheOldHandleAndPinOnce) {
  net::test::localities all(2);
  all.run(0, [] {
    auto c = new_<counter>(0, 7).get();
    net::detail::reference& r = net::detail::reference_of(c);
    net::agas& a = *r.home.load();
    const auto got = a.pin(c.id(), net::detail::object_type_of<counter>, nullptr, false, {0, 0});
    ASSERT_EQ(got.what, net::detail::access::here);
    handle_and_pin<int> in_template{c, net::detail::pinned(a, *got.record)};
    EXPECT_EQ(r.handles.load(), 2u);
    in_template.reset_handle();
    EXPECT_EQ(r.handles.load(), 1u);
    net::handle one = c, two = one, &same = one;
    one = *&one;
    one = std::move(same);
    one = two;
    EXPECT_EQ(r.handles.load(), 3u);
    one = std::move(two);
    EXPECT_FALSE(two);
    EXPECT_EQ(one.id(), c.id());
    EXPECT_EQ(r.handles.load(), 2u);
    net::detail::pinned other;
    other = std::move(in_template.pin);
    in_template.pin = std::move(other);
    net::detail::pinned& same_pin = in_template.pin;
    in_template.pin = std::move(same_pin);
    auto moved = migrate(c, 1);
    this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_FALSE(moved.is_ready());
    in_template.reset_pin();
    moved.get();
    EXPECT_EQ(async<&counter::where>(c).get(), 1u);
  });
  expect_nothing_left(all, 2);
}

TEST(Migration, EachCallRunsExactlyOnceDuringMigration) {
  for (int turn = 0; turn < 5; ++turn) {
    net::test::localities all(3);
    std::vector<global<tally>> tallies(6);
    all.run(0, [&] {
      for (auto& t : tallies) t = new_<tally>(0).get();
    });
    all.run(0, [&] {
      for (locality_id i = 0; i < 3; ++i) async<&know>(i, tallies).get();
    });
    all.run_all([&] {
      const auto& mine = known[find_here()];
      std::vector<future<int>> calls;
      std::vector<future<void>> moves;
      for (unsigned i = 0; i < 300; ++i) {
        calls.push_back(async<&tally::add>(mine[i % 6], 1));
        post<&tally::add>(mine[(i + 1) % 6], 1);
        if (i % 10 == 0) moves.push_back(migrate(mine[(i / 10) % 6], (find_here() + i / 10) % 3));
      }
      for (auto& c : calls) c.get();
      for (auto& m : moves) m.get();
    });
    all.settle();
    all.run(0, [&] {
      int sum = 0;
      for (auto& t : tallies) sum += async<&tally::get>(t).get();
      EXPECT_EQ(sum, 3 * 600);
      tallies.clear();
    });
    for (auto& k : known) k.clear();
    expect_nothing_left(all, 3);
    EXPECT_GT(sums_of(all, 3).migrations, 20u);
  }
}

// Calls overlap without a gap: each caller makes the next one when it has the answer.
TEST(Migration, ABusyObjectMoves) {
  net::test::localities all(2);
  all.run(0, [] {
    const auto c = new_<counter>(1, 0).get();
    std::atomic<bool> over{false};
    std::vector<future<void>> callers;
    for (int i = 0; i < 8; ++i)
      callers.push_back(async([&over, c] {
        while (!over) async<&counter::slowly>(c, 1).get();
      }));
    auto moved = migrate(c, 0);
    EXPECT_TRUE(comes_true([&moved] { return moved.is_ready(); },
                           [] { this_thread::sleep_for(std::chrono::milliseconds(1)); }));
    over = true;
    for (auto& f : callers) f.get();
    moved.get();
    EXPECT_EQ(async<&counter::where>(c).get(), 0u);
  });
}

TEST(Migration, LastHandleDestroyedDuringMigration) {
  for (int turn = 0; turn < 100; ++turn) {
    net::test::localities all(3);
    all.run(0, [turn] {
      auto c = new_<counter>(static_cast<locality_id>(turn) % 3).get();
      static_cast<void>(migrate(c, static_cast<locality_id>(turn + 1) % 3));
      static_cast<void>(migrate(c, static_cast<locality_id>(turn + 2) % 3));
      if (turn % 2 == 0) post<&counter::add>(c, 1);
    });
    expect_nothing_left(all, 3);
  }
}

// With a local handle, as with a remote one, the migration completes after the handle has been destroyed.
TEST(Migration, LastLocalHandleDestroyedBeforeMigration) {
  for (int turn = 0; turn < 100; ++turn) {
    net::test::localities all(2);
    future<void> moved;
    all.run(0, [&moved] { moved = migrate(new_<counter>(0).get(), 1); });
    EXPECT_NO_THROW(moved.get());
    expect_nothing_left(all, 2);
    EXPECT_EQ(sums_of(all, 2).migrations, 1u);
  }
}

TEST(Agas, CountsAreConsistentAtAnyTime) {
  net::test::localities all(1);
  std::atomic<bool> over{false};
  std::thread reader([&] {
    std::uint64_t wrong = 0;
    do {
      const auto c = all.at(0).get<net::agas>().counts();
      wrong += c.created - c.destroyed != c.objects;
      wrong += c.claims - c.releases != c.references;
    } while (!over);
    EXPECT_EQ(wrong, 0u);
  });
  all.run(0, [] {
    for (int i = 0; i < 5000; ++i) {
      auto c = new_<counter>(0).get();
      if (i % 8 == 0) this_thread::yield();
    }
  });
  over = true;
  reader.join();
  expect_nothing_left(all, 1);
  EXPECT_EQ(sums_of(all, 1).created, 5000u);
}

TEST(Agas, TheCacheIsCorrectedOnce) {
  net::test::localities all(4);
  all.run(0, [&all] {
    auto c = new_<counter>(1).get();
    async<&value_of>(2, c).get();
    auto elsewhere = async<&same>(2, c).get();
    for (int i = 0; i < 20; ++i) async<&counter::add>(c, 1).get();
    all.settle();
    const auto forwards = [&all] { return sums_of(all, 4).forwards; };
    const auto before = forwards();
    EXPECT_EQ(before, 0u);
    async<&migrate<counter>>(1, c, 3).get();  // this locality is not notified
    async<&counter::add>(c, 1).get();
    const auto corrected = forwards();
    EXPECT_GE(corrected, 1u);
    EXPECT_LE(corrected, 2u);
    // The correction is a parcel of its own, and may arrive later than the result of the forwarded call.
    int added = 21;
    for (auto before_it = ~corrected; before_it != forwards(); ++added) {
      before_it = forwards();
      async<&counter::add>(c, 1).get();
    }
    const auto at_last = forwards();
    for (int i = 0; i < 20; ++i) async<&counter::add>(c, 1).get();
    EXPECT_EQ(forwards(), at_last);
    EXPECT_EQ(async<&counter::value>(c).get(), added + 20);
  });
  expect_nothing_left(all, 4);
}

TEST(Agas, TheDirectoryIsTheCreator) {
  net::test::localities all(4);
  all.run(0, [&all] {
    std::vector<global<counter>> many;
    for (int i = 0; i < 40; ++i) many.push_back(new_<counter>(1).get());
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(all.at(i).get<net::agas>().counts().entries, i == 1 ? 40u : 0u) << i;
  });
  expect_nothing_left(all, 4);
}

TEST(Agas, TheDirectoriesOfALostLocalityAreDistributedEvenly) {
  net::test::localities all(4);
  std::vector<global<counter>> many;
  all.run(0, [&many] {
    for (int i = 0; i < 400; ++i) many.push_back(new_<counter>(1, i).get());
    std::vector<future<void>> moves;
    for (auto& c : many) moves.push_back(migrate(c, 2));
    for (auto& m : moves) m.get();
  });
  all.lose(1);
  EXPECT_TRUE(comes_true(
      [&all] {
        return all.at(0).get<net::agas>().losses() == 1 && all.at(2).get<net::agas>().losses() == 1 &&
               all.at(3).get<net::agas>().losses() == 1;
      },
      std::this_thread::yield));
  all.run(0, [&] {
    for (int i = 0; i < 400; ++i) EXPECT_EQ(async<&counter::value>(many[static_cast<std::size_t>(i)]).get(), i);
    EXPECT_TRUE(comes_true(
        [&all] {
          std::uint64_t sum = 0;
          for (const unsigned i : {0u, 2u, 3u}) sum += all.at(i).get<net::agas>().counts().entries;
          return sum == 400;
        },
        this_thread::yield));
    for (const unsigned i : {0u, 2u, 3u}) {
      const auto here = all.at(i).get<net::agas>().counts().entries;
      EXPECT_GT(here, 70u) << i;
      EXPECT_LT(here, 240u) << i;
    }
    many.clear();
  });
  EXPECT_TRUE(comes_true([] { return alive == 0; }, std::this_thread::yield));
}

TEST(Agas, CountsAreCounters) {
  net::test::localities all(2);
  all.run(0, [&all] {
    auto c = new_<counter>(0).get();
    migrate(c, 1).get();
    auto read = [&all](unsigned at, const std::string& name) {
      return all.at(at).home().counters().query("/agas/count/" + name).value().at(0).value;
    };
    EXPECT_EQ(read(0, "created"), 1);
    EXPECT_EQ(read(0, "migrations"), 1);
    EXPECT_EQ(read(1, "components"), 1);
    EXPECT_EQ(read(0, "components"), 0);
    EXPECT_EQ(read(0, "references"), 1);
    EXPECT_GE(read(0, "lookups"), 1);
  });
}

TEST(Agas, HandlesMayOutliveTheirLocality) {
  global<counter> left, also;
  {
    net::test::localities all(2);
    all.run(0, [&] {
      left = new_<counter>(1).get();
      also = new_<counter>(0).get();
    });
    EXPECT_EQ(alive, 2);
  }
  EXPECT_EQ(alive, 0);
  const auto copy = left;
  EXPECT_EQ(copy, left);
}

TEST(AgasDeathTest, CallingAnEmptyHandleAborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(static_cast<void>(async<&counter::value>(global<counter>())), "this global id is empty");
}

}  // namespace
