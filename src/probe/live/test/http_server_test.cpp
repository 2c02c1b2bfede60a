#include "probe/live/http_server.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/test/timeout_test.hpp"
#include "probe/live/test/test_client.hpp"

namespace plx::probe {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::shared_ptr<const std::string> text(std::string s) { return std::make_shared<const std::string>(std::move(s)); }

/// Answers with the path; "/later" after a delay, "/large" with 16 MiB; a client of "/follow" counts as polling.
struct echo final : http_handler {
  http_reply answer(const http_request& r, bool again) noexcept override {
    ++asked;
    if (r.path == "/later" && !again) return {.later_s = later_s};
    if (r.path == "/later") return {.body = text("again")};
    if (r.path == "/refused") return {.status = 403, .body = text("no token\n")};
    if (r.path == "/large") return {.body = text(std::string(16u << 20, 'x'))};
    return {.body = text(std::string(r.path)), .follows = r.path == "/follow"};
  }
  void wait_until_asked(int times) const {
    EXPECT_TRUE(plx::comes_true([&] { return asked >= times; }));
  }
  double later_s = 3600;
  std::atomic<int> asked{0};
};

const http_limits quick{.connections = 8, .head_s = 0.2, .idle_s = 0.2, .write_s = 0.2, .end_s = 0.3};
/// With these limits no client is too slow, however late it gets a core.
const http_limits patient{.connections = 8, .head_s = 3600, .idle_s = 0.2, .write_s = 3600, .end_s = 0.3};

class HttpServer : public ::testing::Test {
 protected:
  void start(const http_limits& limits) { server_ = http_server::start({}, handler_, limits).value(); }
  [[nodiscard]] std::uint16_t port() const { return server_->where().port; }
  [[nodiscard]] const http_counts& counts() const { return server_->counts(); }
  echo handler_;
  std::unique_ptr<http_server> server_;
};

TEST_F(HttpServer, AnswersAndKeepsTheConnection) {
  start({});
  const test_client c(port());
  for (int i = 0; i < 3; ++i) {
    c.send("GET /one HTTP/1.1\r\n\r\n");
    const std::string reply = c.read(1);
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(reply, HasSubstr("Cache-Control: no-store\r\n"));
    EXPECT_THAT(reply, ::testing::EndsWith("\r\n\r\n/one"));
  }
  EXPECT_EQ(counts().answered, 3u);
  EXPECT_EQ(counts().open, 1u);
}

TEST_F(HttpServer, RequestsSentTogetherAreAnsweredInOrder) {
  start({});
  const test_client c(port());
  c.send("GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\nGET /c HTTP/1.0\r\n\r\n");
  const std::string all = c.read();
  EXPECT_LT(all.find("/a"), all.find("/c"));
  EXPECT_EQ(all.find("\r\n\r\n/b"), std::string::npos) << "HEAD has no body";
  EXPECT_EQ(counts().answered, 3u);
}

TEST_F(HttpServer, InvalidRequestsAreRefusedAndCounted) {
  start({});
  for (const std::string& bad : {std::string("DELETE / HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x01 tls"),
                                 "GET / HTTP/1.1\r\nA: " + std::string(1u << 20, 'x')}) {
    const test_client c(port());
    c.send(bad);
    EXPECT_THAT(c.read(), StartsWith("HTTP/1.1 4")) << bad.substr(0, 20);
  }
  EXPECT_EQ(counts().malformed, 3u);
  EXPECT_EQ(counts().refused, 3u);
  EXPECT_EQ(counts().answered, 0u);
}

TEST_F(HttpServer, AnIncompleteRequestEndsAtTheDeadline) {
  start(quick);
  const test_client silent(port()), half(port());
  half.send("GET / HT");
  std::jthread drip([this](const std::stop_token& stop) {  // an occasional byte does not extend the deadline
    const test_client slow(port());
    for (int i = 0; i < 15000 && !stop.stop_requested() && !slow.closed(20); ++i) slow.send("A");
  });
  EXPECT_TRUE(silent.closed());
  EXPECT_TRUE(half.closed());
  drip.join();
  while (counts().open != 0) std::this_thread::yield();  // the client sees the end a moment before it is counted
  EXPECT_EQ(counts().timed_out, 3u);
}

TEST_F(HttpServer, AClientThatDoesNotReadIsDropped) {
  start(quick);
  const test_client c(port());
  c.send("GET /large HTTP/1.1\r\n\r\n");
  while (counts().open != 0 || counts().timed_out == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(counts().timed_out, 1u);
}

TEST_F(HttpServer, ClosingAnIdleConnectionIsNotCountedAsATimeout) {
  start(patient);
  const test_client c(port());
  c.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(c.read(), StartsWith("HTTP/1.1 200"));  // reads until the server closes
  EXPECT_EQ(counts().timed_out, 0u);
}

TEST_F(HttpServer, NewConnectionsReplaceIdleOnes) {
  start({.connections = 4});
  std::deque<test_client> silent;
  for (int i = 0; i < 10; ++i) silent.emplace_back(port());
  EXPECT_THAT(ask(port(), "/here"), StartsWith("HTTP/1.1 200"));
  EXPECT_GE(counts().turned_away, 6u);
  EXPECT_LE(counts().open, 4u);
}

TEST_F(HttpServer, ARefusalEndsTheConnectionWithoutFurtherAnswers) {
  start(patient);
  const test_client c(port());
  std::string many;
  for (int i = 0; i < 100; ++i) many += "GET /refused HTTP/1.1\r\n\r\n";
  c.send(many);
  const std::string all = c.read();
  EXPECT_THAT(all, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(all, ::testing::EndsWith("no token\n"));
  EXPECT_EQ(handler_.asked, 1);
}

TEST_F(HttpServer, ManyRequestsSentTogetherAreAnsweredWithoutStarvingOthers) {
  start(patient);
  const test_client c(port());
  std::string many;
  for (int i = 0; i < 100; ++i) many += "GET /a HTTP/1.1\r\n\r\n";
  c.send(many + "GET /end HTTP/1.0\r\n\r\n");
  EXPECT_THAT(c.read(), ::testing::EndsWith("/end"));
  EXPECT_EQ(counts().answered, 101u);
}

TEST_F(HttpServer, ConnectionsThatDoNotReadAreReplaced) {
  start({.connections = 4, .write_s = 3600, .stuck_s = 0.01});
  std::deque<test_client> deaf;
  for (int i = 0; i < 4; ++i) {
    deaf.emplace_back(port());
    deaf.back().send("GET /large HTTP/1.1\r\n\r\n");
  }
  handler_.wait_until_asked(4);
  EXPECT_TRUE(plx::comes_true([&] { return ask(port(), "/here").starts_with("HTTP/1.1 200"); }));
}

TEST_F(HttpServer, AClientThatWaitsForAReplyIsKept) {
  start({.connections = 2});
  const test_client a(port()), b(port());
  for (const test_client* c : {&a, &b}) c->send("GET /later HTTP/1.1\r\n\r\n");
  handler_.wait_until_asked(2);
  const test_client third(port());
  EXPECT_TRUE(third.closed());
  server_->stop();
  for (const test_client* c : {&a, &b}) EXPECT_THAT(c->read(), ::testing::EndsWith("again"));
}

TEST_F(HttpServer, ADelayedReplyIsSentInTime) {
  handler_.later_s = 0.1;
  start({});
  const double begin = monotonic_seconds();
  EXPECT_THAT(ask(port(), "/later"), ::testing::EndsWith("again"));
  EXPECT_GE(monotonic_seconds() - begin, 0.09);
}

TEST_F(HttpServer, EndsInTimeWhateverTheClientsDo) {
  start(patient);
  const test_client silent(port()), half(port()), parked(port()), deaf(port());
  half.send("GET / HT");
  parked.send("GET /later HTTP/1.1\r\n\r\n");
  deaf.send("GET /large HTTP/1.1\r\n\r\n");
  handler_.wait_until_asked(2);
  const double begin = monotonic_seconds();
  server_.reset();
  EXPECT_LT(monotonic_seconds() - begin, 300) << "end_s is 0.3; the clients' limits are an hour";
  EXPECT_THAT(parked.read(), ::testing::EndsWith("again"));
  EXPECT_TRUE(silent.closed());
}

TEST_F(HttpServer, EndsImmediatelyWithoutClients) {
  start({.end_s = 3600});
  EXPECT_THAT(ask(port(), "/here"), StartsWith("HTTP/1.1 200"));
  const double begin = monotonic_seconds();
  server_.reset();
  EXPECT_LT(monotonic_seconds() - begin, 300);
}

TEST_F(HttpServer, RequestsBeforeTheEndAreAnswered) {
  start({});
  const test_client c(port());
  c.send("GET /later HTTP/1.1\r\n\r\n");
  server_.reset();  // perhaps before the connection was even accepted
  EXPECT_THAT(c.read(), ::testing::EndsWith("again"));
}

TEST_F(HttpServer, APollingClientIsAnsweredOnceMore) {
  start({.end_s = 3600});
  const test_client follower(port()), other(port());
  follower.send("GET /follow HTTP/1.1\r\n\r\n");
  EXPECT_THAT(follower.read(1), ::testing::EndsWith("/follow"));
  other.send("GET /here HTTP/1.1\r\n\r\n");
  EXPECT_THAT(other.read(1), ::testing::EndsWith("/here"));
  const std::jthread stopping([this] { server_->stop(); });
  EXPECT_TRUE(other.closed()) << "the server stops without waiting for this client";
  follower.send("GET /later HTTP/1.1\r\n\r\n");
  EXPECT_THAT(follower.read(), ::testing::EndsWith("again"));
}

TEST_F(HttpServer, APortInUseIsOneLine) {
  start({});
  const auto second = http_server::start({.port = port()}, handler_);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("choose another port"));
  EXPECT_EQ(second.error().message.find('\n'), std::string::npos);
  const auto elsewhere = http_server::start({.host = "192.0.2.1"}, handler_);
  ASSERT_FALSE(elsewhere);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("not an address of this machine"));
}

TEST_F(HttpServer, WithoutDescriptorsConnectionsAreTurnedAwayAndThenServedAgain) {
  start({});
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const test_client waiting(port());
  waiting.send("GET / HTTP/1.1\r\n\r\n");
  ASSERT_THAT(waiting.read(1), StartsWith("HTTP/1.1 200"));
  std::vector<int> taken;
  std::deque<test_client> turned;
  turned.emplace_back(port());
  ASSERT_TRUE(plx::comes_true([&] { return counts().open >= 2; }));
  const rlimit low{.rlim_cur = 200, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &low);
  for (int fd = 0; (fd = ::open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
  ASSERT_FALSE(taken.empty());
  ::close(taken.back());  // one for the client's socket, none for the server
  taken.pop_back();
  const double cpu = counts().cpu_s;
  turned.emplace_back(port());
  ASSERT_TRUE(turned.back().connected());
  EXPECT_TRUE(turned.back().closed());
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  waiting.send("GET / HTTP/1.1\r\n\r\n");
  EXPECT_THAT(waiting.read(1), StartsWith("HTTP/1.1 200")) << "an accepted connection is served";
  EXPECT_LT(counts().cpu_s - cpu, 0.05) << "it does not spin";
  for (const int fd : taken) ::close(fd);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_GE(counts().turned_away, 1u);
  EXPECT_THAT(ask(port(), "/here"), StartsWith("HTTP/1.1 200"));
}

}  // namespace
}  // namespace plx::probe
