#include "probe/sample/sample_ring.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace plx::probe {
namespace {

std::vector<std::vector<std::uintptr_t>> drained(sample_ring& r) {
  std::vector<std::vector<std::uintptr_t>> out;
  r.drain([&](const stack_sample& s) { out.emplace_back(s.frames.begin(), s.frames.end()); });
  return out;
}

TEST(SampleRing, KeepsWhatWasPushed) {
  std::vector<std::uint64_t> words(256);
  sample_ring r(words.data(), words.size());
  const std::vector<std::uintptr_t> frames{~std::uintptr_t{0}, 2, 3};
  ASSERT_TRUE(r.push({sampled_activity::polling, true, 0xffff, 0xfffffffe, frames}));
  ASSERT_TRUE(r.push({sampled_activity::task, false, 1, 7, {}}));
  std::vector<stack_sample> got;
  r.drain([&](const stack_sample& s) {
    got.push_back(s);
    if (got.size() == 1) {
      EXPECT_EQ(std::vector(s.frames.begin(), s.frames.end()), frames);
    }
  });
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].activity, sampled_activity::polling);
  EXPECT_TRUE(got[0].whole);
  EXPECT_EQ(got[0].weight, 0xffff);
  EXPECT_EQ(got[0].task, 0xfffffffe);
  EXPECT_EQ(got[1].activity, sampled_activity::task);
  EXPECT_FALSE(got[1].whole);
  EXPECT_EQ(got[1].task, 7u);
  EXPECT_TRUE(got[1].frames.empty());
  EXPECT_TRUE(drained(r).empty());
}

TEST(SampleRing, WithoutRoomTheNewestAreDroppedAndCounted) {
  std::vector<std::uint64_t> words(128);
  sample_ring r(words.data(), words.size());
  const std::vector<std::uintptr_t> frames(31, 5);  // 32 words with the header
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(r.push({.frames = frames}));
  EXPECT_FALSE(r.push({.weight = 3, .frames = {}}));
  EXPECT_EQ(r.lost(), 3u);
  EXPECT_EQ(drained(r).size(), 4u);
  EXPECT_TRUE(r.push({.frames = frames}));
  EXPECT_EQ(r.lost(), 3u);
}

TEST(SampleRing, LongStacksLoseTheirOuterFrames) {
  std::vector<std::uint64_t> words(256);
  sample_ring r(words.data(), words.size());
  std::vector<std::uintptr_t> frames(sample_ring::most_frames + 1);
  for (std::size_t i = 0; i < frames.size(); ++i) frames[i] = i;
  ASSERT_TRUE(r.push({.whole = true, .frames = frames}));
  r.drain([&](const stack_sample& s) {
    EXPECT_FALSE(s.whole);
    ASSERT_EQ(s.frames.size(), sample_ring::most_frames);
    EXPECT_EQ(s.frames.front(), 0u);
  });
}

TEST(SampleRing, EverySampleArrivesOrIsCounted) {
  std::vector<std::uint64_t> words(256);
  sample_ring r(words.data(), words.size());
  constexpr std::uintptr_t n = 20'000;
  std::thread writer([&] {
    for (std::uintptr_t i = 1; i <= n; ++i) {
      const std::uintptr_t frames[] = {i, i + 1, i + 2};
      r.push({.weight = 1, .frames = {frames, 1 + i % 3}});
    }
  });
  std::uintptr_t last = 0, got = 0;
  const auto take = [&](const stack_sample& s) {
    EXPECT_GT(s.frames[0], last);
    last = s.frames[0];
    ASSERT_EQ(s.frames.size(), 1 + last % 3);
    for (std::size_t i = 0; i < s.frames.size(); ++i) EXPECT_EQ(s.frames[i], last + i);
    ++got;
  };
  for (int i = 0; i < 1000; ++i) r.drain(take);
  writer.join();
  r.drain(take);
  EXPECT_EQ(got + r.lost(), n);
}

}  // namespace
}  // namespace plx::probe
