#include "probe/live/live_json.hpp"

#include <gtest/gtest.h>

namespace plx::probe {
namespace {

live_picture small() { return {.title = "t", .width = 2, .height = 1, .values = {1, 2}}; }

TEST(LivePicture, IsWantedOnlyWhileAClientRequestsIt) {
  picture_board board;
  EXPECT_FALSE(board.wanted()) << "no client has requested a picture";
  EXPECT_EQ(board.look().picture, nullptr);
  EXPECT_TRUE(board.wanted());
  board.publish(small());
  EXPECT_FALSE(board.wanted()) << "the newest is less than a second old";
  EXPECT_EQ(board.look().number, 1u);
}

TEST(LivePicture, AReaderKeepsItsPictureWhenANewOneIsPublished) {
  picture_board board;
  board.publish(small());
  const auto old = board.look();
  live_picture next = small();
  next.values = {3, 4};
  board.publish(next);
  EXPECT_EQ(old.picture->values[0], 1);
  EXPECT_EQ(board.look().picture->values[0], 3);
  EXPECT_EQ(board.look().number, 2u);
}

TEST(LivePictureDeath, ValuesMustFillTheGrid) {
  picture_board board;
  live_picture wrong = small();
  wrong.width = 3;
  EXPECT_DEATH(board.publish(wrong), "values");
}

}  // namespace
}  // namespace plx::probe
