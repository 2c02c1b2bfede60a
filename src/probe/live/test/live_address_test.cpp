#include "probe/live/http_server.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace plx::probe {
namespace {

TEST(LiveAddress, ReadsTheUsualForms) {
  const auto text_of = [](const char* s) { return parse_live_address(s, true).value().text(); };
  EXPECT_EQ(text_of("1"), "127.0.0.1:0");
  EXPECT_EQ(text_of("127.0.0.1:0"), "127.0.0.1:0");
  EXPECT_EQ(text_of("localhost:8080"), "127.0.0.1:8080");
  EXPECT_EQ(text_of(":8080"), "127.0.0.1:8080");
  EXPECT_EQ(text_of("127.0.0.1"), "127.0.0.1:0");
  EXPECT_EQ(text_of("[::1]:8080"), "[::1]:8080");
  EXPECT_EQ(text_of("::1"), "[::1]:0");
  EXPECT_EQ(text_of("0.0.0.0:65535"), "0.0.0.0:65535");
}

TEST(LiveAddress, RefusesInvalidAddresses) {
  for (const char* s : {"example.org:80", "127.0.0.1:port", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:80x",
                        "1.2.3:80", "[::1", "[::1]x", "256.0.0.1:1"}) {
    const auto a = parse_live_address(s, true);
    ASSERT_FALSE(a) << s;
    EXPECT_NE(a.error().message.find("127.0.0.1:0"), std::string::npos) << "shows the expected form";
  }
}

TEST(LiveAddress, OtherMachinesNeedASecondSetting) {
  for (const char* s : {"0.0.0.0:80", "[::]:80", "192.168.1.7:80", "[2001:db8::1]:80"}) {
    const auto a = parse_live_address(s, false);
    ASSERT_FALSE(a) << s;
    EXPECT_NE(a.error().message.find("--plx:serve-beyond-loopback"), std::string::npos);
    ASSERT_TRUE(parse_live_address(s, true)) << s;
    EXPECT_FALSE(parse_live_address(s, true)->loopback);
  }
  EXPECT_TRUE(parse_live_address("127.3.2.1:80", false)->loopback);
}

TEST(LiveAddress, ForeignNamesAreNotTrusted) {
  for (const char* s : {"127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:1", "[::1]:80", "192.168.1.7:80"})
    EXPECT_TRUE(trusted_host(s)) << s;
  for (const char* s : {"", "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
                        "[::1].evil", "127.0.0.1 evil"})
    EXPECT_FALSE(trusted_host(s)) << s;
  char own[256] = {};
  if (gethostname(own, sizeof own - 1) == 0 && own[0] != '\0') {
    EXPECT_TRUE(trusted_host(own));
  }
}

}  // namespace
}  // namespace plx::probe
