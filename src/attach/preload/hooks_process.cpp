// The begin and the end of the process: settings of plx-exec, and the ways in which a program ends (exit, _exit, exec,
// signals, the end of its last thread).
//
// If a process has two images (a shell that execs a program), each writes the files, and those of the last one remain.
// Children of fork, and programs started by the measured one, are not measured, unless plx-exec --follow is used.
#include <dlfcn.h>
#include <errno.h>
#include <fmt/format.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "attach/core/program.hpp"
#include "attach/preload/call_tables.hpp"
#include "attach/preload/exec_settings.hpp"
#include "attach/preload/own_threads.hpp"
#include "attach/preload/real.hpp"
#include "base/file.hpp"
#include "base/log.hpp"

using namespace plx::probe;

namespace plx::probe {

constinit real_functions real_table{};

// A lookup may allocate, and a program's own malloc may lock a mutex, which calls this function again: the functions
// for mutexes come first, so they are available by then. Concurrent lookups store equal values.
void find_real() noexcept {
  const auto find = [](const char* name, const char* version) -> void* {
    if (version != nullptr)
      if (void* exact = dlvsym(RTLD_NEXT, name, version)) return exact;
    return dlsym(RTLD_NEXT, name);
  };
#define PLX_FIND(name, version) \
  if (real_table.name == nullptr) real_table.name = reinterpret_cast<decltype(&::name)>(find(#name, version));
  PLX_REAL_FUNCTIONS(PLX_FIND)
#undef PLX_FIND
}

}  // namespace plx::probe

// ------------------------------------------------------------------------------------------------------------- signals
//
// A signal that ends the process: the files are written first, by a separate thread, and then the process ends by the
// same signal. It is handled if its default action would end the process; sigaction() and signal() still report the
// default action to the program. Handlers that the program sets, and signals ignored from the start (nohup), are
// unchanged. The default action is executed with the original siginfo_t, at the interrupted instruction. The thread
// uses a malloc arena of its own, so a signal within malloc does not block it; the signal waits until it has made no
// progress for 5 s. A hook of the measurement may hold a lock that the thread needs: a signal that interrupts one is
// sent again when it has ended.

namespace {

constexpr int last_signal = 64;
// A signal that ends the process waits for the files, until none makes progress for the first, or for the second.
constexpr long timeout_ns = 5'000'000'000, longest_ns = 60'000'000'000, look_ns = 1'000'000;
constexpr long check_ns = 10'000'000;  // between two checks for threads of the program

void (*write_files)() = nullptr;
sem_t asked;
std::atomic<bool> dying{false}, written{false}, main_has_ended{false};
std::atomic<int> late_signal{0};  // interrupted a hook in late_thread, to be sent again
std::atomic<pid_t> late_thread{0};
siginfo_t late_info{};
std::atomic<long> times_sent_again{0};
pid_t owner = 0;
pthread_key_t end_of_main;
sigset_t mask_of_program;

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

/// False if the next instruction would only cause the signal again, or the C library ends the process in any case.
bool can_be_sent_later(int signal) {
  for (const int other : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS, SIGABRT})
    if (signal == other) return false;
  return times_sent_again.load(std::memory_order_relaxed) < timeout_ns / look_ns;
}

/// Has the thread of the measurement send `signal` to this thread again. While one waits, others are dropped: the
/// process ends by the first.
void send_later(int signal, const siginfo_t& info) {
  int none = 0;
  if (!late_signal.compare_exchange_strong(none, -1)) return;
  late_info = info;
  late_thread.store(static_cast<pid_t>(syscall(SYS_gettid)));
  late_signal.store(signal);
  sem_post(&asked);
}

void on_death(int signal, siginfo_t* info, void* context) {
  if (owner == getpid() && this_slot.inside != 0 && !dying.load() && can_be_sent_later(signal))
    return send_later(signal, *info);
  const bool first = owner == getpid() && this_slot.inside == 0 && !dying.exchange(true);
  if (first) sem_post(&asked);
  if (first || (owner == getpid() && dying.load())) {
    timespec pause{0, look_ns};
    std::uint64_t files = plx::file_progress();
    for (long all = 0, idle = 0; all < longest_ns && idle < timeout_ns && !written.load(std::memory_order_acquire);
         all += look_ns, idle += look_ns) {
      real().nanosleep(&pause, nullptr);
      if (const std::uint64_t now = plx::file_progress(); now != files) files = now, idle = 0;
    }
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

/// The C library does this when the last thread ends, which the threads of the measurement do not.
[[noreturn]] void end_the_process() {
  pthread_sigmask(SIG_SETMASK, &mask_of_program, nullptr);  // functions of atexit() run in this thread
  exit(0);
}

/// Sends a signal again that interrupted a hook: to its thread, or to the process if that thread has ended.
void send_again() {
  const int signal = late_signal.load();
  if (signal <= 0) return;
  const timespec pause{0, look_ns};
  real().nanosleep(&pause, nullptr);
  times_sent_again.fetch_add(1, std::memory_order_relaxed);
  siginfo_t info = late_info;
  const pid_t thread = late_thread.load();
  late_signal.store(0);
  // Some kernels accept the information of a signal from outside only from the main thread.
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, &info) == 0) return;
  if (syscall(SYS_tgkill, getpid(), thread, signal) != 0) kill(getpid(), signal);
}

/// Waits until a signal ends the process, or the main thread has ended and then the last thread of the program.
void* write_when_asked(void*) {
  ++this_slot.inside;
  const own_thread mine;
  pthread_setname_np(pthread_self(), "plx-exec");
  const timespec pause{0, check_ns};
  // Twice in succession: a thread may end after it has created another one whose number the list has passed.
  for (int times = 0; !dying.load();) {
    if (main_has_ended.load()) {
      times = only_own_threads_are_left() ? times + 1 : 0;
      if (times == 2) end_the_process();
      real().nanosleep(&pause, nullptr);
    } else if (real().sem_wait(&asked) != 0) {
      continue;
    }
    send_again();
  }
  write_files();
  written.store(true, std::memory_order_release);
  return nullptr;
}

/// Calls `write` in a thread of the measurement before a signal ends this process. Called once.
void watch_deaths(void (*write)()) {
  write_files = write;
  owner = getpid();
  sem_init(&asked, 0, 0);
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &mask_of_program);
  pthread_t thread;
  const int failed = real().pthread_create(&thread, nullptr, &write_when_asked, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_of_program, nullptr);
  if (failed != 0) return;
  pthread_detach(thread);
  // The destructor runs when the main thread ends by pthread_exit() or is cancelled, and not when main() returns.
  if (pthread_key_create(&end_of_main, [](void*) {
        if (owner == getpid()) main_has_ended.store(true), sem_post(&asked);
      }) == 0)
    pthread_setspecific(end_of_main, &end_of_main);
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

// Other names of signal(). sigset() also blocks and unblocks the signal.
PLX_HOOK sighandler_t bsd_signal(int number, sighandler_t asked_for) noexcept { return signal(number, asked_for); }
PLX_HOOK sighandler_t ssignal(int number, sighandler_t asked_for) noexcept { return signal(number, asked_for); }
PLX_HOOK sighandler_t sigset(int number, sighandler_t asked_for) noexcept {
  static const auto next = reinterpret_cast<sighandler_t (*)(int, sighandler_t)>(dlsym(RTLD_NEXT, "sigset"));
  return after_signal(number, asked_for, next(number, asked_for));
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

// --------------------------------------------------------------------------------------------------------- begin, end

PLX_HOOK const call_table* plx_probe_preloaded_calls() { return program::begun() ? own_call_table() : nullptr; }

namespace {

void say(const std::string& text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }

void finish() {
  if (program* p = program::get()) p->finish();
}

void finish_before_death() {
  if (program* p = program::get()) p->finish(true);
}

/// The settings of plx-exec, passed as arguments.
plx::result<settings> asked_for() {
  std::vector<std::string> words{"plx-exec"};
  const char* given = std::getenv(exec_arguments);
  for (const char* at = given; at != nullptr && *at != '\0';) {
    const char* end = std::strchr(at, exec_separator);
    words.emplace_back(at, end == nullptr ? std::strlen(at) : static_cast<std::size_t>(end - at));
    at = end == nullptr ? nullptr : end + 1;
  }
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(words.size());
  auto s = settings_from_arguments(argc, argv.data());
  if (s && s->profile.empty()) s->profile = "csv";
  return s;
}

bool has_flag(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '1';
}

[[gnu::constructor]] void begin() {
  find_real();
  const char* measured = std::getenv(exec_process);
  if (measured == nullptr) return;
  const bool child = std::strtol(measured, nullptr, 10) != static_cast<long>(getpid());
  if (child && !has_flag(exec_follow)) return;
  const inside_scope inside;
  auto s = asked_for();
  if (!s) return say("plx-exec: " + s.error().message + "; the program runs without measurement\n");
  s->output = folder_of_rank(s->output);
  // Only ranks of MPI are known to be one job: a launcher may also start independent programs.
  s->own_folder = !child && has_flag(exec_mpi) && place_in_job(s->locality, s->localities);
  if (child) s->output += fmt::format("/process-{}", getpid());
  const auto done =
      program::begin(*std::move(s), {.main_name = "main", .says_where = !has_flag(exec_quiet), .to_the_end = true});
  if (!done) return say("plx-exec: " + done.error().message + "; the program runs without measurement\n");
  std::atexit(&finish);
  at_quick_exit(&finish);
  watch_deaths(&finish_before_death);
}

/// The image is replaced if exec succeeds; otherwise the program continues and is still measured.
void before_exec() {
  if (!program::begun() || !program::measures()) return;
  const int before = errno;
  (void)program::get()->write_now();
  errno = before;
}

/// The arguments of the execl family, which end with a null; `environment` receives the one after it.
std::vector<char*> collect(const char* first, va_list list, char* const** environment) {
  std::vector<char*> argv{const_cast<char*>(first)};
  while (argv.back() != nullptr) argv.push_back(va_arg(list, char*));
  if (environment != nullptr) *environment = va_arg(list, char* const*);
  return argv;
}

}  // namespace

PLX_HOOK void _exit(int status) {
  finish();
  real()._exit(status);
  __builtin_unreachable();
}
PLX_HOOK void _Exit(int status) noexcept { _exit(status); }

PLX_HOOK int execve(const char* path, char* const argv[], char* const environment[]) noexcept {
  before_exec();
  return real().execve(path, argv, environment);
}
PLX_HOOK int execv(const char* path, char* const argv[]) noexcept {
  before_exec();
  return real().execv(path, argv);
}
PLX_HOOK int execvp(const char* file, char* const argv[]) noexcept {
  before_exec();
  return real().execvp(file, argv);
}
PLX_HOOK int execvpe(const char* file, char* const argv[], char* const environment[]) noexcept {
  before_exec();
  return real().execvpe(file, argv, environment);
}
PLX_HOOK int fexecve(int file, char* const argv[], char* const environment[]) noexcept {
  before_exec();
  return real().fexecve(file, argv, environment);
}
// A child of vfork may call these functions and shares our memory: the list is freed if exec fails.
PLX_HOOK int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const std::vector<char*> argv = collect(first, list, nullptr);
  va_end(list);
  before_exec();
  return real().execv(path, argv.data());
}
PLX_HOOK int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const std::vector<char*> argv = collect(first, list, nullptr);
  va_end(list);
  before_exec();
  return real().execvp(file, argv.data());
}
PLX_HOOK int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  char* const* environment = nullptr;
  const std::vector<char*> argv = collect(first, list, &environment);
  va_end(list);
  before_exec();
  return real().execve(path, argv.data(), environment);
}

// Function names in the library can be found only while it is loaded.
PLX_HOOK int dlclose(void* handle) noexcept {
  if (program::begun() && program::measures() && this_slot.inside == 0) program::get()->settle_names();
  return real().dlclose(handle);
}
