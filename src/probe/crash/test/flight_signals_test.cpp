#include "probe/crash/flight_dump.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "probe/record/recorder.hpp"
#include "probe/record/test/temporary_test.hpp"

namespace plx::probe {
namespace {

void fault() {
  int* volatile nowhere = reinterpret_cast<int*>(8);
  *nowhere = 1;
}

TEST(FlightSignals, AnIgnoredFaultEndsTheProgram) {
  const auto run = [] {
    std::signal(SIGSEGV, SIG_IGN);
    const flight_signals handled(0);
    ::alarm(20);  // in case of an endless loop
    fault();
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGSEGV), "");
}

TEST(FlightSignals, AnIgnoredSignalThatWasSentStaysIgnored) {
  const auto run = [] {
    std::signal(SIGFPE, SIG_IGN);
    const flight_signals handled(0);
    ::raise(SIGFPE);
    std::_Exit(3);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(3), "");
}

/// The program's handler returns to the instruction that faults, or sends the signal again.
TEST(FlightSignals, AHandlerOfTheProgramForOneSignalIsCalledOnce) {
  static int calls;
  const auto run = [](void (*handler)(int)) {
    calls = 0;
    struct sigaction once {};
    once.sa_handler = handler;
    once.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(SIGSEGV, &once, nullptr);
    const flight_signals handled(0);
    fault();
    std::_Exit(0);
  };
  const auto return_to_fault = [](int) {
    if (++calls > 1) std::_Exit(9);
  };
  const auto send_again = [](int signal) {
    if (++calls > 1) std::_Exit(9);
    ::raise(signal);
  };
  EXPECT_EXIT(run(return_to_fault), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run(send_again), testing::KilledBySignal(SIGSEGV), "");
}

/// Requests arrive while this thread writes a file: each gets its own file afterwards, without a deadlock.
TEST(FlightSignals, ARequestToTheWritingThreadIsServedAfterwards) {
  const std::string folder = temporary_path("flight_requests");
  std::filesystem::remove_all(folder);
  recorder r(1);
  static bool requested;
  requested = false;
  const flight_registration there({.rec = &r,
                                   .now = [](void*, unsigned) noexcept -> flight_now {
                                     if (!requested) requested = true, ::raise(SIGUSR2);
                                     return {};
                                   },
                                   .folder = folder.c_str()});
  const flight_signals handled(SIGUSR2);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(write_flight("no task has begun or ended for 10 s", next_flight_number()));
  EXPECT_NE(testing::internal::GetCapturedStderr().find("requested by a signal"), std::string::npos);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder)) ++files;
  EXPECT_EQ(files, 2u);
}

/// A crash while a file is written; alarm() guards against a deadlock.
TEST(FlightSignals, AFaultOfTheWritingThreadEndsTheProgram) {
  const auto run = [] {
    const std::string folder = temporary_path("flight_fault");
    recorder r(1);
    const flight_registration there({.rec = &r,
                                     .now = [](void*, unsigned) noexcept -> flight_now {
                                       fault();
                                       return {};
                                     },
                                     .folder = folder.c_str()});
    ::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would end the program with a code instead
    const flight_signals handled(0);
    ::alarm(60);
    write_flight("tried", next_flight_number());
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace plx::probe
