#include "probe/record/trace_ring.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plx::probe::detail {
namespace {

struct slice_fields {
  ticks begin = 0, end = 0;
  std::uint64_t key = no_key;
  name_id name = unnamed;
  std::uint32_t flags = 0;
  task_id id = 0, cause = 0;
  ticks ready = 0;
};

bool pack(trace_record& r, task_id first, const slice_fields& t) {
  return pack_slice(r, first, t.begin, t.end, t.key, std::uint64_t{t.flags} << 32 | t.name, t.id, t.cause, t.ready);
}

void expect_same(const slice_fields& t, const unpacked_slice& u) {
  EXPECT_EQ(u.slice.begin, t.begin);
  EXPECT_EQ(u.slice.end, t.end);
  EXPECT_EQ(u.slice.key, t.key);
  EXPECT_EQ(u.slice.id, t.id);
  EXPECT_EQ(u.slice.ready, std::min(t.ready, t.begin));
  EXPECT_EQ(u.slice.name, t.name);
  EXPECT_EQ(u.slice.finished, (t.flags & trace_record::finished) != 0);
  EXPECT_EQ(u.slice.resumed, (t.flags & trace_record::resumed) != 0);
  EXPECT_EQ(u.cause, t.cause);
}

/// A packed slice is unpacked exactly; a slice that cannot be packed has a number that is too large. Numbers of all
/// magnitudes, ids of all nearby workers, some of another recorder.
TEST(TracePacking, ASliceIsRestoredOrRejected) {
  std::mt19937_64 random(7);
  const auto of_some_size = [&] { return random() >> (random() % 64); };
  const auto some_id = [&](unsigned worker, unsigned space) {
    const auto w = static_cast<unsigned>(worker + random() % 40) - std::min(20u, worker);
    return first_id_of(w, random() % 50 == 0 ? space + 1 : space) + 1 + (of_some_size() >> 26);
  };
  unsigned packed = 0, refused = 0;
  for (int i = 0; i < 200'000; ++i) {
    const unsigned worker = static_cast<unsigned>(random() % 300), space = static_cast<unsigned>(random() % 64);
    const task_id first = first_id_of(worker, space);
    slice_fields t{};
    t.begin = random() >> 2;
    t.end = t.begin + (of_some_size() >> 30);
    t.ready = random() % 8 == 0 ? 0 : t.begin - std::min(t.begin, of_some_size() >> 30) + (random() % 8 == 0 ? 5 : 0);
    t.key = random() % 4 == 0 ? no_key : of_some_size() >> 24;
    t.name = static_cast<name_id>(random() % max_names);
    t.flags = static_cast<std::uint32_t>(random() % 4);
    t.id = some_id(worker, space);
    t.cause = random() % 4 == 0 ? 0 : some_id(worker, space) | (random() % 2 == 0 ? join_bit : 0);
    trace_record r{};
    if (pack(r, first, t)) {
      ++packed;
      EXPECT_NE(r.flags & is_packed, 0u);
      expect_same(t, unpack_slice(r, first));
    } else {
      ++refused;
      const auto near_id = [&](task_id id) {
        const auto w = static_cast<std::int64_t>(id >> 40 & 0xffff) - worker - 1;
        return same_recorder(id, first) && w >= -15 && w <= 16 && (id & (~task_id{0} >> 24)) <= low_word;
      };
      const bool fits = near_id(t.id) && (t.cause == 0 || near_id(t.cause)) && t.end - t.begin <= low_word &&
                        (t.ready == 0 || t.ready >= t.begin || t.begin - t.ready <= low_word) &&
                        (t.key == no_key || t.key < low_word);
      EXPECT_FALSE(fits);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(packed, 20'000u);
  EXPECT_GT(refused, 20'000u);
}

/// pack_own_slice() accepts only slices of the recording worker, and they are unpacked exactly.
TEST(TracePacking, ASliceOfTheOwnWorkerIsRestoredOrRejected) {
  std::mt19937_64 random(11);
  const auto of_some_size = [&] { return random() >> (random() % 64); };
  const task_id first = first_id_of(12, 3);
  const auto some_id = [&] {
    const unsigned other = random() % 8 == 0 ? 1 : 0, space = random() % 8 == 0 ? 4 : 3;
    return (first_id_of(12 + other, space) + 1 + (of_some_size() >> 30)) | (random() % 8 == 0 ? join_bit : 0);
  };
  unsigned packed = 0, refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    slice_fields t{};
    t.begin = 1 + (random() >> 2);
    t.end = t.begin + (of_some_size() >> 31);
    t.ready = random() % 4 == 0 ? 0 : t.begin - std::min(t.begin, of_some_size() >> 31) + (random() % 8 == 0 ? 5 : 0);
    t.key = random() % 4 == 0 ? no_key : of_some_size() >> 31;
    t.name = static_cast<name_id>(random() % max_names);
    t.flags = static_cast<std::uint32_t>(random() % 4);
    t.id = random() % 16 == 0 ? 0 : some_id();
    t.cause = random() % 4 == 0 ? 0 : some_id();
    const auto own = [&](task_id id) { return id > first && id - first <= low_word; };
    const bool fits = own(t.id) && (t.cause == 0 || own(t.cause)) && t.end - t.begin <= low_word &&
                      (t.ready == 0 || (t.ready <= t.begin && t.begin - t.ready <= low_word)) &&
                      (t.key == no_key || t.key < low_word);
    trace_record r{};
    EXPECT_EQ(
        pack_own_slice(r, first, t.begin, t.end, t.key, std::uint64_t{t.flags} << 32 | t.name, t.id, t.cause, t.ready),
        fits);
    if (fits) expect_same(t, unpack_slice(r, first));
    ++(fits ? packed : refused);
    if (HasFailure()) return;
  }
  EXPECT_GT(packed, 10'000u);
  EXPECT_GT(refused, 10'000u);
}

TEST(TracePacking, TimesThatRunBackwardsAreNotPacked) {
  const task_id first = first_id_of(0, 0);
  trace_record r{};
  EXPECT_FALSE(pack(r, first, {.begin = 10, .end = 9, .key = 0, .name = 1, .flags = 1, .id = first + 1}));
  EXPECT_FALSE(pack_own_slice(r, first, 10, 9, 0, 1, first + 1, 0, 0));
}

TEST(TracePacking, TargetsAreReturnedLastFirst) {
  const task_id first = first_id_of(3, 5);
  const std::vector<task_id> all{first + 1, first_id_of(0, 5) + low_word, join_bit | (first_id_of(19, 5) + 77),
                                 join_bit | (first + low_word), first + 2};
  ASSERT_EQ(all.size(), std::size_t{most_targets});
  packed_targets some{};
  for (const task_id id : all) {
    ASSERT_TRUE(is_near(distance_of(id, first)));
    add_target(some, distance_of(id, first), is_join(id));
  }
  for (auto id = all.rbegin(); id != all.rend(); ++id) EXPECT_EQ(take_target(some, first), *id);
  EXPECT_EQ(take_target(some, first), 0u);
}

}  // namespace
}  // namespace plx::probe::detail
