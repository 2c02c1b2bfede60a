/* Ends by signals in several ways, and examines the signal state that the program sees. The output does not depend on
 * measurement. Usage: signals HOW; if the signal does not arrive: "still alive" and status 0 after 60 s. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t seen = 0;
static void on_signal(int number) { seen = number; }

static int wait_for_the_end(void) {
  for (int i = 0; i < 60; ++i) sleep(1);
  printf("still alive\n");
  return 0;
}

/* A signal that is blocked except in the call that waits for it. */
static int suspended(int with_select) {
  const struct itimerval soon = {{0, 0}, {0, 20000}};
  sigset_t blocked, open;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGALRM);
  sigprocmask(SIG_BLOCK, &blocked, &open);
  setitimer(ITIMER_REAL, &soon, NULL);
  if (with_select) {
    struct timespec most = {60, 0};
    pselect(0, NULL, NULL, NULL, &most, &open);
  } else {
    sigsuspend(&open);
  }
  printf("still alive\n");
  return 0;
}

static void* look_at_mask(void* unused) {
  sigset_t mask;
  int blocked = 0;
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  for (int s = 1; s < 32; ++s) blocked += sigismember(&mask, s);
  printf("blocked in a thread: %d, SIGUSR1 %d\n", blocked, sigismember(&mask, SIGUSR1));
  return unused;
}

static void look(void) {
  struct sigaction a;
  stack_t stack;
  int handled = 0;
  for (int s = 1; s <= 64; ++s)
    if (sigaction(s, NULL, &a) == 0 && a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN) ++handled;
  sigaction(SIGHUP, NULL, &a);
  sigaltstack(NULL, &stack);
  printf("handled %d, SIGHUP is ignored %d, stack %d\n", handled, a.sa_handler == SIG_IGN,
         stack.ss_flags == SS_DISABLE);
  fflush(stdout);
}

static int look_at_everything(void) {
  static char room[1 << 16];
  stack_t own = {.ss_sp = room, .ss_size = sizeof room}, before;
  sigset_t mask;
  pthread_t t;
  look();
  if (fork() == 0) {
    look();
    _exit(0);
  }
  wait(NULL);
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  pthread_create(&t, NULL, &look_at_mask, NULL);
  pthread_join(t, NULL);
  sigaltstack(&own, &before);
  printf("stack before %d", before.ss_flags == SS_DISABLE);
  sigaltstack(NULL, &before);
  printf(", then own %d\n", before.ss_sp == room);
  printf("handler before %d", signal(SIGTERM, &on_signal) == SIG_DFL);
  raise(SIGTERM);
  printf(", seen %d", seen == SIGTERM);
  printf(", then own %d", signal(SIGTERM, SIG_DFL) == &on_signal);
  printf(", then default %d\n", signal(SIGTERM, SIG_IGN) == SIG_DFL);
  printf("ssignal: default before %d", ssignal(SIGINT, SIG_DFL) == SIG_DFL);
  printf(", and again %d\n", ssignal(SIGINT, SIG_IGN) == SIG_DFL);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  printf("sigset: default before %d", sigset(SIGALRM, SIG_DFL) == SIG_DFL);
  printf(", and again %d\n", sigset(SIGALRM, SIG_IGN) == SIG_DFL);
#pragma GCC diagnostic pop
  return 0;
}

/* plx-exec allocates in its hook of pthread_create(): the signal arrives while the measurement may hold a lock. */
static volatile sig_atomic_t raise_in_malloc = 0;
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern void* __libc_malloc(size_t);
void* malloc(size_t bytes) {
  if (raise_in_malloc) {
    raise_in_malloc = 0;
    raise(SIGTERM);
  }
  return __libc_malloc(bytes);
}
#endif
static int in_hook(void) {
  pthread_t t;
  raise_in_malloc = 1;
  pthread_create(&t, NULL, &look_at_mask, NULL);
  if (raise_in_malloc) raise(SIGTERM); /* nothing was allocated */
  return wait_for_the_end();
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "look";
  struct itimerval soon = {{0, 0}, {0, 10000}};
  volatile unsigned zero = 0;
  if (strcmp(how, "look") == 0) return look_at_everything();
  printf("up\n");
  fflush(stdout);
  if (strcmp(how, "alarm") == 0) alarm(1);
  if (strcmp(how, "profiling_timer") == 0) setitimer(ITIMER_PROF, &soon, NULL);
  if (strcmp(how, "realtime") == 0) kill(getpid(), SIGRTMIN + 3);
  if (strcmp(how, "sigsuspend") == 0) return suspended(0);
  if (strcmp(how, "pselect") == 0) return suspended(1);
  if (strcmp(how, "in_hook") == 0) return in_hook();
  if (strcmp(how, "trap") == 0) __builtin_trap();
  if (strcmp(how, "pipe") == 0) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    close(ends[0]);
    if (write(ends[1], "x", 1) != 1) return 2;
  }
  if (strcmp(how, "cpu_time") == 0) {
    const struct rlimit one = {1, 5};
    setrlimit(RLIMIT_CPU, &one);
  }
  if (strcmp(how, "cpu_time") == 0 || strcmp(how, "profiling_timer") == 0)
    for (;;) ++zero;
  return wait_for_the_end();
}
