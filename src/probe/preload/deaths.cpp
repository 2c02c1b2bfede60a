#include "probe/preload/deaths.hpp"

#include <errno.h>
#include <string.h>

#include <atomic>
#include <cstdlib>

#include "probe/preload/program.hpp"
#include "probe/preload/real.hpp"

namespace plx::probe {
namespace {

constexpr int watched[] = {SIGHUP,  SIGINT, SIGQUIT, SIGILL,  SIGABRT, SIGFPE,  SIGSEGV, SIGPIPE, SIGALRM,
                           SIGTERM, SIGBUS, SIGSYS,  SIGTRAP, SIGXCPU, SIGXFSZ, SIGUSR1, SIGUSR2, SIGVTALRM};
constexpr long patience_ns = 5'000'000'000, look_ns = 1'000'000;

void (*write_files)() = nullptr;
sem_t asked;
std::atomic<bool> dying{false}, written{false};
pid_t owner = 0;

bool is_watched(int signal) {
  for (const int w : watched)
    if (w == signal) return owner != 0 && owner == getpid();
  return false;
}

void on_death(int signal, siginfo_t* info, void* /*context*/) {
  if (owner == getpid() && this_slot.inside == 0 && !dying.exchange(true)) {
    sem_post(&asked);
    timespec pause{0, look_ns};
    for (long waited = 0; waited < patience_ns && !written.load(std::memory_order_acquire); waited += look_ns)
      real().nanosleep(&pause, nullptr);
  } else if (owner == getpid() && dying.load() && !written.load()) {
    timespec pause{0, look_ns};
    for (long waited = 0; waited < patience_ns && !written.load(std::memory_order_acquire); waited += look_ns)
      real().nanosleep(&pause, nullptr);
  }
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  real().sigaction(signal, &usual, nullptr);
  if (info != nullptr && info->si_code > 0 && signal != SIGTRAP) return;  // of an instruction, which will run again
  raise(signal);                                                          // comes when this handler returns
}

struct sigaction our_action() {
  struct sigaction a {};
  a.sa_sigaction = &on_death;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&a.sa_mask);
  return a;
}

bool is_ours(const struct sigaction& a) { return (a.sa_flags & SA_SIGINFO) != 0 && a.sa_sigaction == &on_death; }

void* write_when_asked(void*) {
  ++this_slot.inside;
  pthread_setname_np(pthread_self(), "plx-exec");
  while (real().sem_wait(&asked) != 0) {
  }
  write_files();
  written.store(true, std::memory_order_release);
  return nullptr;
}

}  // namespace

void watch_deaths(void (*write)()) {
  write_files = write;
  owner = getpid();
  sem_init(&asked, 0, 0);
  sigset_t all, mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask);
  pthread_t thread;
  const int failed = real().pthread_create(&thread, nullptr, &write_when_asked, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  if (failed != 0) return;
  pthread_detach(thread);
  alignas(16) static char stack[1 << 16];  // for an overflow of main's
  stack_t current{}, ours{};
  ours.ss_sp = stack;
  ours.ss_size = sizeof stack;
  if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) != 0) sigaltstack(&ours, nullptr);
  for (const int signal : watched) {
    struct sigaction before {};
    if (real().sigaction(signal, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 ||
        before.sa_handler != SIG_DFL)
      continue;
    const struct sigaction a = our_action();
    real().sigaction(signal, &a, nullptr);
  }
}

}  // namespace plx::probe

using namespace plx::probe;

// What the program sees is as if nobody watched: it asks for the default and gets it, sets it and we watch again.
PLX_HOOK int sigaction(int signal, const struct sigaction* asked_for, struct sigaction* before) noexcept {
  struct sigaction current {};
  if (!is_watched(signal)) return real().sigaction(signal, asked_for, before);
  if (real().sigaction(signal, nullptr, &current) != 0) return -1;
  const bool was_ours = is_ours(current);
  int done = 0;
  if (asked_for != nullptr) {
    const bool usual = (asked_for->sa_flags & SA_SIGINFO) == 0 && asked_for->sa_handler == SIG_DFL;
    const struct sigaction ours = our_action();
    done = real().sigaction(signal, usual ? &ours : asked_for, nullptr);
  }
  if (done == 0 && before != nullptr) {
    *before = current;
    if (was_ours) {
      *before = {};
      before->sa_handler = SIG_DFL;
    }
  }
  return done;
}

PLX_HOOK sighandler_t signal(int number, sighandler_t asked_for) noexcept {
  if (!is_watched(number)) return real().signal(number, asked_for);
  struct sigaction current {};
  if (real().sigaction(number, nullptr, &current) != 0) return SIG_ERR;
  const bool was_ours = is_ours(current);
  if (asked_for == SIG_DFL) {
    const struct sigaction ours = our_action();
    if (real().sigaction(number, &ours, nullptr) != 0) return SIG_ERR;
  } else if (real().signal(number, asked_for) == SIG_ERR) {
    return SIG_ERR;
  }
  return was_ours ? SIG_DFL : current.sa_handler;
}
