#include "probe/live/live_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "base/file.hpp"
#include "probe/live/test/test_client.hpp"
#include "probe/record/test/temporary_test.hpp"
#include "session/session.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class LiveServer : public testing::Test {
 protected:
  LiveServer() {
    std::filesystem::remove_all(folder_);
    const name_id work = register_name("live.work");
    for (int i = 0; i < 3; ++i)
      recorder_.worker(0).record({.name = work, .begin = now_ticks(), .end = now_ticks() + 100000});
    live_ = live_server::start(recorder_, counters_, {.serve = "127.0.0.1:0", .folder = folder_}).value();
    recorder_.worker(1).record({.name = work, .begin = now_ticks() - ticks_from(0.1), .end = now_ticks()});
    const std::string& url = live_->url();
    port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.find(':', 7) + 1)));
    token_ = url.substr(url.find("token="));
  }
  [[nodiscard]] std::string get(const std::string& target) const {
    return ask(port_, target + (target.find('?') == std::string::npos ? "?" : "&") + token_);
  }
  [[nodiscard]] double count(const char* name) const { return counters_.query(name).value().at(0).value; }

  const std::string folder_ = temporary_path("live");
  recorder recorder_{2};
  counter_registry counters_;
  std::unique_ptr<live_server> live_;
  std::uint16_t port_ = 0;
  std::string token_;
};

TEST_F(LiveServer, ServesThePageWithAStrictPolicy) {
  const std::string page = get("/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'; script-src 'nonce-"));
  EXPECT_THAT(page, HasSubstr("<!doctype html>"));
  EXPECT_THAT(page, Not(HasSubstr("PLX-NONCE"))) << "every placeholder was replaced by the nonce";
  EXPECT_THAT(page, Not(HasSubstr("Access-Control"))) << "no other site may read";
  EXPECT_NE(get("/").substr(0, 700), page.substr(0, 700)) << "a nonce is used once";
}

TEST_F(LiveServer, ServesAllMeasurements) {
  EXPECT_THAT(get("/tasks.json"), HasSubstr("\"name\":\"live.work\",\"calls\":4"));
  EXPECT_THAT(get("/metrics"), HasSubstr("# TYPE plx_live_requests_answered_total counter\n"));
  EXPECT_THAT(get("/counters.json"), HasSubstr("\"name\":\"/live/requests/answered\""));
  EXPECT_THAT(get("/counters.json?pattern=/live/time/*"), Not(HasSubstr("requests")));
  EXPECT_THAT(get("/counters.json?pattern=/live/requests/answerd"), HasSubstr("/live/requests/answered"))
      << "the nearest";
  EXPECT_THAT(get("/timeline.json?window_s=60"),
              HasSubstr("\"names\":[\"live.work\"],\"from\":[0.0,0.0],\"workers\":[[],[[0,"));
  EXPECT_THAT(get("/mesh.json"), HasSubstr("null"));
  const std::string all = get("/poll.json");
  for (const char* part : {"\"state\":\"running\"", "\"list\":", "\"values\":", "\"tasks\":", "\"timeline\":"})
    EXPECT_THAT(all, HasSubstr(part));
}

TEST_F(LiveServer, ServesSampledStacks) {
  EXPECT_THAT(get("/stacks.json"), HasSubstr("\r\n\r\nnull\n"));
  EXPECT_THAT(get("/poll.json?parts="), HasSubstr("\"sample_stacks_hz\":0"));
  live_.reset();
  auto sampling = sampler::start(1000);
  if (!sampling) GTEST_SKIP() << sampling.error().message;
  name_id work = register_name("live.work");
  const auto in_work = [](const sample_source& self) noexcept {
    return sampled_state{sampled_activity::task, *static_cast<const name_id*>(self.context), self.stack};
  };
  ASSERT_TRUE((*sampling)->watch(::gettid(), {.now = in_work, .context = &work, .stack = stack_of_this_thread()}));
  live_ = live_server::start(recorder_, counters_, {.serve = "127.0.0.1:0", .stacks = sampling->get()}).value();
  const std::string& url = live_->url();
  port_ = static_cast<std::uint16_t>(std::stoi(url.substr(url.find(':', 7) + 1)));
  token_ = url.substr(url.find("token="));
  while ((*sampling)->tree().total() < 20) (*sampling)->drain();
  EXPECT_THAT(get("/poll.json?parts=stacks"),
              testing::AllOf(HasSubstr("\"sample_stacks_hz\":1000"), HasSubstr("\"stacks\":{\"hz\":1000,\"seconds\":"),
                             HasSubstr(",\"live.work\"]")));
  EXPECT_THAT(get("/poll.json"), Not(HasSubstr("\"stacks\""))) << "only on request";
  live_.reset();
}

TEST_F(LiveServer, ReadingCreatesNoCounters) {
  const std::size_t before = counters_.list().size();
  for (const char* pattern : {"/statistics{/live/requests/answered}/max@100000", "/statistics{/live/*/*}/*@100000",
                              "/arithmetics/add@/live/requests/answered,/live/refused/path"})
    EXPECT_THAT(get(std::string("/counters.json?pattern=") + pattern), StartsWith("HTTP/1.1 404")) << pattern;
  EXPECT_EQ(counters_.list().size(), before);
  const char* made = "/statistics{/live/requests/answered}/max@100000";
  ASSERT_TRUE(counters_.query(made));
  EXPECT_THAT(get(std::string("/counters.json?pattern=") + made), HasSubstr(std::string("\"name\":\"") + made));
}

TEST_F(LiveServer, KnownDataIsNotSentAgain) {
  const std::string all = get("/poll.json?parts=counters");
  const std::size_t at = all.find("\"catalog\":") + 10;
  const std::string catalog = all.substr(at, all.find(',', at) - at);
  EXPECT_THAT(get("/poll.json?parts=counters&catalog=" + catalog), Not(HasSubstr("\"list\"")));
  EXPECT_THAT(get("/poll.json?parts=counters&catalog=1"), HasSubstr("\"list\""));
  live_->pictures().publish({.title = "t", .width = 1, .height = 1, .values = {1}});
  EXPECT_THAT(get("/poll.json?parts=mesh"), HasSubstr("\"mesh\":{\"number\":1"));
  EXPECT_THAT(get("/poll.json?parts=mesh&mesh=1"), Not(HasSubstr("\"mesh\"")));
}

TEST_F(LiveServer, RefusesAndCountsRequestsWithoutTheToken) {
  for (const std::string& target : {std::string("/"), std::string("/metrics?token="), std::string("/nothing"),
                                    "/?token=" + std::string(32, '0'), "/?" + token_.substr(0, token_.size() - 1)})
    EXPECT_THAT(ask(port_, target), StartsWith("HTTP/1.1 403")) << target;
  const std::string bearer = "Host: localhost\r\nAuthorization: Bearer " + token_.substr(6) + "\r\n";
  EXPECT_THAT(ask(port_, "/metrics", bearer), StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(ask(port_, "/metrics", "Host: localhost\r\nAuthorization: Bearer x\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_EQ(count("/live/refused/token"), 6);
  EXPECT_EQ(count("/live/requests/refused"), 6);
}

TEST_F(LiveServer, RefusesForeignHostNames) {
  const std::string target = "/?" + token_;
  EXPECT_THAT(ask(port_, target, "Host: evil.example\r\n"), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask(port_, target, ""), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask(port_, target, "Host: 127.0.0.1:9\r\n"), StartsWith("HTTP/1.1 200")) << "through a tunnel";
  EXPECT_EQ(count("/live/refused/host"), 2);
}

TEST_F(LiveServer, RefusesMalformedPathsAndMethods) {
  for (const char* path :
       {"/nothing", "//", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/counters.json/", "/;a", "/?/../"}) {
    const std::string reply = get(path);
    EXPECT_THAT(reply, testing::AnyOf(StartsWith("HTTP/1.1 404"), HasSubstr("<!doctype html>"))) << path;
    EXPECT_THAT(reply, Not(HasSubstr("root:"))) << path;
  }
  EXPECT_EQ(count("/live/refused/path"), 6);
  const test_client c(port_);
  c.send("POST /?" + token_ + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx");
  EXPECT_THAT(c.read(), StartsWith("HTTP/1.1 405"));
  EXPECT_EQ(count("/live/refused/malformed"), 1);
}

TEST_F(LiveServer, TheUrlFileIsReadableByItsOwnerOnly) {
  const std::string file = folder_ + "/live.url";
  EXPECT_EQ(read_file(file).value(), live_->url() + "\n");
  struct stat s {};
  ASSERT_EQ(::stat(file.c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 0777u, 0600u);
  live_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder_)) << "a folder created for it is removed";
}

TEST_F(LiveServer, TheFileOfAnotherRunIsKept) {
  ASSERT_TRUE(write_file(folder_ + "/live.url", "http://127.0.0.1:1/?token=another\n"));
  live_.reset();
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/live.url"));
}

TEST_F(LiveServer, AWaitingRequestIsAnsweredAtTheEnd) {
  const test_client c(port_);
  c.send("GET /poll.json?wait=1&" + token_ + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  live_.reset();
  EXPECT_THAT(c.read(), HasSubstr("\"state\":\"ended\""));
  EXPECT_FALSE(test_client(port_).connected());
}

// However long the server takes to answer all of them.
TEST_F(LiveServer, ClientsThatHaveWaitedForASecondGetTheSameAnswer) {
  live_pages pages(recorder_, counters_, nullptr);
  const std::string key = "Bearer " + pages.token().text();
  const http_request request{
      .path = "/poll.json", .query = "wait=1&parts=tasks", .host = "localhost", .authorization = key};
  const auto second_of = [](const std::string& json) {
    const std::string name = "\"time_s\":";
    return std::stoi(json.substr(json.find(name) + name.size()));
  };
  for (int i = 0; i < 5; ++i) {
    const http_reply first = pages.answer(request, true);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // longer than an answer is kept for other clients
    const http_reply later = pages.answer(request, true);
    ASSERT_TRUE(first.body && later.body);
    EXPECT_EQ(second_of(*first.body) == second_of(*later.body), *first.body == *later.body);
  }
}

TEST_F(LiveServer, TokensAreDistinct) {
  const access_token a, b;
  EXPECT_NE(a.text(), b.text());
  EXPECT_TRUE(a.equals(a.text()));
  EXPECT_FALSE(a.equals(b.text()));
  EXPECT_FALSE(a.equals(""));
  EXPECT_EQ(a.text().size(), 32u);
}

TEST(LiveSession, APortInUseIsReportedAndTheRunContinues) {
  recorder r(1);
  counter_registry counters;
  const auto first = live_server::start(r, counters, {.serve = "127.0.0.1:0"}).value();
  const std::string address = first->url().substr(7, first->url().find("/?") - 7);
  counter_registry others;
  testing::internal::CaptureStderr();
  session s(r, others, {.output = temporary_path("live_port"), .serve = address});
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_THAT(message, StartsWith("plx: no live page: cannot serve at " + address));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1);
  EXPECT_EQ(s.pictures(), nullptr);
  EXPECT_TRUE(s.finish());
}

TEST(LiveSession, PrintsTheUrlOnce) {
  recorder r(1);
  counter_registry counters;
  testing::internal::CaptureStderr();
  const session s(r, counters, {.output = "/proc/no/such", .serve = "127.0.0.1:0"});  // the file cannot be written
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::MatchesRegex("plx: live page: http://127.0.0.1:[0-9]+/\\?token=[0-9a-f]+\n"));
}

}  // namespace
}  // namespace plx::probe
