// The ends of measurements and pages that clients have requested: by a client, by its death, by that of the runtime.
#if defined(__linux__)
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "session/test/attach_test.hpp"

namespace plx::probe {
namespace {

using testing::StartsWith;

TEST_F(Attach, EndsWithItsClient) {
  const attach_registration here(target);
  {
    const Client c;
    EXPECT_THAT(c.ask(trace), StartsWith("ok\n"));
    record("at work");
  }  // as if it were killed
  for (int i = 0; i < 6000 && (r.worker(0).mode() & worker_log::tracing) != 0; ++i) ::usleep(10'000);
  const Client next;
  EXPECT_THAT(next.ask({attach_request::kind::serve, {}}), StartsWith("ok\nhttp://127.0.0.1:"))
      << "the server continues";
  EXPECT_THAT(traced(), testing::ElementsAre("at work"));
}

TEST_F(Attach, APageEndsWithItsLastClientAndLeavesNoCost) {
  const attach_registration here(target);
  const attach_request page{attach_request::kind::serve, {}};
  const auto answered_after_those_that_left = [] {
    const Client next;  // the server sees the ends of others before it accepts this one
    next.send("hello");
    EXPECT_THAT(next.next(), StartsWith("error\n"));
  };
  for (int turn = 0; turn < 2; ++turn) {
    {
      const Client second;
      {
        const Client first;
        EXPECT_THAT(first.ask(page), StartsWith("ok\nhttp://127.0.0.1:"));
        EXPECT_THAT(second.ask(page), StartsWith("ok\nhttp://127.0.0.1:"));
      }
      answered_after_those_that_left();
      EXPECT_NE(r.worker(0).flight(), nullptr) << "the timeline of the second";
    }
    answered_after_those_that_left();
    EXPECT_EQ(r.worker(0).flight(), nullptr);
  }
  r.flight(1 << 14);  // of the program
  { EXPECT_THAT(Client().ask(page), StartsWith("ok\n")); }
  answered_after_those_that_left();
  EXPECT_NE(r.worker(0).flight(), nullptr);
}

TEST_F(Attach, APageEndsWithoutTheFlightRecorderThatTheProgramHasEnabledMeanwhile) {
  const attach_registration here(target);
  {
    const Client reader;
    EXPECT_THAT(reader.ask({attach_request::kind::serve, {}}), StartsWith("ok\nhttp://127.0.0.1:"));
    r.flight(1 << 14);
  }
  const Client next;  // see above
  next.send("hello");
  EXPECT_THAT(next.next(), StartsWith("error\n"));
  EXPECT_NE(r.worker(0).flight(), nullptr);
}

TEST_F(Attach, EndsWithItsRuntime) {
  auto here = std::make_unique<attach_registration>(target);
  const Client c, reader;
  EXPECT_THAT(c.ask(trace), StartsWith("ok\n"));
  EXPECT_THAT(reader.ask({attach_request::kind::serve, {}}), StartsWith("ok\nhttp://"));
  record("at end");
  here.reset();
  EXPECT_EQ(c.next(), "ended\n" + folder);
  EXPECT_EQ(reader.next(), "");
  EXPECT_THAT(traced(), testing::ElementsAre("at end"));
  const Client late;
  EXPECT_EQ(late.ask(trace), "error\nit has no runtime of Parallax at present");
}

/// A counter that is read at the end of a measurement, and can be made to wait then.
struct Gate {
  explicit Gate(counter_registry& counters)
      : added(counters.add({"/attach{locality#0/total}/gate", "1", "a counter that waits", false},
                           [this] { return read(); })) {}

  double read() {
    std::unique_lock lock(mutex);
    reached = closed;
    changed.notify_all();
    changed.wait(lock, [this] { return !closed; });
    return 1;
  }
  void close() {
    const std::lock_guard lock(mutex);
    closed = true;
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return reached; });
  }
  void open() {
    const std::lock_guard lock(mutex);
    closed = reached = false;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool closed = false, reached = false;
  const registration added;  // the last member: it uses the others
};

/// A measurement that writes its files until the gate is opened.
attach_request with_gate(attach_request request) {
  request.arguments.emplace_back("--plx:sample-interval=1000");
  request.arguments.emplace_back("--plx:sample-counter=/attach{locality#0/total}/gate");
  return request;
}

TEST_F(Attach, AClientIsServedAfterTheFilesOfAnotherOne) {
  Gate gate(counters);
  const attach_registration here(target);
  const Client first, second;
  EXPECT_EQ(first.ask(with_gate(trace)), "ok\n" + folder);
  record("at first");
  gate.close();
  first.send("stop");
  gate.wait_until_reached();
  second.send(trace.text());  // while the files of the first are written
  gate.open();
  EXPECT_EQ(first.next(), "ended\n" + folder);
  EXPECT_EQ(second.next(), "ok\n" + folder);
  record("at second");
  second.send("stop");
  EXPECT_EQ(second.next(), "ended\n" + folder);
  EXPECT_THAT(traced(), testing::ElementsAre("at second"));
}

TEST_F(Attach, AClientIsRefusedWhileTheFilesOfAnEndingRuntimeAreWritten) {
  Gate gate(counters);
  auto here = std::make_unique<attach_registration>(target);
  const Client first, second;
  EXPECT_EQ(first.ask(with_gate(trace)), "ok\n" + folder);
  record("at end");
  gate.close();
  std::thread program([&] { here.reset(); });
  gate.wait_until_reached();
  EXPECT_EQ(second.ask(trace), "error\nits runtime ends at present");
  gate.open();
  program.join();
  EXPECT_EQ(first.next(), "ended\n" + folder);
  EXPECT_THAT(traced(), testing::ElementsAre("at end"));
}

TEST_F(Attach, ARuntimeThatEndsWaitsForTheFilesOfItsClient) {
  Gate gate(counters);
  auto here = std::make_unique<attach_registration>(target);
  auto killed = std::make_unique<Client>();
  EXPECT_EQ(killed->ask(with_gate(trace)), "ok\n" + folder);
  record("at work");
  gate.close();
  killed.reset();
  gate.wait_until_reached();
  std::thread program([&] {
    here.reset();
    EXPECT_TRUE(std::filesystem::exists(folder + "/measurement.json"));
  });
  gate.open();
  program.join();
  EXPECT_THAT(traced(), testing::ElementsAre("at work"));
}

}  // namespace
}  // namespace plx::probe
#endif
