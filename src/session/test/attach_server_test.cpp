// A recorder that is measured at the request of a client, over the socket of this process.
#if defined(__linux__)
#include <sys/wait.h>

#include <atomic>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>

#include "base/file.hpp"
#include "base/sanitizers.hpp"
#include "probe/record/trace_sink.hpp"
#include "session/session.hpp"
#include "session/test/attach_test.hpp"

namespace plx::probe {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST_F(Attach, RecordsBetweenRequestAndStop) {
  const attach_registration here(target);
  record("at before");
  {
    const Client c;
    ASSERT_TRUE(c.connected);
    EXPECT_EQ(c.ask(trace), "ok\n" + folder);
    record("at first");
    c.send("stop");
    EXPECT_EQ(c.next(), "ended\n" + folder);
    EXPECT_EQ(c.next(), "");
  }
  EXPECT_EQ(r.worker(0).mode() & worker_log::tracing, 0u) << "no cost remains";
  EXPECT_THAT(traced(), testing::ElementsAre("at first"));
  record("at between");
  const Client again;
  EXPECT_EQ(again.ask(trace), "ok\n" + folder);
  record("at second");
  again.send("stop");
  EXPECT_EQ(again.next(), "ended\n" + folder);
  EXPECT_THAT(traced(), testing::ElementsAre("at second"));
  EXPECT_THAT(read_file(folder + "/measurement.json").value_or(""), HasSubstr("\"records\":1,"))
      << "of this measurement alone";
}

TEST_F(Attach, AFurtherLineReportsBuffersThatExistAlready) {
  const attach_registration here(target);
  r.trace(true, 4096);
  r.trace(false);
  r.forget_trace();
  const auto reply = [&](const char* records) {
    attach_request request = trace;
    request.arguments.push_back(std::string("--plx:trace-records=") + records);
    const Client c;
    std::string line = c.ask(request);
    c.send("stop");
    EXPECT_EQ(c.next(), "ended\n" + folder);
    return line;
  };
  EXPECT_EQ(reply("1024"),
            "ok\n" + folder + "\ntrace-records=1024: buffers for 4096 records exist already and are used");
  EXPECT_EQ(reply("4000"), "ok\n" + folder) << "a power of two";
  EXPECT_EQ(
      Client().ask(attach_request{trace.what, {trace.arguments[0], trace.arguments[1], "--plx:trace-records=8192"}}),
      "error\ntrace-records=8192: the buffers have been made, for 4096");
}

TEST_F(Attach, OneMeasurementAtATime) {
  const attach_registration here(target);
  const Client first, second;
  EXPECT_THAT(first.ask(trace), StartsWith("ok\n"));
  EXPECT_THAT(second.ask(trace), testing::MatchesRegex("error\nprocess [0-9]+ measures it already, into '.*attach'"));
  EXPECT_EQ(second.next(), "") << "a refused client is disconnected";
}

TEST_F(Attach, AProgramMeasuredFromItsStartIsRefused) {
  session own(r, counters, {.output = folder + "/own", .profile = "csv"});
  attach_target measured = target;
  measured.own = &own;
  const attach_registration here(measured);
  const Client c, reader, another;
  EXPECT_THAT(c.ask(trace), testing::MatchesRegex("error\nit has been measured since its start, into '.*/own'"));
  const std::string url = reader.ask({attach_request::kind::serve, {}});
  EXPECT_THAT(url, StartsWith("ok\nhttp://127.0.0.1:"));
  EXPECT_EQ(another.ask({attach_request::kind::serve, {}}), url) << "all clients share a page";
}

TEST_F(Attach, WrongRequestsAreOneLine) {
  const attach_registration here(target);
  const auto answer = [&](const std::string& packet) {
    const Client c;
    c.send(packet);
    return c.next();
  };
  const std::string measure = "parallax 1\nmeasure\n";
  EXPECT_THAT(answer("hello"), StartsWith("error\nexpected a request of this version"));
  EXPECT_THAT(answer("parallax 1\nstop"), HasSubstr("expected serve or measure, found 'stop'"));
  EXPECT_THAT(answer(measure + "--plx:threads=4"),
              StartsWith("error\n'--plx:threads=4' cannot be set in a running program"));
  EXPECT_THAT(answer(measure + "--plx:trace=maybe"), HasSubstr("maybe"));
  EXPECT_THAT(answer(measure + "--plx:profile=screen"), HasSubstr("expected csv or tau"));
  EXPECT_THAT(answer(measure + "--plx:output=/tmp/x"), HasSubstr("expected something to measure"));
  EXPECT_THAT(answer(measure + "--plx:trace=1"), HasSubstr("expected an absolute path"));
  EXPECT_EQ(r.worker(0).mode() & worker_log::tracing, 0u);
}

TEST_F(Attach, AFileThatCannotBeWrittenIsReported) {
  const attach_registration here(target);
  const Client no_folder, no_trace, profile;
  EXPECT_THAT(no_folder.ask({attach_request::kind::measure, {"--plx:profile=csv", "--plx:output=/dev/null/x"}}),
              testing::MatchesRegex("error\n.*/dev/null/x.*"));
  std::filesystem::create_directories(folder + "/trace.plxt");
  EXPECT_THAT(no_trace.ask(trace), testing::MatchesRegex("error\n.*trace.plxt.*"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/measurement.json")) << "a refused measurement writes nothing";
  std::filesystem::create_directories(folder + "/profile.csv");
  EXPECT_THAT(profile.ask({attach_request::kind::measure, {"--plx:profile=csv", "--plx:output=" + folder}}),
              StartsWith("ok"));
  profile.send("stop");
  EXPECT_THAT(profile.next(), testing::MatchesRegex("failed\n.*profile.csv.*"));
}

TEST_F(Attach, ExceptionsEndTheMeasurementOnly) {
  bool broken = false;
  const registration added =
      counters.add({"/attach{locality#0/total}/breaks", "1", "a counter that throws", false}, [&]() -> double {
        if (broken) throw std::runtime_error("no value");
        return 1;
      });
  attach_target throws = target;
  throws.sample = [](void*, sampler&) { throw std::runtime_error("no thread"); };
  const attach_registration here(throws);
  attach_request stacks = trace, counted = trace;
  stacks.arguments.emplace_back("--plx:sample-stacks=100");
  counted.arguments.emplace_back("--plx:sample-interval=1000");
  counted.arguments.emplace_back("--plx:sample-counter=/attach{locality#0/total}/breaks");
  const Client first, second, third;
  EXPECT_EQ(first.ask(stacks), "error\nno thread");
  EXPECT_EQ(r.worker(0).mode() & worker_log::tracing, 0u);
  EXPECT_FALSE(std::filesystem::exists(folder + "/trace.plxt"));
  EXPECT_EQ(second.ask(counted), "ok\n" + folder);
  broken = true;
  second.send("stop");
  EXPECT_THAT(second.next(), StartsWith("failed\n"));
  broken = false;
  EXPECT_EQ(r.worker(0).mode() & worker_log::tracing, 0u);
  r.drain();  // to no sink that has been destroyed
  EXPECT_EQ(third.ask(trace), "ok\n" + folder);
}

/// Counts its records.
struct Kept final : trace_sink {
  void records(unsigned, std::span<const trace_record> some) override { n += some.size(); }
  void totals(const trace_totals& t) override { ended = t.ended; }
  std::size_t n = 0;
  bool ended = false;
};

TEST_F(Attach, ATraceOfTheProgramIsLeftAlone) {
  const attach_registration here(target);
  const auto answer = [&](const attach_request& request) { return Client().ask(request); };
  const std::string in_use = "error\nthe program records a trace of its own, or has one in memory";
  r.trace(true);
  record("at own");
  EXPECT_EQ(answer(trace), in_use);
  r.trace(false);
  EXPECT_EQ(answer(trace), in_use) << "it may still collect it";
  EXPECT_EQ(r.collect_trace().records, 1u);
  r.forget_trace();
  Kept own;
  r.stream_to(&own);
  EXPECT_EQ(answer(trace), in_use);
  r.trace(true);
  record("at own");
  r.trace(false);
  r.stream_to(nullptr);
  EXPECT_EQ(own.n, 1u);
  EXPECT_TRUE(own.ended);
  EXPECT_EQ(answer(trace), "ok\n" + folder);
}

TEST_F(Attach, ATraceOfTheProgramEndsTheRequestedOne) {
  const attach_registration here(target);
  const Client c;
  EXPECT_EQ(c.ask(trace), "ok\n" + folder);
  record("at requested");
  Kept own;
  r.stream_to(&own);
  r.trace(true);
  record("at own");
  c.send("stop");
  EXPECT_THAT(c.next(), StartsWith("failed\nthe program began a trace of its own"));
  EXPECT_THAT(traced(), testing::ElementsAre("at requested"));
  record("at own");
  r.trace(false);
  r.stream_to(nullptr);
  EXPECT_EQ(own.n, 2u) << "the end of the requested trace changes nothing";
  const Client again;
  EXPECT_EQ(again.ask(trace), "ok\n" + folder);
  record("at requested");
  r.trace(true);
  record("at own");
  EXPECT_EQ(r.collect_trace().records, 1u);
}

TEST_F(Attach, TooManyClientsAreRefusedInOneLine) {
  const attach_registration here(target);
  std::vector<std::unique_ptr<Client>> all;
  for (int i = 0; i < 32; ++i) {
    all.push_back(std::make_unique<Client>());
    EXPECT_THAT(all.back()->ask({attach_request::kind::serve, {}}), StartsWith("ok\n"));
  }
  // Without a request: the server waits 0.1 s for it, and may have closed the connection before it is sent.
  EXPECT_EQ(Client().next(), "error\nit has too many clients");
  all.pop_back();
  EXPECT_THAT(Client().ask({attach_request::kind::serve, {}}), StartsWith("ok\n"));
}

TEST_F(Attach, AForkMeansTheTraceOfTheParentOnly) {
  const attach_registration here(target);
  const Client c;
  EXPECT_EQ(c.ask(trace), "ok\n" + folder);
  record("at parent");
  EXPECT_EQ(status_of_child(), 0);
  c.send("stop");
  EXPECT_EQ(c.next(), "ended\n" + folder);
  EXPECT_THAT(traced(), testing::ElementsAre("at parent"));
}

TEST_F(Attach, AForkCopiesNoLockedRecorder) {
  const attach_registration here(target);
  const Client c;
  EXPECT_EQ(c.ask(trace), "ok\n" + folder);
  std::atomic<bool> ended{false};
  std::thread drains([&] {
    while (!ended) r.drain_lent_trace();
  });
  for (int i = 0; i < 50; ++i) EXPECT_EQ(status_of_child(), 0);
  ended = true;
  drains.join();
}

/// Whether this process has the thread of the socket.
bool has_thread() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    if (read_file(task.path().string() + "/comm").value_or("") == "plx-attach\n") return true;
  return false;
}

TEST_F(Attach, AProgramMayCloseAllItsFiles) {
#ifdef PLX_TSAN
  GTEST_SKIP()
      << "ThreadSanitizer reports that the program closes the file of another thread, which is what this test does";
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    const attach_registration own(target);
    { Client().send("hello"); }
    ::usleep(200'000);  // until it sleeps
    for (int d = 3; d < 1000; ++d) ::close(d);
    (void)Client();  // wakes it
    for (int i = 0; i < 20'000 && has_thread(); ++i) ::usleep(1000);
    ::_exit(has_thread() ? 1 : 0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "its thread has ended instead of polling a file that is not its own";
}

TEST_F(Attach, TheChildOfAForkHasASocketOfItsOwn) {
  const attach_registration here(target);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool unreachable = !Client().connected;
    const attach_registration own(target);
    const Client c;
    const bool answers = c.connected && c.ask({attach_request::kind::serve, {}}).starts_with("ok\n");
    ::_exit(unreachable && answers ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(Client().connected) << "that of the parent is unchanged";
}

}  // namespace
}  // namespace plx::probe
#endif
