#include "net/locality_lost.hpp"

#include <gtest/gtest.h>

namespace {

TEST(LocalityLost, NamesItAndTheReason) {
  const plx::locality_lost e(3, "it closed its connection");
  EXPECT_EQ(e.which(), 3u);
  EXPECT_STREQ(e.what(), "locality 3 is lost: it closed its connection");
}

}  // namespace
