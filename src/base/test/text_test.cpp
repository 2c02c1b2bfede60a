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

TEST(Printable, IsOneLineThatATerminalShowsAsItIs) {
  EXPECT_EQ(printable("a\nb\r\t\x1b[2J\x7f"), "a\\x0ab\\x0d\\x09\\x1b[2J\\x7f");
  EXPECT_EQ(printable("\xc2\x9b[2J"), "\\x9b[2J");  // U+009B begins a control sequence, too
  EXPECT_EQ(printable("\xc3\x9b \xc2\xa9 \xe2\x82\xac"), "\xc3\x9b \xc2\xa9 \xe2\x82\xac");
  EXPECT_EQ(printable("12345", 5), "12345");
  EXPECT_EQ(printable("123456", 5), "12345... (1 more byte)");
  EXPECT_EQ(printable("1234567", 5), "12345... (2 more bytes)");
  EXPECT_EQ(printable("123\xe2\x82\xac", 5), "123... (3 more bytes)");  // not within a character
  EXPECT_EQ(printable("123\xe2\x82\xac", 6), "123\xe2\x82\xac");
  EXPECT_EQ(printable("1\xf0\x9f\x98\x80 ", 5), "1\xf0\x9f\x98\x80... (1 more byte)");
  EXPECT_EQ(printable("\x80\x80\x80\x80\x80\x80", 5), "\x80\x80... (4 more bytes)");
}

TEST(Plural, OneIsSingular) {
  EXPECT_EQ(plural(0, "thread"), "0 threads");
  EXPECT_EQ(plural(1, "thread"), "1 thread");
  EXPECT_EQ(plural(2, "more task"), "2 more tasks");
  EXPECT_EQ(plural(3, "process"), "3 processes");
  EXPECT_EQ(plural(3, "locality"), "3 localities");
  EXPECT_EQ(plural(3, "key"), "3 keys");
  EXPECT_EQ(noun(1, "box") + " " + noun(4, "box"), "box boxes");
}

TEST(Nearest, DistanceCountsInsertDropChangeAndSwap) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("lveel", "level"), 1u);
  EXPECT_EQ(edit_distance("same", "same"), 0u);
}

TEST(Nearest, FindsTheIntendedWordOrNothing) {
  const std::vector<std::string> known{"mesh.max_level", "mesh.block_size", "hydro.cfl", "hll"};
  EXPECT_EQ(nearest("mesh.max_lvl", known), "mesh.max_level");
  EXPECT_EQ(nearest("max_level", known), "mesh.max_level");
  EXPECT_EQ(nearest("hlc", known), "hll");
  EXPECT_EQ(nearest("output.interval", known), "");
  EXPECT_EQ(nearest("xy", known), "");
  EXPECT_EQ(did_you_mean("hydro.cfk", known), "; did you mean 'hydro.cfl'?");
}

}  // namespace
}  // namespace plx
