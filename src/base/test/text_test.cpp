#include "base/text.hpp"

#include <gtest/gtest.h>

namespace plx {
namespace {

TEST(JsonText, EscapesForJsonAndHtmlScripts) {
  EXPECT_EQ(json_text(""), "\"\"");
  EXPECT_EQ(json_text("a\"b\\c\n\x7f"), "\"a\\\"b\\\\c\\u000a\\u007f\"");
  EXPECT_EQ(json_text("</script>"), "\"\\u003c/script>\"");
  EXPECT_EQ(json_text(std::string_view("\0x", 2)), "\"\\u0000x\"");
}

TEST(JsonText, KeepsValidCharactersAndReplacesInvalidBytes) {
  const std::string characters = "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(json_text(characters), "\"" + characters + "\"");
  const std::string none = "\xef\xbf\xbd";
  EXPECT_EQ(json_text("a\xff"
                      "b"),
            "\"a" + none + "b\"");
  EXPECT_EQ(json_text("\xc3"), "\"" + none + "\"");                                   // truncated
  EXPECT_EQ(json_text("\xc0\x80"), "\"" + none + none + "\"");                        // overlong
  EXPECT_EQ(json_text("\xed\xa0\x80"), "\"" + none + none + none + "\"");             // half of a surrogate pair
  EXPECT_EQ(json_text("\xf5\x80\x80\x80"), "\"" + none + none + none + none + "\"");  // above the largest code point
}

}  // namespace
}  // namespace plx
