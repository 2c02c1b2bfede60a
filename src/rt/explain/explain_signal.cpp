#include "rt/explain/explain.hpp"

#include <semaphore.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>

namespace plx::detail {
namespace {

struct watch {
  sem_t asked;
  std::mutex lock;
  struct use {
    unsigned users = 0;
    struct sigaction before {};
  };
  std::map<int, use> signals;
  std::thread printer;
  std::atomic<bool> end{false};

  watch() { sem_init(&asked, 0, 0); }
};

// Never destroyed: a signal may arrive at any time.
watch& the_watch() {
  static auto* w = new watch;
  return *w;
}
sem_t* asked = nullptr;

void on_signal(int) {
  const int error = errno;
  sem_post(asked);
  errno = error;
}

void print_when_asked(watch& w) {
  for (;;) {
    while (sem_wait(&w.asked) != 0 && errno == EINTR) {
    }
    if (w.end.load(std::memory_order_acquire)) return;  // pairs with the release where the last user goes
    print_explanation(explain_all_waits());
  }
}

// Blocks all signals in the printer thread: they are for the program's own threads.
void start_printer(watch& w) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  w.printer = std::thread([&w] { print_when_asked(w); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

int signal_named(std::string_view name) {
  constexpr std::pair<std::string_view, int> known[] = {{"QUIT", SIGQUIT}, {"USR1", SIGUSR1}, {"USR2", SIGUSR2},
                                                        {"HUP", SIGHUP},   {"INT", SIGINT},   {"TERM", SIGTERM}};
  std::string_view bare = name;
  if (bare.starts_with("SIG")) bare.remove_prefix(3);
  for (const auto& [text, number] : known)
    if (text == bare) return number;
  int number = 0;
  const auto [end, error] = std::from_chars(bare.data(), bare.data() + bare.size(), number);
  if (error == std::errc() && end == bare.data() + bare.size() && number >= 0 && number < NSIG) return number;
  throw std::invalid_argument("'" + std::string(name) +
                              "' is no signal: expected QUIT, USR1, USR2, HUP, INT, TERM or a number");
}

explain_signal::explain_signal(int signal) : signal_(signal) {
  if (signal_ == 0) return;
  watch& w = the_watch();
  const std::lock_guard guard(w.lock);
  asked = &w.asked;
  watch::use& u = w.signals[signal_];
  if (u.users == 0) {
    struct sigaction mine {};
    mine.sa_handler = on_signal;
    mine.sa_flags = SA_RESTART;
    sigemptyset(&mine.sa_mask);
    if (sigaction(signal_, &mine, &u.before) != 0) {
      w.signals.erase(signal_);
      throw std::system_error(errno, std::generic_category(), "explain_signal = " + std::to_string(signal_));
    }
  }
  ++u.users;
  if (!w.printer.joinable()) start_printer(w);
}

explain_signal::~explain_signal() {
  if (signal_ == 0) return;
  watch& w = the_watch();
  const std::lock_guard guard(w.lock);
  watch::use& u = w.signals[signal_];
  if (--u.users != 0) return;
  struct sigaction now {};
  if (sigaction(signal_, nullptr, &now) == 0 && now.sa_handler == on_signal) sigaction(signal_, &u.before, nullptr);
  w.signals.erase(signal_);
  if (!w.signals.empty()) return;
  w.end.store(true, std::memory_order_release);
  sem_post(&w.asked);
  w.printer.join();
  w.end.store(false, std::memory_order_relaxed);
}

}  // namespace plx::detail
