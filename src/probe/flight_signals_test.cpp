#include "probe/flight_signals.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace plx::probe {
namespace {

void fault() {
  int* volatile nowhere = reinterpret_cast<int*>(8);
  *nowhere = 1;
}

TEST(FlightSignals, AFaultThatIsIgnoredEndsTheProgram) {
  const auto run = [] {
    std::signal(SIGSEGV, SIG_IGN);
    const flight_signals handled(0);
    ::alarm(20);  // in case it goes on for ever
    fault();
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), testing::KilledBySignal(SIGSEGV), "");
}

TEST(FlightSignals, ASignalThatIsIgnoredAndWasSentIsIgnored) {
  const auto run = [] {
    std::signal(SIGFPE, SIG_IGN);
    const flight_signals handled(0);
    ::raise(SIGFPE);
    std::_Exit(3);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace plx::probe
