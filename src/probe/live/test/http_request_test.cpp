#include "probe/live/http_server.hpp"

#include <gtest/gtest.h>

#include <string>

namespace plx::probe {
namespace {

const std::string rest = " HTTP/1.1\r\nHost: localhost\r\n\r\n";

int status_of(const std::string& text) {
  const http_parsed p = parse_http_request(text);
  return p.kind == http_parsed::refused ? p.status : p.kind == http_parsed::complete ? 200 : 0;
}

TEST(HttpRequest, ReadsPathQueryAndTheRelevantHeaders) {
  const std::string text =
      "GET /a.json?x=1&pattern=/threads%7B*%7D/*&y HTTP/1.1\r\nhost:  127.0.0.1:80 \r\nAuthorization: Bearer "
      "abc\r\n\r\nGET";
  const http_parsed p = parse_http_request(text);
  ASSERT_EQ(p.kind, http_parsed::complete);
  EXPECT_EQ(p.length, text.size() - 3);  // without the next request
  EXPECT_EQ(p.request.path, "/a.json");
  EXPECT_EQ(p.request.host, "127.0.0.1:80");
  EXPECT_EQ(p.request.authorization, "Bearer abc");
  EXPECT_EQ(p.request.field("x"), "1");
  EXPECT_EQ(p.request.field("pattern"), "/threads{*}/*");
  EXPECT_EQ(p.request.field("y"), "");
  EXPECT_EQ(p.request.field("z"), std::nullopt);
  EXPECT_TRUE(p.request.keep_alive);
  EXPECT_FALSE(p.request.head_only);
}

TEST(HttpRequest, EveryPrefixIsIncomplete) {
  const std::string text = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_EQ(status_of(text.substr(0, n)), 0) << n;
  EXPECT_EQ(status_of(text), 200);
  EXPECT_FALSE(parse_http_request(text).request.keep_alive);
}

TEST(HttpRequest, OldClientsEndAfterOneReply) {
  EXPECT_FALSE(parse_http_request("GET / HTTP/1.0\r\n\r\n").request.keep_alive);
  EXPECT_TRUE(parse_http_request("HEAD / HTTP/1.1\r\n\r\n").request.head_only);
}

TEST(HttpRequest, RefusesInvalidRequests) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "get", "BREW"})
    EXPECT_EQ(status_of(method + (" /" + rest)), 405) << method;
  EXPECT_EQ(status_of("GET /" + std::string(3000, 'a') + rest), 414);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET http://elsewhere/" + rest), 400);
  EXPECT_EQ(status_of("GET *" + rest), 400);
  EXPECT_EQ(status_of("GET /a b" + rest), 400);
  EXPECT_EQ(status_of("GET /\x01" + rest), 400);
  EXPECT_EQ(status_of(std::string("GET /\0", 6) + rest), 400);
  EXPECT_EQ(status_of("GET\r\n\r\n"), 400);
  EXPECT_EQ(status_of("\x16\x03\x01\x02"), 400);  // TLS is refused immediately, without waiting for a line
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nno colon\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"), 413);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
}

TEST(HttpRequest, RefusesLargeRequests) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nA: " + std::string(http_head_limit, 'x')), 431);
  EXPECT_EQ(status_of("GET /" + std::string(http_head_limit, 'x')), 414);
  std::string many = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 100; ++i) many += "A: b\r\n";
  EXPECT_EQ(status_of(many + "\r\n"), 431);
}

TEST(HttpRequest, BrokenEscapesAreUnchanged) {
  const std::string text = "GET /?a=%&b=%4&c=%zz&d=%41+%" + rest;
  const http_request r = parse_http_request(text).request;
  EXPECT_EQ(r.field("a"), "%");
  EXPECT_EQ(r.field("b"), "%4");
  EXPECT_EQ(r.field("c"), "%zz");
  EXPECT_EQ(r.field("d"), "A %");
}

}  // namespace
}  // namespace plx::probe
