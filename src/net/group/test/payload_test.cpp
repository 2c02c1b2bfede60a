#include "net/group/call.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace {

using plx::net::payload;

TEST(Payload, ValuesRoundTrip) {
  EXPECT_EQ(payload::of(3.25).as<double>(), 3.25);
  const std::vector<std::string> words = {"a", "", std::string(1000, 'x')};
  EXPECT_EQ(payload::of(words).as<std::vector<std::string>>(), words);
  std::vector<int> many(100'000);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(payload::of(many).as<std::vector<int>>(), many);
  EXPECT_EQ(payload().size(), 0u);
}

TEST(Payload, BytesOfAnotherTypeAreRefused) {
  EXPECT_THROW((void)payload::of(3).as<double>(), std::runtime_error);
  EXPECT_THROW((void)payload::of(3.0).as<int>(), std::runtime_error);
  EXPECT_THROW((void)payload::of(std::uint64_t{1} << 60).as<std::vector<int>>(), std::runtime_error);
  EXPECT_THROW((void)payload().as<char>(), std::runtime_error);
}

TEST(Payload, OnlyLargeCopiesShareMemory) {
  const payload few(std::size_t{payload::in_place_bytes}), many(std::size_t{payload::in_place_bytes + 1});
  EXPECT_NE(payload(few).data(), few.data());
  EXPECT_EQ(payload(many).data(), many.data());
  EXPECT_NE(many.clone().data(), many.data());
}

}  // namespace
