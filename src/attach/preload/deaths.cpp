#include "attach/preload/deaths.hpp"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>
#include <cstdlib>

#include "attach/core/program.hpp"
#include "attach/preload/real.hpp"

namespace plx::probe {
namespace {

constexpr int last_signal = 64;
constexpr long patience_ns = 5'000'000'000, look_ns = 1'000'000;

void (*write_files)() = nullptr;
sem_t asked;
std::atomic<bool> dying{false}, written{false};
pid_t owner = 0;

alignas(16) char stack_of_main[1 << 16];  // for a stack overflow in the main thread

/// True if the default action ends the process and a handler may be set. 32 and 33 are used by the C library.
bool ends_the_process(int signal) {
  if (signal < 1 || signal > last_signal || signal == 32 || signal == 33) return false;
  for (const int other : {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH})
    if (signal == other) return false;
  return true;
}

bool is_watched(int signal) { return owner != 0 && owner == getpid() && ends_the_process(signal); }

/// Makes the default action of `signal` take place when the handler returns, at the interrupted instruction. The signal
/// is queued again with the same information, so that a core file shows the original cause. It is removed from the mask
/// restored on return, since sigsuspend() and pselect() restore one in which it may be blocked.
void repeat(int signal, siginfo_t* info, void* context) {
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  real().sigaction(signal, &usual, nullptr);
  sigdelset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), signal, info) != 0) raise(signal);
}

void on_death(int signal, siginfo_t* info, void* context) {
  const bool first = owner == getpid() && this_slot.inside == 0 && !dying.exchange(true);
  if (first) sem_post(&asked);
  if (first || (owner == getpid() && dying.load())) {
    timespec pause{0, look_ns};
    for (long waited = 0; waited < patience_ns && !written.load(std::memory_order_acquire); waited += look_ns)
      real().nanosleep(&pause, nullptr);
  }
  repeat(signal, info, context);
}

struct sigaction our_action() {
  struct sigaction a {};
  a.sa_sigaction = &on_death;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&a.sa_mask);
  return a;
}

bool is_default(const struct sigaction& a) { return (a.sa_flags & SA_SIGINFO) == 0 && a.sa_handler == SIG_DFL; }
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
  stack_t current{}, ours{};
  ours.ss_sp = stack_of_main;
  ours.ss_size = sizeof stack_of_main;
  if (real().sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE) != 0)
    real().sigaltstack(&ours, nullptr);
  const struct sigaction a = our_action();
  for (int signal = 1; signal <= last_signal; ++signal) {
    struct sigaction before {};
    if (ends_the_process(signal) && real().sigaction(signal, nullptr, &before) == 0 && is_default(before))
      real().sigaction(signal, &a, nullptr);
  }
}

}  // namespace plx::probe

using namespace plx::probe;

namespace {

/// Called after signal() or a related function has set `asked_for`: returns the previous handler as seen by the
/// program.
sighandler_t after_signal(int number, sighandler_t asked_for, sighandler_t before) {
  if (before == SIG_ERR) return before;
  if (asked_for == SIG_DFL && is_watched(number)) {
    const struct sigaction ours = our_action();
    real().sigaction(number, &ours, nullptr);
  }
  return reinterpret_cast<void*>(before) == reinterpret_cast<void*>(&on_death) ? SIG_DFL : before;
}

}  // namespace

// Shows the program its own settings: the default if only the handler above is set, and no signal stack if only that of
// the measurement is. A default set by the program is intercepted again.
PLX_HOOK int sigaction(int signal, const struct sigaction* asked_for, struct sigaction* before) noexcept {
  const struct sigaction ours = our_action();
  const bool watch_again = asked_for != nullptr && is_default(*asked_for) && is_watched(signal);
  const int done = real().sigaction(signal, watch_again ? &ours : asked_for, before);
  if (done == 0 && before != nullptr && is_ours(*before)) {
    *before = {};
    before->sa_handler = SIG_DFL;
  }
  return done;
}

PLX_HOOK sighandler_t signal(int number, sighandler_t asked_for) noexcept {
  return after_signal(number, asked_for, real().signal(number, asked_for));
}
PLX_HOOK sighandler_t __sysv_signal(int number, sighandler_t asked_for) noexcept {
  return after_signal(number, asked_for, real().__sysv_signal(number, asked_for));
}

PLX_HOOK int sigaltstack(const stack_t* asked_for, stack_t* before) noexcept {
  stack_t current{};
  if (real().sigaltstack(nullptr, &current) != 0) return -1;
  const bool ours = (current.ss_flags & SS_DISABLE) == 0 && current.ss_sp == stack_of_main;
  const bool leaves_none = asked_for != nullptr && (asked_for->ss_flags & SS_DISABLE) != 0;
  if (asked_for != nullptr && !(ours && leaves_none) && real().sigaltstack(asked_for, nullptr) != 0) return -1;
  if (before != nullptr) {
    *before = current;
    if (ours) {
      *before = {};
      before->ss_flags = SS_DISABLE;
    }
  }
  return 0;
}
