#include "net/core/node.hpp"

#include <gtest/gtest.h>

#include <set>

namespace plx::net {
namespace {

struct target final : reply_target {
  bool read(wire_reader&) noexcept override { return true; }
  void complete() noexcept override {}
  void lose(std::exception_ptr) noexcept override {}
  void let_go() noexcept override {}
};

TEST(ReplyTable, ANumberMatchesOneAnswer) {
  reply_table table;
  target a, b;
  const auto first = table.add(a, 1);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.take(first, 1), &a);
  EXPECT_EQ(table.take(first, 1), nullptr);
  const auto second = table.add(b, 1);  // the same slot
  EXPECT_NE(second, first);
  EXPECT_EQ(table.take(first, 1), nullptr);
  EXPECT_EQ(table.take(second, 1), &b);
  EXPECT_EQ(table.size(), 0u);
}

TEST(ReplyTable, OnlyTheLocalityThatWasCalledMayReply) {
  reply_table table;
  target a;
  const auto id = table.add(a, 1);
  EXPECT_EQ(table.take(id, 2), nullptr);
  EXPECT_EQ(table.take(id + 1, 1), nullptr);
  EXPECT_EQ(table.take(~id, 1), nullptr);
  EXPECT_EQ(table.take(id, 1), &a);
}

TEST(ReplyTable, OnlyTheEntriesOfALostLocalityAreTaken) {
  reply_table table;
  target a, b, c;
  table.add(a, 1);
  const auto other = table.add(b, 2);
  table.add(c, 1);
  const auto lost = table.take_all(1);
  EXPECT_EQ(std::set<reply_target*>(lost.begin(), lost.end()), (std::set<reply_target*>{&a, &c}));
  EXPECT_TRUE(table.take_all(1).empty());
  EXPECT_EQ(table.take(other, 2), &b);
}

}  // namespace
}  // namespace plx::net
