#include "probe/live/live_json.hpp"

#include <gtest/gtest.h>

namespace plx::probe {
namespace {

struct picture_clock {
  static inline double now_s = 0;
  static double read() noexcept { return now_s; }
};

live_picture small() { return {.title = "t", .width = 2, .height = 1, .values = {1, 2}}; }

TEST(LivePicture, IsWantedOnlyWhileAClientRequestsIt) {
  picture_board board;
  board.read_with(picture_clock::read);
  picture_clock::now_s = 100;
  EXPECT_FALSE(board.wanted()) << "no client has requested a picture";
  EXPECT_EQ(board.look().picture, nullptr);
  EXPECT_TRUE(board.wanted());
  board.publish(small());
  picture_clock::now_s = 100.9;
  EXPECT_FALSE(board.wanted()) << "the newest is less than a second old";
  picture_clock::now_s = 101;
  EXPECT_TRUE(board.wanted());
  picture_clock::now_s = 105;
  EXPECT_FALSE(board.wanted()) << "no client has requested a picture for five seconds";
  EXPECT_EQ(board.look().number, 1u);
  EXPECT_TRUE(board.wanted());
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
