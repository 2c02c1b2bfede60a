// Signals under plx-exec: the program ends as it does without plx-exec, and the files are written.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "run_program.hpp"

using testing::HasSubstr;
using testing::IsEmpty;

namespace {

// of __builtin_trap()
#if defined(__x86_64__)
constexpr int signal_of_trap = SIGILL;
#else
constexpr int signal_of_trap = SIGTRAP;
#endif

struct way {
  const char* how;
  int signal;
};
void PrintTo(const way& w, std::ostream* to) { *to << w.how; }
class Signals : public testing::TestWithParam<way> {};

/// Starts a program in a new terminal, types `key` when it has printed its first line, and returns its wait status.
int status_in_terminal(const char* const argv[], char key) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  EXPECT_GE(terminal, 0);
  EXPECT_EQ(grantpt(terminal), 0);
  EXPECT_EQ(unlockpt(terminal), 0);
  const std::string name = ptsname(terminal);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const int end = open(name.c_str(), O_RDWR);
    ioctl(end, TIOCSCTTY, 0);
    for (const int standard : {0, 1, 2}) dup2(end, standard);
    execv(argv[0], const_cast<char* const*>(argv));
    _exit(120);
  }
  std::string text;
  bool typed = false;
  char part[256];
  for (ssize_t n; (n = read(terminal, part, sizeof part)) > 0;) {  // until the program has closed its end
    text.append(part, static_cast<std::size_t>(n));
    if (!typed && text.find('\n') != text.npos) {
      typed = true;
      EXPECT_EQ(write(terminal, &key, 1), 1);
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  EXPECT_THAT(text, HasSubstr("up")) << text;
  return status;
}

}  // namespace

TEST_P(Signals, EndTheProgramAsWithoutPlxExec) {
  const std::string folder = fresh_folder() + "/run";
  const std::string line = std::string(" %BIN%/signals ") + GetParam().how;
  const outcome alone = run("ulimit -c 0; exec" + line);
  const outcome measured = run("ulimit -c 0; exec %BIN%/plx-exec -q -o " + folder + line);
  EXPECT_EQ(alone.exit_code, 128 + GetParam().signal);
  EXPECT_EQ(measured.exit_code, 128 + GetParam().signal);
  EXPECT_EQ(measured.out, alone.out);
  EXPECT_EQ(where(read_csv(folder + "/threads.csv"), "function", "main").size(), 1u);
}
INSTANTIATE_TEST_SUITE_P(All, Signals,
                         testing::Values(way{"alarm", SIGALRM}, way{"sigsuspend", SIGALRM}, way{"pselect", SIGALRM},
                                         way{"profiling_timer", SIGPROF}, way{"cpu_time", SIGXCPU},
                                         way{"realtime", 34 + 3}, way{"pipe", SIGPIPE}, way{"in_hook", SIGTERM},
                                         way{"trap", signal_of_trap}),
                         [](const auto& p) { return std::string(p.param.how); });

TEST(SignalsOfATerminal, EndTheProgram) {
  const std::string folder = fresh_folder();
  const std::string exec = PLX_BIN "/plx-exec", program = PLX_BIN "/signals";
  const struct {
    char key;
    int signal;
  } keys[] = {{'\003', SIGINT}, {'\034', SIGQUIT}};
  for (const auto& k : keys) {
    const std::string run = folder + "/" + std::to_string(k.signal);
    const char* const argv[] = {exec.c_str(), "-q", "-o", run.c_str(), program.c_str(), "wait", nullptr};
    const int status = status_in_terminal(argv, k.key);
    EXPECT_TRUE(WIFSIGNALED(status)) << k.signal;
    EXPECT_EQ(WTERMSIG(status), k.signal);
    EXPECT_EQ(where(read_csv(run + "/threads.csv"), "function", "main").size(), 1u);
  }
}

TEST(SignalsOfAProgram, AreSeenAsWithoutPlxExec) {
  const outcome alone = run("trap '' HUP; exec %BIN%/signals look");
  const outcome measured = run("trap '' HUP; exec %BIN%/plx-exec -q -o " + fresh_folder() + " %BIN%/signals look");
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(measured.exit_code, 0);
  EXPECT_THAT(measured.err, IsEmpty());
  EXPECT_EQ(measured.out, alone.out);
  EXPECT_THAT(alone.out, HasSubstr("SIGHUP is ignored 1"));
}
